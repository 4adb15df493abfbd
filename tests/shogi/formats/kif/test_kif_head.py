"""The head of KIF and KI2 records as people write it: several headers on one line, marks before players, other text."""

import pytest

from fukayomi.shogi.formats import read_records
from fukayomi.shogi.record import Record


def read(text: str) -> Record:
    (record,) = read_records(text.encode(), name="game")
    return record


@pytest.mark.parametrize(
    "head",
    [
        "先手: a / 後手: b / 手合割: 平手", "先手：a｜後手：b", "先手: a vs 後手: b", "先手：a 対 後手：b",
        "☗先手：a　☖後手：b", "▲：a\n△：b", "手合割：平手　先手：a　後手：b", "先手：a\n▽後手：b", "先手：a、後手：b",
        "▲先手：a\n△後手：b",
    ],
)  # fmt: skip
@pytest.mark.parametrize("moves", ["   1 ７六歩(77)\n", "▲７六歩\n"])
def test_players_on_one_line_or_with_marks(head: str, moves: str) -> None:
    record = read(f"{head}\n{moves}")
    assert (record.black_name, record.white_name, record.usi_moves()) == ("a", "b", ["7g7f"])
    assert (record.headers, record.comment) == ({}, "")


def test_headers_on_one_line() -> None:
    line = "開始日時：2020/01/01 10:00 棋戦：名人戦 戦型：矢倉／場所：東京・将棋会館 持ち時間：１分"
    record = read(f"{line}\n備考：棋戦：x 先手：y\n▲７六歩\n")
    assert (record.start_time, record.event, record.opening) == ("2020/01/01 10:00", "名人戦", "矢倉")
    assert (record.site, record.time_limit, record.headers) == ("東京・将棋会館", "１分", {"備考": "棋戦：x 先手：y"})
    many = read("棋戦：x" + " 場所：東京" * 200_000 + "\n▲７六歩\n")
    assert (many.event, many.site) == ("x", "東京")


def test_other_lines_of_the_head_are_comments() -> None:
    record = read("参照 https://a.b/c\n先手：a\n第1局\n*good\n   1 ７六歩(77)\n")
    assert record.comment == "参照 https://a.b/c\n第1局\ngood"
