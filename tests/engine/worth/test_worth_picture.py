"""The tinted boards: which squares, which colours, lines where values are negative; and the same as PNG."""

import io
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import pytest

from fukayomi import BLACK, WHITE, Color, Network, Position
from fukayomi.engine.worth.picture import COLORS, depth, largest, worth_svg
from fukayomi.engine.worth.raster import svg_png
from fukayomi.engine.worth.worth import PositionWorth, piece_worth

SVG = "{http://www.w3.org/2000/svg}"
SFEN = "lnsgkgsnl/7b1/p1pppp1pp/6pR1/9/1rP6/P2PPPP1P/1BG6/LNS1KGSNL b 2Pp 15"


@pytest.fixture(scope="module")
def worth() -> Iterator[PositionWorth]:
    with Network("<hash>") as network:
        yield piece_worth(Position.from_sfen(SFEN), network)


def boards(picture: str) -> list[ET.Element]:
    return ET.fromstring(picture).findall(f"{SVG}svg")


def with_class(root: ET.Element, css: str) -> list[ET.Element]:
    return [element for element in root.iter() if element.get("class") == css]


def test_a_tint_for_each_value_in_its_side_s_colour(worth: PositionWorth) -> None:
    [board] = boards(worth_svg([worth]))
    tinted = with_class(board, "tint")
    assert len(tinted) == len(worth.pieces)
    for color in (BLACK, WHITE):
        count = sum(each.piece.color == color for each in worth.pieces)
        assert len([tint for tint in tinted if tint.get("fill") == COLORS[color]]) == count
    negative = [each for each in worth.pieces if (each.worth_cp or 0) < 0]
    assert 0 < len(with_class(board, "hatch")) == len(negative) < len(worth.pieces)


def test_the_deepest_tint_is_the_largest_value_and_boards_share_a_scale(worth: PositionWorth) -> None:
    with Network("<hash>") as network:
        other = piece_worth(Position(), network)
    scale = largest([worth, other], "worth")
    assert scale == max(abs(each.worth_cp or 0) for each in (*worth.pieces, *other.pieces))
    both = boards(worth_svg([worth, other]))
    assert len(both) == 2
    found = sorted(float(tint.get("opacity") or 0) for board in both for tint in with_class(board, "tint"))
    expected = sorted(round(depth(each.worth_cp or 0, scale), 3) for each in (*worth.pieces, *other.pieces))
    assert found == pytest.approx(expected)


def test_no_font_is_needed(worth: PositionWorth) -> None:
    for picture in (worth_svg([worth]), worth_svg([worth], numbers=False, flip=True)):
        tags = {element.tag.removeprefix(SVG) for element in ET.fromstring(picture).iter()}
        assert tags <= {"svg", "symbol", "path", "rect", "circle", "use"}
        assert worth.position.sfen() in picture
    assert len(worth_svg([worth], numbers=False)) < len(worth_svg([worth]))


def test_pieces_without_a_value_have_no_tint(worth: PositionWorth) -> None:
    [board] = boards(worth_svg([worth], "change"))  # nothing is known of the ply before
    assert with_class(board, "tint") == []
    with pytest.raises(ValueError, match="a picture needs a position"):
        worth_svg([])


def test_png_shows_pieces_and_tints(worth: PositionWorth) -> None:
    from matplotlib.image import imread

    pixels: Any = imread(io.BytesIO(svg_png(worth_svg([worth], numbers=False), 1)))
    height, width = pixels.shape[:2]
    assert (width, height) == (433, 409)

    def cell(square: int) -> Any:
        x, y = 52 + (8 - square // 9) * 35, 26 + 18 + square % 9 * 37
        return pixels[y + 2 : y + 35, x + 2 : x + 33, :3].reshape(-1, 3)

    def deepest(color: Color) -> int:
        known = [each for each in worth.pieces if each.piece.color == color and each.piece.square is not None]
        square = max(known, key=lambda each: abs(each.worth_cp or 0)).piece.square
        assert square is not None
        return square

    empty, king = cell(40), cell(44)
    assert empty.std(axis=0).max() < 0.02  # plain wood
    assert king.min() < 0.25  # black strokes, and no tint
    red, blue = cell(deepest(BLACK)).mean(axis=0), cell(deepest(WHITE)).mean(axis=0)
    assert red[0] - red[2] > blue[0] - blue[2] + 0.1


def test_png_refuses_what_it_cannot_draw() -> None:
    start = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10">'
    for inside, message in (
        ("<text>1</text>", "cannot draw <text>"),
        ('<path d="M0,0A1,1 0 0 0 2,2"/>', "cannot draw the command A"),
        ('<path d="M0,0" transform="skewX(3)"/>', "cannot draw a skew"),
    ):
        with pytest.raises(ValueError, match=message):
            svg_png(f"{start}{inside}</svg>")
