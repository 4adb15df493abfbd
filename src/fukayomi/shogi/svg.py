"""Boards as SVG: everything is a path, so that they look the same without Japanese fonts.

    >>> from fukayomi import Position
    >>> position = Position.from_usi("startpos moves 7g7f 3c3d")
    >>> picture = position.svg(arrows=["8h2b+"])  # a notebook shows the picture, and `position` itself
    >>> picture[:5]
    '<svg '

Shapes have class names (wood, grid, koma, koma-ink, ...), so that the style sheet of a page can colour them. Numerals
are strokes, each in a box of 10 by 10.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from fukayomi.shogi.position import BLACK, WHITE, Color, Move, PieceType, Position

DIGITS = {
    0: "M5,.9C1.6,.9 1.6,9.5 5,9.5S8.4,.9 5,.9",
    1: "M3.5,2.6L5.6,1V9.5",
    2: "M2.5,3.2C2.5,.2 7.5,.2 7.5,3.1C7.5,5 4,6.6 2.5,9.4H7.6",
    3: "M2.5,2.2C3.4,.4 7.2,.5 7.2,2.9C7.2,4.6 5.6,5 4.3,5C6,5 7.6,5.6 7.6,7.2C7.6,9.9 3.5,10.1 2.3,8",
    4: "M6.3,9.5V.9L2,6.8H8.2",
    5: "M7.2,1H3.4L2.9,5C4.5,3.7 7.6,4.2 7.6,6.9C7.6,9.9 3.7,10.1 2.4,8.2",
    6: "M6.9,1.2C4,1.2 2.5,4 2.5,6.8C2.5,10.4 7.5,10.4 7.5,6.8C7.5,3.7 3.4,3.9 2.6,6.4",
    7: "M2.4,1H7.6C5.8,3.5 4.6,6.2 4.3,9.5",
    8: "M5,4.8C2.5,4.8 2.5,.9 5,.9S7.5,4.8 5,4.8C1.8,4.8 1.8,9.5 5,9.5S8.2,4.8 5,4.8",
    9: "M3.1,9.2C6,9.2 7.5,6.4 7.5,3.6C7.5,0 2.5,0 2.5,3.6C2.5,6.7 6.6,6.5 7.4,4",
}
SIGNS = {"+": "M5,2.2V8M2.1,5.1H7.9", "−": "M2.1,5.1H7.9", "%": "M7.6,1L2.4,9.4M3.2,1.2V3.6M6.8,6.8V9.2", " ": "M0,0"}
"""The signs of numbers, as wide as a digit."""
KANJI = {
    1: "M1,5H9",
    2: "M2,2.5H8M1,8H9",
    3: "M2,1.5H8M2.5,5H7.5M1,8.7H9",
    4: "M1.2,1.8H8.8V8.8H1.2ZM4,1.8C4,4 3.6,5.2 2.4,6.2M6,1.8V4.8C6,5.9 6.6,6.1 8,6.1",
    5: "M1.5,1.5H8.5M4.6,1.5L3.4,8.8M2,4.8H7.4L7,8.8M.8,8.8H9.2",
    6: "M5,.8V2.8M1,3.4H9M3.8,5.2L1.6,9.2M6.2,5.2L8.4,9.2",
    7: "M.9,5L9.1,3.6M4.4,1V7.4C4.4,8.9 5,9.1 8.6,9.1V7.6",
    8: "M3.6,1.8C3.4,5 2.7,7.3 .8,9.1M5.6,1.4C6,5.2 7,7.5 9.2,9.1",
    9: "M1.2,3.6H6.8V7.6C6.8,9 7.2,9.1 9.2,9.1V7.4M4,.8C4,5 3.4,7.4 .9,9.2",
    10: "M1,4.6H9M5,.8V9.4",
}


def kanji_number(count: int) -> tuple[str, ...]:
    """The strokes of 1 to 18 as kanji, one box below the other: 十八 is two."""
    if count <= 10:
        return (KANJI[count],)
    return KANJI[10], KANJI[count - 10]


CELL_W, CELL_H = 35, 37  # a square is a little higher than wide, as on a real board
_HAND_W = 46
_LEFT, _TOP = _HAND_W + 6, 18  # the upper left corner of the board
WIDTH = _LEFT + 9 * CELL_W + 20 + _HAND_W
HEIGHT = _TOP + 9 * CELL_H + 6
_IN_HAND = (
    PieceType.ROOK, PieceType.BISHOP, PieceType.GOLD, PieceType.SILVER, PieceType.KNIGHT, PieceType.LANCE,
    PieceType.PAWN,
)  # fmt: skip
_COLORS = {
    "wood": "#ecca88", "grid": "#6b5326", "mark": "#6a6459", "last": "#f2a33a", "arrow": "#1c7fd0", "turn": "#b3261e",
}  # fmt: skip
_SIDE_MARK = "M0,-7.5L4.5,-5L6,6.5H-6L-4.5,-5Z"  # ☗


class Svg(str):
    """An `<svg>` element as a string. A notebook shows the picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class Arrow:
    """A move drawn over the board: an arrow, or for a drop the piece in a disc."""

    move: Move
    color: str = _COLORS["arrow"]
    """Any SVG colour."""


