"""Tables of strategies, compared with counts by hand."""

import csv
import io
from dataclasses import replace

import pytest

from fukayomi.arena.results.game import Game
from fukayomi.arena.strategy.counts import StrategyCounts, tables_csv
from fukayomi.arena.strategy.kinds import SplitBy, StrategyKind
from fukayomi.arena.strategy.matcher import Matcher
from fukayomi.arena.strategy.reading import load_definitions
from fukayomi.shogi import Move
from fukayomi.shogi.record import Result

MATCHER = Matcher(load_definitions())
FOURTH = "7g7f 3c3d 2g2f 4c4d 3i4h 8b4b"
BOAT = FOURTH + " 5i6h 5a6b 6h7h 6b7b 4i5h 7b8b"
EXCHANGE = "7g7f 8c8d 2g2f 8d8e 8h7g 3c3d 7i6h 4a3b 6i7h 2b7g+ 6h7g 3a2b"
NOTHING = "1g1f 9c9d"


def play(moves: str, result: Result = Result.BLACK_WIN, black: str = "a", white: str = "b", **fields: object) -> Game:
    game = Game(black, white, result, moves=tuple(Move.from_usi(word) for word in moves.split()))
    return replace(game, **fields)  # pyright: ignore


def count(games: list[Game], counts: StrategyCounts | None = None) -> StrategyCounts:
    counts = counts or StrategyCounts()
    for game in games:
        counts.add(game, MATCHER.classify(game.initial_sfen, game.moves or ()))
    return counts


GAMES = [
    play(EXCHANGE, Result.BLACK_WIN),
    play(EXCHANGE, Result.BLACK_WIN),
    play(EXCHANGE, Result.WHITE_WIN),
    play(EXCHANGE, Result.DRAW),
    play(BOAT, Result.WHITE_WIN, "b", "a"),
    play(FOURTH, Result.UNKNOWN),
    play(NOTHING, Result.BLACK_WIN),
    play(NOTHING, Result.BLACK_WIN),
]


def test_a_row_is_a_combination() -> None:
    (table,) = count(GAMES).tables()
    assert (table.group, table.games) == ("", 8)
    rows = [
        (row.name, row.games, row.share, row.black_rate, row.white_rate, row.draw_rate) for row in table.combinations
    ]
    assert rows == [
        ("角換わり", 4, 0.5, 0.5, 0.25, 0.25),
        ("分類なし", 2, 0.25, 1.0, 0.0, 0.0),
        ("後手四間飛車", 1, 0.125, None, None, None),
        ("後手四間飛車,先手船囲い", 1, 0.125, 0.0, 1.0, 0.0),
    ]
    assert [row.english for row in table.combinations] == [
        "Bishop Exchange", "none", "White Fourth-File Rook", "White Fourth-File Rook, Black Boat Castle",
    ]  # fmt: skip


def test_top_and_minimum_leave_out_rows_and_change_no_share() -> None:
    (table,) = count(GAMES).tables(top=1)
    assert [(row.name, row.share) for row in table.combinations] == [("角換わり", 0.5)]
    (table,) = count(GAMES).tables(min_count=2)
    assert [row.name for row in table.combinations] == ["角換わり", "分類なし"]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (StrategyKind.OPENING, ["角換わり", "分類なし", "後手四間飛車"]),
        (StrategyKind.CASTLE, ["分類なし", "先手船囲い"]),
        (StrategyKind.STYLE, ["後手居飛車", "対抗形", "分類なし"]),
    ],
    ids=["opening", "castle", "style"],
)
def test_kinds_choose_what_makes_a_name(kind: StrategyKind, names: list[str]) -> None:
    (table,) = count(GAMES, StrategyCounts(kinds=[kind])).tables()
    assert {row.name for row in table.combinations} == set(names)


def test_both_players_must_have_the_rating() -> None:
    games = [
        play(EXCHANGE, black_rating=3800.0, white_rating=3900.0),
        play(EXCHANGE, black_rating=3800.0, white_rating=3799.9),
        play(EXCHANGE, black_rating=3800.0),
    ]
    counts = count(games, StrategyCounts(min_rating=3800))
    assert (counts.games, counts.below_rating) == (1, 2)


def test_by_year() -> None:
    games = [play(EXCHANGE, date="2020-05-01"), play(BOAT, date="2019-05-01"), play(BOAT)]
    counts = count(games, StrategyCounts(by=SplitBy.YEAR))
    assert [(table.group, table.games) for table in counts.tables()] == [("2019", 1), ("2020", 1)]
    assert (counts.games, counts.undated) == (2, 1)


def test_by_engine_and_colour() -> None:
    counts = count(GAMES, StrategyCounts(by=SplitBy.ENGINE))
    found = {table.group: table.games for table in counts.tables()}
    assert found == {"a (先手)": 7, "b (後手)": 7, "b (先手)": 1, "a (後手)": 1}
    assert next(iter(found)) == "a (先手)"
    assert [table.english for table in counts.tables()][:2] == ["a (Black)", "b (White)"]


def test_csv_is_for_spreadsheets() -> None:
    data = tables_csv(count(GAMES).tables(), None)
    assert data.startswith(b"\xef\xbb\xbf")
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    assert rows[0] == ["戦型", "回数", "出現率", "先手勝率", "後手勝率", "引分率", "strategy"]
    assert rows[1] == ["角換わり", "4", "0.5000", "0.5000", "0.2500", "0.2500", "Bishop Exchange"]
    assert rows[3] == ["後手四間飛車", "1", "0.1250", "", "", "", "White Fourth-File Rook"]
    assert rows[4][0] == "後手四間飛車,先手船囲い"


@pytest.mark.parametrize(("by", "title"), [(SplitBy.YEAR, "年"), (SplitBy.ENGINE, "対局者")])
def test_csv_names_the_group(by: SplitBy, title: str) -> None:
    counts = count([play(EXCHANGE, date="2020-05-01")], StrategyCounts(by=by))
    rows = list(csv.reader(io.StringIO(tables_csv(counts.tables(), by).decode("utf-8-sig"))))
    assert rows[0][0] == title
    assert rows[1][:2] == [{SplitBy.YEAR: "2020", SplitBy.ENGINE: "a (先手)"}[by], "角換わり"]


def test_a_name_out_of_a_file_is_no_formula_and_no_command() -> None:
    games = [play(EXCHANGE, black='=HYPERLINK("x")'), play(EXCHANGE, black="a\x1b[2J\nb")]
    counts = count(games, StrategyCounts(by=SplitBy.ENGINE))
    rows = list(csv.reader(io.StringIO(tables_csv(counts.tables(), SplitBy.ENGINE).decode("utf-8-sig"))))
    assert {row[0] for row in rows[1:]} == {'\'=HYPERLINK("x") (先手)', "a?[2J?b (先手)", "b (後手)"}


@pytest.mark.parametrize("rating", [float("nan"), float("-inf")], ids=["nan", "-inf"])
def test_a_rating_that_is_no_number_passes_no_filter(rating: float) -> None:
    counts = count([play(EXCHANGE, black_rating=rating, white_rating=3900.0)], StrategyCounts(min_rating=0))
    assert (counts.games, counts.below_rating) == (0, 1)


def test_the_rates_of_a_row_add_up_to_one() -> None:
    (table,) = count(GAMES).tables()
    for row in table.combinations:
        rates = (row.black_rate, row.white_rate, row.draw_rate)
        if None not in rates:
            assert sum(rate or 0 for rate in rates) == pytest.approx(1)
