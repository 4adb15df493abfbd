"""A position turned round: the board by 180 degrees, colours and side to move exchanged. Shogi stays the same."""

import re

from fukayomi.shogi import Move, Position

_PIECE_OR_EMPTY = re.compile(r"\+?[A-Za-z]|[0-9]|/")
_HAND = re.compile(r"[0-9]*[A-Za-z]")
_SQUARES = str.maketrans("123456789abcdefghi", "987654321ihgfedcba")


def rotated_position(position: Position) -> Position:
    """The position turned round, without its past."""
    board, turn, hand, ply = position.sfen().split()
    board = "".join(reversed(_PIECE_OR_EMPTY.findall(board))).swapcase()
    hands = sorted(_HAND.findall(hand.swapcase()), key=str.islower)  # Black's first; the sort is stable
    turn = "w" if turn == "b" else "b"
    return Position.from_sfen(f"{board} {turn} {''.join(hands) or '-'} {ply}", allow_missing_king=True)


def rotated_move(move: Move) -> Move:
    """The same move on the board turned round."""
    return Move.from_usi(move.usi().translate(_SQUARES))
