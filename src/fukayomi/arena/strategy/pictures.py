"""Plots of strategies: shares as bars beside Black's win rates as points with intervals, and both over the years.

SVG text is drawn as outlines, so that it looks the same everywhere. Without an installed Japanese font, strategies are
named in English.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are incomplete.)

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from fukayomi.arena.strategy.counts import StrategyRow, StrategyTable
from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import replace_file
from fukayomi.pictures import JAPANESE_FONTS, japanese_font, kind_of, new_figure, picture_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

FALLBACK_FONT: Final = "DejaVu Sans"  # part of matplotlib

SHARE_COLOR, RATE_COLOR = "#3d6fa8", "#e07b1a"
INK, MUTED, LINE = "#22262d", "#727a86", "#dfe1e0"
MAX_PANELS = 12
"""Limit of panels; further groups or strategies are not drawn."""
MAX_BARS = 40
"""Limit of rows per table."""
YEAR_PANELS = 4
"""Strategies drawn by year if none are chosen."""
_MAX_WIDTH = 20.0  # inches; a file may contain any number of years
_MAX_TITLE = 60  # characters of a name

_STYLE: Final[Any] = {
    "svg.fonttype": "path",  # outlines: a viewer needs no font
    "svg.hashsalt": "fukayomi",  # makes SVG files reproducible
    "font.size": 9.5,
    "axes.edgecolor": LINE,
    "axes.unicode_minus": False,
    "xtick.color": MUTED,
    "text.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@dataclass(frozen=True, slots=True)
class Lettering:
    """The fonts of a plot."""

    family: tuple[str, ...]
    """Names of font families for matplotlib."""
    is_japanese: bool
    """True if strategies are named in Japanese."""
    letters: frozenset[int]
    """Code points that the fonts have."""

    def drawable(self, text: str) -> str:
        """The text with a question mark for every character that the fonts lack."""
        return "".join(letter if letter == "\n" or ord(letter) in self.letters else "?" for letter in text)


def find_lettering(candidates: Sequence[str] = JAPANESE_FONTS) -> Lettering:
    """The first installed font of the candidates, with matplotlib's own as fallback; no candidates: English names."""
    from matplotlib import font_manager

    japanese = japanese_font(candidates)
    family = (japanese, FALLBACK_FONT) if japanese else (FALLBACK_FONT,)
    letters: set[int] = set()
    for name in family:
        letters |= font_manager.get_font(font_manager.findfont(name)).get_charmap().keys()
    return Lettering(family, japanese is not None, frozenset(letters))


def plot_shares(
    tables: Sequence[StrategyTable], path: Path | str | None = None, *, lettering: Lettering | None = None
) -> "Figure":
    """Plot a panel per table: shares as bars with the number of games, and Black's win rates with 95 % intervals.

        counts = arena.count_strategies("games/", by="engine")
        arena.plot_shares(counts.tables(top=20), "shares.svg")

    Args:
        tables: Tables to plot: the first MAX_PANELS, with their first MAX_BARS rows.
        path: Also write the plot to this file, .svg or .png.
        lettering: Fonts; by default the first Japanese font that is installed.

    Raises:
        ValueError: The path has another suffix.
    """
    lettering = lettering or find_lettering()
    shown = [replace(table, combinations=table.combinations[:MAX_BARS]) for table in tables[:MAX_PANELS]]
    rows = [row for table in shown for row in table.combinations]
    lines = sum(_label(row, lettering).count("\n") + 1 for row in rows) / max(1, len(shown))

    def draw(panel: "SubFigure", number: int) -> None:
        table = shown[number]
        _draw_table(panel, table, lettering)
        title = (table.group if lettering.is_japanese else table.english) or (
            "全対局" if lettering.is_japanese else "all"
        )
        count = f"{table.games:,} {'局' if lettering.is_japanese else 'game' if table.games == 1 else 'games'}"
        _title(panel, f"{_shortened(title)}: {count}", lettering)

    return _finish(draw, len(shown), (9.0, max(4.2, 1.4 + 0.26 * lines)), path, lettering)


