"""The evaluation graph: win rate and centipawns over the plies, with the bad moves marked.

Drawn by matplotlib in the colours of the page's light theme. Inside the page the same drawing takes the page's own
colours, as each colour here names the CSS variable that replaces it there. Labels are Latin, so that no Japanese font
is needed.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are incomplete.)

import io
import re
from typing import TYPE_CHECKING, Any, Final

from fukayomi.engine.analysis import GameAnalysis, Mistake, MoveAnalysis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE: Final = (11.0, 4.9)  # inches
LEFT, RIGHT = 0.066, 0.985  # the axes' share of the figure's width
CP_SHOWN = 2000  # scores beyond it lie at the edge of the graph

SIZES: Final = {Mistake.INACCURACY: 8, Mistake.DUBIOUS: 18, Mistake.MISTAKE: 34, Mistake.BLUNDER: 46}  # of the marks

COLORS: Final = {  # CSS variable: its value in the light theme
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


def graph_svg(analysis: GameAnalysis, page: str = "") -> str:
    """The graph as an SVG document that stands alone; the marks of bad moves link to their rows in the page."""
    return _save(analysis, "svg", page).decode()


def graph_png(analysis: GameAnalysis) -> bytes:
    """The graph as a PNG picture of about 1650 x 735 pixels."""
    return _save(analysis, "png", "")


def inline_svg(analysis: GameAnalysis) -> str:
    """The graph as an `<svg>` element in the page's colours, without addresses of any kind."""
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


def _save(analysis: GameAnalysis, kind: str, page: str) -> bytes:
    import matplotlib as mpl

    style: Any = {
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
    with mpl.rc_context(style):
        buffer = io.BytesIO()
        metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        _draw(analysis, page).savefig(buffer, format=kind, dpi=150, facecolor=COLORS["card"], metadata=metadata)
    return buffer.getvalue()


def _draw(analysis: GameAnalysis, page: str) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE)
    upper, lower = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (3, 2), "hspace": 0.09})
    figure.subplots_adjust(left=LEFT, right=RIGHT, top=0.94, bottom=0.095)
    _draw_win_rate(upper, analysis, page)
    _draw_cp(lower, analysis)
    for axes in (upper, lower):
        axes.set_xlim(*plies_shown(analysis))
        axes.grid(color=COLORS["line"], linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
        axes.set_facecolor("none")
        axes.yaxis.set_label_coords(-0.05, 0.5)
    lower.set_xlabel("ply")
    return figure


def _draw_win_rate(axes: "Axes", analysis: GameAnalysis, page: str) -> None:
    plies = [position.ply for position in analysis.positions]
    rates = [100 * position.score.win_rate for position in analysis.positions]
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
    """Each bad move as the piece of the curve that it cost, with a link to its row in the page."""
    if not moves:
        return
    color = COLORS[kind.english]
    is_grave = kind in (Mistake.MISTAKE, Mistake.BLUNDER)
    for move in moves:
        ends = [100 * move.before.score.win_rate, 100 * move.after.score.win_rate]
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
        [100 * move.after.score.win_rate for move in moves],
        s=SIZES[kind], color=color, zorder=3, label=kind.english, clip_on=False,
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
