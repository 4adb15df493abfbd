"""Pictures: what they show, format, size, reproducible bytes, and characters that the fonts lack."""

import math
import struct
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast
from xml.etree import ElementTree

import pytest
from test_strategy_counts import BOAT, EXCHANGE, FOURTH, GAMES, NOTHING, count, play

from fukayomi.arena.strategy.counts import StrategyCounts, StrategyTable
from fukayomi.arena.strategy.definitions import Definition, Placed, Shape
from fukayomi.arena.strategy.kinds import SplitBy, StrategyKind
from fukayomi.arena.strategy.matcher import Classification, Tag
from fukayomi.arena.strategy.pictures import (
    MAX_PANELS,
    YEARS_WITH_INTERVALS,
    Lettering,
    figure_bytes,
    find_lettering,
    plot_shares,
    plot_years,
)
from fukayomi.shogi import Color
from fukayomi.shogi.record import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Rectangle

NEVER = (Shape(pieces=(Placed.from_text("P7a"),), max_ply=1),)
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
    assert 200 < height < 4000
    svg = draw_shares(tables, "svg", lettering)
    ElementTree.fromstring(svg)
    assert b"<text" not in svg  # outlines
    assert svg == draw_shares(tables, "svg", lettering)


def bars_of(axes: "Axes") -> "list[Rectangle]":
    return cast("list[Rectangle]", list(axes.patches))


def rate_line(rates: "Axes") -> tuple[list[float], list[float]]:
    """The points of the line of win rates."""
    line = next(line for line in rates.lines if line.get_marker() == "o")
    return list(cast("Any", line.get_xdata())), list(cast("Any", line.get_ydata()))


def intervals(rates: "Axes", axis: int) -> list[list[float]]:
    """The ends of the intervals along an axis, in the order of the rows."""
    collections = cast("list[LineCollection]", list(rates.collections))
    segments = [cast("Any", segment) for lines in collections for segment in lines.get_segments()]
    return [[point[axis] for point in segment] for segment in segments]


def test_win_rates_are_a_line_over_the_bars_of_the_shares() -> None:
    (table,) = count(GAMES).tables()
    shares, rates = plot_shares([table], lettering=ENGLISH).axes
    assert (shares.get_xlabel(), rates.get_xlabel()) == (
        "bars: share (%); right: games", "line: Black's win rate (%) and 95 % interval",
    )  # fmt: skip
    assert shares.get_position().bounds == rates.get_position().bounds, "in one picture"
    bars = [bar.get_width() for bar in bars_of(shares)]
    assert bars == pytest.approx([100 * row.share for row in table.combinations])
    assert [text.get_text() for text in shares.texts] == [f"{row.games}" for row in table.combinations]
    values, places = rate_line(rates)
    assert places == pytest.approx([bar.get_y() + bar.get_height() / 2 for bar in bars_of(shares)])
    wanted = [math.nan if row.black_rate is None else 100 * row.black_rate for row in table.combinations]
    assert values == pytest.approx(wanted, nan_ok=True), "the line breaks where no result is known"
    known = [row for row in table.combinations if row.black_rate is not None]
    ends = intervals(rates, 0)
    assert ends == [pytest.approx([100 * end for end in row.black_interval]) for row in known]
    low, high = rates.get_xlim()
    assert low <= min(map(min, ends)) < low + 10
    assert high - 10 < max(map(max, ends)) <= high


def test_lines_without_results_have_bars_only() -> None:
    (axes,) = plot_shares(count([play(EXCHANGE, Result.UNKNOWN)]).tables(), lettering=ENGLISH).axes
    assert [bar.get_width() for bar in bars_of(axes)] == [100]


@pytest.mark.parametrize("by", SplitBy)
def test_all_panels_have_the_same_axes(by: SplitBy) -> None:
    games = [*YEARS, *[play(BOAT, black="c", date="2019-01-01")] * 3, play(NOTHING, black="c", date="2021-01-01")]
    tables = count(games, StrategyCounts(by=by)).tables()
    figure = (plot_shares if by is SplitBy.ENGINE else plot_years)(tables, lettering=ENGLISH)
    shares, rates = figure.axes[::2], figure.axes[1::2]
    assert len(shares) == len(rates) > 1
    for panels in (shares, rates):
        assert len({(axes.get_xlim(), axes.get_ylim()) for axes in panels}) == 1
    assert len({tuple(bar.get_height() + bar.get_width() for bar in bars_of(axes)) for axes in shares}) > 1


