"""The options of every command that plays matches, and the settings that they come to."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.arena.game.choices import Declaration, OpeningOrder, Tournament
from fukayomi.cli.common.errors import fail

if TYPE_CHECKING:
    from fukayomi.arena.match.settings import MatchSettings

ENGINES, GAMES, RULES, RUN = "Engines", "Games", "When a game ends", "This run (may change from run to run)"

USAGE = 2
"""The exit code of a command line that cannot be understood."""

RESIGN_FIELDS = {"score": "score_cp", "moves": "moves", "both": "both_sides"}
DRAW_FIELDS = {"score": "score_cp", "moves": "moves", "ply": "ply"}
SPRT_FIELDS = {name: name for name in ("elo0", "elo1", "alpha", "beta", "model")}


@dataclass(frozen=True)
class MatchOptions:
    """What every command is given that plays matches; None: nothing, so that a file of --config may say it."""

    engine: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=COMMAND", help="A USI engine; give it twice or more.", rich_help_panel=ENGINES),
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:KEY=VALUE", help="A USI option of that engine.", rich_help_panel=ENGINES),
    ] = None
    engine_clock: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=CLOCK", help="A clock of its own for that engine.", rich_help_panel=ENGINES),
    ] = None
    engine_dir: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PATH", help="The folder that engine runs in.", rich_help_panel=ENGINES),
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="All of this from a file, whose paths are relative to it. What is given here goes before it.",
            rich_help_panel=ENGINES,
        ),
    ] = None
    games: Annotated[
        int | None, typer.Option(help="Games in all; more may be asked for later.", rich_help_panel=GAMES)
    ] = None
    clock: Annotated[
        str | None,
        typer.Option(
            help="byoyomi=1s; main=5m,byoyomi=10s; main=5m,increment=5s; main=60s; movetime=100ms; nodes=5000, "
            "nodes=500000/600000 (in turn by opening); depth=4.",
            rich_help_panel=GAMES,
        ),
    ] = None
    openings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A position or USI line a line; each is played twice, colours swapped.",
            show_default="the start position",
            rich_help_panel=GAMES,
        ),
    ] = None
    opening_start: Annotated[
        int | None, typer.Option(help="Leave out so many openings.", show_default="0", rich_help_panel=GAMES)
    ] = None
    opening_plies: Annotated[int | None, typer.Option(help="Cut the openings at this ply.", rich_help_panel=GAMES)] = (
        None
    )
    opening_order: Annotated[
        OpeningOrder | None,
        typer.Option(
            help="In the file's order or shuffled by the seed.", show_default="sequential", rich_help_panel=GAMES
        ),
    ] = None
    seed: Annotated[int | None, typer.Option(help="Of the random order.", show_default="0", rich_help_panel=GAMES)] = (
        None
    )
    event: Annotated[str | None, typer.Option(help="The event's name in the records.", rich_help_panel=GAMES)] = None
    max_plies: Annotated[
        int | None,
        typer.Option(
            help="A draw after so many plies, the opening's counted.", show_default="320", rich_help_panel=RULES
        ),
    ] = None
    declaration: Annotated[
        Declaration | None,
        typer.Option(help="By which points a declaration (入玉宣言) wins.", show_default="27", rich_help_panel=RULES),
    ] = None
    resign: Annotated[
        str | None,
        typer.Option(
            metavar="score=CP",
            help="Lost for who sees CP centipawns against itself for moves=3 moves in a row, and the winner agrees "
            "(both=false: nobody asks it).",
            show_default="never",
            rich_help_panel=RULES,
        ),
    ] = None
    draw: Annotated[
        str | None,
        typer.Option(
            metavar="score=CP",
            help="Drawn where both see at most CP for moves=8 moves each, from ply=160 on.",
            show_default="never",
            rich_help_panel=RULES,
        ),
    ] = None
    margin: Annotated[
        int | None,
        typer.Option(help="Milliseconds an answer may be late.", show_default="100", rich_help_panel=RULES),
    ] = None
    start_timeout: Annotated[
        int | None, typer.Option(help="Milliseconds for usiok.", show_default="10000", rich_help_panel=RULES)
    ] = None
    ready_timeout: Annotated[
        int | None, typer.Option(help="Milliseconds for readyok.", show_default="120000", rich_help_panel=RULES)
    ] = None
    concurrency: Annotated[int | None, typer.Option(help="Games at once.", show_default="1", rich_help_panel=RUN)] = (
        None
    )
    cores_per_game: Annotated[
        int | None,
        typer.Option(
            help="Pin each game in play to so many processor cores.",
            show_default="none are pinned",
            rich_help_panel=RUN,
        ),
    ] = None
    restart: Annotated[
        bool | None,
        typer.Option(
            "--restart/--no-restart",
            help="Start an engine again that died or hung; otherwise its other games are left out.",
            show_default="no-restart",
            rich_help_panel=RUN,
        ),
    ] = None
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Play on a Ray cluster: auto (the one this machine is part of), HOST:PORT, or ray://HOST:PORT from "
            "outside. Games at once: as many as it has room for, with --cores-per-game CPUs (or 1) each.",
            show_default="this machine",
            rich_help_panel=RUN,
        ),
    ] = None
    log: Annotated[
        bool | None,
        typer.Option(
            "--log/--no-log", help="Keep all that is said, in DIR/logs.", show_default="no-log", rich_help_panel=RUN
        ),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end.", rich_help_panel=RUN)] = (
        False
    )


def refuse_before(command: str, context: typer.Context) -> None:
    """Options before a sub-command would be passed over in silence."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            fail(f"options of {command} stand after it: fukayomi match {command} ...", USAGE)


