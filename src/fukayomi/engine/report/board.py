"""The board as inline SVG, with arrows for the move played and the better one."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

CELL_W, CELL_H = 40, 44
"""The squares of a real board are a little higher than wide."""
HAND_W = 46
LEFT, TOP = HAND_W + 8, 22
"""The upper left corner of the board."""
WIDTH = LEFT + 9 * CELL_W + 22 + HAND_W
HEIGHT = TOP + 9 * CELL_H + 10

KANJI = {
    "P": "歩", "L": "香", "N": "桂", "S": "銀", "G": "金", "B": "角", "R": "飛", "K": "玉",
    "+P": "と", "+L": "杏", "+N": "圭", "+S": "全", "+B": "馬", "+R": "龍",
}  # fmt: skip
_RANKS = "一二三四五六七八九"
_COUNTS = ["", "", *"二三四五六七八九十", *(f"十{digit}" for digit in "一二三四五六七八")]
_HAND_ORDER = "RBGSNLP"
_PIECE_OUTLINE = "M0,-20.5 L12.5,-15 L17.5,19 L-17.5,19 L-12.5,-15 Z"


@dataclass(frozen=True, slots=True)
class Arrow:
    """A move to draw over the board: its USI form, and the CSS class that gives the colour."""

    usi: str
    css: str


def board_svg(sfen: str, arrows: tuple[Arrow, ...] = (), title: str = "") -> str:
    """Draw the position of an SFEN as an `<svg>` element, Black at the bottom; the page's CSS gives the colours.

    Args:
        sfen: A valid SFEN.
        arrows: Later ones are drawn over earlier ones.
        title: Text for screen readers.
    """
    board, _, hands = sfen.split()[:3]
    parts = [
        f'<svg class="board" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title)}">',
        f'<rect class="wood" x="{LEFT}" y="{TOP}" width="{9 * CELL_W}" height="{9 * CELL_H}"/>',
        *(_target(arrow) for arrow in arrows),
        *_grid(),
        *_pieces(board),
        *_hand(hands, is_black=True),
        *_hand(hands, is_black=False),
        *(_arrow(arrow) for arrow in arrows),
        "</svg>",
    ]
    return "".join(parts)


def _grid() -> Iterator[str]:
    lines = "".join(f"M{LEFT + i * CELL_W},{TOP}v{9 * CELL_H}" for i in range(10))
    lines += "".join(f"M{LEFT},{TOP + i * CELL_H}h{9 * CELL_W}" for i in range(10))
    yield f'<path class="grid" d="{lines}"/>'
    for x in (3, 6):
        for y in (3, 6):
            yield f'<circle class="star" cx="{LEFT + x * CELL_W}" cy="{TOP + y * CELL_H}" r="2.5"/>'
    for i in range(9):
        yield _text("mark", LEFT + (i + 0.5) * CELL_W, TOP - 7, str(9 - i))
        yield _text("mark", LEFT + 9 * CELL_W + 11, TOP + (i + 0.5) * CELL_H + 4, _RANKS[i])


def _pieces(board: str) -> Iterator[str]:
    for y, row in enumerate(board.split("/")):
        x = 0
        for token in re.findall(r"\d|\+?[A-Za-z]", row):
            if token.isdigit():
                x += int(token)
                continue
            yield _piece(token, LEFT + (x + 0.5) * CELL_W, TOP + (y + 0.5) * CELL_H)
            x += 1


def _piece(token: str, x: float, y: float) -> str:
    is_black = token[-1].isupper()
    kanji = "王" if token == "k" else KANJI[token.upper()]
    css = "pr" if token[0] == "+" else "pc"
    turn = "" if is_black else " rotate(180)"
    return (
        f'<g transform="translate({x:g},{y:g}){turn}"><path class="koma" d="{_PIECE_OUTLINE}"/>'
        f'<text class="{css}" y="10">{kanji}</text></g>'
    )


def _hand(hands: str, is_black: bool) -> Iterator[str]:
    """Pieces in hand: Black's at the right of the board from the bottom, White's at the left from the top."""
    counts = {letter: int(count or 1) for count, letter in re.findall(r"(\d*)([A-Za-z])", hands)}
    own = [(k, counts[k if is_black else k.lower()]) for k in _HAND_ORDER if (k if is_black else k.lower()) in counts]
    x = WIDTH - HAND_W / 2 if is_black else HAND_W / 2
    y = HEIGHT - 16.0 if is_black else TOP + 6.0
    step = -1 if is_black else 1
    turn = "" if is_black else " rotate(180)"
    for row, text in enumerate(["☗" if is_black else "☖", *(KANJI[k] + _COUNTS[n] for k, n in own)] if own else []):
        css = "side" if row == 0 else "inhand"
        yield f'<g transform="translate({x:g},{y + step * row * 24:g}){turn}"><text class="{css}">{text}</text></g>'


def _center(square: str) -> tuple[float, float]:
    return LEFT + (9 - int(square[0]) + 0.5) * CELL_W, TOP + ("abcdefghi".index(square[1]) + 0.5) * CELL_H


def _target(arrow: Arrow) -> str:
    if not _is_move(arrow.usi):
        return ""
    x, y = _center(arrow.usi[2:4])
    left, top = x - CELL_W / 2, y - CELL_H / 2
    return f'<rect class="target {arrow.css}" x="{left:g}" y="{top:g}" width="{CELL_W}" height="{CELL_H}"/>'


def _arrow(arrow: Arrow) -> str:
    """An arrow from square to square; for a drop, a disc with the piece."""
    usi = arrow.usi
    if not _is_move(usi):
        return ""
    x, y = _center(usi[2:4])
    if usi[1] == "*":
        return (
            f'<g class="drop {arrow.css}" transform="translate({x:g},{y:g})"><circle r="16"/>'
            f'<text y="8">{KANJI[usi[0]]}</text></g>'
        )
    x0, y0 = _center(usi[:2])
    length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5
    ux, uy = (x - x0) / length, (y - y0) / length
    tip_x, tip_y = x - ux * 2, y - uy * 2
    neck_x, neck_y = x - ux * 16, y - uy * 16
    wings = (neck_x - uy * 8, neck_y + ux * 8), (neck_x + uy * 8, neck_y - ux * 8)
    shaft = f"M{_point(x0 + ux * 3, y0 + uy * 3)}L{_point(neck_x, neck_y)}"
    head = f"M{_point(tip_x, tip_y)}L{_point(*wings[0])}L{_point(*wings[1])}Z"
    return f'<g class="arrow {arrow.css}"><path class="shaft" d="{shaft}"/><path class="head" d="{head}"/></g>'


def _point(x: float, y: float) -> str:
    return f"{x:.1f},{y:.1f}"


def _is_move(usi: str) -> bool:
    return re.fullmatch(r"([1-9][a-i]|[PLNSGBR]\*)[1-9][a-i]\+?", usi) is not None


def _text(css: str, x: float, y: float, text: str) -> str:
    return f'<text class="{css}" x="{x:g}" y="{y:g}">{text}</text>'
