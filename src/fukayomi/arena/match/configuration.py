"""Building the settings of a match from plain values and the text of options."""

import json
from collections.abc import Container, Mapping
from typing import Any, cast

from fukayomi.arena.game.rules import ConfigurationError, EngineSettings, has_folder
from fukayomi.arena.match.settings import MatchSettings
from fukayomi.settings import build
from fukayomi.usi.process import find_program


def parse_fields(text: str, main: str, fields: Mapping[str, str]) -> dict[str, str | float | bool]:
    """Parse ``score=2000,moves=4,both=false``; the main name may be omitted: ``2000``.

    Args:
        text: The user's text.
        main: The name that may be omitted.
        fields: The names that the user writes, and the settings they stand for.

    Raises:
        ConfigurationError: A name is unknown or given twice.
    """
    found: dict[str, str | float | bool] = {}
    for part in text.split(","):
        name, separator, value = (word.strip() for word in part.partition("="))
        name, value = (name, value) if separator else (main, name)
        if name not in fields or fields[name] in found:
            example = ",".join(f"{field}=..." for field in fields)
            raise ConfigurationError(f"{text!r}: {part!r} is unknown or given twice; write {example}")
        try:
            found[fields[name]] = json.loads(value)  # a number or a truth value
        except ValueError:
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
    return build(MatchSettings, _complete(found))


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
    """Possible mistake in a command whose program is missing."""
    is_split = len(engine.command) > 1 and has_folder(engine.command[0])
    return f"; a path with spaces needs quotes: {engine.name}=\"'PATH' ARGUMENTS\"" if is_split else ""


def _is_program(engine: EngineSettings) -> bool:
    program = engine.command[0]
    if engine.directory is not None and has_folder(program):
        program = str(engine.directory / program)
    return find_program(program) is not None
