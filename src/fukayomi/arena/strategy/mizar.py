"""Definitions in Mizar's form, the ``castle.json`` of https://github.com/mizar/sylwi-kifu-vue, as `Definition`s.

An entry is one shape with an id. It is written for Black, and becomes one definition per side, as in Mizar's program;
with ``noturn`` it stays as it is written. Entries of the same id are alternatives.

A strategy that ``tags_exclude`` rules out is not found at all; Mizar's program finds it and hides it. ``tags_disable``
hides a strategy whenever it was found; in Mizar's program only if it was found before. A captured promoted piece counts
as the piece in hand that it becomes; Mizar's program counts it as none. None of it made a difference with Mizar's own
file in the games that were compared (docs/strategies.md).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, NamedTuple, Self, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from fukayomi.arena.strategy.definitions import (
    WHITE_PIECE,
    Definition,
    DefinitionError,
    Kept,
    Placed,
    Played,
    Shape,
    Side,
)
from fukayomi.arena.strategy.kinds import StrategyKind
from fukayomi.errors import InvalidValueError
from fukayomi.settings.problems import first_problem
from fukayomi.shogi import PieceType

_PIECE = r"\+?[PLNSBR]|[GK]|\+?[plnsbr]|[gk]"
_PLACED = re.compile(rf"(_|{_PIECE})\*([1-9][a-i])")
_PLAYED = re.compile(rf"({_PIECE})\*([1-9][a-i][1-9][a-i]\+?)")
_KINGS = "Kk"
_PREFIXES = {"SENTE_": "先手", "GOTE_": "後手"}
_WORDS = {"SENTE": "Black", "GOTE": "White", "SHAPE": ""}
"""Parts of an id in English."""


def _placed(value: object) -> object:
    found = _PLACED.fullmatch(_text(value))
    if found is None:
        raise InvalidValueError(f"{value!r} is not a piece on a square: K*8h (Black's), k*8h (White's) or _*8h (empty)")
    return Placed.from_text(found[1] + found[2])


def _played(value: object) -> object:
    found = _PLAYED.fullmatch(_text(value))
    if found is None:
        raise InvalidValueError(
            f"{value!r} is not a move with its piece: R*2h6h (Black's), r*8b4b (White's) or B*8h2b+"
        )
    piece, move = found[1], found[2]
    played = Played.from_text(piece.upper() + move)
    return Played(played.piece + (WHITE_PIECE if piece.islower() else 0), played.raw)


def _kept(value: object) -> object:
    if _text(value) in _KINGS:
        return Kept(PieceType.KING)  # never in a hand
    return Kept.from_text(_text(value))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValueError("Input should be a text")
    return value


class _Name(BaseModel):
    ja_JP: Annotated[str, Field(min_length=1)]  # noqa: N815  # as in the file
    en_US: str = ""  # noqa: N815


_Hand = tuple[Annotated[Kept, BeforeValidator(_kept)], ...]


class _Entry(BaseModel):
    """An entry of the file, with the file's names. All conditions must hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(min_length=1)]
    name: _Name
    pieces: tuple[Annotated[Placed, BeforeValidator(_placed)], ...] = ()
    """All of these are on the board."""
    moves: tuple[Annotated[Played, BeforeValidator(_played)], ...] = ()
    """The move just played is one of these."""
    capture: _Hand = ()
    """The move just played captured one of these; either side's."""
    hand: _Hand = ()
    hand_exclude: _Hand = ()
    tags_required: tuple[str, ...] = ()
    tags_exclude: tuple[str, ...] = ()
    tags_disable: tuple[str, ...] = ()
    special: str = ""
    """How the game ended."""
    tesuu_min: Annotated[int, Field(ge=0)] = 0
    tesuu_max: Annotated[int, Field(ge=0)]
    hide: bool = False
    noturn: bool = False

    @model_validator(mode="after")
    def _can_hold(self) -> Self:
        if any(kept.piece == PieceType.KING for kept in (*self.hand, *self.capture)):
            raise InvalidValueError("a king is never in hand")
        if self.tesuu_min > self.tesuu_max:
            raise InvalidValueError(f"tesuu_min {self.tesuu_min} is above tesuu_max {self.tesuu_max}")
        conditions = (self.pieces, self.moves, self.capture, self.hand, self.hand_exclude, self.tags_required)
        if not any(conditions) and not self.special:
            raise InvalidValueError("no condition; give pieces, moves, capture, hand, hand_exclude or tags_required")
        return self


