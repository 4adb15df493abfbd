"""The legal moves that Japanese notation may mean: of those of a piece to a square, the marks choose one.

打 is a drop, 成 or 不成 a promotion or none, 上 引 寄 the direction, 右 左 直 the side of the origin, all from the
player's view.
"""

from typing import NamedTuple

from fukayomi.errors import InvalidValueError
from fukayomi.shogi.position import BLACK, Color, Move, PieceType, Position


class MoveError(InvalidValueError):
    """A move of a record that cannot be played; the message says why."""

    def __init__(self, reason: str, *, is_illegal: bool = True) -> None:
        super().__init__(reason)
        self.is_illegal = is_illegal
        """True if it is a move, though one that the rules forbid."""


def find_moves(position: Position, target: int, piece: PieceType, marks: str, how: str | None) -> list[Move]:
    """The legal moves that Japanese notation may mean.

    Args:
        position: Position before the move.
        target: Square it goes to.
        piece: The piece, before it promotes.
        marks: 右 左 直 上 引 寄 in any number.
        how: 打, 成, or something else for neither.
    """
    moves = [move for move in position.legal_moves if move.to_square == target]
    moves = [move for move in moves if _piece_of(position, move) == piece and move.is_promotion == (how == "成")]
    from_board = [move for move in moves if not move.is_drop]
    if how == "打" or not from_board:
        return [move for move in moves if move.is_drop]
    return _narrow([_Origin.of(move, position.turn) for move in from_board], marks, piece)


def _piece_of(position: Position, move: Move) -> PieceType | None:
    if move.from_square is None:
        return move.dropped
    piece = position.piece_on(move.from_square)
    return piece.type if piece is not None else None


class _Origin(NamedTuple):
    """Origin of a move, seen from its target by the player."""

    move: Move
    right: int
    """Files to the right of the target; negative to the left."""
    below: int
    """Ranks below the target; negative above."""

    @classmethod
    def of(cls, move: Move, turn: Color) -> "_Origin":
        assert move.from_square is not None
        sign = 1 if turn == BLACK else -1
        right = move.to_square // 9 - move.from_square // 9  # files count from Black's right
        below = move.from_square % 9 - move.to_square % 9
        return cls(move, sign * right, sign * below)


def _narrow(origins: list[_Origin], marks: str, piece: PieceType) -> list[Move]:
    for mark in marks:
        if mark in "上行入":
            origins = [origin for origin in origins if origin.below > 0]
        elif mark == "引":
            origins = [origin for origin in origins if origin.below < 0]
        elif mark == "寄":
            origins = [origin for origin in origins if origin.below == 0]
        elif mark == "直":
            origins = [origin for origin in origins if origin.below == 1 and origin.right == 0]
    for mark, sign in (("右", 1), ("左", -1)):
        if mark in marks and origins:
            beside = [origin for origin in origins if sign * origin.right > 0]
            if not beside or piece in (PieceType.HORSE, PieceType.DRAGON):
                # If both are on the same side of the target, the mark means the outer one.
                outermost = max(sign * origin.right for origin in origins)
                beside = [origin for origin in origins if sign * origin.right == outermost]
            origins = beside
    return [origin.move for origin in origins]