def read_settings(
    options: MatchOptions, tournament: Tournament | None = None, sprt: str | None = None
) -> "MatchSettings":
    """The settings of a match, which are those of --config but for what else was given.

    Raises:
        ConfigurationError: Something is missing, unknown or out of range.
        OSError: The file of --config cannot be read.
    """
    from fukayomi.arena.match.configuration import build_settings, check_programs, parse_fields, read_toml

    def given(*names: str) -> dict[str, Any]:
        return {name: value for name in names if (value := getattr(options, name)) is not None}

    found = read_toml(options.config) if options.config is not None else {}
    found |= given(
        "games", "clock", "opening_plies", "opening_start", "opening_order", "seed", "event", "concurrency",
        "cores_per_game", "restart", "log",
    )  # fmt: skip
    if tournament is not None:
        found["tournament"] = tournament
    if options.openings is not None:
        found["openings"] = options.openings.absolute()
    found["engine"] = _engines(found.get("engine", []), options)
    rules = given("max_plies", "declaration")
    rules |= {f"{name}_ms": value for name, value in given("margin", "start_timeout", "ready_timeout").items()}
    if options.resign is not None:
        rules["resign"] = parse_fields(options.resign, "score", RESIGN_FIELDS)
    if options.draw is not None:
        rules["draw"] = parse_fields(options.draw, "score", DRAW_FIELDS)
    if rules:
        found["rules"] = {**found.get("rules", {}), **rules}
    if sprt is not None:
        found["sprt"] = parse_fields(sprt, "elo1", SPRT_FIELDS)
    settings = build_settings(found)
    if options.ray is None:
        check_programs(settings)  # a cluster's nodes do so themselves
    return settings


def _engines(found: list[dict[str, Any]], given: MatchOptions) -> list[dict[str, Any]]:
    """The engines of the file with what the command line says of them, and its own.

    Raises:
        ConfigurationError: It speaks of an engine that is not there, or is not of the right form.
    """
    from fukayomi.arena.match.configuration import ConfigurationError, split_command

    by_name = {str(engine.get("name", f"engine {number}")): dict(engine) for number, engine in enumerate(found, 1)}
    for text in given.engine or []:
        name, command = _split("--engine", text, "=", "NAME=COMMAND")
        by_name.setdefault(name, {"name": name})["command"] = split_command(command, Path.cwd())

    def engine_of(where: str, name: str) -> dict[str, Any]:
        if name not in by_name:
            raise ConfigurationError(f"{where} speaks of {name!r}; there are {', '.join(by_name) or 'no engines'}")
        return by_name[name]

    for text in given.option or []:
        name, rest = _split("--option", text, ":", "NAME:KEY=VALUE")
        key, value = _split("--option", rest, "=", "NAME:KEY=VALUE")
        engine = engine_of("--option", name)
        engine["options"] = {**engine.get("options", {}), key: value}
    for text in given.engine_clock or []:
        name, clock = _split("--engine-clock", text, "=", "NAME=CLOCK")
        engine_of("--engine-clock", name)["clock"] = clock
    for text in given.engine_dir or []:
        name, folder = _split("--engine-dir", text, "=", "NAME=PATH")
        engine_of("--engine-dir", name)["directory"] = Path(folder).absolute()
    if len(by_name) < 2:
        raise ConfigurationError("two engines or more are needed: --engine NAME=COMMAND, or [[engine]] in the --config")
    return list(by_name.values())


def _split(option: str, text: str, separator: str, form: str) -> tuple[str, str]:
    from fukayomi.arena.match.configuration import ConfigurationError

    first, found, second = text.partition(separator)
    if not found or not first.strip():
        raise ConfigurationError(f"{option} {text!r} is not of the form {form}")
    return first.strip(), second.strip()
