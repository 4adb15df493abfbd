"""Boards as pictures: well-formed, made of shapes alone, every piece where it stands."""

import re
import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from fukayomi import BLACK, WHITE, InvalidMoveError, Move, PieceType, Position
from fukayomi.shogi import svg
from fukayomi.shogi.svg import Arrow, piece_symbols

SVG = "{http://www.w3.org/2000/svg}"
MIDDLE_GAME = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
PROMOTED = "4k4/9/+P+L+N+S+B+R3/9/9/+p+l+n+s+b+r3/9/4K4/9 b 4G13P2s2n2l3p 1"


def drawn(picture: str) -> ET.Element:
    root = ET.fromstring(picture)
    assert {element.tag for element in root.iter()} <= {
        SVG + tag for tag in ("svg", "symbol", "path", "rect", "circle", "use")
    }
    symbols = {element.get("id") for element in root.iter(SVG + "symbol")}
    assert symbols == {(element.get("href") or "")[1:] for element in root.iter(SVG + "use")}
    return root


def faces(root: ET.Element) -> Counter[tuple[str, bool]]:
    """How often each face is drawn, upright and turned."""
    uses = list(root.iter(SVG + "use"))
    return Counter(((use.get("href") or "")[6:], "rotate(180)" in (use.get("transform") or "")) for use in uses)


def with_class(root: ET.Element, css: str) -> list[ET.Element]:
    return [element for element in root.iter() if css in (element.get("class") or "").split()]


def test_the_start_position() -> None:
    root = drawn(Position().svg())
    count = faces(root)
    assert count[("pawn", False)] == count[("pawn", True)] == 9
    assert count[("king-dotted", False)] == count[("king", True)] == 1  # 玉 below, 王 above
    assert count.total() == 40
    assert not with_class(root, "last")
    assert (root.get("width"), root.get("aria-label")) == ("420", Position().sfen())


@pytest.mark.parametrize("sfen", [MIDDLE_GAME, PROMOTED])
def test_pieces_on_the_board_and_in_hand(sfen: str) -> None:
    position = Position.from_sfen(sfen)
    expected = Counter((piece.type, piece.color) for piece in position.pieces().values())
    expected.update((kind, color) for color in (BLACK, WHITE) for kind in position.hand(color))
    for flip in (False, True):
        count = faces(drawn(position.svg(flip=flip)))
        for (kind, color), times in expected.items():
            face = "king-dotted" if (kind, color) == (PieceType.KING, BLACK) else kind.name.lower().replace("_", "-")
            assert count[(face, (color == WHITE) != flip)] == times
        assert count.total() == expected.total()


def test_hands_are_counted_in_kanji() -> None:
    without = len(with_class(drawn(Position().svg()), "mark"))
    assert without == 18  # of files and ranks
    counts = (4, 13, 2, 2, 2, 3)
    numerals = len(with_class(drawn(Position.from_sfen(PROMOTED).svg()), "mark"))
    assert numerals - without == sum(2 if count > 10 else 1 for count in counts)


def test_last_move_is_marked() -> None:
    position = Position.from_usi("startpos moves 7g7f")
    corners = [(float(mark.get("x", 0)), float(mark.get("y", 0))) for mark in with_class(drawn(position.svg()), "last")]
    assert corners[0][0] == corners[1][0]
    assert corners[0][1] - corners[1][1] == svg.CELL_H
    marks = with_class(drawn(Position.from_sfen(position.sfen()).svg(last_move="P*5e")), "last")
    assert len(marks) == 1


def test_arrows_and_drops() -> None:
    position = Position.from_sfen(MIDDLE_GAME)
    root = drawn(position.svg(arrows=["2b3b", Move.from_usi("P*5e"), Arrow(Move.from_usi("2a3c"), "red")]))
    assert len(with_class(root, "target")) == 3
    shapes = with_class(root, "arrow")
    assert [shape.tag for shape in shapes] == [SVG + "path", SVG + "circle", SVG + "path"]
    assert shapes[2].get("fill") == "red"
    with pytest.raises(InvalidMoveError):
        position.svg(arrows=["7g"])


def test_title_and_size() -> None:
    root = ET.fromstring(Position().svg(title='a "title" <b>', size=None))
    assert (root.get("aria-label"), root.get("width")) == ('a "title" <b>', None)
    assert root.get("viewBox") == f"0 0 {svg.WIDTH} {svg.HEIGHT}"


def test_a_page_has_the_shapes_once() -> None:
    assert "http" not in piece_symbols()
    assert len(re.findall("<symbol ", piece_symbols())) == 15


def test_notebooks_draw_positions() -> None:
    assert Position()._repr_svg_() == Position().svg()


def test_notebooks_draw_pictures() -> None:
    picture = Position().svg(flip=True)
    assert isinstance(picture, str)
    assert picture._repr_svg_() == picture
    assert picture != Position().svg()
