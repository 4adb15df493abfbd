"""USI options, declared once as the fields of a dataclass, which is both their list and their typed values.

    @dataclass(frozen=True)
    class Settings:
        multipv: int = spin("MultiPV", 1, 1, 593)

    options = Options(Settings())
    options.set("MultiPV", "3")
    options.settings.multipv    # 3

Fields that are not made by the functions below are not options.
"""

import dataclasses
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from fukayomi.errors import InvalidValueError
from fukayomi.usi.text import SetOption, UsiTextError, shorten

RESERVED = frozenset({"USI_Hash", "USI_Ponder"})
"""Options of USI itself: GUIs send them whether an engine declares them or not, so every engine must accept them."""
NAMES_COMPARED = 1000
"""Names among which the nearest one is looked for, and the characters that are compared, so that it takes no time."""
NAME_CHARACTERS = 64
NEAR = 0.65
"""Least share of characters that a name has in common with one that is suggested."""
NAMES_QUOTED = 12
"""Names that a message lists."""


class OptionError(InvalidValueError):
    """An option that does not exist, or a value that it does not accept."""


class Kind(StrEnum):
    """The types of options in USI."""

    CHECK = "check"
    SPIN = "spin"
    COMBO = "combo"
    BUTTON = "button"
    STRING = "string"
    FILENAME = "filename"


@dataclass(frozen=True, slots=True)
class Option:
    """An option as an engine declares it."""

    name: str
    """Its name, which may contain spaces."""
    kind: Kind
    """Its type."""
    default: str = ""
    """Default value as text; "" for ``<empty>``."""
    minimum: int | None = None
    """Least value of a spin."""
    maximum: int | None = None
    """Greatest value of a spin."""
    choices: tuple[str, ...] = ()
    """Values of a combo."""
    aliases: tuple[str, ...] = ()
    """Names that other engines give it; they are accepted, and not declared."""

    def text(self) -> str:
        """The ``option`` line that declares it."""
        words = [f"option name {self.name} type {self.kind}"]
        if self.kind is not Kind.BUTTON:
            words.append(f"default {self.default or '<empty>'}")
        if self.minimum is not None:
            words.append(f"min {self.minimum}")
        if self.maximum is not None:
            words.append(f"max {self.maximum}")
        words += [f"var {choice}" for choice in self.choices]
        return " ".join(words)

    @classmethod
    def from_text(cls, line: str) -> "Option":
        """Read an ``option`` line.

        Raises:
            UsiTextError: The name is missing, or the type is unknown.
        """
        match = re.fullmatch(r"option\s+name\s+(\S.*?)\s+type\s+(\S+)(.*)", line.strip())
        if match is None or match[2] not in list(Kind):
            raise UsiTextError(f"{shorten(line)!r} does not declare an option")
        parts = re.split(r"\s(default|min|max|var)(?=\s|$)", match[3])
        pairs = [(word, text.strip()) for word, text in zip(parts[1::2], parts[2::2], strict=True)]
        values = dict(pairs)
        default = values.get("default", "")
        return cls(
            name=match[1],
            kind=Kind(match[2]),
            default="" if default == "<empty>" else default,
            minimum=_integer(values.get("min")),
            maximum=_integer(values.get("max")),
            choices=tuple(text for word, text in pairs if word == "var"),
        )

    def value(self, text: str) -> bool | int | str:
        """The value that the text of ``setoption`` stands for.

        Raises:
            OptionError: The option does not accept it.
        """
        text = "" if text == "<empty>" else text.strip()
        if self.kind is Kind.CHECK:
            if text.lower() in ("true", "false"):
                return text.lower() == "true"
            raise OptionError(f"{self.name} takes true or false, not {shorten(text)!r}")
        if self.kind is Kind.SPIN:
            return self._spin(text)
        if self.kind is Kind.COMBO:
            return self._choice(text)
        if self.kind is Kind.BUTTON and text.lower() not in ("", "true"):
            raise OptionError(f"{self.name} is a button, which takes no value; not {shorten(text)!r}")
        return text

    def _choice(self, text: str) -> str:
        choices = self.choices or (text,)  # one that lists no values takes any
        for choice in (*choices, self.default):
            if choice.lower() == text.lower():
                return choice
        raise OptionError(f"{self.name} takes {_listed(choices)}, not {shorten(text)!r}{_suggestion(text, choices)}")

    def _spin(self, text: str) -> int:
        number = _integer(text)
        if number is None:
            raise OptionError(f"{self.name} takes an integer, not {shorten(text)!r}")
        low = number if self.minimum is None else self.minimum
        high = number if self.maximum is None else self.maximum
        if not low <= number <= high:
            raise OptionError(f"{self.name} takes {low} to {high}, not {number}")
        return number


