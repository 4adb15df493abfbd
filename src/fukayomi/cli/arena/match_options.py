"""The options of the commands that play matches, and the settings they stand for."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from fukayomi.arena.game.rules import DRAW_MOVES, DRAW_PLY, RESIGN_MOVES, ConfigurationError, Rules, split_command
from fukayomi.arena.match.settings import MatchSettings, build_settings, check_programs, parse_fields
from fukayomi.arena.statistics.sprt import SprtSettings
from fukayomi.cli.common.options import AsJson, given_options, options_of
from fukayomi.settings import merged, read

if TYPE_CHECKING:
    from fukayomi.arena.match.match import StartWorkers

RESIGN_FIELDS = {"score": "score_cp", "moves": "moves", "both": "both_sides"}
DRAW_FIELDS = {"score": "score_cp", "moves": "moves", "ply": "ply"}
Sprt = Annotated[
    str | None,
    typer.Option(
        metavar="elo0=0,elo1=5",
        help="Stop when this sequential test of two players decides; also alpha=, beta=, model= (normalized or "
        "logistic).",
    ),
]

# Every option is None if it is not given: then the file of --config, or the library's default, decides.


@dataclass(frozen=True)
class EngineOptions:
    """The engines."""

    PANEL: ClassVar = "Engines"

    engine: Annotated[list[str] | None, typer.Option(metavar="NAME=COMMAND")] = None
    """A USI engine, with a name of its own; repeat for every engine."""
    option: Annotated[list[str] | None, typer.Option(metavar="NAME:KEY=VALUE")] = None
    """A USI option of the engine NAME."""
    undeclared_options: Annotated[bool | None, typer.Option("--undeclared-options")] = None
    """Send options and values all the same that an engine does not declare; otherwise they are an error."""
    engine_clock: Annotated[list[str] | None, typer.Option(metavar="NAME=CLOCK")] = None
    """A clock of its own for the engine NAME. If all have one, --clock is not needed."""
    engine_dir: Annotated[list[str] | None, typer.Option(metavar="NAME=PATH")] = None
    """Working directory of the engine NAME."""
    config: Annotated[Path | None, typer.Option(metavar="FILE.toml")] = None
    """Read settings from a file, with paths relative to it. Options on the command line take precedence."""


@options_of(
    MatchSettings, "games", "clock", "openings", "opening_start", "opening_plies", "opening_order", "seed", "ponder",
    "event", panel="Games",
)  # fmt: skip
class GameOptions:
    """The games and what they start from."""


@options_of(
    Rules, "max_plies", "declaration", margin_ms="--margin", start_timeout_ms="--start-timeout",
    ready_timeout_ms="--ready-timeout", panel="When a game ends",
)  # fmt: skip
class RuleOptions:
    """Options for the conditions that end a game."""

    resign: Annotated[
        str | None,
        typer.Option(
            metavar="score=CP",
            help=f"Adjudicate a loss when an engine scores -CP or worse for moves={RESIGN_MOVES} moves in a "
            "row and its opponent agrees (both=false: whatever the opponent says). A side that scores so at its "
            "first move, as in a handicap game, plays on.",
            show_default="never",
        ),
    ] = None
    draw: Annotated[
        str | None,
        typer.Option(
            metavar="score=CP",
            help=f"Adjudicate a draw when both engines score within CP of 0 for moves={DRAW_MOVES} moves each, "
            f"from ply={DRAW_PLY} on.",
            show_default="never",
        ),
    ] = None


@options_of(
    MatchSettings, "concurrency", "cores_per_game", "restart", "log", panel="This run (may change from run to run)"
)
class RunOptions:
    """Options that may change from run to run."""

    ray: Annotated[str | None, typer.Option(metavar="ADDRESS", show_default="this machine")] = None
    """Play on a Ray cluster: auto (the one this machine belongs to), HOST:PORT, or ray://HOST:PORT from outside. Plays
    as many games at once as the cluster has CPUs for, --cores-per-game (or 1) each."""
    as_json: AsJson = False


MatchOptions = tuple[EngineOptions, GameOptions, RuleOptions, RunOptions]


def read_settings(options: MatchOptions, clocks: Mapping[str, str] | None = None, **more: Any) -> MatchSettings:
    """The settings of a match: those of --config, replaced by those on the command line.

    Args:
        options: All options of the command.
        clocks: Clocks of engines, by name, that have none of their own.
        more: Further settings, by name; None: not given.

    Raises:
        ConfigurationError: A setting is missing, unknown or out of range, or the file of --config cannot be read.
    """
    engines, games, rules, run = options
    found = read(MatchSettings, engines.config) if engines.config is not None else {}
    found |= given_options(games) | given_options(run, "ray", "as_json")
    found |= {name: value for name, value in more.items() if value is not None}
    if isinstance(openings := found.get("openings"), Path):
        found["openings"] = openings.absolute()
    found["engine"] = given_engines(found.get("engine", []), engines)
    if len(found["engine"]) < 2:
        raise ConfigurationError("a match needs two engines or more: --engine NAME=COMMAND, or [[engine]] in --config")
    if engines.undeclared_options is not None:
        found["undeclared_options"] = engines.undeclared_options
    for engine in found["engine"]:
        if clocks is not None and engine.get("name") in clocks:
            engine.setdefault("clock", clocks[engine["name"]])
    _check_needs(found)
    given = given_rules(rules)
    settings = build_settings(merged(found, {"rules": given}) if given else found)
    if run.ray is None:
        check_programs(settings)  # the nodes of a cluster check their own
    return settings


def given_rules(rules: RuleOptions) -> dict[str, Any]:
    """The conditions on the command line.

    Raises:
        ConfigurationError: A condition cannot be read.
    """
    given = given_options(rules)
    for name, fields in (("resign", RESIGN_FIELDS), ("draw", DRAW_FIELDS)):
        if name in given:
            given[name] = parse_fields(given[name], "score", fields)
    return given


def _check_needs(found: Mapping[str, Any]) -> None:
    """Name the options that a match still needs."""
    if "games" not in found:
        raise ConfigurationError("games is missing: give for example --games 100")
    if found.get("clock") is None and all(engine.get("clock") is None for engine in found["engine"]):
        raise ConfigurationError("clock is missing: give for example --clock byoyomi=1s or --clock nodes=1000")


def read_sprt(text: str | None) -> dict[str, Any] | None:
    """The settings of a sequential test.

    Raises:
        ConfigurationError: A field is unknown, or not a number.
    """
    return None if text is None else parse_fields(text, "elo1", {name: name for name in SprtSettings.model_fields})


def given_engines(found: list[dict[str, Any]], given: EngineOptions) -> list[dict[str, Any]]:
    """The engines of the file, with the changes and additions of the command line.

    Raises:
        ConfigurationError: An option names an unknown engine, or has the wrong form.
    """

    def check_names(names: list[str], where: str) -> None:
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ConfigurationError(f"{where}: two engines are named {twice[0]!r}; give each a name of its own")

    named = [str(engine.get("name", f"engine {number}")) for number, engine in enumerate(found, 1)]
    check_names(named, f"[[engine]] in {given.config}")
    by_name = {name: dict(engine) for name, engine in zip(named, found, strict=True)}
    commands = [split_option("--engine", text, "=", "NAME=COMMAND") for text in given.engine or []]
    check_names([name for name, _ in commands], "--engine NAME=COMMAND")
    for name, command in commands:
        by_name.setdefault(name, {"name": name})["command"] = split_command(command, Path.cwd())

    def engine_of(where: str, name: str) -> dict[str, Any]:
        if name not in by_name:
            raise ConfigurationError(f"{where}: no engine {name!r}; there are {', '.join(by_name) or 'no engines'}")
        return by_name[name]

    for text in given.option or []:
        name, rest = split_option("--option", text, ":", "NAME:KEY=VALUE")
        key, value = split_option("--option", rest, "=", "NAME:KEY=VALUE")
        engine = engine_of("--option", name)
        engine["options"] = {**engine.get("options", {}), key: value}
    for text in given.engine_clock or []:
        name, clock = split_option("--engine-clock", text, "=", "NAME=CLOCK")
        engine_of("--engine-clock", name)["clock"] = clock
    for text in given.engine_dir or []:
        name, folder = split_option("--engine-dir", text, "=", "NAME=PATH")
        engine_of("--engine-dir", name)["directory"] = Path(folder).absolute()
    return list(by_name.values())


def split_option(option: str, text: str, separator: str, form: str) -> tuple[str, str]:
    """The two parts of the text that an option was given.

    Raises:
        ConfigurationError: It does not have the form.
    """
    first, found, second = text.partition(separator)
    if not found or not first.strip():
        raise ConfigurationError(f"{option} {text!r} does not have the form {form}")
    return first.strip(), second.strip()


@contextmanager
def workers(ray: str | None) -> "Generator[tuple[StartWorkers, Callable[[int], int] | None]]":
    """What plays the games: threads of this process, or a Ray cluster at this address.

    Yields:
        What starts the workers; and of a cluster the games that it plays at once, from the CPUs that a game needs.
    """
    if ray is None:
        from fukayomi.arena.match.workers import LocalWorkers

        yield LocalWorkers, None
    else:
        from fukayomi.arena.match.ray_workers import RayWorkers, games_at_once
        from fukayomi.cluster import connect

        with connect(ray):
            yield RayWorkers, games_at_once


def fitting(settings: MatchSettings, at_once: Callable[[int], int] | None) -> MatchSettings:
    """Settings with as many games at once as the cluster of `workers` plays, unless they give a number.

    Raises:
        ClusterError: No node has enough CPUs for a game.
    """
    if at_once is None or "concurrency" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"concurrency": at_once(settings.cores_per_game or 1)})
