"""Shogi: positions, moves, the rules, and game records.

    >>> from fukayomi.shogi import Move, Position
    >>> position = Position()
    >>> position.push(Move.from_usi("7g7f"))
    >>> position.push_usi("3c3d")
    Move.from_usi('3c3d')
    >>> Move.from_usi("8h2b+") in position.legal_moves
    True
    >>> position.sfen()
    'lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3'
    >>> position.push_usi("P*5e")
    Traceback (most recent call last):
    ...
    fukayomi.IllegalMoveError: illegal move 'P*5e' in 'lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3': there is no pawn in hand

Parsers are named `from_x`, writers `x()`, questions `is_`, `has_` and `can_`. A square is a number,
(file - 1) * 9 + (rank - 1): 1a is 0, 9i is 80.
"""  # noqa: E501

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy
from fukayomi.shogi.position import (
    BLACK,
    START_SFEN,
    WHITE,
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
from fukayomi.shogi.record import (
    IllegalMoveInRecordError,
    Record,
    RecordedMove,
    RecordError,
    Result,
    Termination,
    UnknownFormatError,
    Variation,
)

if TYPE_CHECKING:
    from fukayomi.shogi.formats import read_record, read_records, write_record
    from fukayomi.shogi.mate import MateReason, MateResult, MateSolver

__all__ = [
    "BLACK",
    "START_SFEN",
    "WHITE",
    "Color",
    "DeclarationRule",
    "IllegalMoveError",
    "IllegalMoveInRecordError",
    "InvalidMoveError",
    "InvalidPackedError",
    "InvalidSfenError",
    "MateReason",
    "MateResult",
    "MateSolver",
    "Move",
    "Moves",
    "Piece",
    "PieceType",
    "Position",
    "Record",
    "RecordError",
    "RecordedMove",
    "Repetition",
    "Result",
    "ShogiError",
    "Termination",
    "UnknownFormatError",
    "Variation",
    "read_record",
    "read_records",
    "square_from_usi",
    "square_name",
    "write_record",
]

# Records and mates are imported on first use.
__getattr__, __dir__ = lazy(
    __name__,
    {
        ".formats": ("read_record", "read_records", "write_record"),
        ".mate": ("MateReason", "MateResult", "MateSolver"),
    },
)
