"""The web page of an analysis: one HTML document without external files, which any browser opens from disk.

The template, the style and the script are `page.html`, `page.css` and `page.js`. A content security policy names the
style and the script by their hashes, so that a browser runs and loads nothing else, whatever the record contains.
"""

import base64
import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from fukayomi.engine.analysis import GameAnalysis, SearchLimits, SideSummary
from fukayomi.engine.report.graph import COLORS
from fukayomi.engine.report.page_graph import PageGraph
from fukayomi.engine.report.replay import marks_of, replay
from fukayomi.engine.report.words import Words, ending, evaluation, lost, percent, search_limits
from fukayomi.shogi import BLACK, WHITE
from fukayomi.shogi.svg import board_frame, piece_symbols

CARDS = 9
"""Mistakes listed above the table, which has all of them."""
LINE_PLIES = 9
"""Moves shown of a line in the list of mistakes."""
FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Player:
    """Mark, name and figures of one side."""

    mark: str
    name: str
    side: Words
    summary: SideSummary


def analysis_page(analysis: GameAnalysis) -> str:
    """The page as HTML. Text from the record is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    environment.filters.update(percent=percent, lost=lost, evaluation=evaluation, moves=_beginning)
    style, script = _style(), (FOLDER / "page.js").read_text(encoding="utf-8")
    return environment.get_template("page.html").render(
        game=analysis,
        ending=ending(analysis.record),
        limits=[search_limits(limits) for limits in _limits(analysis)],
        players=(
            Player("☗", analysis.black, ("先手", "Black"), analysis.side(BLACK)),
            Player("☖", analysis.white, ("後手", "White"), analysis.side(WHITE)),
        ),
        mistakes=analysis.mistakes(),
        shown=CARDS,
        turning_point=analysis.turning_point(),
        marks_of=marks_of,
        graph=PageGraph.from_analysis(analysis) if analysis.positions else None,
        replay=replay(analysis),
        board=Markup(board_frame()),
        pieces=Markup(piece_symbols()),
        style=Markup(style),
        script=Markup(script),
        policy="default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'",
    )


def _limits(analysis: GameAnalysis) -> list[SearchLimits]:
    """The limits with which positions were searched, the usual one first."""
    counts = Counter(position.limits for position in analysis.positions if position.limits is not None)
    return [limits for limits, _ in counts.most_common()]


def _style() -> str:
    colors = "".join(f"--{name}:{value};" for name, value in COLORS.items())
    return f":root{{{colors}}}\n" + (FOLDER / "page.css").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The source expression that allows this inline text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _beginning(line: tuple[str, ...]) -> str:
    """The first moves of a line; a word joiner keeps the line break from separating a mark from its move."""
    return " ".join(name[0] + "\u2060" + name[1:] for name in line[:LINE_PLIES])
