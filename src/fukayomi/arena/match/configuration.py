"""Reading the settings of a match from a TOML file and a command line."""

import os
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from fukayomi.arena.game.rules import EngineSettings
from fukayomi.arena.match.settings import MatchSettings
from fukayomi.files.settings import read_toml
from fukayomi.usi.engine import option_text, split_words
from fukayomi.usi.process import find_program


class ConfigurationError(ValueError):
    """Invalid settings of a match. The message names the setting and what it should be."""


def read_configuration(path: Path) -> dict[str, Any]:
    """Read settings from a TOML file as plain values; paths in it are relative to its folder.

    Raises:
        ConfigurationError: The file cannot be read, or is not valid TOML.
    """
    try:
        found = read_toml(path)
    except OSError as error:
        raise ConfigurationError(f"cannot read the settings in {path}: {error.strerror}") from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise ConfigurationError(f"{path}: {error}") from error
    engines: Any = found.get("engine", [])
    if not isinstance(engines, list) or not all(isinstance(engine, dict) for engine in cast(list[Any], engines)):
        raise ConfigurationError(f"{path}: each engine is a table [[engine]] with a name and a command")
    for engine in cast(list[dict[str, Any]], engines):
        prepare_engine(engine, path.parent)
    if isinstance(found.get("openings"), str):
        found["openings"] = path.parent.absolute() / found["openings"]
    return found


def split_command(text: str, folder: Path) -> list[str]:
    """Split a command line into words. A program given by a path relative to `folder` gets its full path.

    Raises:
        ConfigurationError: A quote is not closed.
    """
    try:
        words = split_words(text, folder)
    except ValueError as error:
        raise ConfigurationError(f"{text!r} is not a command: {error}") from error
    return _with_full_path(words, folder)


def parse_fields(text: str, main: str, fields: Mapping[str, str]) -> dict[str, str]:
    """Parse ``score=2000,moves=4``; the main name may be omitted: ``2000``.

    Args:
        text: The user's text.
        main: The name that may be omitted.
        fields: The names that the user writes, and the settings they stand for.

    Raises:
        ConfigurationError: A name is unknown or given twice.
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        name, separator, value = (word.strip() for word in part.partition("="))
        name, value = (name, value) if separator else (main, name)
        if name not in fields or fields[name] in found:
            example = ",".join(f"{field}=..." for field in fields)
            raise ConfigurationError(f"{text!r}: {part!r} is unknown or given twice; write {example}")
        found[fields[name]] = value
    return found


def build_settings(found: Mapping[str, Any]) -> MatchSettings:
    """Check plain values and build the settings.

    Args:
        found: Fields of `MatchSettings`; ``undeclared_options`` besides, for all engines that do not say; and no clock
            if every engine has one.

    Raises:
        ConfigurationError: A setting is missing, unknown or out of range.
    """
    try:
        return MatchSettings.model_validate(_complete(found))
    except ValidationError as error:
        raise ConfigurationError("; ".join(_complaint(dict(each), found) for each in error.errors()[:3])) from error


def _complete(found: Mapping[str, Any]) -> dict[str, Any]:
    complete = dict(found)
    engines: Any = complete.get("engine")
    if not isinstance(engines, list) or not all(isinstance(engine, dict) for engine in cast(list[Any], engines)):
        return complete
    tables = cast(list[dict[str, Any]], engines)
    if "undeclared_options" in complete:
        default = complete.pop("undeclared_options")
        complete["engine"] = [{"undeclared_options": default, **engine} for engine in tables]
    without = [engine for engine in tables if engine.get("clock") is None]
    if complete.get("clock") is None and tables and not without:
        complete["clock"] = tables[0]["clock"]  # nobody plays by it
    if complete.get("clock") is None and 0 < len(without) < len(tables):
        names = ", ".join(str(engine.get("name")) for engine in without)
        raise ConfigurationError(f"clock is missing: not all engines have one of their own ({names})")
    return complete


def check_programs(settings: MatchSettings, players: Container[str] = ()) -> None:
    """Check that the programs exist, before a game is lost by a typo.

    Args:
        settings: The match.
        players: Names of the engines that play in this process.

    Raises:
        ConfigurationError: A program or a folder does not exist, or an engine is not a program.
    """
    for engine in settings.engines:
        if engine.name in players:
            continue
        if not engine.command:
            raise ConfigurationError(f"engine {engine.name}: the command is missing")
        if engine.directory is not None and not engine.directory.is_dir():
            raise ConfigurationError(f"engine {engine.name}: folder {engine.directory} not found")
        if not _is_program(engine):
            raise ConfigurationError(f"engine {engine.name}: program {engine.command[0]} not found{_hint(engine)}")


def _hint(engine: EngineSettings) -> str:
    """What may be wrong with a command whose program is missing."""
    is_split = len(engine.command) > 1 and _has_folder(engine.command[0])
    return f"; a path with spaces needs quotes: {engine.name}=\"'PATH' ARGUMENTS\"" if is_split else ""


def _is_program(engine: EngineSettings) -> bool:
    program = engine.command[0]
    if engine.directory is not None and _has_folder(program):
        program = str(engine.directory / program)
    return find_program(program) is not None


def prepare_engine(engine: dict[str, Any], folder: Path) -> None:
    """Convert the values of an engine in TOML to those of the settings; paths are relative to `folder`.

    Raises:
        ConfigurationError: A quote in the command is not closed.
    """
    command: Any = engine.get("command")
    if isinstance(command, str):
        engine["command"] = split_command(command, folder)
    elif isinstance(command, list):
        engine["command"] = _with_full_path(cast(list[Any], command), folder)
    if isinstance(engine.get("directory"), str):
        engine["directory"] = folder.absolute() / engine["directory"]
    if isinstance(options := engine.get("options"), dict):
        engine["options"] = {
            name: option_text(value) if isinstance(value, str | int | float) else value
            for name, value in cast(dict[str, Any], options).items()
        }


def _with_full_path(command: list[Any], folder: Path) -> list[Any]:
    """Resolve ``bin/engine`` from `folder`, whatever folder the engine runs in; a bare name is searched in PATH."""
    if command and isinstance(command[0], str) and _has_folder(command[0]):
        path = folder.absolute() / command[0]
        if path.exists():
            return [str(path), *command[1:]]
    return command


def _has_folder(program: str) -> bool:
    """Whether this is a path, such as ``./engine``, rather than a name."""
    return os.sep in program or bool(os.altsep and os.altsep in program)


def _complaint(error: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """One line about one error."""
    place = list(error["loc"])
    words: list[str] = []
    if place[:1] == ["engine"] and len(place) > 1:
        number = int(place[1])
        words.append(f"engine {found['engine'][number].get('name') or number + 1}")
        place = place[2:]
    words += [str(word) for word in place]
    where = ", ".join(words)
    if error["type"] == "missing":
        return f"{where} is missing"
    if error["type"] == "extra_forbidden":
        return f"{where}: unknown setting"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
