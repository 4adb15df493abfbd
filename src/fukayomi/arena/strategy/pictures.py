"""Plots of strategies: shares as bars, and over them Black's win rates as a line with intervals; by row or by year.

All panels of a plot have the same axes, so that their bars and lines can be compared. SVG text is drawn as outlines, so
that it looks the same everywhere. Without an installed Japanese font, strategies are named in English.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are incomplete.)

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast
from unicodedata import east_asian_width

from fukayomi.arena.strategy.counts import StrategyCounts, StrategyRow, StrategyTable
from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import replace_file
from fukayomi.pictures import JAPANESE_FONTS, japanese_font, kind_of, new_figure, picture_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FALLBACK_FONT: Final = "DejaVu Sans"  # part of matplotlib

BAR_COLOR, SHARE_COLOR, RATE_COLOR = "#a9c6e6", "#3d6fa8", "#c9610a"
INK, MUTED, LINE = "#22262d", "#727a86", "#dfe1e0"
MAX_PANELS = 12
"""Limit of panels; further groups or strategies are not drawn."""
MAX_BARS = 40
"""Limit of rows per table."""
YEAR_PANELS = 4
"""Strategies drawn by year if none are chosen."""
YEARS_WITH_INTERVALS = 40
"""Years up to which their win rates have intervals; those of more years would touch."""
_MAX_WIDTH = 20.0  # inches; a file may contain any number of years
_MAX_TITLE = 60  # characters of a name
_LABEL_WIDTH = 30  # Latin letters of a line of a label; a Japanese letter counts as two
_LABEL_LINES = 6
_LINE_HEIGHT, _ROW_GAP = 0.165, 0.11  # inches

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
    tables: StrategyCounts | Sequence[StrategyTable],
    path: Path | str | None = None,
    *,
    lettering: Lettering | None = None,
) -> "Figure":
    """Plot a panel per table: shares as bars, Black's win rates as a line with 95 % intervals, and numbers of games.

        counts = arena.count_strategies("games/", by="engine")
        arena.plot_shares(counts, "shares.svg")

    Args:
        tables: Counts, or their tables (`StrategyCounts.tables`): the first MAX_PANELS, with their first MAX_BARS rows.
        path: Also write the plot to this file, .svg or .png.
        lettering: Fonts; by default the first Japanese font that is installed.

    Raises:
        ValueError: The path has another suffix.
    """
    lettering = lettering or find_lettering()
    first = _tables_of(tables)[:MAX_PANELS]
    shown = [replace(table, combinations=table.combinations[:MAX_BARS]) for table in first]
    rows = [row for table in shown for row in table.combinations]
    scales = _Scales.of(rows)
    places = [_places(table, lettering) for table in shown]
    height = max((ends[-1] for ends in places), default=0.0)

    def draw(panel: "Axes", number: int) -> None:
        table = shown[number]
        _draw_table(panel, table, places[number], scales, lettering)
        panel.set_ylim(height, 0)  # the first row on top
        title = (table.group if lettering.is_japanese else table.english) or (
            "全対局" if lettering.is_japanese else "all"
        )
        count = f"{table.games:,} {'局' if lettering.is_japanese else 'game' if table.games == 1 else 'games'}"
        _title(panel, f"{_shortened(title)}: {count}", lettering)

    return _finish(draw, len(shown), (9.0, max(2.6, 1.5 + height)), path, lettering)


def _tables_of(tables: StrategyCounts | Sequence[StrategyTable]) -> Sequence[StrategyTable]:
    return tables.tables() if isinstance(tables, StrategyCounts) else tables


def plot_years(
    tables: StrategyCounts | Sequence[StrategyTable],
    names: Sequence[str] = (),
    path: Path | str | None = None,
    *,
    lettering: Lettering | None = None,
) -> "Figure":
    """Plot a panel per strategy: its share of each year as a bar, and Black's win rates as a line with 95 % intervals.

        counts = arena.count_strategies("games/", by="year")
        arena.plot_years(counts, ["角換わり", "相掛かり"], "years.svg")

    Args:
        tables: Counts by year, or their tables with all rows.
        names: Japanese names of the rows to plot, at most MAX_PANELS; by default the most frequent.
        path: Also write the plot to this file, .svg or .png.
        lettering: Fonts; by default the first Japanese font that is installed.

    Raises:
        ValueError: No row has one of the names, or the path has another suffix.
    """
    lettering, tables = lettering or find_lettering(), _tables_of(tables)
    unknown = [name for name in names if not any(table.find(name) for table in tables)]
    if unknown:
        raise InvalidValueError(f"no row is named {', '.join(map(repr, unknown))}")
    shown = (names or _most_frequent(tables))[:MAX_PANELS]
    by_year = [[(int(table.group), table.find(name)) for table in tables] for name in shown]
    scales = _Scales.of(row for rows in by_year for _, row in rows if row)

    def draw(panel: "Axes", number: int) -> None:
        rows = by_year[number]
        _draw_years(panel, rows, scales, lettering)
        english = next((row.english for _, row in rows if row), shown[number])
        _title(panel, _shortened(shown[number] if lettering.is_japanese else english), lettering)

    width = min(_MAX_WIDTH, max(5.0, 1.6 + 0.6 * len(tables)))
    return _finish(draw, len(shown), (width, 3.6), path, lettering)


def _most_frequent(tables: Sequence[StrategyTable]) -> list[str]:
    """The rows with the most games over all tables, apart from the row without a strategy."""
    totals: dict[str, int] = {}
    for table in tables:
        for row in table.combinations:
            if row.tags:
                totals[row.name] = totals.get(row.name, 0) + row.games
    return sorted(totals, key=lambda name: (-totals[name], name))[:YEAR_PANELS]


@dataclass(frozen=True, slots=True)
class _Scales:
    """The axes of all panels of a plot, in percent."""

    share: float
    """End of the axis of shares, which begins at 0."""
    rates: tuple[float, float] | None
    """Range of the axis of win rates; None if no result is known."""

    @classmethod
    def of(cls, rows: Iterable[StrategyRow]) -> "_Scales":
        rows = list(rows)
        ends = [100 * end for row in rows if row.black_rate is not None for end in row.black_interval]
        rates = (10 * math.floor(min([40, *ends]) / 10), 10 * math.ceil(max([60, *ends]) / 10))
        return cls(1.08 * max((100 * row.share for row in rows), default=1.0), rates if ends else None)


def _places(table: StrategyTable, lettering: Lettering) -> list[float]:
    """Where each row ends, from the top, in inches: a row is as high as its label. Begins with 0."""
    ends = [0.0]
    for row in table.combinations:
        ends.append(ends[-1] + _ROW_GAP + _LINE_HEIGHT * (_label(row, lettering).count("\n") + 1))
    return ends


def _draw_table(
    shares: "Axes", table: StrategyTable, ends: Sequence[float], scales: _Scales, lettering: Lettering
) -> None:
    """A row per strategy, from top to bottom."""
    rows = table.combinations
    places = [(begin + end) / 2 for begin, end in pairwise(ends)]
    shares.barh(places, [100 * row.share for row in rows], color=BAR_COLOR, height=0.17)
    shares.set_yticks(places, [lettering.drawable(_label(row, lettering)) for row in rows], parse_math=False)
    counts = [f"{row.games:,}" for row in rows]
    for place, count in zip(places, counts, strict=True):
        right = 10 + 5.5 * max(map(len, counts))  # points
        shares.annotate(
            count, (1, place), (right, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
            ha="right", va="center", color=MUTED, fontsize=8.5, annotation_clip=False,
        )  # fmt: skip
    shares.set_xlim(0, scales.share)
    words = ("棒：出現率 (%)　右端：対局数", "bars: share (%); right: games")
    shares.set_xlabel(words[0] if lettering.is_japanese else words[1], color=SHARE_COLOR)
    _finish_axes(shares, "x", SHARE_COLOR, grid=True)
    if scales.rates is not None:
        rates = shares.twiny()
        _draw_rates(rates, list(zip(places, rows, strict=True)), along="y")
        rates.axvline(50, color=MUTED, linewidth=0.8, linestyle=(0, (4, 4)), zorder=0)
        rates.set_xlim(*scales.rates)
        rates.set_xlabel(_rate_words(lettering), color=RATE_COLOR)
        _finish_axes(rates, "x", RATE_COLOR)


def _label(row: StrategyRow, lettering: Lettering) -> str:
    """The name of a row, with line breaks between strategies."""
    names = row.name.split(",") if lettering.is_japanese else row.english.split(", ")
    lines = list(_broken(names, "," if lettering.is_japanese else ", "))
    return "\n".join(lines if len(lines) <= _LABEL_LINES else [*lines[: _LABEL_LINES - 1], "…"])


def _broken(names: Iterable[str], comma: str) -> Iterator[str]:
    """Names in lines as long as `_LABEL_WIDTH`, or a single name."""
    line = ""
    for name in map(_shortened, names):
        longer = f"{line}{comma}{name}" if line else name
        if line and _width(longer) > _LABEL_WIDTH:
            yield line
            longer = name
        line = longer
    yield line


def _width(text: str) -> int:
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _draw_years(
    shares: "Axes", rows: "Sequence[tuple[int, StrategyRow | None]]", scales: _Scales, lettering: Lettering
) -> None:
    """A bar per year."""
    years = [year for year, _ in rows]
    shares.bar(years, [100 * row.share if row else 0.0 for _, row in rows], color=BAR_COLOR, width=0.6)
    shares.set_ylim(0, scales.share)
    shares.set_ylabel("棒：出現率 (%)" if lettering.is_japanese else "bars: share (%)", color=SHARE_COLOR)
    shares.set_xticks(years[:: -(-len(years) // 30)])
    shares.set_xlim(min(years) - 0.6, max(years) + 0.6)
    _finish_axes(shares, "y", SHARE_COLOR, grid=True)
    if scales.rates is not None:
        rates = shares.twinx()
        has_intervals = len(years) <= YEARS_WITH_INTERVALS
        _draw_rates(rates, rows, along="x", intervals=has_intervals)
        rates.axhline(50, color=MUTED, linewidth=0.8, linestyle=(0, (4, 4)), zorder=0)
        rates.set_ylim(*scales.rates)
        words = _rate_words(lettering, intervals=has_intervals, breaks=True)
        rates.set_ylabel(words, color=RATE_COLOR, linespacing=1.35)
        _finish_axes(rates, "y", RATE_COLOR)


def _draw_rates(
    axes: "Axes",
    rows: "Sequence[tuple[float, StrategyRow | None]]",
    *,
    along: Literal["x", "y"],
    intervals: bool = True,
) -> None:
    """Black's win rates as a line, at places along an axis; it breaks where no result is known."""
    places = [place for place, _ in rows]
    rates = [math.nan if row is None or row.black_rate is None else 100 * row.black_rate for _, row in rows]
    style: dict[str, Any] = {"color": RATE_COLOR, "clip_on": False}
    line: dict[str, Any] = {"marker": "o", "markersize": 4.5, "linewidth": 1.4, **style}
    axes.plot(*((places, rates) if along == "x" else (rates, places)), **line)
    known = [(place, *row.black_interval) for place, row in rows if row and row.black_rate is not None]
    if intervals and known:
        places, lows, highs = zip(*known, strict=True)
        draw = cast("Any", axes.vlines if along == "x" else axes.hlines)
        draw(places, [100 * low for low in lows], [100 * high for high in highs], linewidth=1.4, alpha=0.6, **style)


