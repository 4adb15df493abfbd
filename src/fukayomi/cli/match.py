"""``fukayomi match``: engines play each other, from a first game to a table that can be trusted."""

import json
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.arena.settings import Declaration, MatchSettings, OpeningOrder, Tournament
from fukayomi.cli.errors import INTERRUPTED, fail, user_errors

if TYPE_CHECKING:
    from fukayomi.arena.match import MatchOutcome
    from fukayomi.arena.progress import Lines, LiveTable

ENGINES, GAMES, RULES, RUN = "Engines", "Games", "When a game ends", "This run (may change from run to run)"

RESIGN_FIELDS = {"score": "score_cp", "moves": "moves", "both": "both_sides"}
DRAW_FIELDS = {"score": "score_cp", "moves": "moves", "ply": "ply"}
SPRT_FIELDS = {name: name for name in ("elo0", "elo1", "alpha", "beta", "model")}


def match(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the match: database, records, PGN.")],
    engine: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=COMMAND", help="A USI engine; give it twice or more.", rich_help_panel=ENGINES),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:KEY=VALUE", help="A USI option of that engine.", rich_help_panel=ENGINES),
    ] = None,
    engine_clock: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=CLOCK", help="A clock of its own for that engine.", rich_help_panel=ENGINES),
    ] = None,
    engine_dir: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PATH", help="The folder that engine runs in.", rich_help_panel=ENGINES),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="All of this from a file, whose paths are relative to it. What is given here goes before it.",
            rich_help_panel=ENGINES,
        ),
    ] = None,
    games: Annotated[
        int | None, typer.Option(help="Games in all; more may be asked for later.", rich_help_panel=GAMES)
    ] = None,
    clock: Annotated[
        str | None,
        typer.Option(
            help="byoyomi=1s; main=5m,byoyomi=10s; main=5m,increment=5s; main=60s; movetime=100ms; nodes=5000, "
            "nodes=500000/600000 (in turn by opening); depth=4.",
            rich_help_panel=GAMES,
        ),
    ] = None,
    openings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A position or USI line a line; each is played twice, colours swapped.",
            show_default="the start position",
            rich_help_panel=GAMES,
        ),
    ] = None,
    opening_plies: Annotated[
        int | None, typer.Option(help="Cut the openings at this ply.", rich_help_panel=GAMES)
    ] = None,
    opening_order: Annotated[
        OpeningOrder | None,
        typer.Option(
            help="In the file's order or shuffled by the seed.", show_default="sequential", rich_help_panel=GAMES
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of the random order.", show_default="0", rich_help_panel=GAMES)
    ] = None,
    tournament: Annotated[
        Tournament | None,
        typer.Option(
            help="Everybody meets everybody, or the first engine all others.",
            show_default="round-robin",
            rich_help_panel=GAMES,
        ),
    ] = None,
    event: Annotated[str | None, typer.Option(help="The event's name in the records.", rich_help_panel=GAMES)] = None,
    sprt: Annotated[
        str | None,
        typer.Option(
            metavar="elo0=0,elo1=5",
            help="Stop as soon as this sequential test of two engines decides; also alpha=, beta=, "
            "model=normalized|logistic.",
            rich_help_panel=GAMES,
        ),
    ] = None,
    max_plies: Annotated[
        int | None,
        typer.Option(
            help="A draw after so many plies, the opening's counted.", show_default="320", rich_help_panel=RULES
        ),
    ] = None,
    declaration: Annotated[
        Declaration | None,
        typer.Option(help="By which points a declaration (入玉宣言) wins.", show_default="27", rich_help_panel=RULES),
    ] = None,
    resign: Annotated[
        str | None,
        typer.Option(
            metavar="score=CP",
            help="Lost for who sees CP centipawns against itself for moves=3 moves in a row, and the winner agrees "
            "(both=false: nobody asks it).",
            show_default="never",
            rich_help_panel=RULES,
        ),
    ] = None,
    draw: Annotated[
        str | None,
        typer.Option(
            metavar="score=CP",
            help="Drawn where both see at most CP for moves=8 moves each, from ply=160 on.",
            show_default="never",
            rich_help_panel=RULES,
        ),
    ] = None,
    margin: Annotated[
        int | None,
        typer.Option(help="Milliseconds an answer may be late.", show_default="100", rich_help_panel=RULES),
    ] = None,
    start_timeout: Annotated[
        int | None, typer.Option(help="Milliseconds for usiok.", show_default="10000", rich_help_panel=RULES)
    ] = None,
    ready_timeout: Annotated[
        int | None, typer.Option(help="Milliseconds for readyok.", show_default="120000", rich_help_panel=RULES)
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(help="Games at once.", show_default="1", rich_help_panel=RUN)
    ] = None,
    cores_per_game: Annotated[
        int | None,
        typer.Option(
            help="Pin each game in play to so many processor cores.",
            show_default="none are pinned",
            rich_help_panel=RUN,
        ),
    ] = None,
    restart: Annotated[
        bool | None,
        typer.Option(
            "--restart/--no-restart",
            help="Start an engine again that died or hung; otherwise its other games are left out.",
            show_default="no-restart",
            rich_help_panel=RUN,
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Play on a Ray cluster: auto (the one this machine is part of), HOST:PORT, or ray://HOST:PORT from "
            "outside. Games at once: as many as it has room for, with --cores-per-game CPUs (or 1) each.",
            show_default="this machine",
            rich_help_panel=RUN,
        ),
    ] = None,
    log: Annotated[
        bool | None,
        typer.Option(
            "--log/--no-log", help="Keep all that is said, in DIR/logs.", show_default="no-log", rich_help_panel=RUN
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object at the end.", rich_help_panel=RUN)
    ] = False,
) -> None:
    """Let engines play each other.

    fukayomi match --engine "new=fukayomi-usi" --engine "old=/usr/games/gpsusi" --games 200 --clock byoyomi=100ms
    --openings balanced.sfen --out new-old

    Every game is safe on disk when it ends. Ctrl-C, a kill or a power cut costs the games in play; the same command
    goes on, and with more --games the match grows. The exit code is 0 when all games are there.

    DIR has match.db (the match, for `fukayomi rate`), games/ (CSA and KIF), and games.pgn for other rating tools.
    """
    given: dict[str, Any] = {
        "games": games, "clock": clock, "openings": openings and openings.absolute(), "opening_plies": opening_plies,
        "opening_order": opening_order, "seed": seed, "tournament": tournament, "event": event,
        "concurrency": concurrency, "cores_per_game": cores_per_game, "restart": restart, "log": log,
    }  # fmt: skip
    rules: dict[str, Any] = {
        "max_plies": max_plies, "declaration": declaration, "margin_ms": margin, "start_timeout_ms": start_timeout,
        "ready_timeout_ms": ready_timeout,
    }  # fmt: skip
    from fukayomi.arena.configuration import build_settings, check_programs, parse_fields, read_toml

    with user_errors():
        found = read_toml(config) if config is not None else {}
        found |= {name: value for name, value in given.items() if value is not None}
        found["engine"] = _engines(found.get("engine", []), engine, option, engine_clock, engine_dir)
        if resign is not None:
            rules["resign"] = parse_fields(resign, "score", RESIGN_FIELDS)
        if draw is not None:
            rules["draw"] = parse_fields(draw, "score", DRAW_FIELDS)
        if sprt is not None:
            found["sprt"] = parse_fields(sprt, "elo1", SPRT_FIELDS)
        if rules := {name: value for name, value in rules.items() if value is not None}:
            found["rules"] = {**found.get("rules", {}), **rules}
        settings = build_settings(found)
        if ray is None:
            check_programs(settings)  # a cluster's nodes do so themselves
        outcome = _run(settings, out, ray)
    _report(outcome, as_json=as_json)


def _engines(
    found: list[dict[str, Any]],
    commands: list[str] | None,
    options: list[str] | None,
    clocks: list[str] | None,
    folders: list[str] | None,
) -> list[dict[str, Any]]:
    """The engines of the file with what the command line says of them, and its own.

    Raises:
        ConfigurationError: It speaks of an engine that is not there, or is not of the right form.
    """
    from fukayomi.arena.configuration import ConfigurationError, split_command

    by_name = {str(engine.get("name", f"engine {number}")): dict(engine) for number, engine in enumerate(found, 1)}
    for text in commands or []:
        name, command = _split("--engine", text, "=", "NAME=COMMAND")
        by_name.setdefault(name, {"name": name})["command"] = split_command(command, Path.cwd())

    def engine_of(where: str, name: str) -> dict[str, Any]:
        if name not in by_name:
            raise ConfigurationError(f"{where} speaks of {name!r}; there are {', '.join(by_name) or 'no engines'}")
        return by_name[name]

    for text in options or []:
        name, rest = _split("--option", text, ":", "NAME:KEY=VALUE")
        key, value = _split("--option", rest, "=", "NAME:KEY=VALUE")
        engine = engine_of("--option", name)
        engine["options"] = {**engine.get("options", {}), key: value}
    for text in clocks or []:
        name, clock = _split("--engine-clock", text, "=", "NAME=CLOCK")
        engine_of("--engine-clock", name)["clock"] = clock
    for text in folders or []:
        name, folder = _split("--engine-dir", text, "=", "NAME=PATH")
        engine_of("--engine-dir", name)["directory"] = Path(folder).absolute()
    if len(by_name) < 2:
        raise ConfigurationError("two engines or more are needed: --engine NAME=COMMAND, or [[engine]] in the --config")
    return list(by_name.values())


def _split(option: str, text: str, separator: str, form: str) -> tuple[str, str]:
    from fukayomi.arena.configuration import ConfigurationError

    first, found, second = text.partition(separator)
    if not found or not first.strip():
        raise ConfigurationError(f"{option} {text!r} is not of the form {form}")
    return first.strip(), second.strip()


def _run(settings: MatchSettings, out: Path, ray: str | None) -> "MatchOutcome":
    progress: AbstractContextManager[LiveTable | Lines] = _progress()
    try:
        if ray is not None:
            return _run_on_ray(settings, out, ray, progress)
        from fukayomi.arena.match import run_match

        with progress as listener:
            return run_match(settings, out, listener)
    except KeyboardInterrupt:  # while there was nothing to be saved, or for the second time
        fail("stopped; the same command goes on with the match", INTERRUPTED)


def _run_on_ray(
    settings: MatchSettings, out: Path, address: str, progress: "AbstractContextManager[LiveTable | Lines]"
) -> "MatchOutcome":
    from fukayomi.arena.match import run_match
    from fukayomi.arena.ray_workers import RayWorkers, connect, fit

    with connect(address), progress as listener:
        return run_match(fit(settings), out, listener, RayWorkers)


def _progress() -> "LiveTable | Lines":
    """A table on a terminal, lines elsewhere; on stderr, as stdout is for the result."""
    from rich.console import Console

    from fukayomi.arena.progress import Lines, LiveTable

    console = Console(stderr=True)
    return LiveTable(console) if console.is_terminal else Lines(lambda line: print(line, file=sys.stderr, flush=True))


def _report(outcome: "MatchOutcome", *, as_json: bool) -> None:
    """Print the result, and end with the right exit code."""
    from fukayomi.arena.summary import summarize

    if as_json:
        typer.echo(json.dumps(summarize(outcome), ensure_ascii=False))
    else:
        _print_tables(outcome)
    state = outcome.state
    if outcome.is_interrupted:
        typer.echo(
            f"Stopped: {state.played} games are in {state.folder}, {outcome.unplayed} are left. "
            "The same command goes on with them.",
            err=True,
        )
        raise typer.Exit(INTERRUPTED)
    if not outcome.is_complete:
        engines = ", ".join(sorted(state.left_out))
        fail(
            f"{outcome.unplayed} games were left out because of {engines}. "
            "The same command plays them; with --restart an engine that fails is started again"
        )
    if state.left_out:
        fail(f"all games are there, but an engine failed: {', '.join(sorted(state.left_out))}")


def _print_tables(outcome: "MatchOutcome") -> None:
    from rich.console import Console
    from rich.text import Text

    from fukayomi.arena.progress import sprt_text, standings_table
    from fukayomi.arena.summary import percent

    state, diversity = outcome.state, outcome.diversity
    console = Console()
    console.print(standings_table(state))
    first = state.standings.first_mover
    console.print(f"first mover {first.text()} ({percent(first.share)}); in all scores a draw is half a point")
    endings = (f"{ending} {count}" for ending, count in state.standings.terminations.most_common())
    console.print(f"endings: {', '.join(endings) or 'none'}")
    total = diversity.total
    console.print(
        f"{total.distinct_games} distinct games of {total.games}, "
        f"{total.distinct_positions} distinct positions of {total.reached} at ply {diversity.ply}"
    )
    if (sprt := sprt_text(state)) is not None:
        console.print(sprt)
    for warning in diversity.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))
    console.print(Text(f"database, records and PGN: {state.folder}"))