@dataclass(frozen=True, slots=True)
class Tint:
    """A colour over a piece, with a number below it."""

    place: int | tuple[Color, PieceType]
    """The square, or side and kind of pieces in hand."""
    color: str
    """Any SVG colour."""
    opacity: float
    """0 to 1."""
    is_hatched: bool = False
    """True if there are lines over it."""
    text: str = ""
    """Digits and −; "" for no number."""


def board_svg(
    position: Position,
    *,
    last_move: Move | str | None = None,
    arrows: Sequence[Arrow | Move | str] = (),
    tints: Sequence[Tint] = (),
    flip: bool = False,
    size: int | None = 420,
    title: str = "",
) -> Svg:
    """Draw a position as an `<svg>` element. `Position.svg` calls this.

    Args:
        position: What to draw.
        last_move: Move to mark; by default the last move played in `position`.
        arrows: Moves to draw as arrows, later ones on top; strings are USI moves.
        tints: Colours over pieces.
        flip: Draw White at the bottom.
        size: Width in pixels; None leaves it to the page.
        title: Text for screen readers; by default the SFEN.

    Raises:
        InvalidMoveError: A string is not a move.
    """
    drawn = [arrow if isinstance(arrow, Arrow) else Arrow(_move(arrow)) for arrow in arrows]
    if last_move is None and position.moves:
        last_move = position.peek()
    board = _Board(flip)
    body = [
        *board.marked_squares(None if last_move is None else _move(last_move), drawn),
        *board.grid(),
        *board.numbers(),
        *board.pieces(position),
        *(part for color in (BLACK, WHITE) for part in board.hand(position, color)),
        *(part for tint in tints for part in board.tint(tint)),
        *(part for arrow in drawn for part in board.arrow(arrow, position.turn)),
    ]
    extent = "" if size is None else f' width="{size}" height="{round(size * HEIGHT / WIDTH)}"'
    label = html.escape(title or position.sfen())
    symbols = "".join(_symbols()[face] for face in sorted(board.faces))
    return Svg(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="board" viewBox="0 0 {WIDTH} {HEIGHT}"{extent} role="img" '
        f'aria-label="{label}">{symbols}{"".join(body)}</svg>'
    )


def piece_symbols() -> str:
    """The shapes of all pieces as an invisible `<svg>` element, for an HTML page that draws them with `<use>`."""
    return f'<svg class="symbols" width="0" height="0" aria-hidden="true">{"".join(_symbols().values())}</svg>'


