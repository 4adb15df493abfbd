"""The settings of a match, and the schedule that follows from them.

The fields of the settings are the keys of the TOML file, for example:

    games = 200
    openings = "balanced.sfen"
    clock = "byoyomi=100ms"

    [[engine]]
    name = "new"
    command = ["fukayomi-usi"]
    options = { DNN_Model = "new.onnx" }

    [[engine]]
    name = "old"
    command = ["fukayomi-usi"]
    clock = "nodes=500000/600000/700000/800000"
"""

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import Field, model_validator

from fukayomi.arena.game.openings import Opening, arrange
from fukayomi.arena.game.rules import (
    ConfigurationError,
    Count,
    EngineSettings,
    OpeningOrder,
    Positive,
    Rules,
    Tournament,
    has_folder,
)
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.statistics.sprt import SprtSettings
from fukayomi.errors import InvalidValueError
from fukayomi.settings import FromFile, Settings, build, in_folder
from fukayomi.usi.process import find_program


class MatchSettings(Settings):
    """A match. The same settings always give the same schedule."""

    ERROR: ClassVar = ConfigurationError

    engines: Annotated[tuple[EngineSettings, ...], Field(min_length=2, alias="engine")]
    games: Annotated[int, Field(ge=1, le=1_000_000)]
    """Games in total, at most 1,000,000; can be raised later. A round robin spreads them evenly over the pairs of
    engines."""
    clock: TimeControl
    """Time control: byoyomi=1s; main=5m,byoyomi=10s; main=5m,inc=5s; main=60s; movetime=100ms; nodes=5000,
    nodes=500000/600000 (in turn by opening); depth=4."""
    tournament: Tournament = Tournament.ROUND_ROBIN
    """Every engine meets every other; gauntlet: the first meets all others; pairs: the first meets the second, the
    third the fourth, and so on, each pair from openings of its own."""
    openings: Annotated[Path | None, FromFile(in_folder)] = None
    """File of openings, a line in SFEN or of USI moves each; an opening is played twice with colours swapped. None: the
    start position."""
    opening_start: Count = 0
    """Openings to skip, in the order they are used."""
    opening_plies: Count | None = None
    """Cut openings at this ply; None: use them whole."""
    opening_order: OpeningOrder = OpeningOrder.SEQUENTIAL
    """Order of the openings: as in the file, or shuffled."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed for shuffling the openings."""
    rules: Rules = Rules()
    ponder: bool = False
    """Let engines think in the opponent's time, about the answer that they expect."""
    sprt: SprtSettings | None = None
    """Stop when this test decides whether the first of two engines is stronger."""
    concurrency: Positive = 1
    """Games played at once."""
    cores_per_game: Count = 0
    """Processor cores pinned to each game; 0: no pinning."""
    restart: bool = False
    """Restart an engine that died or hung; otherwise the rest of its games is left out."""
    log: bool = False
    """Keep all USI lines, one file per game."""
    event: str = ""
    """Name of the event, for the records."""

    @model_validator(mode="after")
    def _fields_fit(self) -> Self:
        names = [engine.name for engine in self.engines]
        if len(set(names)) < len(names):
            raise InvalidValueError(f"engines need different names, not {', '.join(names)}")
        if self.sprt is not None and len(self.engines) != 2:
            raise InvalidValueError(f"a sequential test (sprt) compares two engines, not {len(self.engines)}")
        if self.tournament is Tournament.PAIRS and len(self.engines) % 2:
            raise InvalidValueError(f"pairs need an even number of engines, not {len(self.engines)}")
        return self


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


@dataclass(frozen=True, slots=True)
class ScheduledGame:
    """A game to be played. Its number does not depend on the number of games in the match."""

    number: int
    """From 1."""
    pair: int
    """Number of the pair, from 1: two games of the same engines and opening with swapped colours."""
    black: str
    white: str
    opening: Opening


def schedule(settings: MatchSettings, openings: Sequence[Opening]) -> Iterator[ScheduledGame]:
    """The games of a match in order. They depend on the settings and the openings alone.

    The schedule is endless, and a match consists of its first games. So a match can be extended later, and a match cut
    off anywhere is as fair as possible: every pair of engines plays an opening with both colours before the next
    opening (one pair alone, in turn, if engines only meet in pairs).

    Args:
        settings: Engines, number of games, and order of the openings.
        openings: All openings, in the order of their file.
    """
    return islice(_all_games(settings, openings), settings.games)


def pairings(settings: MatchSettings) -> list[tuple[str, str]]:
    """The pairs of engines that meet, each once; neighbours in the list share as few engines as possible."""
    names = [engine.name for engine in settings.engines]
    if settings.tournament is Tournament.GAUNTLET:
        return [(names[0], opponent) for opponent in names[1:]]
    if settings.tournament is Tournament.PAIRS:
        return list(zip(names[::2], names[1::2], strict=True))
    return _circle(names)


def _all_games(settings: MatchSettings, openings: Sequence[Opening]) -> Iterator[ScheduledGame]:
    pairs = pairings(settings)
    at_once = 1 if settings.tournament is Tournament.PAIRS else len(pairs)
    pair = 0
    for opening in islice(arrange(openings, settings.opening_order, settings.seed), settings.opening_start, None):
        for _ in range(at_once):
            first, second = pairs[pair % len(pairs)]
            pair += 1
            yield ScheduledGame(2 * pair - 1, pair, first, second, opening)
            yield ScheduledGame(2 * pair, pair, second, first, opening)


def _circle(names: Sequence[str]) -> list[tuple[str, str]]:
    """A round robin by the circle method: in each round every engine plays once; with an odd number one pauses."""
    circle: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    found: list[tuple[str, str]] = []
    for _ in range(len(circle) - 1):
        for first, second in zip(circle, reversed(circle[len(circle) // 2 :]), strict=False):
            if first is not None and second is not None:
                found.append((first, second))
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return found