def fitting(declared: Mapping[str, Option], name: str, text: str) -> SetOption:
    """The command that sets an option as an engine declares it, with the engine's spelling of name and value.

    Args:
        declared: The options that the engine declares, by name.
        name: Its name; upper and lower case do not matter.
        text: Its value; empty or "true" for a button.

    Raises:
        OptionError: The engine declares no such option, or it does not accept the value.
    """
    _check_line(name, text)
    option = declared.get(name) or next((o for o in declared.values() if o.name.lower() == name.lower()), None)
    if option is None:
        if name in RESERVED:
            return SetOption(name, text)
        raise OptionError(f"declares no option {shorten(name)!r}{_suggestion(name, declared) or _list(declared)}")
    value = option.value(text)
    if option.kind is Kind.BUTTON:
        return SetOption(option.name)
    return SetOption(option.name, str(value).lower() if isinstance(value, bool) else str(value))


def unchecked(declared: Mapping[str, Option], name: str, text: str) -> SetOption:
    """The command that sets an option with this name and value, whatever the engine declares.

    Raises:
        OptionError: Name or value is not one line of text.
    """
    _check_line(name, text)
    is_button = name in declared and declared[name].kind is Kind.BUTTON
    return SetOption(name, None if is_button else text)


def _check_line(name: str, text: str) -> None:
    if not name.strip() or any(character in part for part in (name, text) for character in "\n\r\0"):
        raise OptionError(f"an option is one line of text with a name, not {shorten(f'{name}={text}')!r}")


def _suggestion(text: str, names: Iterable[str]) -> str:
    """Such as ``; did you mean DNN_Model?``; empty if no name is near."""
    by_key = {name[:NAME_CHARACTERS].lower(): name for name in list(names)[:NAMES_COMPARED]}
    near = difflib.get_close_matches(text[:NAME_CHARACTERS].lower(), by_key, n=1, cutoff=NEAR)
    return f"; did you mean {shorten(by_key[near[0]])}?" if near else ""


def _list(names: Iterable[str]) -> str:
    found = list(names)
    return f"; it has {_listed(found, '')}" if found else "; it has none"


def _listed(names: Sequence[str], more: str = "one of ") -> str:
    """The names, or the first of many."""
    listed = ", ".join(shorten(name, NAME_CHARACTERS) for name in names[:NAMES_QUOTED])
    return f"{more}{listed}{', ...' if len(names) > NAMES_QUOTED else ''}"


def _integer(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None


# `more` is further metadata of the field, which means something to the engine.


def check(name: str, default: bool, *, aliases: tuple[str, ...] = (), **more: object) -> bool:
    """A field that is a ``check`` option."""
    return _field(Option(name, Kind.CHECK, str(default).lower(), aliases=aliases), default, more)


def spin(name: str, default: int, minimum: int, maximum: int, **more: object) -> int:
    """A field that is a ``spin`` option."""
    return _field(Option(name, Kind.SPIN, str(default), minimum, maximum), default, more)


def combo(name: str, default: str, choices: tuple[str, ...], **more: object) -> str:
    """A field that is a ``combo`` option."""
    return _field(Option(name, Kind.COMBO, default, choices=choices), default, more)


def filename(name: str, default: str, *, aliases: tuple[str, ...] = ()) -> str:
    """A field that is a ``filename`` option."""
    return _field(Option(name, Kind.FILENAME, default, aliases=aliases), default)


def string(name: str, default: str) -> str:
    """A field that is a ``string`` option."""
    return _field(Option(name, Kind.STRING, default), default)


def _field(
    option: Option, default: object, more: Mapping[str, object] | None = None
) -> Any:  # the callers give the type
    return dataclasses.field(default=default, metadata={"option": option, **(more or {})})


def numbered(last: int, first: Any) -> Any:
    """A field for the options ``NAME2`` to ``NAMElast``: their values in a tuple.

    Args:
        last: The last number.
        first: A field that is the option ``NAME``.
    """
    option: Option = first.metadata["option"]
    options = tuple(dataclasses.replace(option, name=f"{option.name}{number}") for number in range(2, last + 1))
    return dataclasses.field(default=(first.default,) * len(options), metadata={"options": options})


Place = tuple[str, int | None]
"""Place of the value of an option: the field, and the index in its value if that is a tuple."""


def declared_options(settings: "DataclassInstance") -> Iterator[tuple[Place, Option]]:
    """The options of a dataclass, in the order of its fields, and where their values are."""
    for field in dataclasses.fields(settings):
        if "option" in field.metadata:
            yield (field.name, None), field.metadata["option"]
        for index, option in enumerate(field.metadata.get("options", ())):
            yield (field.name, index), option


def value_of(settings: "DataclassInstance", place: Place) -> bool | int | str:
    """The value of an option."""
    field, index = place
    value = getattr(settings, field)
    return value if index is None else value[index]


class DataclassInstance(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, "dataclasses.Field[Any]"]]


