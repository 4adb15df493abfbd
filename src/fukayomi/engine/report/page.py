"""The web page of an analysis: one HTML document without external files, which any browser opens from disk."""

from collections import Counter
from dataclasses import dataclass

from fukayomi.engine.analysis.game_analysis import GameAnalysis, SearchLimits, SideSummary
from fukayomi.engine.report.embedding import embedded
from fukayomi.engine.report.rendering import render
from fukayomi.engine.report.replay import marks_of, replay
from fukayomi.engine.report.shapes import GraphShapes
from fukayomi.engine.report.words import Words, ending, search_limits, verdict
from fukayomi.shogi import BLACK, WHITE
from fukayomi.shogi.svg import piece_symbols

CARDS = 9
"""Mistakes listed above the table, which has all of them."""
LINE_PLIES = 9
"""Moves shown of a line in the list of mistakes."""


@dataclass(frozen=True, slots=True)
class Player:
    """Mark, name and figures of one side."""

    mark: str
    name: str
    side: Words
    summary: SideSummary


def analysis_page(analysis: GameAnalysis) -> str:
    """The page as HTML. Text from the record is escaped."""
    from markupsafe import Markup

    sides = analysis.record.side_names
    return render(
        "page",
        "analysis",
        game=analysis,
        ending=ending(analysis.record),
        limits=[search_limits(limits) for limits in _limits(analysis)],
        players=(
            Player("☗", analysis.black, (sides[0], "Black"), analysis.side(BLACK)),
            Player("☖", analysis.white, (sides[1], "White"), analysis.side(WHITE)),
        ),
        sides=sides,
        mistakes=analysis.mistakes(),
        shown=CARDS,
        turning_point=analysis.turning_point(),
        marks_of=marks_of,
        verdict_of=verdict,
        graph=GraphShapes.from_analysis(analysis) if analysis.positions else None,
        replay=replay(analysis),
        document=embedded(analysis),
        pieces=Markup(piece_symbols()),
        moves=_beginning,
    )


def _limits(analysis: GameAnalysis) -> list[SearchLimits]:
    """The limits with which positions were searched, the usual one first."""
    counts = Counter(position.limits for position in analysis.positions if position.limits is not None)
    return [limits for limits, _ in counts.most_common()]


def _beginning(line: tuple[str, ...]) -> str:
    """The first moves of a line; a word joiner keeps the line break from separating a mark from its move."""
    return " ".join(name[0] + "\u2060" + name[1:] for name in line[:LINE_PLIES])
