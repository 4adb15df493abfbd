"""The game: positions, moves, and the rules that lead from one to the next.

    >>> from fukayomi.shogi import Move, Position
    >>> pos = Position()
    >>> pos.push(Move.from_usi("7g7f"))
    >>> pos.push_usi("3c3d")
    Move.from_usi('3c3d')
    >>> Move.from_usi("8h2b+") in pos.legal_moves
    True
    >>> pos.sfen()
    'lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3'
    >>> pos.push_usi("P*5e")
    Traceback (most recent call last):
    ...
    fukayomi._native.IllegalMoveError: illegal move 'P*5e' in 'lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3': there is no pawn in hand

Parsers are called `from_x`, writers `x()`, questions `is_`, `has_` and `can_`. A square is a number,
(file - 1) * 9 + (rank - 1): 1a is 0, 9i is 80.
"""  # noqa: E501

from fukayomi._native import (
    START_SFEN,
    Color,
    DeclarationRule,
    IllegalMoveError,
    InvalidMoveError,
    InvalidPackedError,
    InvalidSfenError,
    Move,
    Piece,
    PieceType,
    Position,
    Repetition,
    ShogiError,
    square_from_usi,
    square_name,
)

BLACK = Color.BLACK
WHITE = Color.WHITE

__all__ = [
    "BLACK",
    "START_SFEN",
    "WHITE",
    "Color",
    "DeclarationRule",
    "IllegalMoveError",
    "InvalidMoveError",
    "InvalidPackedError",
    "InvalidSfenError",
    "Move",
    "Piece",
    "PieceType",
    "Position",
    "Repetition",
    "ShogiError",
    "square_from_usi",
    "square_name",
]
