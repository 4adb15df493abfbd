"""Plots of strategies: shares as bars with Black's win rate, and both over the years.

SVG text is drawn as outlines, so that it looks the same everywhere. Without an installed Japanese font, strategies are
named in English.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are incomplete.)

import contextlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fukayomi.arena.strategy.counts import StrategyRow, StrategyTable
from fukayomi.files.atomic import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

JAPANESE_FONTS: Final = (
    "Noto Sans CJK JP", "Noto Sans JP", "Source Han Sans JP", "Source Han Sans", "IPAexGothic", "IPAPGothic",
    "IPAGothic", "Hiragino Sans", "Hiragino Kaku Gothic ProN", "Hiragino Maru Gothic Pro", "Yu Gothic", "Meiryo",
    "BIZ UDPGothic", "BIZ UDGothic", "MS Gothic", "TakaoPGothic", "VL Gothic", "M PLUS 1p",
    "WenQuanYi Zen Hei", "Droid Sans Fallback",
)  # fmt: skip
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
_ENGLISH_LEGEND: Final = ("share", "Black's win rate, of all games with draws (right axis)")
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
    """Whether strategies are named in Japanese."""
    letters: frozenset[int]
    """Code points that the fonts have."""

    def drawable(self, text: str) -> str:
        """The text with a question mark for every character that the fonts lack."""
        return "".join(letter if letter == "\n" or ord(letter) in self.letters else "?" for letter in text)


def find_lettering(candidates: Sequence[str] = JAPANESE_FONTS) -> Lettering:
    """The first installed font of the candidates, with matplotlib's own as fallback; no candidates: English names."""
    from matplotlib import font_manager

    japanese = _first_installed(candidates) or (_first_installed(candidates) if _add_new_fonts(candidates) else None)
    family = (japanese, FALLBACK_FONT) if japanese else (FALLBACK_FONT,)
    letters: set[int] = set()
    for name in family:
        letters |= font_manager.get_font(font_manager.findfont(name)).get_charmap().keys()
    return Lettering(family, japanese is not None, frozenset(letters))


def _first_installed(candidates: Sequence[str]) -> str | None:
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return next((name for name in candidates if name in installed), None)


def _add_new_fonts(candidates: Sequence[str]) -> bool:
    """Add fonts installed since matplotlib last looked; returns whether there are any."""
    from matplotlib import font_manager

    known = {font.fname for font in font_manager.fontManager.ttflist}
    new = [path for path in font_manager.findSystemFonts() if path not in known] if candidates else []
    for path in new:
        with contextlib.suppress(OSError, RuntimeError):  # not a font
            font_manager.fontManager.addfont(path)
    return bool(new)


def plot_shares(
    tables: Sequence[StrategyTable], path: Path | str | None = None, *, lettering: Lettering | None = None
) -> "Figure":
    """Plot a panel per table: bars of shares and, on the right axis, a line of Black's win rate.

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
    most = max((len(table.combinations) for table in shown), default=0)
    label_lines = max((_label(row, lettering).count("\n") + 1 for row in rows), default=1)
    width = min(_MAX_WIDTH, max(5.0, 1.6 + (0.42 + 0.2 * label_lines) * most))

    def draw(axes: "Axes", number: int) -> None:
        table = shown[number]
        _draw_bars(axes, table, lettering)
        title = (table.group if lettering.is_japanese else table.english) or (
            "全対局" if lettering.is_japanese else "all"
        )
        _title(axes, f"{_shortened(title)}: {table.games:,} {'局' if lettering.is_japanese else 'games'}", lettering)

    return _finish(draw, len(shown), (width, 5.2), path, lettering)


def plot_years(
    tables: Sequence[StrategyTable],
    names: Sequence[str] = (),
    path: Path | str | None = None,
    *,
    lettering: Lettering | None = None,
) -> "Figure":
    """Plot a panel per strategy: its share and, on the right axis, Black's win rate over the years.

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
        raise ValueError(f"no row is named {', '.join(map(repr, unknown))}")
    shown = (names or _most_frequent(tables))[:MAX_PANELS]

    def draw(axes: "Axes", number: int) -> None:
        rows = [(int(table.group), table.find(shown[number])) for table in tables]
        _draw_lines(axes, rows)
        english = next((row.english for _, row in rows if row), shown[number])
        _title(axes, shown[number] if lettering.is_japanese else english, lettering)

    width = min(_MAX_WIDTH, max(5.0, 1.6 + 0.6 * len(tables)))
    return _finish(draw, len(shown), (width, 3.4), path, lettering)


def _most_frequent(tables: Sequence[StrategyTable]) -> list[str]:
    """The rows with the most games over all tables, apart from the row without a strategy."""
    totals: dict[str, int] = {}
    for table in tables:
        for row in table.combinations:
            if row.tags:
                totals[row.name] = totals.get(row.name, 0) + row.games
    return sorted(totals, key=lambda name: (-totals[name], name))[:YEAR_PANELS]


