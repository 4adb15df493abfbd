"""Positions, moves and the rules: the classes of the native core, under the names that users see.

Exported classes say that they belong to `fukayomi`, so that tracebacks, `help` and pickles name `fukayomi.Position`.
"""

from fukayomi._native import (
    START_SFEN,
    Color,
    DeclarationRule,
    IllegalMoveError,
    InvalidMoveError,
    InvalidPackedError,
    InvalidSfenError,
    Move,
    Moves,
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

for _exported in (
    Color, DeclarationRule, IllegalMoveError, InvalidMoveError, InvalidPackedError, InvalidSfenError, Move, Piece,
    PieceType, Position, Repetition, ShogiError,
):  # fmt: skip
    _exported.__module__ = "fukayomi"
Moves.__module__ = "fukayomi.shogi"

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
    "Moves",
    "Piece",
    "PieceType",
    "Position",
    "Repetition",
    "ShogiError",
    "square_from_usi",
    "square_name",
]
