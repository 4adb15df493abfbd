"""What each format writes, to the byte, and random records through CSA."""

import json

import pytest
from hypothesis import given, settings
from record_samples import records

from fukayomi.shogi.formats import read_records, write_csa, write_jkf, write_ki2, write_kif, write_usi
from fukayomi.shogi.formats.clock import TimeLimit
from fukayomi.shogi.record import Record

SOURCE = """開始日時：2026/01/03 21:37:56
棋戦：試験対局
戦型：矢倉
持ち時間：15分+60秒
備考：千駄ヶ谷
手合割：平手
先手：羽生
後手：谷川
手数----指手---------消費時間--
*開始前
*
*二行目
   1 ７六歩(77)   ( 0:01/00:00:01)
   2 ３四歩(33)   ( 1:02/00:01:02)
**評価値=80
   3 ２二角成(88) ( 0:03/00:00:04)+
   4 同　銀(31)   ( 0:04/00:01:06)
   5 投了

変化：3手
   3 ２六歩(27)
"""
CSA = """V2.2
N+羽生
N-谷川
$EVENT:試験対局
$START_TIME:2026/01/03 21:37:56
$TIME_LIMIT:00:15+60
$OPENING:矢倉
$備考:千駄ヶ谷
PI
+
'* 開始前
'*@
'* 二行目
+7776FU
T1
-3334FU
T62
'** 80
'* *評価値=80
+8822UM
T3
-3122GI
T4
%TORYO
""".replace("@", " ")
KI2 = """開始日時：2026/01/03 21:37:56
棋戦：試験対局
戦型：矢倉
持ち時間：15分+60秒
備考：千駄ヶ谷
手合割：平手
先手：羽生
後手：谷川
*開始前
*
*二行目
▲７六歩    △３四歩
**評価値=80
▲２二角成  △同銀
まで4手で後手の勝ち

変化：3手
▲２六歩
"""
HEADER = {
    "開始日時": "2026/01/03 21:37:56", "棋戦": "試験対局", "戦型": "矢倉", "持ち時間": "15分+60秒",
    "備考": "千駄ヶ谷", "先手": "羽生", "後手": "谷川",
}  # fmt: skip


def read(text: str) -> Record:
    (record,) = read_records(text.encode(), name="game")
    return record


@pytest.mark.parametrize(("write", "expected"), [(write_csa, CSA), (write_ki2, KI2)], ids=["csa", "ki2"])
def test_texts(write: object, expected: str) -> None:
    assert callable(write)
    assert write(read(SOURCE)) == expected


def test_jkf() -> None:
    document = json.loads(write_jkf(read(SOURCE)))
    assert (document["header"], document["initial"]) == (HEADER, {"preset": "HIRATE"})
    first, *moves, end = document["moves"]
    assert (first, end) == ({"comments": ["開始前", "", "二行目"]}, {"special": "TORYO"})
    assert moves[1] == {
        "comments": ["*評価値=80"],
        "move": {"color": 1, "from": {"x": 3, "y": 3}, "to": {"x": 3, "y": 4}, "piece": "FU"},
        "time": {"now": {"m": 1, "s": 2}, "total": {"h": 0, "m": 1, "s": 2}},
    }
    assert moves[2]["forks"] == [
        [{"move": {"color": 0, "from": {"x": 2, "y": 7}, "to": {"x": 2, "y": 6}, "piece": "FU"}}]
    ]


def test_usi() -> None:
    assert write_usi(read(SOURCE)) == "startpos moves 7g7f 3c3d 8h2b+ 3a2b\n"


def test_headers_and_comments_go_through_every_format() -> None:
    record = read(SOURCE)
    for write in (write_kif, write_ki2, write_jkf, write_csa):
        again = read(write(record))
        assert (again.headers, again.opening, again.comment) == (record.headers, "矢倉", "開始前\n\n二行目")
        assert TimeLimit.parse(again.time_limit) == TimeLimit(900_000, 60_000)


@settings(max_examples=30, deadline=None)
@given(records())
def test_random_records_come_back_from_csa(record: Record) -> None:
    """CSA has no variations and bookmarks."""
    record.variations, record.bookmark = [], ""
    for played in record.moves:
        played.bookmark = ""
    (again,) = read_records(write_csa(record).encode(), name="game")
    if limit := TimeLimit.parse(record.time_limit):
        record.time_limit = limit.csa_2()
    assert again == record