def _draw_bars(axes: "Axes", table: StrategyTable, lettering: Lettering) -> None:
    places = range(len(table.combinations))
    axes.bar(places, [100 * row.share for row in table.combinations], color=SHARE_COLOR, width=0.66)
    labels = [lettering.drawable(_label(row, lettering)) for row in table.combinations]
    axes.set_xticks(places, labels, rotation=40, ha="right", rotation_mode="anchor", parse_math=False)
    axes.set_xlim(-0.7, len(table.combinations) - 0.3)
    axes.set_ylim(bottom=0)
    rates = _right_axis(axes, [row.black_rate for row in table.combinations])
    known = [
        (place, 100 * rate) for place, row in enumerate(table.combinations) if (rate := row.black_rate) is not None
    ]
    _draw_rates(rates, known)


def _label(row: StrategyRow, lettering: Lettering) -> str:
    """The name of a row, with line breaks."""
    parts = row.name.split(",") if lettering.is_japanese else row.english.split(", ")
    return "\n".join(",".join(parts[i : i + 2]) for i in range(0, len(parts), 2))


def _draw_lines(axes: "Axes", rows: "list[tuple[int, StrategyRow | None]]") -> None:
    years = [year for year, _ in rows]
    axes.plot(
        years, [100 * row.share if row else 0.0 for _, row in rows], color=SHARE_COLOR, marker="o", markersize=4.5
    )
    axes.set_xticks(years[:: -(-len(years) // 30)])
    axes.set_ylim(bottom=0)
    rates = _right_axis(axes, [row.black_rate if row else None for _, row in rows])
    known = [(year, 100 * rate) for year, row in rows if row and (rate := row.black_rate) is not None]
    _draw_rates(rates, known)


def _draw_rates(axes: "Axes", known: Sequence[tuple[int, float]]) -> None:
    if known:
        axes.plot(*zip(*known, strict=True), color=RATE_COLOR, marker="o", markersize=4.5, linewidth=1.6, clip_on=False)


def _right_axis(axes: "Axes", rates: Sequence[float | None]) -> "Axes":
    """The axis of win rates: from 40 % to 60 %, or more in steps of ten if the rates need it."""
    known = [100 * rate for rate in rates if rate is not None]
    right = axes.twinx()
    right.set_ylim(
        min(40, *(10 * (rate // 10) for rate in known), 40), max(60, *(-10 * (-rate // 10) for rate in known), 60)
    )
    right.axhline(50, color=RATE_COLOR, linewidth=0.7, linestyle=(0, (4, 4)), alpha=0.7)
    right.tick_params(axis="y", colors=RATE_COLOR, length=0)
    axes.tick_params(axis="y", colors=SHARE_COLOR, length=0)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y", color=LINE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_ylabel("%", color=SHARE_COLOR)
    return right


def _shortened(name: str) -> str:
    return name if len(name) <= _MAX_TITLE else f"{name[: _MAX_TITLE - 1]}…"


def _title(axes: "Axes", text: str, lettering: Lettering) -> None:
    axes.set_title(lettering.drawable(text), loc="left", fontsize=11, color=INK, parse_math=False)


def figure_bytes(figure: "Figure", kind: str) -> bytes:
    """A plot of this module as a file; the same tables give the same bytes.

    Args:
        figure: The plot.
        kind: ``png`` or ``svg``.
    """
    import matplotlib as mpl

    buffer = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with mpl.rc_context(_STYLE):
        figure.savefig(buffer, format=kind, dpi=100, facecolor="white", metadata=metadata)
    return buffer.getvalue()


def _finish(
    draw: Callable[["Axes", int], None],
    panels: int,
    size: tuple[float, float],
    path: Path | str | None,
    lettering: Lettering,
) -> "Figure":
    """Draw panels below each other, or side by side if there is room, with one legend; write them to the path."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    kind = "" if path is None else Path(path).suffix.lower()[1:]
    if kind not in ("", "png", "svg"):
        raise ValueError(f"{path}: expected a file name that ends in .svg or .png")
    columns = max(1, min(panels, int(15 // size[0])))
    lines = -(-panels // columns)
    with mpl.rc_context({**_STYLE, "font.family": list(lettering.family)}):
        figure = Figure(figsize=(size[0] * columns, size[1] * max(1, lines) + 0.4), layout="constrained")
        for number in range(panels):
            draw(figure.add_subplot(lines, columns, number + 1), number)
        _legend(figure, lettering)
    if path is not None:
        replace_file(Path(path), figure_bytes(figure, kind))
    return figure


def _legend(figure: "Figure", lettering: Lettering) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    share, rate = ("出現率", "先手勝率 (右軸、引分を含む)") if lettering.is_japanese else _ENGLISH_LEGEND
    handles = [Patch(color=SHARE_COLOR, label=share), Line2D([], [], color=RATE_COLOR, marker="o", label=rate)]
    figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False)