def _finish_axes(axes: "Axes", along: Literal["x", "y"], color: str, *, grid: bool = False) -> None:
    """Colour the axis of the values, with lines at its ticks if wanted."""
    axes.tick_params(length=0, labelcolor=INK)
    axes.tick_params(axis=along, labelcolor=color)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(axis=along, color=LINE, linewidth=0.6)


def _rate_words(lettering: Lettering, *, intervals: bool = True, breaks: bool = False) -> str:
    """The name of an axis of win rates."""
    if lettering.is_japanese:
        words = ("線：先手勝率 (%)", "と 95 % 信頼区間")
    else:
        words = ("line: Black's win rate (%)", "and 95 % interval")
    return ("\n" if breaks else " ").join(words if intervals else words[:1])


def _shortened(name: str) -> str:
    return name if len(name) <= _MAX_TITLE else f"{name[: _MAX_TITLE - 1]}…"


def _title(panel: "Axes", text: str, lettering: Lettering) -> None:
    panel.set_title(lettering.drawable(text), loc="left", fontsize=11, color=INK, pad=10, parse_math=False)


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
    draw: Callable[["Axes", int], None],
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
        figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)  # type: ignore[union-attr]  # inches
        for number in range(panels):
            draw(figure.add_subplot(lines, columns, number + 1), number)
    if path is not None:
        replace_file(Path(path), figure_bytes(figure, kind))
    return figure
