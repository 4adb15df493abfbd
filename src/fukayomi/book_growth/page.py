"""The page of books that grow: their trees, rounds and settings in one file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fukayomi.book_growth.journal import JOURNAL_NAME
from fukayomi.book_growth.settings import GrowthError
from fukayomi.book_growth.tree import BookPicture, DrawnMove, draw_tree
from fukayomi.engine.report.rendering import render
from fukayomi.engine.report.words import Words
from fukayomi.files.atomic import replace_file
from fukayomi.shogi import Color, IllegalMoveError
from fukayomi.shogi.formats.notation import english_moves, japanese_moves

if TYPE_CHECKING:
    from fukayomi.book.minmax.minmax import Solved
    from fukayomi.book_growth.growth import Growth

PAGE_NAME = "report.html"
FOLDER = Path(__file__).parent / "web"
WIDTH, HEIGHT = 92, 40
"""Pixels of a move in the picture."""
LEAST_RADIUS, MOST_RADIUS = 3.0, 10.0
TRUNK_PLIES = 6
"""Moves of the trunk that the table of the rounds has."""
WIN_RATES = (0.4, 0.47, 0.53, 0.6)
"""Where the colour changes."""


@dataclass(frozen=True, slots=True)
class _Dot:
    """A move of the picture in pixels."""

    move: DrawnMove
    x: float
    y: float
    radius: float
    color: int
    """0 to 4, from bad to good for the side."""
    path: str
    """The line from the move before."""


@dataclass(frozen=True, slots=True)
class _Tree:
    """The picture of a side."""

    side: str
    is_black: bool
    width: int
    height: int
    dots: list[_Dot]


def write_page(growth: "Growth", solved: Mapping[Color, "Solved | None"]) -> Path:
    """Write the page into the folder of the books. It has no times: the same games give the same page.

    Args:
        growth: The rounds.
        solved: What the games say, for each side; None: nothing yet.

    Returns:
        The file.

    Raises:
        GrowthError: The journal has moves that are not legal.
        OSError: The file cannot be written.
    """
    start = growth.settings.start_sfen

    def trunk(line: Sequence[str]) -> Words:
        names = [" ".join(write(start, line[:TRUNK_PLIES])) for write in (japanese_moves, english_moves)]
        more = f" … {len(line)}" if len(line) > TRUNK_PLIES else ""
        return names[0] + more, names[1] + more

    trees = [_drawn(side, draw_tree(found)) for side, found in solved.items() if found is not None]
    try:
        page = render("growth", folder=FOLDER, growth=growth, trees=trees, trunk=trunk, settings=growth.settings.text())
    except IllegalMoveError as error:  # the moves of the trees are those of games
        raise GrowthError(
            f"{growth.folder / JOURNAL_NAME}: {error}. Remove the file: it is made again from the games"
        ) from error
    target = growth.folder / PAGE_NAME
    replace_file(target, page.encode())
    return target


def _drawn(side: Color, picture: BookPicture) -> _Tree:
    most = max(move.games for move in picture.moves)
    places = [(WIDTH * move.column + 20.0, HEIGHT * move.row + 26.0) for move in picture.moves]
    dots: list[_Dot] = []
    for move, (x, y) in zip(picture.moves, places, strict=True):
        path = ""
        if move.parent is not None:
            from_x, from_y = places[move.parent]
            path = f"M{from_x:g} {from_y:g}H{x:g}" if y == from_y else f"M{from_x:g} {from_y:g}V{y:g}H{x:g}"
        share = (move.games / most) ** 0.5
        radius = round(LEAST_RADIUS + (MOST_RADIUS - LEAST_RADIUS) * share, 1)
        color = sum(move.win_rate >= limit for limit in WIN_RATES)
        dots.append(_Dot(move, x, y, radius, color, path))
    name = side.name.lower()
    return _Tree(name, name == "black", WIDTH * picture.columns + 20, HEIGHT * picture.rows + 20, dots)
