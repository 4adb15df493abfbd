"""Definitions of strategies: shapes of pieces on the board, written for Black and mirrored for White.

docs/strategies.md explains them; `reading` has the forms of their files. `describe` puts the shapes into words, for
that page and for ``fukayomi strategy --list``.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import core_schema

from fukayomi.arena.strategy.kinds import StrategyKind
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import PieceType, square_from_usi, square_name

EMPTY = 0
WHITE_PIECE = 16
"""Added to the PieceType of White's pieces; 0 is an empty square."""

_TYPES = {
    "P": PieceType.PAWN, "L": PieceType.LANCE, "N": PieceType.KNIGHT, "S": PieceType.SILVER, "G": PieceType.GOLD,
    "B": PieceType.BISHOP, "R": PieceType.ROOK, "K": PieceType.KING,
    "+P": PieceType.PRO_PAWN, "+L": PieceType.PRO_LANCE, "+N": PieceType.PRO_KNIGHT, "+S": PieceType.PRO_SILVER,
    "+B": PieceType.HORSE, "+R": PieceType.DRAGON,
}  # fmt: skip
_PLACED = re.compile(r"(_|\+?[PLNSBR]|[GK]|\+?[plnsbr]|[gk])([1-9][a-i])")
_PLAYED = re.compile(r"(\+?[PLNSBR]|[GK])(\*|[1-9][a-i])([1-9][a-i])(\+?)")
_DROP_BASE = 81 - PieceType.PAWN  # in Move.raw a drop has its piece in place of the from-square


class DefinitionError(InvalidValueError):
    """An invalid definition. The message names the file, the definition and the key."""


class Placed(NamedTuple):
    """A piece on a square: ``S7g`` is Black's, ``p8e`` White's, and ``_5e`` an empty square."""

    piece: int
    square: int

    @classmethod
    def from_text(cls, text: str) -> "Placed":
        """Read ``S7g``, ``+r2b`` or ``_5e``.

        Raises:
            ValueError: The text is not a piece on a square.
        """
        found = _PLACED.fullmatch(text)
        if found is None:
            raise InvalidValueError(
                f"{text!r} is not a piece on a square: S7g (own), p8e (the opponent's) or _5e (empty)"
            )
        return cls(_piece(found[1]), square_from_usi(found[2]))

    def mirrored(self) -> "Placed":
        """The same from the other side's view."""
        return Placed(self.piece ^ WHITE_PIECE if self.piece else EMPTY, 80 - self.square)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        return _text_or(cls, cls.from_text)


class Played(NamedTuple):
    """A move with its piece: ``R2h6h``, ``B8h2b+`` or ``B*4e``."""

    piece: int
    """The moving piece, before any promotion."""
    raw: int
    """The move as in `Move.raw`."""

    @classmethod
    def from_text(cls, text: str) -> "Played":
        """Read ``R2h6h``, ``B8h2b+`` or ``B*4e``.

        Raises:
            ValueError: The text is not a move with its piece.
        """
        found = _PLAYED.fullmatch(text)
        if found is None:
            raise InvalidValueError(f"{text!r} is not a move with its piece: R2h6h, B8h2b+ or B*4e")
        piece, to = _piece(found[1]), square_from_usi(found[3])
        start = _DROP_BASE + piece if found[2] == "*" else square_from_usi(found[2])
        return cls(piece, to | start << 7 | (1 << 14 if found[4] else 0))

    def mirrored(self) -> "Played":
        """The same move by the other side."""
        to, start, promotion = 80 - (self.raw & 127), self.raw >> 7 & 127, self.raw & 1 << 14
        return Played(self.piece ^ WHITE_PIECE, to | (80 - start if start < 81 else start) << 7 | promotion)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        return _text_or(cls, cls.from_text)


class Kept(NamedTuple):
    """A type of piece in hand: ``B`` for Black, ``b`` for White."""

    piece: int

    @classmethod
    def from_text(cls, text: str) -> "Kept":
        """Read ``B`` or ``b``.

        Raises:
            ValueError: The text is not a piece that can be in hand.
        """
        if len(text) != 1 or text.upper() not in "PLNSGBR":
            raise InvalidValueError(f"{text!r} is not a piece in hand: B (own) or b (the opponent's)")
        return cls(_piece(text))

    def mirrored(self) -> "Kept":
        """The same piece in the other player's hand."""
        return Kept(self.piece ^ WHITE_PIECE)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        return _text_or(cls, cls.from_text)


def _text_or(kind: type, read: Callable[[str], object]) -> core_schema.CoreSchema:
    """Takes a value of a type as it is, and reads a text."""
    text = core_schema.chain_schema([core_schema.str_schema(), core_schema.no_info_plain_validator_function(read)])

    def value(given: object, read_text: core_schema.ValidatorFunctionWrapHandler) -> object:
        return given if isinstance(given, kind) else read_text(given)

    return core_schema.no_info_wrap_validator_function(value, text)


def _piece(letters: str) -> int:
    """The number of ``S``, ``+r`` or ``_``."""
    if letters == "_":
        return EMPTY
    return _TYPES[letters.upper()] + (0 if letters.isupper() else WHITE_PIECE)