class _Board:
    """Layout of a board, seen from one side. `faces` collects the pieces that were drawn, `hands` where those
    in hand were drawn."""

    def __init__(self, flip: bool) -> None:
        self._flip = flip
        self.faces: set[str] = set()
        self.hands: dict[tuple[Color, PieceType], tuple[float, float]] = {}

    def center(self, square: int) -> tuple[float, float]:
        """The centre of a square."""
        column, row = 8 - square // 9, square % 9
        if self._flip:
            column, row = 8 - column, 8 - row
        return _LEFT + (column + 0.5) * CELL_W, _TOP + (row + 0.5) * CELL_H

    def marked_squares(self, last_move: Move | None, arrows: Sequence[Arrow]) -> Iterator[str]:
        """The wood, and on it the squares of the last move and the targets of arrows."""
        yield _shape("rect", "wood", x=_LEFT, y=_TOP, width=9 * CELL_W, height=9 * CELL_H, fill=_COLORS["wood"])
        if last_move is not None:
            if last_move.from_square is not None:
                yield self._square(last_move.from_square, "last", _COLORS["last"], 0.3)
            yield self._square(last_move.to_square, "last", _COLORS["last"], 0.6)
        for arrow in arrows:
            yield self._square(arrow.move.to_square, "target", arrow.color, 0.3)

    def _square(self, square: int, css: str, color: str, opacity: float) -> str:
        x, y = self.center(square)
        return _shape(
            "rect", css, x=x - CELL_W / 2, y=y - CELL_H / 2, width=CELL_W, height=CELL_H, fill=color, opacity=opacity
        )

    def grid(self) -> Iterator[str]:
        """The lines and the four dots."""
        lines = "".join(f"M{_LEFT + i * CELL_W},{_TOP}v{9 * CELL_H}" for i in range(10))
        lines += "".join(f"M{_LEFT},{_TOP + i * CELL_H}h{9 * CELL_W}" for i in range(10))
        yield _shape("path", "grid", d=lines, fill="none", stroke=_COLORS["grid"])
        for x in (3, 6):
            for y in (3, 6):
                yield _shape("circle", "star", cx=_LEFT + x * CELL_W, cy=_TOP + y * CELL_H, r=2.4, fill=_COLORS["grid"])

    def numbers(self) -> Iterator[str]:
        """The numbers of files and ranks."""
        for number in range(1, 10):
            x, y = self.center((number - 1) * 9 + number - 1)
            yield _glyph(DIGITS[number], x, _TOP - 9, 0.9)
            yield _glyph(KANJI[number], _LEFT + 9 * CELL_W + 10, y, 0.9)

    def pieces(self, position: Position) -> Iterator[str]:
        """The pieces on the board."""
        for square in range(81):
            if piece := position.piece_on(square):
                yield self._piece(piece.type, piece.color, *self.center(square))

    def _piece(self, kind: PieceType, color: Color, x: float, y: float, scale: float = 1) -> str:
        face = "king-dotted" if kind == PieceType.KING and color == BLACK else kind.name.lower().replace("_", "-")
        self.faces.add(face)
        turn = " rotate(180)" if (color == WHITE) != self._flip else ""
        size = "" if scale == 1 else f" scale({scale:g})"
        return (
            f'<use href="#koma-{face}" width="{CELL_W}" height="{CELL_H}" '
            f'transform="translate({x:g},{y:g}){turn}{size} translate({-CELL_W / 2:g},{-CELL_H / 2:g})"/>'
        )

    def hand(self, position: Position, color: Color) -> Iterator[str]:
        """The side's mark, underlined if it is to move, and its pieces in hand with their counts."""
        counts = position.hand(color)
        held = [(kind, counts[kind]) for kind in _IN_HAND if kind in counts]
        is_below = (color == BLACK) != self._flip
        step = CELL_H - 5
        x = WIDTH - _HAND_W / 2 if is_below else _HAND_W / 2
        y = _TOP + 9 * CELL_H - step * len(held) - 8 if is_below else _TOP + 8
        turn = "" if is_below else "rotate(180)"
        filled = _COLORS["mark"] if color == BLACK else "none"
        yield _shape(
            "path", "side", d=_SIDE_MARK, fill=filled, stroke=_COLORS["mark"], transform=f"translate({x:g},{y:g}){turn}"
        )
        if position.turn == color:
            yield _shape("path", "turn", d=f"M{x - 8:g},{y + 11:g}h16", stroke=_COLORS["turn"], stroke_width=2.4)
        for row, (kind, count) in enumerate(held):
            middle = y + 12 + step * (row + 0.5)
            self.hands[color, kind] = x - (6 if count > 1 else 0), middle
            yield self._piece(kind, color, x - (6 if count > 1 else 0), middle, 0.85)
            strokes = kanji_number(count) if count > 1 else ()
            for index, stroke in enumerate(strokes):
                yield _glyph(stroke, x + 15, middle + 11 * (index - (len(strokes) - 1) / 2), 1)

    def tint(self, tint: Tint) -> Iterator[str]:
        """A colour over a piece, its lines, and a number at the lower edge. The pieces are drawn before."""
        x, y = self.center(tint.place) if isinstance(tint.place, int) else self.hands[tint.place]
        left, top, width, height = x - CELL_W / 2, y - CELL_H / 2, CELL_W, CELL_H
        if not isinstance(tint.place, int):
            left, top, width, height = x - CELL_W / 2 + 2, y - CELL_H / 2 + 2.5, CELL_W - 4, CELL_H - 5
        yield _shape(
            "rect", "tint", x=left, y=top, width=width, height=height, fill=tint.color, opacity=round(tint.opacity, 3)
        )
        if tint.is_hatched:
            lines = "".join(_hatch(left, top, width, height))
            yield _shape("path", "hatch", d=lines, fill="none", stroke=tint.color, stroke_width=1.2, opacity=0.9)
        yield from number_strokes(tint.text, x, top + height - 5, 0.62, halo=True)

    def arrow(self, arrow: Arrow, turn: Color) -> Iterator[str]:
        """An arrow from square to square, or the dropped piece in a disc on its square."""
        x, y = self.center(arrow.move.to_square)
        if arrow.move.dropped is not None:
            yield _shape("circle", "arrow", cx=x, cy=y, r=17, fill=arrow.color, opacity=0.85)
            yield self._piece(arrow.move.dropped, turn, x, y, 0.8)
            return
        assert arrow.move.from_square is not None
        x0, y0 = self.center(arrow.move.from_square)
        length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5
        ux, uy = (x - x0) / length, (y - y0) / length
        outline = (
            (3, -3),
            (length - 15, -3),
            (length - 15, -8),
            (length - 2, 0),
            (length - 15, 8),
            (length - 15, 3),
            (3, 3),
        )
        points = "L".join(
            f"{x0 + ux * along - uy * off:.1f},{y0 + uy * along + ux * off:.1f}" for along, off in outline
        )
        yield _shape("path", "arrow", d=f"M{points}Z", fill=arrow.color, opacity=0.85)


