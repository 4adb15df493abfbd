"""KIF and JKF, read and written through rsshogi."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fukayomi.shogi.formats import read_records, scan_records, write_csa, write_jkf, write_ki2, write_kif
from fukayomi.shogi.record import IllegalMoveInRecordError, Record, RecordError, Result, Termination

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


@pytest.mark.parametrize("encoding", ["utf-8", "cp932"])
def test_kif(encoding: str) -> None:
    (record,) = read_records(KIF.replace("UTF-8", "x").encode(encoding), name="game.kif")
    assert record.usi_moves() == ["7g7f", "3c3d", "8h2b+", "3a2b", "B*4e"]
    assert (record.black_name, record.white_name, record.event) == ("羽生", "谷川", "試験対局")
    assert record.start_time == "2026/01/03 21:37:56"
    assert (record.termination, record.result) == (Termination.RESIGN, Result.BLACK_WIN)
    assert record.comment == "開始前"
    assert [played.time_ms for played in record.moves] == [1000, 2000, 3000, 4000, 5000]
    assert [played.score_cp for played in record.moves] == [None, 80, 30000, -68, 12]
    assert record.moves[2].mate == 15
    assert record.moves[3].pv == "▲同　銀 △同　玉"
    assert record.moves[0].comment == "一手目"


def test_moves_inside_comments_are_no_moves() -> None:
    record = read(KIF.replace("*一手目", "*   2 ８四歩(83)\n*▲２六歩 △同　歩"))
    assert record.usi_moves() == ["7g7f", "3c3d", "8h2b+", "3a2b", "B*4e"]


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
        (KIF.replace("２二角成(88)", "２二角成(89)"), "illegal move"),
        (KIF.replace("３四歩(33)", "３四歩(34)"), r"line 12: neither a move nor the end of the game: '2 ３四歩\(34\)"),
        (KIF.replace("３四歩(33)", "三四＠(33)"), "line 12: neither a move nor the end of the game"),
        (KIF.replace("平手", "左七枚落ち"), "unknown handicap '左七枚落ち'"),
        ('{"moves": 3}', "JKF"),
        ('{"moves": ', "Expecting value"),
        ('{"moves": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_errors_name_the_place(text: str, message: str) -> None:
    with pytest.raises(RecordError, match=message) as error:
        read(text, "bad")
    assert str(error.value).startswith("bad")


def test_an_illegal_move_has_its_own_error() -> None:
    with pytest.raises(IllegalMoveInRecordError):
        read(KIF.replace("２二角成(88)", "２二角成(89)"))


@pytest.mark.parametrize("write", [write_csa, write_kif, write_jkf])
def test_writing_keeps_moves_scores_and_end(write: object) -> None:
    assert callable(write)
    record = read(KIF)
    again = read(write(record))
    assert again.usi_moves() == record.usi_moves()
    assert [played.score_cp for played in again.moves] == [played.score_cp for played in record.moves]
    assert [played.time_ms for played in again.moves] == [played.time_ms for played in record.moves]
    assert (again.black_name, again.termination, again.result) == ("羽生", Termination.RESIGN, Result.BLACK_WIN)


def test_scores_of_csa_come_through_kif() -> None:
    record = read("PI\n+\n+7776FU\n'** 40 -3334FU\n-3334FU\n'** -100000\n%TORYO\n")
    again = read(write_kif(record))
    assert [played.score_cp for played in again.moves] == [40, -100_000]
    assert again.moves[0].pv == "-3334FU"


def test_many_pawns_in_hand_come_through_kif() -> None:
    sfen = "4k4/9/9/9/9/9/9/9/4K4 b 2R2B12P4g4s4n4l6p 1"
    record = read(f"sfen {sfen} moves P*5b\n")
    for write in (write_kif, write_ki2):
        assert read(write(record)).initial_sfen == sfen


def test_a_winner_that_kif_cannot_express() -> None:
    record = read(KIF)
    record.result = Result.WHITE_WIN  # though White is to move and resigned
    with pytest.raises(RecordError, match="the format cannot express this record"):
        write_kif(record)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(KIF)), st.text(max_size=6), st.integers(0, 30))
def test_damaged_kif_gives_a_game_or_a_named_error(at: int, junk: str, removed: int) -> None:
    damaged = KIF[:at] + junk + KIF[at + removed :]
    for found in scan_records(damaged.encode(errors="replace"), name="damaged.kif"):
        if isinstance(found, RecordError):
            assert str(found).startswith("damaged.kif")
        else:
            for position, played in found.replay():
                assert position.is_legal(played.move)
