"""Pictures of what the pieces are worth: boards tinted red where Black's pieces count, blue where White's do.

Everything is a path or a stroke, numbers too, so that a picture looks the same without fonts.
"""

import html
from collections.abc import Sequence
from typing import Final

from fukayomi.engine.worth.worth import PieceWorth, PositionWorth, View
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import BLACK, WHITE, Color
from fukayomi.shogi.svg import HEIGHT, WIDTH, Svg, Tint, board_svg, number_strokes

COLORS: Final = {BLACK: "#c8201c", WHITE: "#1c5fd2"}
_CAPTION = 26
_GAP = 14
_LEAST, _MOST = 0.04, 0.66
"""Opacity of a worth of 0, and of the greatest."""
_SIDES: Final = {BLACK: "☗", WHITE: "☖"}
_SIDE_MARK = "M0,-7.5L4.5,-5L6,6.5H-6L-4.5,-5Z"


def worth_svg(
    worths: Sequence[PositionWorth], view: View = "worth", *, numbers: bool = True, flip: bool = False, size: int = 420
) -> Svg:
    """Draw one position, or several side by side, as an `<svg>` element.

    The deeper a tint, the more the piece counts; all boards have one scale. Lines mark negative values. Above each
    board stand its ply and Black's score in centipawns and percent; kings and pieces without a value have no tint.

    Args:
        worths: The positions.
        view: "worth", "relative" (against the average of the kind) or "change" (since the last ply).
        numbers: Write the centipawns under the pieces.
        flip: Draw White at the bottom.
        size: Width of each board in pixels.

    Raises:
        ValueError: There is no position.
    """
    if not worths:
        raise InvalidValueError("a picture needs a position")
    scale = largest(worths, view)
    boards = [
        _placed(board_svg(worth.position, tints=tints(worth, view, scale, numbers), flip=flip, size=None), index)
        + _caption(worth, index)
        for index, worth in enumerate(worths)
    ]
    width = len(worths) * WIDTH + (len(worths) - 1) * _GAP
    height = HEIGHT + 2 * _CAPTION
    label = html.escape("; ".join(_label(worth, view) for worth in worths))
    factor = size / WIDTH
    return Svg(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="worth" viewBox="0 0 {width} {height}" '
        f'width="{round(width * factor)}" height="{round(height * factor)}" role="img" aria-label="{label}">'
        f'<rect class="paper" x="0" y="0" width="{width}" height="{height}" fill="#fffefb"/>'
        f"{''.join(boards)}{_legend(scale)}</svg>"
    )


def largest(worths: Sequence[PositionWorth], view: View) -> float:
    """The largest absolute value of a view, in centipawns: that of the deepest tint; at least 1."""
    values = [each.cp_of(view) for worth in worths for each in worth.pieces]
    return max([1.0, *(abs(value) for value in values if value is not None)])


def tints(worth: PositionWorth, view: View, scale: float, numbers: bool = True) -> list[Tint]:
    """The tints of a board, as deep as values are large in proportion to `scale`."""
    return [_tint(each, value, scale, numbers) for each in worth.pieces if (value := each.cp_of(view)) is not None]


def depth(value: float, scale: float) -> float:
    """Opacity of the tint of a value: by the square root, so that one great value leaves others visible."""
    return _LEAST + (_MOST - _LEAST) * min(1.0, abs(value) / scale) ** 0.5


def _tint(each: PieceWorth, value: float, scale: float, numbers: bool) -> Tint:
    piece = each.piece
    place = piece.square if piece.square is not None else (piece.color, piece.type)
    text = f"{round(value)}".replace("-", "−") if numbers else ""
    return Tint(place, COLORS[piece.color], depth(value, scale), round(value) < 0, text)


def _placed(board: str, index: int) -> str:
    """A board as a part of a picture."""
    x = index * (WIDTH + _GAP)
    extent = f'x="{x}" y="{_CAPTION}" width="{WIDTH}" height="{HEIGHT}"'
    return board.replace("<svg ", f"<svg {extent} ", 1)


def _caption(worth: PositionWorth, index: int) -> str:
    """The ply, and Black's score."""
    middle = index * (WIDTH + _GAP) + WIDTH / 2
    score = f"{worth.cp:+d} {round(100 * worth.winrate)}%".replace("-", "−")
    return (
        "".join(number_strokes(str(worth.position.ply - 1), middle - 90, 15, 1.5))
        + _mark(BLACK, middle + 2, 15)
        + "".join(number_strokes(score, middle + 62, 15, 1.2))
    )


def _mark(color: Color, x: float, y: float) -> str:
    fill = COLORS[color] if color == BLACK else "none"
    place = f"translate({x:g},{y:g})"
    return f'<path class="side" d="{_SIDE_MARK}" fill="{fill}" stroke="{COLORS[color]}" transform="{place}"/>'


def _legend(scale: float) -> str:
    """For each side the tints from 0 to the greatest value."""
    y, steps, cell = _CAPTION + HEIGHT + 8, 5, 16
    parts: list[str] = []
    for color, x in ((BLACK, 60), (WHITE, 250)):
        parts.append(_mark(color, x - 16, y + 5))
        parts += [
            f'<rect class="tint" x="{x + step * cell}" y="{y}" width="{cell}" height="10" fill="{COLORS[color]}" '
            f'opacity="{depth(step / (steps - 1), 1):.3f}"/>'
            for step in range(steps)
        ]
        parts += number_strokes(str(round(scale)), x + steps * cell + 22, y + 5, 1)
    return "".join(parts)


def _label(worth: PositionWorth, view: View) -> str:
    """Text for a screen reader: the three most valuable pieces of the position."""
    known = [(value, each.piece.japanese) for each in worth.pieces if (value := each.cp_of(view)) is not None]
    best = ", ".join(f"{name} {value:+.0f}" for value, name in sorted(known, reverse=True)[:3])
    return f"{worth.position.sfen()}: {_SIDES[BLACK]} {worth.cp:+d} cp; {best}"
