"""Japanese names of moves: the Japan Shogi Association's own examples, and the marks that are easily confused."""

import random
from collections.abc import Iterator
from itertools import islice

import cshogi
import pytest
from cshogi import KI2
from oracles import random_positions
from rsshogi.core import Board as RsBoard
from rsshogi.core import Move as RsMove

from fukayomi.shogi import START_SFEN, IllegalMoveError, InvalidMoveError, InvalidSfenError, Position
from fukayomi.shogi.formats.notation import japanese_move, japanese_moves


def sfen_of(pieces: str, hands: str = "-", turn: str = "b") -> str:
    """An SFEN from pieces and squares, as ``G*9c k*5a``."""
    board = {square: piece for piece, square in (text.split("*") for text in pieces.split())}
    rows: list[str] = []
    for rank in "abcdefghi":
        row = "".join(board.get(f"{file}{rank}", "1") for file in range(9, 0, -1))
        for run in range(9, 1, -1):
            row = row.replace("1" * run, str(run))
        rows.append(row)
    return f"{'/'.join(rows)} {turn} {hands} 1"


KINGS = "K*1i k*1a "

RELATIVE = [  # pieces, move, name: from https://www.shogi.or.jp/faq/kihuhyouki.html
    ("G*9c G*8c", "9c8b", "☗８二金左"),
    ("G*9c G*8c", "8c8b", "☗８二金直"),
    ("G*4c G*2b", "4c3b", "☗３二金上"),
    ("G*4c G*2b", "2b3b", "☗３二金寄"),
    ("G*5f G*4e", "5f5e", "☗５五金上"),
    ("G*5f G*4e", "4e5e", "☗５五金寄"),
    ("S*8i S*7g", "8i8h", "☗８八銀上"),
    ("S*8i S*7g", "7g8h", "☗８八銀引"),
    ("G*9b G*7b", "9b8a", "☗８一金左"),
    ("G*9b G*7b", "7b8a", "☗８一金右"),
    ("G*6c G*5c G*4c", "6c5b", "☗５二金左"),
    ("G*6c G*5c G*4c", "5c5b", "☗５二金直"),
    ("G*6c G*5c G*4c", "4c5b", "☗５二金右"),
    ("+P*7i +P*8i +P*9i +P*9h +P*8g", "8i8h", "☗８八と直"),
    ("+P*7i +P*8i +P*9i +P*9h +P*8g", "9i8h", "☗８八と左上"),
    ("+P*7i +P*8i +P*9i +P*9h +P*8g", "9h8h", "☗８八と寄"),
    ("+P*7i +P*8i +P*9i +P*9h +P*8g", "8g8h", "☗８八と引"),
    ("+P*7i +P*8i +P*9i +P*9h +P*8g", "7i8h", "☗８八と右"),
    ("S*2i S*1g S*3i S*3g", "2i2h", "☗２八銀直"),
    ("S*2i S*1g S*3i S*3g", "3i2h", "☗２八銀左上"),
    ("S*2i S*1g S*3i S*3g", "3g2h", "☗２八銀左引"),
    ("+R*9a +R*8d", "9a8b", "☗８二龍引"),
    ("+R*9a +R*8d", "8d8b", "☗８二龍上"),
    ("+R*5e +R*1e", "5e3e", "☗３五龍左"),
    ("+R*9i +R*8i", "8i8h", "☗８八龍右"),
    ("+B*9a +B*8a", "8a8b", "☗８二馬右"),
    ("+B*6c +B*9e", "9e8e", "☗８五馬寄"),
    ("+B*9i +B*5i", "5i7g", "☗７七馬右"),
]


@pytest.mark.parametrize(("pieces", "move", "name"), RELATIVE)
def test_relative_marks_are_those_of_the_association(pieces: str, move: str, name: str) -> None:
    assert japanese_moves(sfen_of("K*1i " + pieces), [move]) == [name]


@pytest.mark.parametrize(
    ("sfen", "move", "name"),
    [
        (sfen_of(KINGS + "S*5c"), "5c5b+", "☗５二銀成"),
        (sfen_of(KINGS + "S*5c"), "5c5b", "☗５二銀不成"),
        (sfen_of(KINGS + "S*5c"), "5c6d", "☗６四銀不成"),
        (sfen_of(KINGS + "+S*5c"), "5c5b", "☗５二成銀"),
        (sfen_of(KINGS + "G*5c"), "5c5b", "☗５二金"),
        (sfen_of(KINGS + "S*5e", "S"), "S*5d", "☗５四銀打"),
        (sfen_of(KINGS + "S*5e", "S"), "S*3c", "☗３三銀"),
        (sfen_of("k*5a K*1i g*6c g*4c", turn="w"), "6c5d", "☖５四金右"),
    ],
)
def test_promotion_drop_and_side(sfen: str, move: str, name: str) -> None:
    assert japanese_moves(sfen, [move]) == [name]


