"""docs/formats.md, held against the code: its tables of bits are enough to write hcp and packed sfen."""

import re
from itertools import islice

import pytest
from places import ROOT

from fukayomi import _native
from fukayomi.data.formats.book import BOOK_ENTRY
from fukayomi.data.formats.cache import CANDIDATE, POSITION
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.formats.psv import PSV, psv_record
from fukayomi.shogi import START_SFEN, Color, Position

PAGE = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
SET = {"P": 18, "L": 4, "N": 4, "S": 4, "G": 4, "B": 2, "R": 2}
SFENS = [
    START_SFEN,
    "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1",
    "4k4/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "4k4/9/9/9/9/9/9/9/4K4 b RBG2SN3Pbg2snl4p 1",
    "l+R5nl/4k+B3/p3p+S1pp/2p3p2/9/2P6/PP1+p+lP1PP/1KG+r1+n3/LNSg4+b w G2SN4P 1",
]


def section(title: str) -> str:
    found = re.search(rf"^### {re.escape(title)}.*?(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[0]


def codes_of(title: str) -> dict[str, tuple[str, str, str]]:
    rows = re.findall(r"^\| ([PLNSGBR]) \| `([pc01]+)` \| `([c01]+)` \| `([01]+)` \|$", section(title), re.MULTILINE)
    assert len(rows) == 7
    return {piece: (board, hand, box) for piece, board, hand, box in rows}


def write(position: Position, codes: dict[str, tuple[str, str, str]]) -> bytes:
    """As the page says it: fields of bits, the last bit on the left."""
    black, white = position.king_square(Color.BLACK), position.king_square(Color.WHITE)
    fields = [f"{position.turn:b}", f"{black:07b}", f"{white:07b}"]
    left = dict(SET)
    for square in range(81):
        if square in (black, white):
            continue
        piece = position.piece_on(square)
        if piece is None:
            fields.append("0")
            continue
        letter = piece.sfen().upper()
        left[letter[-1]] -= 1
        fields.append(codes[letter[-1]][0].replace("c", f"{piece.color:b}").replace("p", str(int("+" in letter))))
    for color in Color:
        hand = {kind.name: count for kind, count in position.hand(color).items()}
        for letter, (_, code, _) in sorted(codes.items(), key=lambda item: list(SET).index(item[0])):
            name = {"P": "PAWN", "L": "LANCE", "N": "KNIGHT", "S": "SILVER", "G": "GOLD", "B": "BISHOP", "R": "ROOK"}
            count = hand.get(name[letter], 0)
            left[letter] -= count
            fields += [code.replace("c", f"{color:b}")] * count
    for letter in SET:
        fields += [codes[letter][2]] * left[letter]
    bits = "".join(field[::-1] for field in fields)
    assert len(bits) == 256
    return bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, 256, 8))


@pytest.mark.parametrize("index", range(len(SFENS)))
def test_the_tables_of_bits_write_positions(index: int) -> None:
    position = Position.from_sfen(SFENS[index])
    assert write(position, codes_of("hcp")) == _native.encode_hcp(position)
    assert write(position, codes_of("psv")) == _native.encode_psfen(position)


def test_positions_of_a_game() -> None:
    hcp, psfen = codes_of("hcp"), codes_of("psv")
    position = Position()
    for move in islice(iter(lambda: position.legal_moves[len(position.moves) % position.legal_move_count], None), 120):
        position.push(move)
        if position.legal_move_count == 0:
            break
        assert write(position, hcp) == _native.encode_hcp(position)
        assert write(position, psfen) == _native.encode_psfen(position)


@pytest.mark.parametrize(
    ("title", "dtype"), [("hcpe:", HCPE), ("psv", PSV), ("book", BOOK_ENTRY), ("hcpe3 cache", POSITION)],
    ids=["hcpe", "psv", "book", "cache"],
)  # fmt: skip
def test_the_tables_of_fields(title: str, dtype: object) -> None:
    offsets = [int(offset) for offset in re.findall(r"^\| (\d+) \| ", section(title), re.MULTILINE)]
    assert dtype.fields is not None  # pyright: ignore[reportAttributeAccessIssue]
    expected = [field[1] for field in dtype.fields.values()]  # pyright: ignore[reportAttributeAccessIssue]
    assert offsets == expected + ([POSITION.itemsize] if dtype is POSITION else [])
    assert CANDIDATE.itemsize == 8


def test_the_vectors() -> None:
    assert f"`{_native.encode_hcp(Position()).hex()}`" in section("hcp:")
    assert f"`{psv_record(START_SFEN, '2g2f', 10, 1, 1).tobytes().hex()}`" in section("psv")
    assert str(_native.book_key(Position())) in section("book")
