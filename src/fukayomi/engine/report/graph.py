"""The evaluation graph as Matplotlib draws it: win rate and centipawns over the plies, with the mistakes marked.

It has the colours of the page's light theme, and labels in Japanese or English. The graphs of the page and of
``analysis.svg`` are shapes of `shapes.py`, which need no Matplotlib.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are incomplete.)

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fukayomi.engine.analysis.game_analysis import GameAnalysis, Mistake, MoveAnalysis
from fukayomi.errors import InvalidValueError
from fukayomi.pictures import Language, default_language, japanese_font, new_figure, picture_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE: Final = (11.0, 4.9)
"""Width and height in inches."""
CP_SHOWN = 2000
"""Scores beyond it are drawn at the edge of the graph."""
MARK_SIZES: Final = {Mistake.INACCURACY: 8, Mistake.DUBIOUS: 18, Mistake.MISTAKE: 34, Mistake.BLUNDER: 46}
"""Area of the marks, in square points."""
COLORS: Final = {
    "card": "#fffefb",
    "ink": "#22262d",
    "muted": "#666e7a",
    "line": "#dfe1e0",
    "black-area": "#3d5a80",
    "white-area": "#d9a566",
    "cp": "#4c7a5d",
    "recorded": "#9aa2ad",
    "inaccuracy": "#71730f",
    "dubious": "#a85800",
    "mistake": "#c8331f",
    "blunder": "#9a1f8c",
}
"""CSS variables and their values in the light theme."""
STYLE: Final[Any] = {
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


@dataclass(frozen=True, slots=True)
class Labels:
    """The words of the graph in one language."""

    winrate: str
    black: str
    white: str
    cp: str
    recorded: str
    ply: str


LABELS: Final[dict[Language, Labels]] = {
    "ja": Labels("先手の勝率 %", "先手", "後手", "評価値", "棋譜の評価値", "手数"),
    "en": Labels("Black's win rate %", "Black", "White", "centipawns", "the record's own", "ply"),
}


def labels_of(analysis: GameAnalysis, language: Language) -> Labels:
    """The words of the graph of a game."""
    if language == "en":
        return LABELS[language]
    black, white = analysis.record.side_names
    return replace(LABELS[language], winrate=f"{black}の勝率 %", black=black, white=white)


def draw(analysis: GameAnalysis, language: Language | None = None) -> "Figure":
    """Draw the graph.

    Args:
        analysis: The game.
        language: Language of the labels. None: Japanese where the locale is Japanese and a Japanese font is installed,
            otherwise English.

    Raises:
        ValueError: `language` is "ja" and no Japanese font is installed.
    """
    import matplotlib as mpl
    from matplotlib.ticker import MaxNLocator

    language = language or default_language()
    labels = labels_of(analysis, language)
    with mpl.rc_context(_style(language)):
        figure = new_figure(figsize=SIZE, facecolor=COLORS["card"])
        upper, lower = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (3, 2), "hspace": 0.09})
        figure.subplots_adjust(left=0.066, right=0.985, top=0.94, bottom=0.095)
        _draw_winrate(upper, analysis, language)
        _draw_cp(lower, analysis, labels)
        for axes in (upper, lower):
            axes.set_xlim(*plies_shown(analysis))
            axes.grid(color=COLORS["line"], linewidth=0.6)
            axes.set_axisbelow(True)
            axes.tick_params(length=0)
            axes.set_facecolor("none")
            axes.yaxis.set_label_coords(-0.05, 0.5)
        lower.set_xlabel(labels.ply)
        lower.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    return figure


def graph_png(analysis: GameAnalysis, language: Language | None = None) -> bytes:
    """The graph as a PNG picture of 1650 x 735 pixels."""
    import matplotlib as mpl

    language = language or default_language()
    with mpl.rc_context(_style(language)):
        return picture_bytes(draw(analysis, language), "png", 150)


def plies_shown(analysis: GameAnalysis) -> tuple[int, int]:
    """The plies at the left and the right edge of the graph."""
    first, last = (analysis.positions[0].ply, analysis.positions[-1].ply) if analysis.positions else (0, 1)
    return first, max(last, first + 1)


def _style(language: Language) -> Any:
    """Matplotlib's settings with a font for the language."""
    if language == "en":
        return STYLE
    font = japanese_font()
    if font is None:
        raise InvalidValueError(
            "the graph's Japanese labels need a Japanese font; install one, for example Noto Sans CJK JP, or use "
            "language='en'"
        )
    return STYLE | {"font.family": [font, "sans-serif"]}


def _draw_winrate(axes: "Axes", analysis: GameAnalysis, language: Language) -> None:
    labels = labels_of(analysis, language)
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
        name = kind.japanese if language == "ja" else kind.english
        _draw_mistakes(axes, kind, name, [move for move in analysis.moves if move.mistake is kind])
    axes.set_ylim(-4, 104)
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.set_ylabel(labels.winrate)
    axes.text(0.008, 0.9, labels.black, transform=axes.transAxes, color=COLORS["black-area"], weight="bold")
    axes.text(0.008, 0.05, labels.white, transform=axes.transAxes, color=COLORS["white-area"], weight="bold")
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(handles, labels, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, frameon=False, borderpad=0)


def _draw_mistakes(axes: "Axes", kind: Mistake, name: str, moves: list[MoveAnalysis]) -> None:
    """Draw mistakes of one class as the falls of the curve, uncertain ones hollow."""
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
    moves = sorted(moves, key=lambda move: not move.is_certain)  # the legend shows the first mark
    axes.scatter(
        [move.ply for move in moves],
        [100 * move.after.score.winrate for move in moves],
        s=MARK_SIZES[kind], edgecolors=color, zorder=3, label=name, clip_on=False,
        facecolors=[color if move.is_certain else COLORS["card"] for move in moves],
    )  # fmt: skip


def _draw_cp(axes: "Axes", analysis: GameAnalysis, labels: Labels) -> None:
    def cut(cp: int) -> int:
        return max(-CP_SHOWN, min(CP_SHOWN, cp))

    recorded = [(move.ply, cut(move.recorded_cp)) for move in analysis.moves if move.recorded_cp is not None]
    axes.axhline(0, color=COLORS["muted"], linewidth=0.8)
    if recorded:
        axes.plot(*zip(*recorded, strict=True), color=COLORS["recorded"], linewidth=0.9, label=labels.recorded)
    axes.plot(
        [position.ply for position in analysis.positions],
        [cut(position.score.cp) for position in analysis.positions],
        color=COLORS["cp"], linewidth=1.3, label="fukayomi",
    )  # fmt: skip
    axes.set_ylim(-CP_SHOWN * 1.06, CP_SHOWN * 1.06)
    axes.set_yticks([-2000, -1000, 0, 1000, 2000])
    axes.set_ylabel(labels.cp)
    if recorded:
        axes.legend(loc="upper right", ncols=2, frameon=False, borderpad=0)
