"""Settings from layers: defaults < preset < file < command line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar, cast, get_origin

from pydantic import BaseModel, ValidationError

from fukayomi.settings.model import Settings, merged
from fukayomi.settings.problems import problems, table_of
from fukayomi.settings.toml import read_toml

__all__ = ["FromFile", "build", "in_folder", "merged", "read"]

SettingsT = TypeVar("SettingsT", bound=Settings)


@dataclass(frozen=True)
class FromFile:
    """Conversion of a field's value in a file; outermost in the field's annotation.

    openings: Annotated[Path | None, FromFile(in_folder)] = None
    """

    read: Callable[[Any, Path], Any]
    """From the value and the folder of the file."""


def in_folder(value: Any, folder: Path) -> Any:
    """A path, or several, relative to a folder."""
    if isinstance(value, list):
        return [in_folder(each, folder) for each in cast("list[Any]", value)]
    return str(folder / value) if isinstance(value, str) else value


def read(model: type[Settings], path: Path) -> dict[str, Any]:
    """The layer of a TOML file; paths in it are relative to its folder.

    Raises:
        ValueError: The file cannot be read, or is not valid TOML, or a setting in it is unknown, of another type or out
            of range; of the class `model.ERROR`. What is missing may be in another layer.
    """
    try:
        layer = _located(model, read_toml(path, model.ERROR), path.parent.absolute())
    except _MisplacedError as error:
        raise model.ERROR(f"{path}: {error}") from error
    try:
        model.model_validate(model.over({}, layer))
    except ValidationError as error:
        if wrong := list(problems(error, model, layer, is_layer=True)):
            raise model.ERROR("\n".join(f"{path}: {each}" for each in wrong)) from error
    except model.ERROR as error:
        raise model.ERROR(f"{path}: {error}") from error
    return layer


def build(model: type[SettingsT], *layers: Mapping[str, Any]) -> SettingsT:
    """Settings from layers; later ones win.

    Raises:
        ValueError: A setting is unknown, missing, of another type or out of range; of the class `model.ERROR`.
    """
    return model(**reduce(model.over, layers, {}))


class _MisplacedError(ValueError):
    """A value is not a table, or cannot be read; with its place."""


def _located(model: type[BaseModel], values: dict[str, Any], folder: Path, place: str = "") -> dict[str, Any]:
    found = dict(values)
    for name, field in model.model_fields.items():
        key = name if name in found else field.alias
        if key not in found:
            continue
        here, value, table = f"{place}{key}", found[key], table_of(field.annotation)
        if table is not None and get_origin(field.annotation) is tuple:
            if not isinstance(value, list) or not all(isinstance(each, dict) for each in cast("list[Any]", value)):
                raise _MisplacedError(f"{here} is a list of tables: [[{here}]]")
            tables = enumerate(cast("list[dict[str, Any]]", value))
            found[key] = [_located(table, each, folder, f"{here}.{number}.") for number, each in tables]
        elif table is not None:
            if not isinstance(value, dict):
                raise _MisplacedError(f"{here} is a table: [{here}]")
            found[key] = _located(table, cast("dict[str, Any]", value), folder, f"{here}.")
        for mark in field.metadata:
            if isinstance(mark, FromFile):
                try:
                    found[key] = mark.read(value, folder)
                except ValueError as error:
                    raise _MisplacedError(f"{here}: {error}") from error
    return found