class _View(NamedTuple):
    """An entry as one side sees it, or as it is written."""

    number: int
    entry: _Entry
    prefix: str

    @property
    def id(self) -> str:
        return self.prefix + self.entry.id

    @property
    def label(self) -> str:
        return _PREFIXES.get(self.prefix, "") + self.entry.name.ja_JP

    @property
    def english(self) -> str:
        side = _WORDS.get(self.prefix[:-1], "")
        own = self.entry.name.en_US
        words = [side, own] if own else [_WORDS.get(word, word.capitalize()) for word in self.id.split("_")]
        return " ".join(filter(None, words)) or self.id

    @property
    def place(self) -> str:
        return f"entry {self.number} ({self.entry.id})"


def is_mizar(entries: Sequence[object]) -> bool:
    """True if the entries are of this form: they have ids."""
    return any(isinstance(entry, dict) and "id" in entry for entry in entries)


def definitions_of(entries: Sequence[object], file: str) -> tuple[Definition, ...]:
    """The definitions of a file's entries, Black's before White's. Entries of how a game ended are left out.

    Args:
        entries: The content of the file.
        file: Its name, for errors.

    Raises:
        DefinitionError: An entry is invalid, or an id does not exist.
    """
    views: dict[str, list[_View]] = {}
    for number, content in enumerate(entries, 1):
        entry = _read_entry(content, number, file)
        if not entry.special:
            for prefix in ("",) if entry.noturn else _PREFIXES:
                view = _View(number, entry, prefix)
                views.setdefault(view.id, []).append(view)
    labels = {first.id: first.label for first, *_ in views.values()}
    owners: dict[str, _View] = {}
    for first, *_ in views.values():
        other = owners.setdefault(first.label, first)
        if other is not first:
            raise DefinitionError(f"{file}: {first.place}: name: {other.place} is called {first.label} as well")
    return tuple(_definition(alternatives, labels, file) for alternatives in views.values())


def _read_entry(content: object, number: int, file: str) -> _Entry:
    try:
        return _Entry.model_validate(content)
    except ValidationError as error:
        known = cast("dict[str, object]", content).get("id") if isinstance(content, dict) else None
        place = f"entry {number} ({known})" if isinstance(known, str) else f"entry {number}"
        raise DefinitionError(f"{file}: {place}: {first_problem(error)}") from error


def _definition(views: Sequence[_View], labels: dict[str, str], file: str) -> Definition:
    first = views[0]
    hides = [name for view in views for name in _resolved(view, "tags_disable", labels, file)]
    return Definition(
        name=first.label,
        english=first.english,
        kind=_kind(first.entry),
        side=Side.FIXED,
        helper=first.entry.hide,
        hides=tuple(dict.fromkeys(hides)),
        when=tuple(_shape(view, labels, file) for view in views),
    )


def _resolved(view: _View, key: str, labels: dict[str, str], file: str) -> Iterator[str]:
    """The names of the ids that a key lists."""
    for listed in cast("tuple[str, ...]", getattr(view.entry, key)):
        name = labels.get(view.prefix + listed)
        if name is None:
            raise DefinitionError(f"{file}: {view.place}: {key}: no strategy has the id {view.prefix + listed!r}")
        yield name


def _kind(entry: _Entry) -> StrategyKind:
    """The kind, which the file does not tell: openings have SHAPE in their ids, castles a king."""
    if "SHAPE" in entry.id.split("_"):
        return StrategyKind.OPENING
    has_king = any(placed.piece % WHITE_PIECE == PieceType.KING for placed in entry.pieces)
    return StrategyKind.CASTLE if has_king else StrategyKind.ATTACK


_Seen = TypeVar("_Seen", Placed, Played, Kept)


def _shape(view: _View, labels: dict[str, str], file: str) -> Shape:
    entry, is_white = view.entry, view.prefix == "GOTE_"

    def seen(items: Iterable[_Seen]) -> tuple[_Seen, ...]:
        return tuple(item.mirrored() if is_white else item for item in items)

    captured = {kept.piece % WHITE_PIECE for kept in entry.capture}
    lasts = bool(entry.hand_exclude or entry.tesuu_min) and not entry.moves and not entry.capture
    return Shape(
        moves=seen(entry.moves),
        captures=tuple(Kept(piece + color) for piece in sorted(captured) for color in (0, WHITE_PIECE)),
        pieces=seen(entry.pieces),
        hand=seen(entry.hand),
        no_hand=tuple(kept for kept in seen(entry.hand_exclude) if kept.piece % WHITE_PIECE != PieceType.KING),
        min_ply=entry.tesuu_min,
        max_ply=entry.tesuu_max,
        every_ply=lasts,
        requires=tuple(_resolved(view, "tags_required", labels, file)),
        excludes=tuple(_resolved(view, "tags_exclude", labels, file)),
    )