@pytest.mark.parametrize("lettering", [find_lettering(), ENGLISH], ids=["as installed", "no Japanese font"])
def test_labels_do_not_touch(lettering: Lettering) -> None:
    kinds = list(StrategyKind)
    games = [play(moves, black=black) for moves in (EXCHANGE, FOURTH, BOAT, NOTHING) for black in ("a", "b" * 70)]
    names = [f"{number}番目の囲い" for number in range(7)]
    definitions = [
        Definition(name=name, english=f"Castle Number {name[0]}", kind=StrategyKind.CASTLE, when=NEVER)
        for name in names
    ]
    long = Classification({}, tuple(Tag(definition, Color.BLACK) for definition in definitions))
    counts = count(games, StrategyCounts(kinds=kinds, by=SplitBy.ENGINE))
    for game in games:
        counts.add(game, long)
    figure = plot_shares(counts.tables(), lettering=lettering)
    figure_bytes(figure, "png")  # lays it out
    width, height = figure.canvas.get_width_height()
    for axes in figure.axes[::2]:
        boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
        assert len(boxes) > 2
        assert all(above.y0 > below.y1 for above, below in pairwise(boxes)), "the first row on top, with room between"
        for box in (*boxes, *(text.get_window_extent() for text in axes.texts)):
            assert 0 <= box.x0 < box.x1 <= width
            assert 0 <= box.y0 < box.y1 <= height


def test_panels_leave_no_gap() -> None:
    names = ["角換わり", "後手四間飛車,先手船囲い"]
    tables = count(YEARS, StrategyCounts(by=SplitBy.YEAR)).tables()
    width, height = plot_years(tables, [*names, *names], lettering=ENGLISH).get_size_inches()
    assert (width, height) == (10, 7.2), "two and two, not three and one"
    share, rate = plot_years(tables, names[:1], lettering=ENGLISH).axes
    assert (share.get_ylabel(), rate.get_ylabel()) == (
        "bars: share (%)", "line: Black's win rate (%)\nand 95 % interval",
    )  # fmt: skip
    assert [bar.get_height() for bar in bars_of(share)] == [100, 50, 100]
    assert rate_line(rate) == ([2019, 2020, 2021], [100, 0, 100])


def test_intervals_where_there_is_room() -> None:
    def rates_of(years: int) -> "Axes":
        games = [play(EXCHANGE, date=f"{1900 + year}-01-01") for year in range(years)]
        return plot_years(count(games, StrategyCounts(by=SplitBy.YEAR)), lettering=ENGLISH).axes[1]

    assert len(intervals(rates_of(YEARS_WITH_INTERVALS), 1)) == YEARS_WITH_INTERVALS
    assert intervals(rates_of(YEARS_WITH_INTERVALS + 1), 1) == []
    assert rates_of(YEARS_WITH_INTERVALS + 1).get_ylabel() == "line: Black's win rate (%)"


def test_lines_by_year() -> None:
    tables = count(YEARS, StrategyCounts(by=SplitBy.YEAR)).tables()
    for lettering in (find_lettering(), ENGLISH):
        names = ["角換わり", "後手四間飛車,先手船囲い"]
        assert ElementTree.fromstring(draw_years(tables, names, "svg", lettering)).tag.endswith("svg")
        one, both = (plot_years(tables, names[:count], lettering=lettering).get_size_inches() for count in (1, 2))
        assert tuple(one) != tuple(both), "a panel for each row"


def test_a_panel_for_each_engine_up_to_a_limit() -> None:
    few = count(GAMES, StrategyCounts(by=SplitBy.ENGINE)).tables(top=2)
    many = count(
        [play(EXCHANGE, black=f"engine {n}") for n in range(2 * MAX_PANELS)], StrategyCounts(by=SplitBy.ENGINE)
    )
    low, high = (plot_shares(tables, lettering=ENGLISH).canvas.get_width_height()[1] for tables in (few, many.tables()))
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
