"""The evaluation graph: win rate and centipawns over the plies, with the mistakes marked.

Matplotlib draws it in the colours of the page's light theme. Inside the page, CSS variables replace these colours, so
that the graph follows the page's theme. The labels are in English: no Japanese font is needed.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are incomplete.)

import base64
import io
import re
from typing import TYPE_CHECKING, Any, Final

from fukayomi.engine.analysis import GameAnalysis, Mistake, MoveAnalysis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE: Final = (11.0, 4.9)
"""Width and height in inches."""
LEFT, RIGHT = 0.066, 0.985
"""Left and right edge of the axes, as shares of the figure's width."""
CP_SHOWN = 2000
"""Scores beyond it are drawn at the edge of the graph."""
MARK_SIZES: Final = {Mistake.INACCURACY: 8, Mistake.DUBIOUS: 18, Mistake.MISTAKE: 34, Mistake.BLUNDER: 46}
"""Area of the marks, in square points."""
COLORS: Final = {
    "card": "#fffefb",
    "ink": "#22262d",
    "muted": "#727a86",
    "line": "#dfe1e0",
    "black-area": "#3d5a80",
    "white-area": "#d9a566",
    "cp": "#4c7a5d",
    "recorded": "#9aa2ad",
    "inaccuracy": "#84861c",
    "dubious": "#d9780f",
    "mistake": "#d23c2e",
    "blunder": "#9a1f8c",
}
"""CSS variables and their values in the light theme."""
STYLE: Final[Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "fukayomi",  # the same analysis gives the same bytes
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": COLORS["line"],
    "axes.labelcolor": COLORS["muted"],
    "xtick.color": COLORS["muted"],
    "ytick.color": COLORS["muted"],
    "text.color": COLORS["ink"],
    "axes.spines.top": False,
    "axes.spines.right": False,
}
"""Matplotlib's settings."""


def draw(analysis: GameAnalysis, page: str = "") -> "Figure":
    """Draw the graph.

    Args:
        analysis: The game.
        page: Address of the page to whose rows the mistakes link, in SVG.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=SIZE, facecolor=COLORS["card"])
        upper, lower = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (3, 2), "hspace": 0.09})
        figure.subplots_adjust(left=LEFT, right=RIGHT, top=0.94, bottom=0.095)
        _draw_winrate(upper, analysis, page)
        _draw_cp(lower, analysis)
        for axes in (upper, lower):
            axes.set_xlim(*plies_shown(analysis))
            axes.grid(color=COLORS["line"], linewidth=0.6)
            axes.set_axisbelow(True)
            axes.tick_params(length=0)
            axes.set_facecolor("none")
            axes.yaxis.set_label_coords(-0.05, 0.5)
        lower.set_xlabel("ply")
        lower.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    return figure


def graph_svg(analysis: GameAnalysis, page: str = "") -> str:
    """The graph as an SVG document of its own; mistakes link to their rows in the page."""
    return _save(analysis, "svg", page).decode()


def graph_png(analysis: GameAnalysis) -> bytes:
    """The graph as a PNG picture of 1650 x 735 pixels."""
    return _save(analysis, "png")


def graph_image(analysis: GameAnalysis) -> str:
    """The graph as an ``<img>`` element, for notebooks."""
    data = base64.b64encode(graph_svg(analysis).encode()).decode()
    return f'<img alt="evaluation graph" src="data:image/svg+xml;base64,{data}">'


def inline_svg(analysis: GameAnalysis) -> str:
    """The graph as an ``<svg>`` element in the page's colours, without addresses."""
    svg = graph_svg(analysis)
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s(width|height)="[\d.]+pt"', "", svg, count=2)
    for name, color in COLORS.items():
        svg = svg.replace(color, f"var(--{name})")
    return svg


def plies_shown(analysis: GameAnalysis) -> tuple[float, float]:
    """The plies at the left and the right edge of the graph."""
    first, last = (analysis.positions[0].ply, analysis.positions[-1].ply) if analysis.positions else (0, 1)
    return first, max(last, first + 1)