def plot_years(
    tables: Sequence[StrategyTable],
    names: Sequence[str] = (),
    path: Path | str | None = None,
    *,
    lettering: Lettering | None = None,
) -> "Figure":
    """Plot a panel per strategy: over the years, its share and Black's win rate with 95 % intervals.

        counts = arena.count_strategies("games/", by="year")
        arena.plot_years(counts.tables(), ["角換わり", "相掛かり"], "years.svg")

    Args:
        tables: Tables by year, with all rows.
        names: Japanese names of the rows to plot, at most MAX_PANELS; by default the most frequent.
        path: Also write the plot to this file, .svg or .png.
        lettering: Fonts; by default the first Japanese font that is installed.

    Raises:
        ValueError: No row has one of the names, or the path has another suffix.
    """
    lettering = lettering or find_lettering()
    unknown = [name for name in names if not any(table.find(name) for table in tables)]
    if unknown:
        raise InvalidValueError(f"no row is named {', '.join(map(repr, unknown))}")
    shown = (names or _most_frequent(tables))[:MAX_PANELS]

    def draw(panel: "SubFigure", number: int) -> None:
        rows = [(int(table.group), table.find(shown[number])) for table in tables]
        _draw_years(panel, rows, lettering)
        english = next((row.english for _, row in rows if row), shown[number])
        _title(panel, shown[number] if lettering.is_japanese else english, lettering)

    width = min(_MAX_WIDTH, max(5.0, 1.6 + 0.6 * len(tables)))
    return _finish(draw, len(shown), (width, 4.6), path, lettering)


def _most_frequent(tables: Sequence[StrategyTable]) -> list[str]:
    """The rows with the most games over all tables, apart from the row without a strategy."""
    totals: dict[str, int] = {}
    for table in tables:
        for row in table.combinations:
            if row.tags:
                totals[row.name] = totals.get(row.name, 0) + row.games
    return sorted(totals, key=lambda name: (-totals[name], name))[:YEAR_PANELS]