def test_capture_on_the_same_square_is_called_same() -> None:
    moves = ["7g7f", "3c3d", "8h2b+", "3a2b", "B*5e", "2b3c"]
    assert japanese_moves(START_SFEN, moves) == ["☗７六歩", "☖３四歩", "☗２二角成", "☖同銀", "☗５五角", "☖３三銀"]


def test_declaration_and_resignation_end_a_line() -> None:
    assert japanese_moves(START_SFEN, ["7g7f", "win"]) == ["☗７六歩", "☖宣言勝ち"]
    assert japanese_moves(START_SFEN, ["resign", "7g7f"]) == ["☗投了"]


def test_every_legal_move_of_a_rich_position_has_a_name_of_its_own() -> None:
    sfen = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"
    names = [japanese_moves(sfen, [move.usi()])[0] for move in Position.from_sfen(sfen).legal_moves]
    assert len(names) == 593
    assert len(set(names)) == 593


def crowded_positions(count: int) -> Iterator[Position]:
    """Positions in which many pieces of a kind stand close together."""
    rng = random.Random(3)
    files, ranks = range(3, 8), "cdefg"
    near = [f"{file}{rank}" for file in files for rank in ranks]
    while count:
        golds, silvers, pawns, others = rng.randrange(5), rng.randrange(5), rng.randrange(8), rng.randrange(3)
        kinds = ["G"] * golds + ["S"] * silvers + ["+P"] * pawns + ["+B", "+R"] * others + ["N"] * others
        pieces = " ".join(f"{kind}*{square}" for kind, square in zip(kinds, rng.sample(near, len(kinds)), strict=True))
        turn = rng.choice("bw")
        try:
            if turn == "w":
                position = Position.from_sfen(sfen_of(f"K*1i k*9a {pieces.lower()}", "gs", "w"))
            else:
                position = Position.from_sfen(sfen_of(f"k*1a K*9i {pieces}", "GS"))
        except InvalidSfenError:  # the king is in check
            continue
        count -= 1
        yield position


def assert_names_are_read_back(position: Position) -> None:
    names: set[str] = set()
    for move in position.legal_moves:
        name = japanese_move(position, move)
        assert position.push_japanese(name) == move, (position.sfen(), name)
        position.pop()
        names.add(name)
    assert len(names) == position.legal_move_count


def test_every_name_is_read_back_as_its_move() -> None:
    for position in crowded_positions(100):
        assert_names_are_read_back(position)


def test_two_golds_beside_and_one_below() -> None:
    sfen = sfen_of(KINGS + "G*6e G*4e G*6f")
    assert japanese_moves(sfen, ["6e5e"]) == ["☗５五金左寄"]
    assert japanese_moves(sfen, ["4e5e"]) == ["☗５五金右"]
    assert japanese_moves(sfen, ["6f5e"]) == ["☗５五金上"]


def test_a_pinned_piece_counts() -> None:
    sfen = "4kr3/9/9/9/3G1G3/9/9/9/5K3 b G 1"  # the gold on 4e must stay on its file
    assert japanese_moves(sfen, ["6e5e"]) == ["☗５五金左"]
    assert japanese_moves(sfen, ["G*5e"]) == ["☗５五金打"]


def test_same_names_as_rsshogi_and_cshogi() -> None:
    """Where they differ from us, their name fits several moves."""
    compared = 0
    for reached in islice(random_positions(5), 0, 12_000, 40):
        sfen = reached.sfen()
        position, library, other = Position.from_sfen(sfen), RsBoard(sfen), cshogi.Board(sfen)
        assert_names_are_read_back(position)
        for move in position.legal_moves:
            ours = japanese_move(position, move)[1:]
            theirs = RsMove.from_usi(move.usi()).to_ki2(library)[1:].replace("\u3000", "")
            if ours != theirs:
                with pytest.raises(InvalidMoveError, match="ambiguous"):
                    position.push_japanese(theirs)
            theirs = KI2.move_to_ki2(other.move_from_usi(move.usi()), other)[1:].replace("\u3000", "")
            if ours != theirs:
                with pytest.raises(InvalidMoveError, match="ambiguous"):
                    position.push_japanese(theirs)
            compared += 1
    assert compared > 5_000


@pytest.mark.parametrize("move", ["7g7e", "P*5e", "3c3d", "nonsense", ""])
def test_illegal_moves_are_refused(move: str) -> None:
    with pytest.raises(IllegalMoveError, match="illegal move"):
        japanese_moves(START_SFEN, [move])


def test_a_bad_position_is_refused() -> None:
    with pytest.raises(InvalidSfenError, match="nonsense"):
        japanese_moves("nonsense", [])
