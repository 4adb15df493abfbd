"""Moves that may be illegal, as those that ended a game: USI, CSA, and Japanese notation with an origin or without."""

import re
from typing import NamedTuple

from fukayomi.shogi.formats.notation import (
    JAPANESE,
    PIECE_NAMES,
    PIECES,
    SQUARE_NAMES,
    find_moves,
    how_of,
    is_drop,
    origin_of,
    target_of,
)
from fukayomi.shogi.position import Move, PieceType, Position, square_from_usi, square_name

_USI = re.compile(r"(?:([1-9])([a-i])|([PLNSGBR])\*)([1-9])([a-i])(\+?)")
_CSA = re.compile(r"([+-]?)(?:([1-9])([1-9])|00)([1-9])([1-9])([A-Z]{2})")
_CSA_PIECES: dict[str, PieceType] = dict(
    zip(("FU", "KY", "KE", "GI", "KA", "HI", "KI", "OU", "TO", "NY", "NK", "NG", "UM", "RY"), PieceType, strict=True)
)
_JAPANESE = re.compile(rf"[▲△▼▽☗☖⛊⛉]?{JAPANESE}")
_LETTERS = "?PLNSBRG"


class Foul(NamedTuple):
    """A move that is illegal, or may be."""

    origin: int | None
    """None: a drop."""
    target: int
    piece: PieceType
    """Before it promotes."""
    is_promotion: bool = False

    def usi(self) -> str:
        """The move in USI."""
        if self.origin is None:
            return f"{_LETTERS[self.piece]}*{square_name(self.target)}"
        return square_name(self.origin) + square_name(self.target) + ("+" if self.is_promotion else "")

    def kif(self, last: int | None) -> str:
        """The move as KIF writes it."""
        if self.origin is None:
            return f"{self._name(last)}打"
        return f"{self._name(last)}({self.origin // 9 + 1}{self.origin % 9 + 1})"

    def _name(self, last: int | None) -> str:
        square = "同　" if self.target == last else SQUARE_NAMES[self.target]
        return f"{square}{PIECE_NAMES[self.piece]}{'成' if self.is_promotion else ''}"


def foul_of(text: str, position: Position, last: int | None) -> Foul | None:
    """The move that a text means; None if it is legal, or cannot be told.

    Args:
        text: The move.
        position: Position before it.
        last: Target of the move before, for 同.
    """
    found = _JAPANESE.fullmatch(text)
    foul = _of_japanese(found, position, last) if found else western_move(text, position)
    return foul if foul is not None and _is_illegal(foul, position) else None


def western_move(text: str, position: Position) -> Foul | None:
    """The move of a text in USI or CSA, legal or not; None if the text or the position has none."""
    if found := _USI.fullmatch(text):
        file, rank, dropped, to_file, to_rank, promotion = found.groups()
        origin = square_from_usi(file + rank) if file else None
        piece = PieceType(_LETTERS.index(dropped)) if dropped else _standing(position, origin)
        return None if piece is None else Foul(origin, square_from_usi(to_file + to_rank), piece, promotion == "+")
    found = _CSA.fullmatch(text)
    return _of_csa(found, position) if found else None


def is_japanese(text: str) -> bool:
    """True if a text is a move in Japanese notation."""
    return _JAPANESE.fullmatch(text) is not None


def usi_of(found: re.Match[str], position: Position, last: int | None) -> str:
    """A move of KIF that has an origin or is a drop, in USI; empty if it is none, or only its piece is wrong."""
    if not is_drop(found) and origin_of(found) is None:
        return ""
    foul = _of_japanese(found, position, last)
    return foul.usi() if foul is not None and _is_illegal(foul, position) else ""


def japanese_foul(text: str, position: Position, last: int | None) -> str:
    """The move without the mark of its side, such that a reader of KI2 finds it; empty if there is no such text."""
    if is_japanese(text):
        found = _JAPANESE.fullmatch(text.lstrip("▲△▼▽☗☖⛊⛉"))
        return found[0] if found else ""
    foul = foul_of(text, position, last)
    if foul is None:
        return ""
    name = foul.kif(last).partition("(")[0].replace("　", "")
    return name if foul_of(name, position, last) == foul else ""


def _standing(position: Position, square: int | None) -> PieceType | None:
    piece = position.piece_on(square) if square is not None else None
    return piece.type if piece is not None else None


def _of_csa(found: re.Match[str], position: Position) -> Foul | None:
    _, file, rank, to_file, to_rank, name = found.groups()
    target, piece = (int(to_file) - 1) * 9 + int(to_rank) - 1, _CSA_PIECES.get(name)
    if piece is None or file is None:
        return Foul(None, target, piece) if piece is not None and piece <= PieceType.GOLD else None
    origin = (int(file) - 1) * 9 + int(rank) - 1
    standing = _standing(position, origin)
    if standing is None or piece not in (standing, standing + 8):
        return None
    return Foul(origin, target, standing, piece != standing)


def _of_japanese(found: re.Match[str], position: Position, last: int | None) -> Foul | None:
    target, piece = target_of(found, last), PIECES[found["piece"]]
    if target is None:
        return None
    if is_drop(found):
        return Foul(None, target, piece) if piece <= PieceType.GOLD and piece != PieceType.KING else None
    is_promotion = how_of(found) == "成"
    if found["from_file"] is not None:
        origin = origin_of(found)
        return None if origin is None else Foul(origin, target, piece, is_promotion)
    if find_moves(position, target, piece, found["marks"], how_of(found)):
        return None  # a legal one
    origins = list(position.pieces(position.turn, piece))
    reaching = [square for square in position.attackers(position.turn, target) if square in origins]
    if len(reaching) == 1 or (not reaching and len(origins) == 1 and piece not in position.hand(position.turn)):
        return Foul((reaching or origins)[0], target, piece, is_promotion)
    is_held = piece in position.hand(position.turn) or not origins
    if not reaching and is_held and not is_promotion and piece <= PieceType.GOLD:
        return Foul(None, target, piece)
    return None


def _is_illegal(foul: Foul, position: Position) -> bool:
    return foul.origin == foul.target or not position.is_legal(Move.from_usi(foul.usi()))
