"""What a strategy is: shapes of pieces on the board, written in YAML for Black and mirrored for White.

docs/strategies.md says how a definition is written.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self, cast

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import core_schema

from fukayomi.arena.strategy.kinds import StrategyKind
from fukayomi.shogi import PieceType, square_from_usi

EMPTY = 0
WHITE_PIECE = 16
"""A piece on a square is its PieceType, and 16 more if it is White's; 0 is an empty square."""

_TYPES = {
    "P": PieceType.PAWN, "L": PieceType.LANCE, "N": PieceType.KNIGHT, "S": PieceType.SILVER, "G": PieceType.GOLD,
    "B": PieceType.BISHOP, "R": PieceType.ROOK, "K": PieceType.KING,
    "+P": PieceType.PRO_PAWN, "+L": PieceType.PRO_LANCE, "+N": PieceType.PRO_KNIGHT, "+S": PieceType.PRO_SILVER,
    "+B": PieceType.HORSE, "+R": PieceType.DRAGON,
}  # fmt: skip
_PLACED = re.compile(r"(_|\+?[PLNSBR]|[GK]|\+?[plnsbr]|[gk])([1-9][a-i])")
_PLAYED = re.compile(r"(\+?[PLNSBR]|[GK])(\*|[1-9][a-i])([1-9][a-i])(\+?)")
_DROP_BASE = 81 - PieceType.PAWN  # drops have their piece in place of the square they come from


class DefinitionError(ValueError):
    """A definition that cannot be read. The message names the file, the definition and the key."""