def _move(move: Move | str) -> Move:
    return Move.from_usi(move) if isinstance(move, str) else move


def _shape(tag: str, css: str, **attributes: object) -> str:
    pairs = ((name.replace("_", "-"), value) for name, value in attributes.items())
    text = "".join(f' {name}="{f"{value:g}" if isinstance(value, float) else value}"' for name, value in pairs)
    return f'<{tag} class="{html.escape(css.strip())}"{text}/>'


def _hatch(left: float, top: float, width: float, height: float, step: int = 7) -> Iterator[str]:
    """Rising lines that fill a rectangle."""
    for offset in range(step, int(width + height), step):
        start = max(0.0, offset - height)
        end = min(width, float(offset))
        yield f"M{left + start:g},{top + offset - start:g}L{left + end:g},{top + offset - end:g}"


def number_strokes(text: str, x: float, y: float, scale: float, *, halo: bool = False) -> Iterator[str]:
    """A number as strokes, so that it needs no font, centred; digits and the signs + − % count.

    Args:
        text: The number.
        x: Its centre.
        y: Its centre.
        scale: Height in units of 10.
        halo: Draw a light line around it, for numbers on pieces.
    """
    step = 6.6 * scale
    strokes = [SIGNS[letter] if letter in SIGNS else DIGITS[int(letter)] for letter in text]
    styles = [("halo", "#fffefb", 5.0), ("mark", "#22262d", 1.6)] if halo else [("mark", _COLORS["mark"], 1.2)]
    for css, color, width in styles:
        for index, glyph in enumerate(strokes):
            yield _glyph(glyph, x + step * (index - (len(text) - 1) / 2), y, scale, css, color, width)


def _glyph(
    strokes: str, x: float, y: float, scale: float, css: str = "mark", color: str = _COLORS["mark"], width: float = 1.2
) -> str:
    """A numeral, centred."""
    place = f"translate({x - 5 * scale:g},{y - 5 * scale:g})" + ("" if scale == 1 else f" scale({scale:g})")
    return _shape(
        "path",
        css,
        d=strokes,
        fill="none",
        stroke=color,
        stroke_width=width,
        stroke_linecap="round",
        transform=place,
    )


@lru_cache(maxsize=1)
def _symbols() -> dict[str, str]:
    """The pieces as `<symbol>` elements, by face; the file says where they come from."""
    text = (resources.files("fukayomi.shogi") / "pieces.svg").read_text(encoding="utf-8")
    return {found[1]: found[0] for found in re.finditer(r'<symbol id="koma-([a-z-]+)".*?</symbol>', text)}