class Side(StrEnum):
    """Sides that a strategy belongs to: one or both."""

    EACH = "each"
    """One side's; shown with 先手 or 後手."""
    GAME = "game"
    """Both sides' together."""
    FIXED = "fixed"
    """As it is written, for Black's view of the board and never mirrored; its name says whose it is."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _as_tuple(value: object) -> object:
    return tuple(cast("list[object]", value)) if isinstance(value, list | tuple) else (value,)


Names = tuple[str, ...]


class Shape(_Model):
    """Conditions that must all hold right after a move. Squares and pieces are from Black's view.

    A shape is checked when a move may complete it: one of `moves` was played or, if there are none, a piece arrived on
    its square (or left a square that must be empty), a piece came into hand, or a required tag was found. With
    `every_ply` it is checked after every move.
    """

    moves: tuple[Played, ...] = ()
    """The move just played is one of these."""
    captures: tuple[Kept, ...] = ()
    """The move just played captured one of these (named as they are in hand)."""
    pieces: tuple[Placed, ...] = ()
    """All of these are on the board."""
    any: tuple[tuple[Placed, ...], ...] = ()
    """At least one of each group is on the board."""
    none: tuple[Placed, ...] = ()
    """None of these is on the board."""
    hand: tuple[Kept, ...] = ()
    """All of these are in hand."""
    no_hand: tuple[Kept, ...] = ()
    """None of these is in hand."""
    min_ply: Annotated[int, Field(ge=0)] = 1
    """First ply at which the shape counts; 0 is the start position."""
    max_ply: Annotated[int, Field(ge=0)]
    """Last ply at which the shape counts."""
    every_ply: bool = False
    """Checked after every move, also if the move completes nothing."""
    before_outbreak: bool = False
    """Nothing but pawns and bishops has been captured so far."""
    requires: Names = ()
    """Tags that the side must have (Black, in a definition of both sides), or the game."""
    opponent_requires: Names = ()
    """Tags that the opponent must have."""
    excludes: Names = ()
    """Tags that the side must not have."""
    opponent_excludes: Names = ()
    """Tags that the opponent must not have."""

    @model_validator(mode="after")
    def _comes_about(self) -> Self:
        completed = self.moves or self.captures or self.pieces or self.any or self.hand or self.references()[0]
        if not completed and not self.every_ply:
            raise InvalidValueError("no condition that a move could complete")
        if self.min_ply > self.max_ply:
            raise InvalidValueError(f"min_ply {self.min_ply} is above max_ply {self.max_ply}")
        return self

    def references(self) -> tuple[Names, Names]:
        """Names of the required and of the excluded tags."""
        return self.requires + self.opponent_requires, self.excludes + self.opponent_excludes


class Definition(_Model):
    """A strategy with its names and the shapes that define it."""

    name: Annotated[str, Field(min_length=1)]
    english: Annotated[str, Field(min_length=1)]
    kind: StrategyKind
    side: Side = Side.EACH
    helper: bool = False
    """Used by other definitions only and never shown."""
    hides: Names = ()
    """Less specific strategies that are not shown beside it, nor what those hide."""
    when: Annotated[tuple[Shape, ...], BeforeValidator(_as_tuple), Field(min_length=1)]
    """One shape or several alternatives."""


_DROPS_FROM = 81
_OUTBREAK = "nothing but pawns and bishops captured so far"


def describe(definition: Definition) -> tuple[str, ...]:
    """Each shape in words, from Black's view; the shapes are alternatives."""
    return tuple(_describe(shape, definition.side) for shape in definition.when)


def _describe(shape: Shape, side: Side) -> str:
    whose = "White's" if side is Side.FIXED else "the opponent's"
    own, opponent = _HOLDERS[side]
    parts = [
        *_listed("the move ", [_played(move, whose) for move in shape.moves], " or "),
        *_listed("it captures a ", list(dict.fromkeys(_name(kept.piece) for kept in shape.captures)), " or "),
        *_listed("", [_placed(one, whose) for one in shape.pieces], ", "),
        *(" or ".join(_placed(one, whose) for one in group) for group in shape.any),
        *_listed("none of ", [_placed(one, whose) for one in shape.none], ", "),
        *_listed("in hand: ", [_owned(kept.piece, whose) for kept in shape.hand], ", "),
        *_listed("not in hand: ", [_owned(kept.piece, whose) for kept in shape.no_hand], ", "),
        *_tags(shape.requires, own, "has"),
        *_tags(shape.opponent_requires, opponent, "has"),
        *_tags(shape.excludes, own, "does not have"),
        *_tags(shape.opponent_excludes, opponent, "does not have"),
        *([_OUTBREAK] if shape.before_outbreak else []),
        f"ply {shape.min_ply} to {shape.max_ply}" if shape.min_ply > 1 else f"up to ply {shape.max_ply}",
    ]
    return "; ".join(parts)


_HOLDERS = {
    Side.EACH: ("the side", "the opponent"),
    Side.GAME: ("Black", "White"),
    Side.FIXED: ("the game", "the game"),
}


def _listed(before: str, words: Sequence[str], between: str) -> list[str]:
    return [before + between.join(words)] if words else []


def _tags(names: Iterable[str], who: str, verb: str) -> list[str]:
    listed = (", " if verb == "has" else " or ").join(names)
    return [f"{who} {verb} {listed}"] if listed else []


def _name(piece: int) -> str:
    return PieceType(piece % WHITE_PIECE).name.lower().replace("_", " ")


def _owned(piece: int, whose: str) -> str:
    return _name(piece) if piece < WHITE_PIECE else f"{whose} {_name(piece)}"


def _placed(one: Placed, whose: str) -> str:
    square = square_name(one.square)
    return f"{_owned(one.piece, whose)} {square}" if one.piece else f"{square} empty"


def _played(move: Played, whose: str) -> str:
    start, to = move.raw >> 7 & 127, square_name(move.raw & 127)
    if start >= _DROPS_FROM:
        return f"{_owned(move.piece, whose)} dropped on {to}"
    return f"{_owned(move.piece, whose)} {square_name(start)}-{to}{' promoting' if move.raw >> 14 else ''}"