def _draw_table(panel: "SubFigure", table: StrategyTable, lettering: Lettering) -> None:
    """A row per strategy: its share on the left, Black's win rate on the right."""
    shares, rates = panel.subplots(1, 2, sharey=True, width_ratios=(1, 1.1))
    rows = table.combinations
    places = range(len(rows))
    bars = shares.barh(places, [100 * row.share for row in rows], color=SHARE_COLOR, height=0.62)
    shares.bar_label(bars, [f"{row.games:,}" for row in rows], padding=4, color=MUTED, fontsize=8.5)
    shares.set_yticks(places, [lettering.drawable(_label(row, lettering)) for row in rows], parse_math=False)
    shares.tick_params(axis="y", colors=INK)
    shares.set_ylim(len(rows) - 0.4, -0.6)  # the first row on top
    shares.set_xlim(0, 1.15 * max((100 * row.share for row in rows), default=1.0))
    shares.set_xlabel("出現率 (%)、棒の右は対局数" if lettering.is_japanese else "share (%), with the number of games")
    known = [(place, row) for place, row in enumerate(rows) if row.black_rate is not None]
    low, high = _rate_limits(row for _, row in known)
    _draw_rates(rates, known, along="y")
    rates.axvline(50, color=MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    rates.set_xlim(low, high)
    rates.set_xlabel(_rate_label(lettering))
    for axes in (shares, rates):
        axes.tick_params(length=0)
        axes.grid(axis="x", color=LINE, linewidth=0.6)
        axes.set_axisbelow(True)


def _label(row: StrategyRow, lettering: Lettering) -> str:
    """The name of a row, with line breaks."""
    parts = row.name.split(",") if lettering.is_japanese else row.english.split(", ")
    return "\n".join(",".join(parts[i : i + 2]) for i in range(0, len(parts), 2))


def _draw_years(panel: "SubFigure", rows: "list[tuple[int, StrategyRow | None]]", lettering: Lettering) -> None:
    """The share above, Black's win rate below."""
    shares, rates = panel.subplots(2, 1, sharex=True)
    years = [year for year, _ in rows]
    percent = [100 * row.share if row else 0.0 for _, row in rows]
    shares.plot(years, percent, color=SHARE_COLOR, marker="o", markersize=5, linewidth=1.2, clip_on=False)
    shares.set_ylim(0, 1.15 * max(max(percent), 1e-3))
    shares.set_ylabel("出現率 (%)" if lettering.is_japanese else "share (%)")
    known = [(year, row) for year, row in rows if row and row.black_rate is not None]
    _draw_rates(rates, known, along="x")
    rates.axhline(50, color=MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    rates.set_ylim(*_rate_limits(row for _, row in known))
    rates.set_ylabel(_rate_label(lettering, breaks=True))
    rates.set_xlabel("年" if lettering.is_japanese else "year")
    rates.set_xticks(years[:: -(-len(years) // 30)])
    rates.set_xlim(min(years) - 0.5, max(years) + 0.5)
    for axes in (shares, rates):
        axes.tick_params(length=0)
        axes.grid(axis="y", color=LINE, linewidth=0.6)
        axes.set_axisbelow(True)


def _draw_rates(axes: "Axes", known: "Sequence[tuple[int, StrategyRow]]", *, along: Literal["x", "y"]) -> None:
    """Black's win rates as points with their intervals, at places along an axis."""
    if not known:
        return  # the layout fails on an empty set of points
    places = [place for place, _ in known]
    values = [100 * (row.black_rate or 0.0) for _, row in known]
    ends = [row.black_interval for _, row in known]
    reach = (
        [max(0.0, value - 100 * low) for value, (low, _) in zip(values, ends, strict=True)],
        [max(0.0, 100 * high - value) for value, (_, high) in zip(values, ends, strict=True)],
    )
    style: dict[str, Any] = {
        "fmt": "o", "color": RATE_COLOR, "markersize": 5, "elinewidth": 1.5, "capsize": 2.5, "clip_on": False,
    }  # fmt: skip
    if along == "y":
        axes.errorbar(values, places, xerr=reach, **style)
    else:
        axes.errorbar(places, values, yerr=reach, **style)


def _rate_limits(rows: Iterable[StrategyRow]) -> tuple[float, float]:
    """The range of an axis of win rates, in percent: all intervals, and 40 to 60 %, to the next ten."""
    ends = [100 * end for row in rows for end in row.black_interval]
    return 10 * math.floor(min([40, *ends]) / 10), 10 * math.ceil(max([60, *ends]) / 10)


def _rate_label(lettering: Lettering, *, breaks: bool = False) -> str:
    """The name of an axis of win rates."""
    words = (
        ("先手勝率 (%)", "と 95 % 信頼区間") if lettering.is_japanese else ("Black's win rate (%)", "and 95 % interval")
    )
    return ("\n" if breaks else "" if lettering.is_japanese else " ").join(words)


def _shortened(name: str) -> str:
    return name if len(name) <= _MAX_TITLE else f"{name[: _MAX_TITLE - 1]}…"


def _title(panel: "SubFigure", text: str, lettering: Lettering) -> None:
    panel.suptitle(lettering.drawable(text), x=0.01, ha="left", fontsize=11, color=INK, parse_math=False)


def figure_bytes(figure: "Figure", kind: str) -> bytes:
    """A plot of this module as a file; the same tables give the same bytes.

    Args:
        figure: The plot.
        kind: ``png`` or ``svg``.
    """
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):
        return picture_bytes(figure, kind, 100)


def _finish(
    draw: Callable[["SubFigure", int], None],
    panels: int,
    size: tuple[float, float],
    path: Path | str | None,
    lettering: Lettering,
) -> "Figure":
    """Draw panels below each other, or side by side if there is room; write them to the path."""
    import matplotlib as mpl

    kind = "" if path is None else kind_of(Path(path), "svg", "png")
    lines = -(-panels // max(1, min(panels, int(15 // size[0]))))
    columns = -(-panels // max(1, lines))  # as even as possible: four panels are two and two
    with mpl.rc_context({**_STYLE, "font.family": list(lettering.family)}):
        figure = new_figure(
            figsize=(size[0] * max(1, columns), size[1] * max(1, lines)), layout="constrained", facecolor="white"
        )
        if panels:
            grid = figure.subfigures(lines, columns, squeeze=False)
            for number in range(panels):
                draw(grid[number // columns][number % columns], number)
    if path is not None:
        replace_file(Path(path), figure_bytes(figure, kind))
    return figure
