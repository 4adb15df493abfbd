"""Pawn-drop mate (打ち歩詰め): a dropped pawn may check, but not mate."""

import random
from collections.abc import Callable, Iterator

import cshogi
import pytest
from oracles import Setup, cshogi_moves, raw_moves, rsshogi_moves

from fukayomi.shogi import InvalidSfenError, Move, Position

GUARDED = "7pk/6G2/7S1/9/9/9/9/9/K8 b P 1"
PINNED_CAPTURER = "R6gk/9/7S1/9/9/9/9/9/K8 b P 1"
LINE_OPENED = "7lk/9/8S/9/9/9/9/7L1/8K b P 1"


@pytest.mark.parametrize("sfen", [GUARDED, PINNED_CAPTURER, LINE_OPENED])
def test_known_pawn_drop_mates(sfen: str) -> None:
    pos = Position.from_sfen(sfen)
    assert not pos.is_legal(Move.from_usi("P*1b"))
    assert raw_moves(pos) == cshogi_moves(sfen) == rsshogi_moves(sfen)
    with pytest.raises(ValueError, match="uchifuzume"):
        pos.push_usi("P*1b")


@pytest.mark.parametrize(
    ("sfen", "why"),
    [
        ("8k/9/7S1/9/9/9/9/9/K8 b P 1", "the king flees to 2a"),
        ("7gk/9/7S1/9/9/9/9/9/K8 b P 1", "the gold is not pinned and takes the pawn"),
        ("6Rgk/9/8g/9/9/9/9/9/K8 b P 1", "the other gold takes the pawn"),
        ("8k/9/8r/6S2/8L/9/9/9/K8 b P 1", "the rook is pinned along the file, and may take on it"),
    ],
)
def test_pawn_drops_that_check_but_do_not_mate(sfen: str, why: str) -> None:
    pos = Position.from_sfen(sfen)
    assert pos.is_legal(Move.from_usi("P*1b")), why
    assert raw_moves(pos) == cshogi_moves(sfen) == rsshogi_moves(sfen)
    pos.push_usi("P*1b")
    assert pos.is_check()
    assert not pos.is_mated()


def test_a_pawn_that_moves_may_mate() -> None:
    pos = Position.from_sfen("7pk/6G2/7SP/9/9/9/9/9/K8 b - 1")
    pos.push_usi("1c1b")
    assert pos.is_mated()


def test_an_interposing_pawn_may_not_mate_either() -> None:
    # The bishop on 4d checks White's king; a pawn on 5c would block it, and mate Black's king below it.
    sfen = "2k6/4s4/9/4KB2r/2+r6/9/9/9/9 w p 1"
    pos = Position.from_sfen(sfen)
    assert pos.is_check()
    assert not pos.is_legal(Move.from_usi("P*5c"))
    assert pos.is_legal(Move.from_usi("P*6b"))
    assert raw_moves(pos) == cshogi_moves(sfen) == rsshogi_moves(sfen)


def constructed_pawn_drop_mates(seed: int) -> Iterator[Setup]:
    """Positions in which a pawn dropped on the square before White's king would leave White without a legal move.

    Built without our rules: after the drop, cshogi must find no answer to it.
    """
    rng = random.Random(seed)
    while True:
        setup = random_siege(rng)
        king = next(square for square, piece in setup.board.items() if piece == "k")
        after = Setup({**setup.board, king + 1: "P"}, {}, setup.turn.opponent)
        board = cshogi.Board(after.sfen())
        if board.is_check() and not board.legal_moves:
            yield setup


def random_siege(rng: random.Random) -> Setup:
    """White's king near the edge among pieces of both sides; Black has a pawn in hand and none on the king's file."""
    king = rng.choice([0, 9, 18, 27, 36, 45, 54, 63, 72, 1, 10, 73])
    black_king = rng.choice([8, 44, 80])
    board = {king: "k", black_king: "K"}
    near = [king + 9 * df + dr for df in range(-3, 4) for dr in range(4) if abs(df) + dr > 0]
    squares = [s for s in near if 0 <= s < 81 and s % 9 < 5 and s not in (king + 1, *board)]
    for piece in rng.sample(["G", "S", "G", "S", "N", "L", "R", "B", "+P", "+R", "+B"], rng.randrange(2, 6)):
        board[rng.choice(squares)] = piece
    for piece in rng.sample(["g", "s", "n", "l", "p", "g", "s", "r", "b"], rng.randrange(1, 6)):
        board[rng.choice(squares)] = piece
    return Setup(board, {"P": 1})


def check_constructed_mates(count: int, seed: int) -> int:
    """Check that no generator lists the mating drop; return the number of such positions."""
    found = 0
    for setup in constructed_pawn_drop_mates(seed):
        for side in (setup, setup.flipped()):
            sfen = side.sfen()
            try:
                pos = Position.from_sfen(sfen)
            except InvalidSfenError:
                break  # for instance, White's king stands in check although Black is to move
            king = pos.king_square(pos.turn.opponent)
            assert king is not None
            forbidden = Move.from_raw((81 << 7) | (king + (1 if side is setup else -1)))
            assert not pos.is_legal(forbidden), sfen
            assert raw_moves(pos) == cshogi_moves(sfen) == rsshogi_moves(sfen), sfen
            found += 1
        if found >= count:
            return found
    raise AssertionError("random sieges have no end")


def test_constructed_pawn_drop_mates() -> None:
    check_constructed_mates(200, seed=1)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_constructed_pawn_drop_mates_at_length(record_property: Callable[[str, object], None]) -> None:
    record_property("constructed pawn-drop mates", check_constructed_mates(2_000, seed=2))
