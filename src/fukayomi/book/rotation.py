"""A position turned round: the board by 180 degrees, colours and side to move exchanged. Shogi stays the same."""

import re

from fukayomi.shogi import Move, Position

_PIECE_OR_EMPTY = re.compile(r"\+?[A-Za-z]|[0-9]|/")
_HAND = re.compile(r"[0-9]*[A-Za-z]")
_SQUARES = str.maketrans("123456789abcdefghi", "987654321ihgfedcba")


def rotated_position(position: Position) -> Position:
    """The position turned round, without its past."""
    key, _, ply = position.sfen().rpartition(" ")
    return Position.from_sfen(f"{rotated_key(key)} {ply}", allow_missing_king=True)


def rotated_key(key: str) -> str:
    """Board, side to move and hands of an SFEN, turned round."""
    board, turn, hand = key.split(" ")
    board = "".join(reversed(_PIECE_OR_EMPTY.findall(board))).swapcase()
    hands = sorted(_HAND.findall(hand.swapcase()), key=str.islower)  # Black's first; the sort is stable
    return f"{board} {'w' if turn == 'b' else 'b'} {''.join(hands) or '-'}"


def rotated_move(move: Move) -> Move:
    """The same move on the board turned round."""
    return Move.from_usi(move.usi().translate(_SQUARES))
