"""Definitions of strategies: shapes of pieces on the board, written in YAML for Black and mirrored for White.

docs/strategies.md explains the format. `describe` puts the shapes into words, for that page and for
``fukayomi strategy --list``.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self, cast

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import core_schema

from fukayomi.arena.strategy.kinds import StrategyKind
from fukayomi.errors import InvalidValueError
from fukayomi.settings.problems import first_problem
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
        return _read_by(cls.from_text)


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
        return _read_by(cls.from_text)


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
        return _read_by(cls.from_text)


def _read_by(read: Callable[[str], object]) -> core_schema.CoreSchema:
    return core_schema.chain_schema([core_schema.str_schema(), core_schema.no_info_plain_validator_function(read)])


def _piece(letters: str) -> int:
    if letters == "_":
        return EMPTY
    return _TYPES[letters.upper()] + (0 if letters.isupper() else WHITE_PIECE)


class Side(StrEnum):
    """Sides that a strategy belongs to: one or both."""

    EACH = "each"
    """One side's; shown with 先手 or 後手."""
    GAME = "game"
    """Both sides' together."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _as_tuple(value: object) -> object:
    return tuple(cast("list[object]", value)) if isinstance(value, list) else (value,)


Names = tuple[str, ...]


class Shape(_Model):
    """Conditions that must all hold right after a move. Squares and pieces are from Black's view.

    A shape is checked when a move may complete it: one of `moves` was played or, if there are none, a piece arrived on
    its square (or left a square that must be empty), a piece came into hand, or a required tag was found.
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
    min_ply: Annotated[int, Field(ge=1)] = 1
    """First ply at which the shape counts."""
    max_ply: Annotated[int, Field(ge=1, le=512)]
    """Last ply at which the shape counts."""
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
        if not (self.moves or self.captures or self.pieces or self.any or self.hand or self.references()[0]):
            raise InvalidValueError("no condition that a move could complete")
        if self.captures and not all(kept.piece < WHITE_PIECE for kept in self.captures):
            raise InvalidValueError("captures must be capital letters: they come into the side's own hand")
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


def load_definitions(path: Path | None = None) -> tuple[Definition, ...]:
    """The definitions of a YAML file, in its order.

    Args:
        path: The file; None for the package's own definitions.

    Raises:
        DefinitionError: The file is not YAML, or a definition in it is invalid.
        OSError: The file cannot be read.
    """
    if path is None:
        return _own_definitions()
    return _read_definitions(path.read_bytes(), str(path))


@cache
def _own_definitions() -> tuple[Definition, ...]:
    file = resources.files("fukayomi.arena.strategy") / "definitions.yaml"
    return _read_definitions(file.read_bytes(), "definitions.yaml")


def _read_definitions(data: bytes, file: str) -> tuple[Definition, ...]:
    try:
        entries: Any = yaml.load(data, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DefinitionError(f"{file}: invalid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(entries, list) or not entries:
        raise DefinitionError(f"{file}: expected a list of definitions")
    numbered = enumerate(cast("list[object]", entries), 1)
    definitions = tuple(_read_definition(entry, number, file) for number, entry in numbered)
    _check_references(definitions, file)
    return definitions


def _read_definition(entry: object, number: int, file: str) -> Definition:
    name = cast("dict[str, object]", entry).get("name", "") if isinstance(entry, dict) else ""
    try:
        return Definition.model_validate(entry)
    except ValidationError as error:
        raise DefinitionError(f"{file}: {name or f'definition {number}'}: {first_problem(error)}") from error


def _check_references(definitions: tuple[Definition, ...], file: str) -> None:
    """Check that names are unique, that references exist and that no definition hides itself."""
    by_name: dict[str, Definition] = {}
    for definition in definitions:
        if definition.name in by_name:
            raise DefinitionError(f"{file}: {definition.name}: name: defined twice")
        by_name[definition.name] = definition
    for definition in definitions:
        wanted = [("hides", name) for name in definition.hides]
        wanted += [("when", name) for shape in definition.when for names in shape.references() for name in names]
        for key, name in wanted:
            if name not in by_name:
                raise DefinitionError(f"{file}: {definition.name}: {key}: no definition named {name!r}")
        _check_circle(definition, by_name, (), file)


def _check_circle(definition: Definition, by_name: dict[str, Definition], path: Names, file: str) -> None:
    if definition.name in path:
        circle = " -> ".join((*path[path.index(definition.name) :], definition.name))
        raise DefinitionError(f"{file}: {definition.name}: hides: a cycle: {circle}")
    for hidden in definition.hides:
        _check_circle(by_name[hidden], by_name, (*path, definition.name), file)


_DROPS_FROM = 81
_OUTBREAK = "nothing but pawns and bishops captured so far"


def describe(definition: Definition) -> tuple[str, ...]:
    """Each shape in words, from Black's view; the shapes are alternatives."""
    return tuple(_describe(shape, definition.side) for shape in definition.when)


def _describe(shape: Shape, side: Side) -> str:
    parts = [
        *_listed("the move ", [_played(move) for move in shape.moves], " or "),
        *_listed("it captures a ", [_name(kept.piece) for kept in shape.captures], " or "),
        *_listed("", [_placed(one) for one in shape.pieces], ", "),
        *(" or ".join(_placed(one) for one in group) for group in shape.any),
        *_listed("none of ", [_placed(one) for one in shape.none], ", "),
        *_listed("in hand: ", [_kept(kept) for kept in shape.hand], ", "),
        *_listed("not in hand: ", [_kept(kept) for kept in shape.no_hand], ", "),
        *_tags(shape.requires, "Black" if side is Side.GAME else "the side", "has"),
        *_tags(shape.opponent_requires, "White" if side is Side.GAME else "the opponent", "has"),
        *_tags(shape.excludes, "Black" if side is Side.GAME else "the side", "does not have"),
        *_tags(shape.opponent_excludes, "White" if side is Side.GAME else "the opponent", "does not have"),
        *([_OUTBREAK] if shape.before_outbreak else []),
        f"ply {shape.min_ply} to {shape.max_ply}" if shape.min_ply > 1 else f"up to ply {shape.max_ply}",
    ]
    return "; ".join(parts)


def _listed(before: str, words: Sequence[str], between: str) -> list[str]:
    return [before + between.join(words)] if words else []


def _tags(names: Iterable[str], who: str, verb: str) -> list[str]:
    listed = (", " if verb == "has" else " or ").join(names)
    return [f"{who} {verb} {listed}"] if listed else []


def _name(piece: int) -> str:
    return PieceType(piece % WHITE_PIECE).name.lower().replace("_", " ")


def _kept(kept: Kept) -> str:
    return _name(kept.piece) if kept.piece < WHITE_PIECE else f"the opponent's {_name(kept.piece)}"


def _placed(one: Placed) -> str:
    square = square_name(one.square)
    if not one.piece:
        return f"{square} empty"
    return f"{_name(one.piece)} {square}" if one.piece < WHITE_PIECE else f"the opponent's {_name(one.piece)} {square}"


def _played(move: Played) -> str:
    start, to = move.raw >> 7 & 127, square_name(move.raw & 127)
    if start >= _DROPS_FROM:
        return f"{_name(move.piece)} dropped on {to}"
    return f"{_name(move.piece)} {square_name(start)}-{to}{' promoting' if move.raw >> 14 else ''}"
