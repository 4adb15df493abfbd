"""JKF, read and written through rsshogi; what all formats keep."""

import json

import pytest

from fukayomi.shogi.formats import read_records, write_csa, write_jkf, write_ki2, write_kif
from fukayomi.shogi.record import Record, RecordError, Result, Termination

KIF = """#KIF version=2.0 encoding=UTF-8
開始日時：2026/01/03 21:37:56
棋戦：試験対局
手合割：平手
先手：羽生
後手：谷川
手数----指手---------消費時間--
*開始前
&しおり
   1 ７六歩(77)   ( 0:01/00:00:01)
*一手目
   2 ３四歩(33)   ( 0:02/00:00:02)
**評価値=80
*#評価値=-60
   3 ２二角成(88) ( 0:03/00:00:04)
**詰み=先手勝ち:15手
   4 同　銀(31)   ( 0:04/00:00:06)
*対局 時間 00:01.3 深さ 18/33 ノード数 1234 評価値 -68 読み筋 ▲同　銀 △同　玉
   5 ４五角打     ( 0:05/00:00:09)
*#評価値=+12
   6 投了         ( 0:06/00:00:12)

変化：3手
   3 ２六歩(27)   ( 0:01/00:00:01)
"""


def read(text: str, name: str = "game") -> Record:
    (record,) = read_records(text.encode(), name=name)
    return record


def test_jkf_with_nulls() -> None:
    record = read(
        json.dumps(
            {
                "header": {"先手": "a"},
                "initial": None,
                "moves": [
                    {},
                    {
                        "move": {"from": {"x": 7, "y": 7}, "to": {"x": 7, "y": 6}, "piece": "FU", "color": 0},
                        "comments": None,
                    },
                    {"special": "TORYO"},
                ],
            }
        )
    )
    assert (record.usi_moves(), record.result, record.black_name) == (["7g7f"], Result.BLACK_WIN, "a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"moves": 3}', "JKF"),
        ('{"moves": ', "Expecting value"),
        ('{"moves": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_errors_name_the_place(text: str, message: str) -> None:
    with pytest.raises(RecordError, match=message) as error:
        read(text, "bad")
    assert str(error.value).startswith("bad")


@pytest.mark.parametrize("write", [write_csa, write_kif, write_jkf])
def test_writing_keeps_moves_scores_and_end(write: object) -> None:
    assert callable(write)
    record = read(KIF)
    again = read(write(record))
    assert again.usi_moves() == record.usi_moves()
    assert [played.score_cp for played in again.moves] == [played.score_cp for played in record.moves]
    assert [played.time_ms for played in again.moves] == [played.time_ms for played in record.moves]
    assert (again.black_name, again.termination, again.result) == ("羽生", Termination.RESIGN, Result.BLACK_WIN)


def test_many_pawns_in_hand_come_through_kif() -> None:
    sfen = "4k4/9/9/9/9/9/9/9/4K4 b 2R2B12P4g4s4n4l6p 1"
    record = read(f"sfen {sfen} moves P*5b\n")
    for write in (write_kif, write_ki2):
        assert read(write(record)).initial_sfen == sfen
