"""The base of all settings."""

from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self, cast

from pydantic import BaseModel, ConfigDict, ValidationError, ValidatorFunctionWrapHandler, field_validator
from pydantic_core import PydanticCustomError

from fukayomi.errors import InvalidValueError
from fukayomi.settings.problems import problems


class SettingsError(InvalidValueError):
    """Invalid settings. The message has a line for each problem, with the name of the setting."""


class Settings(BaseModel):
    """A table of settings: frozen, without unknown keys, and strict: a number is neither text nor a truth value,
    and 64.0 is no integer.

    >>> class Search(Settings):
    ...     nodes: int = 800
    >>> Search(nodes=100).changed(nodes=200)
    Search(nodes=200)
    >>> Search(node=100)
    Traceback (most recent call last):
    fukayomi.settings.model.SettingsError: node: unknown setting; did you mean nodes? There are nodes

    Raises:
        ValueError: A setting is unknown, missing, of another type or out of range; of the class `ERROR`.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, use_attribute_docstrings=True, allow_inf_nan=False
    )

    ERROR: ClassVar[type[ValueError]] = SettingsError
    """Exception that invalid settings raise."""

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise self.ERROR("\n".join(problems(error, type(self), values))) from error

    @classmethod
    def over(cls, below: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a layer over those of earlier ones: tables are merged, everything else is replaced.

        Settings with presets override it.
        """
        return merged(below, layer)

    def changed(self, **changes: Any) -> Self:
        """A copy with other values, which are checked."""
        return type(self)(**{**dict(self), **changes})

    @field_validator("*", mode="wrap")
    @classmethod
    def _numbers_are_numbers(cls, value: Any, check: ValidatorFunctionWrapHandler) -> Any:
        if type(value) not in (int, float, bool) and isinstance(value, Real):  # NumPy's cannot be written to files
            value = int(value) if isinstance(value, Integral) else float(value)
        found = check(value)
        if isinstance(found, bool) and not isinstance(value, bool):
            raise PydanticCustomError("truth", "Input should be true or false")
        if isinstance(value, str | bool) and isinstance(found, int | float) and not isinstance(found, bool):
            raise PydanticCustomError("number", "Input should be a number")
        if isinstance(value, float) and isinstance(found, int):
            raise PydanticCustomError("integer", "Input should be a whole number, without a decimal point")
        return found


# A table within another is checked without this __init__: the error of the outer one has the whole place.
vars(Settings)["__init__"].__pydantic_base_init__ = True


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Values of two layers: tables are merged, everything else is replaced.

    >>> merged({"a": 1, "t": {"b": 2, "c": 3}}, {"t": {"c": 4}})
    {'a': 1, 't': {'b': 2, 'c': 4}}
    """
    found = dict(below)
    for name, value in above.items():
        before = found.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            value = merged(cast("Mapping[str, Any]", before), cast("Mapping[str, Any]", value))
        found[name] = value
    return found


def plain(settings: Settings, *, changes_only: bool = False, without: Any = None) -> dict[str, Any]:
    """Settings as plain values for TOML or JSON, without those that are None.

    Args:
        settings: The settings.
        changes_only: Leave out what has its default.
        without: What else to leave out: a set of names, or a dictionary with one for each table.
    """
    return settings.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude_defaults=changes_only, exclude=without
    )


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The plain values that differ, as name (``gate.mode``) and both values; None where there is none."""
    flat, others = _flat(one), _flat(other)
    for name in sorted({*flat, *others}):
        if flat.get(name) != others.get(name):
            yield name, flat.get(name), others.get(name)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat(cast("Mapping[str, Any]", value), f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found