class Placed(NamedTuple):
    """A piece on a square: ``S7g`` is Black's, ``p8e`` White's, and ``_5e`` an empty square."""

    piece: int
    square: int

    @classmethod
    def from_text(cls, text: str) -> "Placed":
        """Read ``S7g``, ``+r2b`` or ``_5e``.

        Raises:
            ValueError: The text is none of these.
        """
        found = _PLACED.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no piece on a square, as S7g (own), p8e (the opponent's) or _5e (empty)")
        return cls(_piece(found[1]), square_from_usi(found[2]))

    def mirrored(self) -> "Placed":
        """The same as the other side sees it."""
        return Placed(self.piece ^ WHITE_PIECE if self.piece else EMPTY, 80 - self.square)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        return _read_by(cls.from_text)


class Played(NamedTuple):
    """A move with its piece: ``R2h6h``, ``B8h2b+`` or ``B*4e``.

    Attributes:
        piece: What moves, as it was before the move.
        raw: The move as `Move.raw` has it.
    """

    piece: int
    raw: int

    @classmethod
    def from_text(cls, text: str) -> "Played":
        """Read ``R2h6h``, ``B8h2b+`` or ``B*4e``.

        Raises:
            ValueError: The text is none of these.
        """
        found = _PLAYED.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no move with its piece, as R2h6h, B8h2b+ or B*4e")
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
    """A kind of piece in a hand: ``B`` in Black's, ``b`` in White's."""

    piece: int

    @classmethod
    def from_text(cls, text: str) -> "Kept":
        """Read ``B`` or ``b``.

        Raises:
            ValueError: The text is no piece that can be in a hand.
        """
        if len(text) != 1 or text.upper() not in "PLNSGBR":
            raise ValueError(f"{text!r} is no piece in a hand, as B (own) or b (the opponent's)")
        return cls(_piece(text))

    def mirrored(self) -> "Kept":
        """The same in the other hand."""
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
    """Whose a strategy is."""

    EACH = "each"
    """One side's: its name begins with 先手 or 後手."""
    GAME = "game"
    """Both sides' together."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _as_tuple(value: object) -> object:
    return tuple(cast("list[object]", value)) if isinstance(value, list) else (value,)


Names = tuple[str, ...]


class Shape(_Model):
    """What must hold right after a move; all of it. Squares, pieces and plies are as Black sees them.

    It is looked at when something that it asks for has just come about: one of its moves was played or, if it names
    none, a piece came to its square (or left one that must be empty), a piece came to hand, a tag was given.
    """

    moves: tuple[Played, ...] = ()
    """The move just played is one of them."""
    captures: tuple[Kept, ...] = ()
    """The move just played took one of these, as it lies in the hand now."""
    pieces: tuple[Placed, ...] = ()
    """All stand there."""
    any: tuple[tuple[Placed, ...], ...] = ()
    """Of each group at least one stands there."""
    none: tuple[Placed, ...] = ()
    """None of them stands there."""
    hand: tuple[Kept, ...] = ()
    """All are in hand."""
    no_hand: tuple[Kept, ...] = ()
    """None is in hand."""
    min_ply: Annotated[int, Field(ge=1)] = 1
    max_ply: Annotated[int, Field(ge=1, le=512)]
    """The game's ply of the move, at most."""
    before_outbreak: bool = False
    """Nothing but pawns and bishops was captured so far."""
    requires: Names = ()
    """Tags that the side has (or, a definition of both sides, Black); tags of the game as well."""
    opponent_requires: Names = ()
    excludes: Names = ()
    """Tags that the side does not have."""
    opponent_excludes: Names = ()

    @model_validator(mode="after")
    def _comes_about(self) -> Self:
        if not (self.moves or self.captures or self.pieces or self.any or self.hand or self.references()[0]):
            raise ValueError("it asks for nothing that a move could bring about")
        if self.captures and not all(kept.piece < WHITE_PIECE for kept in self.captures):
            raise ValueError("captures are the side's own: capital letters")
        if self.min_ply > self.max_ply:
            raise ValueError(f"min_ply {self.min_ply} is above max_ply {self.max_ply}")
        return self

    def references(self) -> tuple[Names, Names]:
        """The names of the tags that it asks for and of those that it rules out."""
        return self.requires + self.opponent_requires, self.excludes + self.opponent_excludes


class Definition(_Model):
    """A strategy with its names and the shapes by which it is known."""

    name: Annotated[str, Field(min_length=1)]
    english: Annotated[str, Field(min_length=1)]
    kind: StrategyKind
    side: Side = Side.EACH
    helper: bool = False
    """It only serves other definitions and is never shown."""
    hides: Names = ()
    """What is not shown beside it, because it says more; and what those hide."""
    when: Annotated[tuple[Shape, ...], BeforeValidator(_as_tuple), Field(min_length=1)]
    """One shape, or several of which any will do."""


def load_definitions(path: Path | None = None) -> tuple[Definition, ...]:
    """The definitions of a YAML file, in its order.

    Args:
        path: None takes fukayomi's own.

    Raises:
        DefinitionError: The file is no YAML, or a definition in it is wrong.
        OSError: It cannot be read.
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
        raise DefinitionError(f"{file}: no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(entries, list) or not entries:
        raise DefinitionError(f"{file}: a list of definitions is expected")
    numbered = enumerate(cast("list[object]", entries), 1)
    definitions = tuple(_read_definition(entry, number, file) for number, entry in numbered)
    _check_references(definitions, file)
    return definitions


def _read_definition(entry: object, number: int, file: str) -> Definition:
    name = cast("dict[str, object]", entry).get("name", "") if isinstance(entry, dict) else ""
    try:
        return Definition.model_validate(entry)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise DefinitionError(f"{file}: {name or f'definition {number}'}: {place}: {first['msg']}") from error


def _check_references(definitions: tuple[Definition, ...], file: str) -> None:
    """Raise unless names are different, and what is referred to exists and nothing hides itself."""
    by_name: dict[str, Definition] = {}
    for definition in definitions:
        if definition.name in by_name:
            raise DefinitionError(f"{file}: {definition.name}: name: there are two of this name")
        by_name[definition.name] = definition
    for definition in definitions:
        wanted = [("hides", name) for name in definition.hides]
        wanted += [("when", name) for shape in definition.when for names in shape.references() for name in names]
        for key, name in wanted:
            if name not in by_name:
                raise DefinitionError(f"{file}: {definition.name}: {key}: there is no definition {name!r}")
        _check_circle(definition, by_name, (), file)


def _check_circle(definition: Definition, by_name: dict[str, Definition], path: Names, file: str) -> None:
    if definition.name in path:
        circle = " -> ".join((*path[path.index(definition.name) :], definition.name))
        raise DefinitionError(f"{file}: {definition.name}: hides: a circle: {circle}")
    for hidden in definition.hides:
        _check_circle(by_name[hidden], by_name, (*path, definition.name), file)
