"""The shapes of the evaluation graph, win rate and evaluation over the plies, in units that can be stretched; and
``analysis.svg``, which is drawn of them.

Curves lie in a box that is stretched to any width, marks and labels at shares of that box, so that text and marks keep
their size.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass

from fukayomi.engine.analysis.game_analysis import GameAnalysis, Mistake, MoveAnalysis, PositionAnalysis
from fukayomi.engine.report.graph import COLORS, CP_SHOWN, labels_of, plies_shown
from fukayomi.engine.report.rendering import environment
from fukayomi.pictures import Language, spoken_language

HEIGHT = 100.0
"""Height of the box of a curve; its width is the number of plies."""
STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
"""Plies between two ticks."""
MOST_TICKS = 8


@dataclass(frozen=True, slots=True)
class Mark:
    """A mistake in the graph of the win rate."""

    move: MoveAnalysis
    x: str
    """Place in percent of the box, as are all of x and y in marks."""
    y: str
    fall: str
    """Path from the position before the move to the one after it, in units of the box."""
    radius: float
    is_grave: bool
    """A mistake or a blunder."""
    falls: bool
    """True if the curve goes down."""


@dataclass(frozen=True, slots=True)
class GraphShapes:
    """Paths, marks and ticks of the graph."""

    first: int
    last: int
    winrate: str
    area: str
    cp: str
    recorded: str
    marks: tuple[Mark, ...]
    ticks: tuple[tuple[int, str], ...]
    """Plies and their places in percent."""

    @property
    def width(self) -> int:
        """Width of the box of a curve."""
        return self.last - self.first

    @classmethod
    def from_analysis(cls, analysis: GameAnalysis) -> "GraphShapes":
        """Compute the shapes of an analysis with at least one position."""
        first, last = plies_shown(analysis)
        runs = _runs(analysis.positions)
        scored = [(move.ply - first, _cp_height(move.recorded_cp)) for move in _recorded(analysis)]
        return cls(
            first=first,
            last=last,
            winrate=_path(runs, first, _winrate_height),
            area=_area(runs, first),
            cp=_path(runs, first, lambda position: _cp_height(position.score.cp)),
            recorded="M" + "L".join(f"{x} {y:g}" for x, y in scored) if scored else "",
            marks=tuple(
                _mark(move, kind, first, last) for kind in Mistake for move in analysis.moves if move.mistake is kind
            ),
            ticks=_ticks(first, last),
        )


def graph_svg(analysis: GameAnalysis, page: str = "", language: Language | None = None) -> str:
    """The graph as an SVG document of its own.

    Args:
        analysis: The game.
        page: Address of the page to whose rows the mistakes link.
        language: Language of the labels; None: that of the locale.
    """
    language = language or spoken_language()
    graph = GraphShapes.from_analysis(analysis)
    kinds = [kind for kind in Mistake if any(mark.move.mistake is kind for mark in graph.marks)]
    return environment().get_template("graph.svg").render(
        graph=graph, labels=labels_of(analysis, language), language=language, page=page, kinds=kinds, colors=COLORS
    )  # fmt: skip


def graph_image(analysis: GameAnalysis) -> str:
    """The graph as an ``<img>`` element, for notebooks."""
    data = base64.b64encode(graph_svg(analysis).encode()).decode()
    return f'<img alt="evaluation graph" src="data:image/svg+xml;base64,{data}">'


def _recorded(analysis: GameAnalysis) -> list[MoveAnalysis]:
    return [move for move in analysis.moves if move.recorded_cp is not None]


def _runs(positions: tuple[PositionAnalysis, ...]) -> list[list[PositionAnalysis]]:
    """Successive positions; the curves are interrupted where plies are missing."""
    runs: list[list[PositionAnalysis]] = []
    for position in positions:
        if not runs or position.ply != runs[-1][-1].ply + 1:
            runs.append([])
        runs[-1].append(position)
    return runs


def _winrate_height(position: PositionAnalysis) -> float:
    return round(HEIGHT * (1 - position.score.winrate), 2)


def _cp_height(cp: int | None) -> float:
    cut = max(-CP_SHOWN, min(CP_SHOWN, cp or 0))
    return round(HEIGHT / 2 * (1 - cut / CP_SHOWN), 2)


def _path(runs: list[list[PositionAnalysis]], first: int, height: Callable[[PositionAnalysis], float]) -> str:
    return "".join("M" + "L".join(f"{each.ply - first} {height(each):g}" for each in run) for run in runs)


def _area(runs: list[list[PositionAnalysis]], first: int) -> str:
    """The area between the win rate and 50 %."""
    middle = f"{HEIGHT / 2:g}"
    return "".join(
        f"M{run[0].ply - first} {middle}L"
        + "L".join(f"{each.ply - first} {_winrate_height(each):g}" for each in run)
        + f"L{run[-1].ply - first} {middle}Z"
        for run in runs
    )


def _mark(move: MoveAnalysis, kind: Mistake, first: int, last: int) -> Mark:
    before, after = _winrate_height(move.before), _winrate_height(move.after)
    x = move.ply - first
    return Mark(
        move=move,
        x=f"{100 * x / (last - first):.2f}%",
        y=f"{100 * after / HEIGHT:.2f}%",
        fall=f"M{x - 1} {before:g}L{x} {after:g}",
        radius=2.5 + list(Mistake).index(kind),
        is_grave=kind in (Mistake.MISTAKE, Mistake.BLUNDER),
        falls=after > before,
    )


def _ticks(first: int, last: int) -> tuple[tuple[int, str], ...]:
    step = next(step for step in STEPS if (last - first) / step <= MOST_TICKS or step == STEPS[-1])
    plies = range(-(-first // step) * step, last + 1, step)
    return tuple((ply, f"{100 * (ply - first) / (last - first):.2f}%") for ply in plies)
