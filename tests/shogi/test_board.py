"""What stands where and what attacks what, against rsshogi and cshogi; the board and the planes as arrays."""

import random

import cshogi
import numpy as np
import pytest
from rsshogi.core import Board as RsBoard

from fukayomi import _native
from fukayomi.shogi import (
    BLACK,
    WHITE,
    Color,
    InvalidMoveError,
    Move,
    PieceType,
    Position,
    square_from_usi,
    square_name,
)


def random_positions(seed: int, games: int = 12, plies: int = 120) -> list[Position]:
    chooser = random.Random(seed)
    found: list[Position] = []
    for _ in range(games):
        position = Position()
        for _ in range(plies):
            if not position.legal_moves:
                break
            position.push(chooser.choice(position.legal_moves))
            if chooser.random() < 0.2:
                found.append(position.copy())
    return found


POSITIONS = random_positions(5)


def test_pieces_by_square() -> None:
    for position in POSITIONS:
        pieces = position.pieces()
        assert pieces == {square: piece for square in range(81) if (piece := position.piece_on(square))}
        assert list(pieces) == sorted(pieces)
        assert position.pieces(WHITE) == {square: piece for square, piece in pieces.items() if piece.color == WHITE}
        assert position.pieces(type=PieceType.PAWN) == {
            square: piece for square, piece in pieces.items() if piece.type == PieceType.PAWN
        }
    assert Position().pieces(BLACK, PieceType.KING) == {square_from_usi("5i"): Position().piece_on("5i")}


def test_the_board_as_an_array_is_cshogis() -> None:
    for position in POSITIONS:
        board = position.board_array()
        assert (board.dtype, board.shape) == (np.uint8, (81,))
        assert board.tolist() == cshogi.Board(position.sfen()).pieces
        for square, piece in position.pieces().items():
            assert board[square] == piece.type.value + 16 * piece.color.value


def test_attackers() -> None:
    """A piece attacks a square if, with the opponent's pawn there and no king that could be exposed, it could take."""
    for position in POSITIONS[::3]:
        for color in (BLACK, WHITE):
            for square in range(0, 81, 7):
                attackers = position.attackers(color, square)
                assert attackers == sorted(attackers)
                assert attackers == position.attackers(color, square_name(square))
                assert attackers == reached_from(position, color, square)


STEPS = {
    PieceType.PAWN: [(0, -1)],
    PieceType.KNIGHT: [(-1, -2), (1, -2)],
    PieceType.SILVER: [(-1, -1), (0, -1), (1, -1), (-1, 1), (1, 1)],
    PieceType.GOLD: [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (0, 1)],
    PieceType.KING: [(file, rank) for file in (-1, 0, 1) for rank in (-1, 0, 1) if file or rank],
}
SLIDES = {
    PieceType.LANCE: [(0, -1)],
    PieceType.BISHOP: [(-1, -1), (1, -1), (-1, 1), (1, 1)],
    PieceType.ROOK: [(0, -1), (0, 1), (-1, 0), (1, 0)],
}
SLIDES |= {PieceType.HORSE: SLIDES[PieceType.BISHOP], PieceType.DRAGON: SLIDES[PieceType.ROOK]}
STEPS |= dict.fromkeys((PieceType.HORSE, PieceType.DRAGON), STEPS[PieceType.KING])
STEPS |= dict.fromkeys(
    (PieceType.PRO_PAWN, PieceType.PRO_LANCE, PieceType.PRO_KNIGHT, PieceType.PRO_SILVER), STEPS[PieceType.GOLD]
)


def reached_from(position: Position, color: Color, square: int) -> list[int]:
    """The attackers by walking from every piece of the side, one square at a time."""
    found: list[int] = []
    forward = 1 if color == BLACK else -1
    occupied = position.pieces()
    for origin, piece in position.pieces(color).items():
        reached: set[tuple[int, int]] = set()
        for steps, limit in ((STEPS.get(piece.type, []), 1), (SLIDES.get(piece.type, []), 8)):
            for file_step, rank_step in steps:
                file, rank = divmod(origin, 9)
                for _ in range(limit):
                    file, rank = file + file_step, rank + forward * rank_step
                    if not (0 <= file < 9 and 0 <= rank < 9):
                        break
                    reached.add((file, rank))
                    if file * 9 + rank in occupied:
                        break
        if divmod(square, 9) in reached:
            found.append(origin)
    return found


def test_checkers_are_attackers_of_the_king_as_rsshogi_says() -> None:
    in_check = 0
    for position in POSITIONS:
        king = position.king_square(position.turn)
        assert king is not None
        attacked = bool(position.attackers(position.turn.opponent, king))
        assert attacked == position.is_check() == RsBoard(position.sfen()).is_in_check()
        in_check += attacked
    assert in_check


def test_squares_may_be_names() -> None:
    assert Position().piece_on("5i") == Position().piece_on(44)
    for bad in (-1, 81):
        with pytest.raises(ValueError, match="is not in 0 to 80"):
            Position().attackers(BLACK, bad)
    with pytest.raises(InvalidMoveError, match="invalid square"):
        Position().piece_on("0a")


def test_planes_and_labels() -> None:
    for position in POSITIONS[::5]:
        planes1, planes2 = position.planes()
        packed1, packed2 = _native.encode_position(position)
        assert np.array_equal(planes1.ravel(), np.unpackbits(packed1, bitorder="little")[: 62 * 81])
        constant = np.unpackbits(packed2, bitorder="little")[:57]
        assert np.array_equal(planes2, np.broadcast_to(constant[:, None, None], (57, 9, 9)))
        labels = position.legal_labels()
        assert labels.tolist() == [position.policy_label(move) for move in position.legal_moves]
    with pytest.raises(InvalidMoveError, match="no piece moves like this"):
        Position().policy_label(Move.from_usi("5e4b"))
