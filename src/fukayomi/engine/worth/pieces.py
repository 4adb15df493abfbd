"""The pieces of a position, and the position without some of them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fukayomi.shogi import BLACK, WHITE, Color, InvalidSfenError, PieceType, Position, square_name
from fukayomi.shogi.formats.notation import PIECE_NAMES, SQUARE_NAMES

_LETTERS = {
    PieceType.ROOK: "R", PieceType.BISHOP: "B", PieceType.GOLD: "G", PieceType.SILVER: "S", PieceType.KNIGHT: "N",
    PieceType.LANCE: "L", PieceType.PAWN: "P",
}  # fmt: skip
"""Kinds of pieces in SFEN, in the order of its hands."""


@dataclass(frozen=True, slots=True)
class PlacedPiece:
    """A piece on the board, or all pieces of a kind that a side has in hand."""

    color: Color
    type: PieceType
    square: int | None
    """0 to 80; None: in hand."""
    count: int = 1
    """Number of pieces; more than one only in hand."""

    @property
    def place(self) -> str:
        """Its place: the square in USI notation, or the piece as USI drops it: ``4h``; ``P*`` in Black's hand, ``p*``
        in White's."""
        if self.square is not None:
            return square_name(self.square)
        letter = _LETTERS[self.type]
        return f"{letter if self.color == BLACK else letter.lower()}*"

    @property
    def letter(self) -> str:
        """The kind of piece in SFEN, as Black's: ``P``, ``+R``."""
        letter = _LETTERS[self.type.unpromoted]
        return f"+{letter}" if self.type.is_promoted else letter

    @property
    def japanese(self) -> str:
        """Its name with side and place: ☗４八金, ☖持駒歩３."""
        mark, name = "☗" if self.color == BLACK else "☖", PIECE_NAMES[self.type]
        if self.square is not None:
            return f"{mark}{SQUARE_NAMES[self.square]}{name}"
        return f"{mark}持駒{name}{self.count if self.count > 1 else ''}"


def pieces_of(position: Position) -> list[PlacedPiece]:
    """The pieces of both sides without the kings: those on the board by square, then the hands."""
    placed = [
        PlacedPiece(piece.color, piece.type, square)
        for square, piece in position.pieces().items()
        if piece.type != PieceType.KING
    ]
    for color in (BLACK, WHITE):
        hand = position.hand(color)
        placed += [PlacedPiece(color, kind, None, hand[kind]) for kind in _LETTERS if kind in hand]
    return placed


def without(position: Position, pieces: Iterable[PlacedPiece]) -> Position | None:
    """The position without some of its pieces, and without its past; None if it is illegal, because the side that is
    not to move would be in check."""
    taken = set(pieces)
    board, turn, _, ply = position.sfen().split()
    squares = {piece.square for piece in taken}
    ranks: list[str] = []
    for rank, text in enumerate(board.split("/")):
        cells = [
            cell
            for token in re.findall(r"\+?[a-zA-Z]|\d", text)
            for cell in ([""] * int(token) if token.isdigit() else [token])
        ]
        kept = ["" if (8 - column) * 9 + rank in squares else cell for column, cell in enumerate(cells)]
        ranks.append(re.sub("1+", lambda empty: str(len(empty[0])), "".join(cell or "1" for cell in kept)))
    hands = "".join(
        f"{piece.count if piece.count > 1 else ''}{piece.place[0]}"
        for piece in pieces_of(position)
        if piece.square is None and piece not in taken
    )
    try:
        return Position.from_sfen(f"{'/'.join(ranks)} {turn} {hands or '-'} {ply}", allow_missing_king=True)
    except InvalidSfenError:
        return None