S = TypeVar("S", bound=DataclassInstance)


class Suggestion(NamedTuple):
    """A value that a file beside a model suggests for an option."""

    place: str
    """File and line, for messages."""
    name: str
    """Name of the option."""
    text: str
    """The value."""


class Options(Generic[S]):
    """The options of an engine and their current values.

    Setting an option replaces ``settings`` with a new object; it never changes the old one.

    Args:
        defaults: The fields with their default values.
        ignored: Names that are accepted, with any value, and mean nothing.
    """

    def __init__(self, defaults: S, ignored: Iterable[str] = ()) -> None:
        self.settings = defaults
        self._defaults = defaults
        self._ignored = frozenset(name.lower() for name in ignored)
        self._declared = dict(declared_options(defaults))
        self._fields: dict[str, Place] = {}  # by name or alias in lower case
        self._suggested: dict[Place, Any] = {}
        self._given: dict[Place, Any] = {}
        for place, option in self._declared.items():
            self._fields.update((name.lower(), place) for name in (option.name, *option.aliases))

    @property
    def declared(self) -> tuple[Option, ...]:
        """The options, in the order of the fields."""
        return tuple(self._declared.values())

    def set(self, name: str, text: str | None) -> None:
        """Set an option as ``setoption`` does. Upper and lower case in names do not matter.

        Raises:
            OptionError: There is no such option, or it does not accept the value.
        """
        if self._is_ignored(name):
            return
        field, value = self._value(name, text)
        self._given[field] = value
        self._refresh()

    def suggest(self, suggestions: Iterable[Suggestion]) -> list[str]:
        """Take the values that a file beside a model suggests, for the options that the user has not set.

        They replace all earlier suggestions.

        Returns:
            The problems of those that cannot be taken, with their places.
        """
        self._suggested = {}
        problems: list[str] = []
        for place, name, text in suggestions:
            if self._is_ignored(name):
                continue
            try:
                field, value = self._value(name, text)
            except OptionError as error:
                problems.append(f"{place}: {error}")
            else:
                self._suggested[field] = value
        self._refresh()
        return problems

    def _is_ignored(self, name: str) -> bool:
        return name.lower() in self._ignored and name.lower() not in self._fields

    def _refresh(self) -> None:
        values: dict[str, Any] = {}
        for (field, index), value in (self._suggested | self._given).items():
            if index is not None:
                others = values.get(field, getattr(self._defaults, field))
                value = (*others[:index], value, *others[index + 1 :])
            values[field] = value
        self.settings = dataclasses.replace(self._defaults, **values)

    def _value(self, name: str, text: str | None) -> tuple[Place, bool | int | str]:
        field = self._fields.get(name.lower())
        if field is None:
            names = (name for option in self._declared.values() for name in (option.name, *option.aliases))
            raise OptionError(f"no option {shorten(name)!r}{_suggestion(name, names)}")
        option = self._declared[field]
        if text is None:
            raise OptionError(f"{option.name} needs a value")
        return field, option.value(text)
