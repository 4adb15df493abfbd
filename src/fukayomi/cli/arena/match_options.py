"""The options of the commands that play matches, and the settings they stand for."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from fukayomi.arena.game import choices
from fukayomi.arena.game.choices import Declaration, OpeningOrder
from fukayomi.cli.common.options import AsJson, given_options

if TYPE_CHECKING:
    from fukayomi.arena.match.settings import MatchSettings

RESIGN_FIELDS = {"score": "score_cp", "moves": "moves", "both": "both_sides"}
DRAW_FIELDS = {"score": "score_cp", "moves": "moves", "ply": "ply"}
SPRT_FIELDS = {name: name for name in ("elo0", "elo1", "alpha", "beta", "model")}

# Every option is None if it is not given: then the file of --config, or the library's default, decides.


@dataclass(frozen=True)
class EngineOptions:
    """The engines."""

    PANEL: ClassVar = "Engines"

    engine: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=COMMAND", help="A USI engine, with a name of its own; repeat for every engine."),
    ] = None
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME:KEY=VALUE", help="A USI option of the engine NAME.")
    ] = None
    undeclared_options: Annotated[
        bool | None,
        typer.Option(
            "--undeclared-options",
            help="Send options and values all the same that an engine does not declare; otherwise they are an error.",
        ),
    ] = None
    engine_clock: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=CLOCK", help="A clock of its own for the engine NAME. If all have one, --clock is not needed."
        ),
    ] = None
    engine_dir: Annotated[
        list[str] | None, typer.Option(metavar="NAME=PATH", help="Working directory of the engine NAME.")
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Read settings from a file, with paths relative to it. Options on the command line take precedence.",
        ),
    ] = None


@dataclass(frozen=True)
class GameOptions:
    """The games and what they start from."""

    PANEL: ClassVar = "Games"

    games: Annotated[
        int | None, typer.Option(metavar="N", help="Games in total, at most 1,000,000; can be raised later.")
    ] = None
    clock: Annotated[
        str | None,
        typer.Option(
            metavar="CLOCK",
            help="Time control: byoyomi=1s; main=5m,byoyomi=10s; main=5m,increment=5s; main=60s; movetime=100ms; "
            "nodes=5000, nodes=500000/600000 (in turn by opening); depth=4.",
        ),
    ] = None
    openings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Openings, one SFEN or USI line per line; each is played twice with colours swapped.",
            show_default="the start position",
        ),
    ] = None
    opening_start: Annotated[int | None, typer.Option(metavar="N", help="Skip the first N openings.")] = None
    opening_plies: Annotated[int | None, typer.Option(metavar="PLY", help="Cut openings at this ply.")] = None
    opening_order: Annotated[
        OpeningOrder | None,
        typer.Option(help="Use openings in file order, or shuffled.", show_default=OpeningOrder.SEQUENTIAL.value),
    ] = None
    seed: Annotated[int | None, typer.Option(help="Seed for shuffling openings.", show_default=str(choices.SEED))] = (
        None
    )
    ponder: Annotated[
        bool | None,
        typer.Option("--ponder", help="Engines think in the opponent's time, about the answer that they expect."),
    ] = None
    event: Annotated[str | None, typer.Option(help="Event name for the records.")] = None


@dataclass(frozen=True)
class RuleOptions:
    """When a game ends."""

    PANEL: ClassVar = "When a game ends"

    max_plies: Annotated[
        int | None,
        typer.Option(
            help="Draw after this many plies, the opening included. Engines are told if they have MaxMovesToDraw or "
            "Draw_Ply.",
            show_default=str(choices.MAX_PLIES),
        ),
    ] = None
    declaration: Annotated[
        Declaration | None,
        typer.Option(
            help="Rule for declarations (入玉宣言): 27 or 24 points; with H the pieces that a handicap leaves out "
            "count for White; the try rule; or none. Engines are told if they have EnteringKingRule.",
            show_default=Declaration.POINTS_27.value,
        ),
    ] = None
    resign: Annotated[
        str | None,
        typer.Option(
            metavar="score=CP",
            help=f"Adjudicate a loss when an engine scores -CP or worse for moves={choices.RESIGN_MOVES} moves in a "
            "row and its opponent agrees (both=false: whatever the opponent says). A side that scores so at its "
            "first move, as in a handicap game, plays on.",
            show_default="never",
        ),
    ] = None
    draw: Annotated[
        str | None,
        typer.Option(
            metavar="score=CP",
            help=f"Adjudicate a draw when both engines score within CP of 0 for moves={choices.DRAW_MOVES} moves each, "
            f"from ply={choices.DRAW_PLY} on.",
            show_default="never",
        ),
    ] = None
    margin: Annotated[
        int | None,
        typer.Option(metavar="MS", help="How late an answer may be.", show_default=str(choices.MARGIN_MS)),
    ] = None
    start_timeout: Annotated[
        int | None,
        typer.Option(metavar="MS", help="Time limit for usiok.", show_default=str(choices.START_TIMEOUT_MS)),
    ] = None
    ready_timeout: Annotated[
        int | None,
        typer.Option(metavar="MS", help="Time limit for readyok.", show_default=str(choices.READY_TIMEOUT_MS)),
    ] = None


@dataclass(frozen=True)
class RunOptions:
    """What may change from run to run."""

    PANEL: ClassVar = "This run (may change from run to run)"

    concurrency: Annotated[
        int | None, typer.Option(metavar="N", help="Games at once.", show_default=str(choices.CONCURRENCY))
    ] = None
    cores_per_game: Annotated[
        int | None,
        typer.Option(metavar="N", help="Pin each game to N processor cores of its own.", show_default="no pinning"),
    ] = None
    restart: Annotated[
        bool | None,
        typer.Option(
            "--restart/--no-restart",
            help="Restart an engine that died or hung; otherwise its remaining games are left out.",
            show_default="no-restart",
        ),
    ] = None
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Play on a Ray cluster: auto (the one this machine belongs to), HOST:PORT, or ray://HOST:PORT from "
            "outside. Plays as many games at once as the cluster has CPUs for, --cores-per-game (or 1) each.",
            show_default="this machine",
        ),
    ] = None
    log: Annotated[
        bool | None,
        typer.Option("--log/--no-log", help="Keep all USI lines in DIR/logs.", show_default="no-log"),
    ] = None
    as_json: AsJson = False


MatchOptions = tuple[EngineOptions, GameOptions, RuleOptions, RunOptions]


def read_settings(options: MatchOptions, clocks: Mapping[str, str] | None = None, **more: Any) -> "MatchSettings":
    """The settings of a match: those of --config, replaced by those on the command line.

    Args:
        options: All options of the command.
        clocks: Clocks of engines, by name, that have none of their own.
        more: Further settings, by name; None: not given.

    Raises:
        ConfigurationError: A setting is missing, unknown or out of range, or the file of --config cannot be read.
    """
    from fukayomi.arena.match.configuration import build_settings, check_programs, parse_fields
    from fukayomi.arena.match.settings import MatchSettings
    from fukayomi.settings import read

    engines, games, rules, run = options
    found = read(MatchSettings, engines.config) if engines.config is not None else {}
    found |= (
        given_options(games) | given_options(run, "ray", "as_json") | {k: v for k, v in more.items() if v is not None}
    )
    if games.openings is not None:
        found["openings"] = games.openings.absolute()
    found["engine"] = _engines(found.get("engine", []), engines)
    if engines.undeclared_options is not None:
        found["undeclared_options"] = engines.undeclared_options
    for engine in found["engine"]:
        if clocks is not None and engine.get("name") in clocks:
            engine.setdefault("clock", clocks[engine["name"]])
    given = given_options(rules, "resign", "draw", "margin", "start_timeout", "ready_timeout")
    for name in ("margin", "start_timeout", "ready_timeout"):
        if (value := getattr(rules, name)) is not None:
            given[f"{name}_ms"] = value
    if rules.resign is not None:
        given["resign"] = parse_fields(rules.resign, "score", RESIGN_FIELDS)
    if rules.draw is not None:
        given["draw"] = parse_fields(rules.draw, "score", DRAW_FIELDS)
    if given:
        found["rules"] = {**found.get("rules", {}), **given}
    settings = build_settings(found)
    if run.ray is None:
        check_programs(settings)  # the nodes of a cluster check their own
    return settings


def _engines(found: list[dict[str, Any]], given: EngineOptions) -> list[dict[str, Any]]:
    """The engines of the file, with the changes and additions of the command line.

    Raises:
        ConfigurationError: An option names an unknown engine, or has the wrong form.
    """
    from fukayomi.arena.game.rules import ConfigurationError, split_command

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
    if len(by_name) < 2:
        raise ConfigurationError("a match needs two engines or more: --engine NAME=COMMAND, or [[engine]] in --config")
    return list(by_name.values())


def split_option(option: str, text: str, separator: str, form: str) -> tuple[str, str]:
    """The two parts of the text that an option was given.

    Raises:
        ConfigurationError: It does not have the form.
    """
    from fukayomi.arena.game.rules import ConfigurationError

    first, found, second = text.partition(separator)
    if not found or not first.strip():
        raise ConfigurationError(f"{option} {text!r} does not have the form {form}")
    return first.strip(), second.strip()