def _save(analysis: GameAnalysis, kind: str, page: str = "") -> bytes:
    import matplotlib as mpl

    buffer = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with mpl.rc_context(STYLE):
        draw(analysis, page).savefig(buffer, format=kind, dpi=150, metadata=metadata)
    return buffer.getvalue()


def _draw_winrate(axes: "Axes", analysis: GameAnalysis, page: str) -> None:
    plies = [position.ply for position in analysis.positions]
    rates = [100 * position.score.winrate for position in analysis.positions]
    axes.fill_between(
        plies, rates, 50, where=[r >= 50 for r in rates], interpolate=True, color=COLORS["black-area"], alpha=0.28, lw=0
    )
    axes.fill_between(
        plies, rates, 50, where=[r <= 50 for r in rates], interpolate=True, color=COLORS["white-area"], alpha=0.38, lw=0
    )
    axes.axhline(50, color=COLORS["muted"], linewidth=0.8)
    axes.plot(plies, rates, color=COLORS["ink"], linewidth=1.3)
    for kind in Mistake:
        _draw_mistakes(axes, kind, [move for move in analysis.moves if move.mistake is kind], page)
    axes.set_ylim(-4, 104)
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.set_ylabel("Black's win rate %")
    axes.text(0.008, 0.9, "Black", transform=axes.transAxes, color=COLORS["black-area"], weight="bold")
    axes.text(0.008, 0.05, "White", transform=axes.transAxes, color=COLORS["white-area"], weight="bold")
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(handles, labels, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, frameon=False, borderpad=0)


def _draw_mistakes(axes: "Axes", kind: Mistake, moves: list[MoveAnalysis], page: str) -> None:
    """Draw mistakes of one class as the falls of the curve, with links to their rows in the page."""
    if not moves:
        return
    color = COLORS[kind.english]
    is_grave = kind in (Mistake.MISTAKE, Mistake.BLUNDER)
    for move in moves:
        ends = [100 * move.before.score.winrate, 100 * move.after.score.winrate]
        if kind is not Mistake.INACCURACY:
            width = 2.6 if is_grave else 1.8
            axes.plot([move.ply - 1, move.ply], ends, color=color, linewidth=width, solid_capstyle="round")
        if is_grave:
            axes.annotate(
                str(move.ply), (move.ply, ends[1]), (0, -13 if ends[1] < ends[0] else 7),
                textcoords="offset points", ha="center", color=color, weight="bold",
            )  # fmt: skip
    points = axes.scatter(
        [move.ply for move in moves],
        [100 * move.after.score.winrate for move in moves],
        s=MARK_SIZES[kind], color=color, zorder=3, label=kind.english, clip_on=False,
    )  # fmt: skip
    points.set_urls([f"{page}#ply-{move.ply}" for move in moves])


def _draw_cp(axes: "Axes", analysis: GameAnalysis) -> None:
    def cut(cp: int) -> int:
        return max(-CP_SHOWN, min(CP_SHOWN, cp))

    recorded = [(move.ply, cut(move.recorded_cp)) for move in analysis.moves if move.recorded_cp is not None]
    axes.axhline(0, color=COLORS["muted"], linewidth=0.8)
    if recorded:
        axes.plot(*zip(*recorded, strict=True), color=COLORS["recorded"], linewidth=0.9, label="the record's own")
    axes.plot(
        [position.ply for position in analysis.positions],
        [cut(position.score.cp) for position in analysis.positions],
        color=COLORS["cp"], linewidth=1.3, label="fukayomi",
    )  # fmt: skip
    axes.set_ylim(-CP_SHOWN * 1.06, CP_SHOWN * 1.06)
    axes.set_yticks([-2000, -1000, 0, 1000, 2000])
    axes.set_ylabel("centipawns")
    if recorded:
        axes.legend(loc="upper right", ncols=2, frameon=False, borderpad=0)
