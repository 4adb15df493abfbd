"""The web page of an analysis: one HTML document without external files, which any browser opens from disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fukayomi.engine.analysis import GameAnalysis, MoveAnalysis, SideSummary
from fukayomi.engine.report.graph import COLORS, LEFT, RIGHT, inline_svg, plies_shown
from fukayomi.engine.report.words import evaluation, percent
from fukayomi.shogi import BLACK, WHITE, Move, Position
from fukayomi.shogi.svg import Arrow, board_svg, piece_symbols

if TYPE_CHECKING:
    from markupsafe import Markup

CARDS = 9
"""Mistakes shown with a board; the table has all of them."""
PV_PLIES = 9
"""Moves shown of a line."""


@dataclass(frozen=True, slots=True)
class Card:
    """A mistake with its board."""

    move: MoveAnalysis
    board: "Markup"


@dataclass(frozen=True, slots=True)
class Player:
    """Mark, name and figures of one side."""

    mark: str
    name: str
    summary: SideSummary


def analysis_page(analysis: GameAnalysis) -> str:
    """The page as HTML. Text from the record is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, eval=evaluation, pv=_beginning)
    first, last = plies_shown(analysis)
    return environment.get_template("page.html").render(
        game=analysis,
        players=(
            Player("☗", analysis.black, analysis.side(BLACK)),
            Player("☖", analysis.white, analysis.side(WHITE)),
        ),
        cards=[Card(move, Markup(_picture(move))) for move in analysis.mistakes()[:CARDS]],
        mistakes=len(analysis.mistakes()),
        turning_point=analysis.turning_point(),
        pieces=Markup(piece_symbols()),
        graph=Markup(inline_svg(analysis)),
        axis={"left": LEFT, "right": RIGHT, "first": first, "last": last},
        colors=COLORS,
        BLACK=BLACK,
    )


def _beginning(line: tuple[str, ...]) -> str:
    """The first moves of a line; a word joiner keeps the line break from separating a mark from its move."""
    return " ".join(name[0] + "\u2060" + name[1:] for name in line[:PV_PLIES])


def _picture(move: MoveAnalysis) -> str:
    usis = {"played": move.usi, "better": move.best.usi[0]}
    arrows = [Arrow(Move.from_usi(usi), css=css) for css, usi in usis.items() if usi not in ("win", "resign")]
    title = f"{move.ply}: {move.japanese}, better {move.best.japanese[0]}"
    position = Position.from_sfen(move.before.sfen, allow_missing_king=True)
    return board_svg(position, arrows=arrows, size=None, title=title, standalone=False)
