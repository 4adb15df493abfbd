"""Pictures: format, size, reproducible bytes, and characters that the fonts lack."""

import struct
from xml.etree import ElementTree

import pytest
from test_strategy_counts import BOAT, EXCHANGE, GAMES, count, play

from fukayomi.arena.strategy.counts import StrategyCounts, StrategyTable
from fukayomi.arena.strategy.kinds import SplitBy
from fukayomi.arena.strategy.pictures import (
    MAX_PANELS,
    Lettering,
    figure_bytes,
    find_lettering,
    plot_shares,
    plot_years,
)
from fukayomi.shogi.record import Result

YEARS = [
    play(EXCHANGE, date="2019-01-01"), play(EXCHANGE, Result.WHITE_WIN, date="2020-01-01"),
    play(BOAT, Result.UNKNOWN, date="2020-01-01"), play(EXCHANGE, date="2021-01-01"),
]  # fmt: skip
ENGLISH = find_lettering(())


def draw_shares(tables: list[StrategyTable], kind: str, lettering: Lettering) -> bytes:
    return figure_bytes(plot_shares(tables, lettering=lettering), kind)


def draw_years(tables: list[StrategyTable], names: list[str], kind: str, lettering: Lettering) -> bytes:
    return figure_bytes(plot_years(tables, names, lettering=lettering), kind)


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


@pytest.mark.parametrize("lettering", [find_lettering(), ENGLISH], ids=["as installed", "no Japanese font"])
def test_bars(lettering: Lettering) -> None:
    tables = count(GAMES).tables()
    width, height = size_of(draw_shares(tables, "png", lettering))
    assert 400 < width < 4000
    assert 400 < height < 4000
    svg = draw_shares(tables, "svg", lettering)
    ElementTree.fromstring(svg)
    assert b"<text" not in svg  # outlines
    assert svg == draw_shares(tables, "svg", lettering)


def test_win_rates_are_points_with_wilson_s_interval_on_an_axis_of_their_own() -> None:
    (table,) = count(GAMES).tables()
    shares, rates = plot_shares([table], lettering=ENGLISH).axes
    assert (shares.get_xlabel(), rates.get_xlabel()) == (
        "share (%), with the number of games", "Black's win rate (%) and 95 % interval",
    )  # fmt: skip
    (points,) = rates.containers
    line, _, (bars,) = points.lines
    assert line.get_linestyle() == "None", "no line through categories"
    known = [row for row in table.combinations if row.black_rate is not None]
    assert line.get_xdata().tolist() == pytest.approx([100 * row.black_rate for row in known])
    ends = [[x for x, _ in segment] for segment in bars.get_segments()]
    assert ends == [pytest.approx([100 * end for end in row.black_interval]) for row in known]
    low, high = rates.get_xlim()
    assert low <= min(map(min, ends)) < low + 10
    assert high - 10 < max(map(max, ends)) <= high


def test_panels_leave_no_gap() -> None:
    names = ["角換わり", "後手四間飛車,先手船囲い"]
    tables = count(YEARS, StrategyCounts(by=SplitBy.YEAR)).tables()
    width, height = plot_years(tables, [*names, *names], lettering=ENGLISH).get_size_inches()
    assert (width, height) == (10, 9.2), "two and two, not three and one"
    share, rate = plot_years(tables, names[:1], lettering=ENGLISH).axes
    assert (share.get_ylabel(), rate.get_ylabel()) == ("share (%)", "Black's win rate (%)\nand 95 % interval")
    assert rate.get_xlabel() == "year"


def test_lines_by_year() -> None:
    tables = count(YEARS, StrategyCounts(by=SplitBy.YEAR)).tables()
    for lettering in (find_lettering(), ENGLISH):
        names = ["角換わり", "後手四間飛車,先手船囲い"]
        assert ElementTree.fromstring(draw_years(tables, names, "svg", lettering)).tag.endswith("svg")
        one, both = (size_of(draw_years(tables, names[:count], "png", lettering)) for count in (1, 2))
        assert one != both, "a panel for each row"


def test_a_panel_for_each_engine_up_to_a_limit() -> None:
    few = count(GAMES, StrategyCounts(by=SplitBy.ENGINE)).tables(top=2)
    many = count(
        [play(EXCHANGE, black=f"engine {n}") for n in range(2 * MAX_PANELS)], StrategyCounts(by=SplitBy.ENGINE)
    )
    low = size_of(draw_shares(few, "png", ENGLISH))[1]
    high = size_of(draw_shares(many.tables(), "png", ENGLISH))[1]
    assert low < high < 20_000


def test_letters_that_no_font_has_become_question_marks() -> None:
    assert not ENGLISH.is_japanese
    assert ENGLISH.drawable("engine é 深読み\nend") == "engine é ???\nend"
    games = [play(EXCHANGE, black="深読み \U0001f9ff \u0007")]
    for lettering in (find_lettering(), ENGLISH):  # a missing letter would warn, and warnings fail
        tables = count(games, StrategyCounts(by=SplitBy.ENGINE)).tables()
        size_of(draw_shares(tables, "png", lettering))


def test_a_font_that_is_not_installed_is_not_taken() -> None:
    assert find_lettering(("No Such Gothic",)) == ENGLISH
    assert find_lettering(("No Such Gothic", "DejaVu Serif")).family[0] == "DejaVu Serif"


def test_a_name_is_not_read_as_a_formula() -> None:
    counts = count([play(EXCHANGE, black="$\\frac$")], StrategyCounts(by=SplitBy.ENGINE))
    width, height = size_of(draw_shares(counts.tables(), "png", ENGLISH))
    assert width > 0
    assert height > 0


def test_no_file_makes_a_picture_without_end() -> None:
    years = count([play(EXCHANGE, date=f"{year}-01-01") for year in range(1000, 2000)], StrategyCounts(by=SplitBy.YEAR))
    assert size_of(draw_years(years.tables(), ["角換わり"], "png", ENGLISH))[0] <= 2000
    names = count([play(EXCHANGE, black="x" * 100_000)], StrategyCounts(by=SplitBy.ENGINE))
    assert size_of(draw_shares(names.tables(), "png", ENGLISH))[0] <= 2000


def test_a_font_that_was_installed_since_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib import font_manager

    name = "DejaVu Serif"
    known = font_manager.fontManager.ttflist
    path = next(font.fname for font in known if font.name == name)
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [font for font in known if font.name != name])
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [path])
    assert find_lettering((name,)).family[0] == name
