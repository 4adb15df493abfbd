"""``fukayomi match`` and ``fukayomi match networks``: matches between USI engines, or between networks."""

import sys
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from fukayomi.arena.match.settings import MatchSettings
from fukayomi.cli.arena.match_options import (
    EngineOptions,
    GameOptions,
    RuleOptions,
    RunOptions,
    Sprt,
    fitting,
    read_settings,
    read_sprt,
    workers,
)
from fukayomi.cli.common.errors import INTERRUPTED, USAGE, fail
from fukayomi.cli.common.options import AsJson, by_short_name, given_options, is_subcommand, options_of
from fukayomi.cli.common.text import json_text
from fukayomi.selfplay.settings import PoolSettings
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.arena.match.state import MatchListener, MatchResult
    from fukayomi.engine.network import Network
    from fukayomi.shogi import Position


@dataclass(frozen=True)
class OutOptions:
    """Options for the folder of the match."""

    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None
    """Folder of the match (required): database, records, PGN."""


@options_of(MatchSettings, "tournament", panel="Games")
class TournamentOptions:
    """Options for the pairing of the engines and the end of the match."""

    sprt: Sprt = None


def match(
    context: typer.Context,
    out: OutOptions,
    engines: EngineOptions,
    games: GameOptions,
    more: TournamentOptions,
    rules: RuleOptions,
    run: RunOptions,
) -> None:
    """Play a match between USI engines.

    \b
    fukayomi match --engine new=fukayomi-usi --engine old=/usr/games/gpsusi \\
      --games 200 --clock byoyomi=1s --openings balanced.sfen --out new-old

    Every finished game is safe on disk. Ctrl-C, a kill or a power failure costs only the games in progress; run the
    same command again to resume, or with more --games to extend the match. The exit code is 0 when all games have
    been played.

    DIR gets match.db (the match, for `fukayomi rate`), games/ (CSA and KIF), and games.pgn for other rating tools.

    fukayomi match calibrate finds the clock at which an engine scores 50 %; fukayomi match networks lets networks play
    many games at once.
    """
    if is_subcommand(context):
        return
    settings = read_settings((engines, games, rules, run), **given_options(more, "sprt"), sprt=read_sprt(more.sprt))
    if out.out is None:  # typer cannot require it of a command with sub-commands
        fail("--out DIR is required", USAGE)
    result = _run(settings, out.out, run.ray)
    report_result(result, as_json=run.as_json)


def _run(settings: MatchSettings, out: Path, ray: str | None) -> "MatchResult":
    from fukayomi.arena.match.match import run_match

    try:
        with workers(ray) as (start_workers, at_once), watching() as listener:
            return run_match(fitting(settings, at_once), out, listener=listener, start_workers=start_workers)
    except KeyboardInterrupt:  # before there was anything to save, or for the second time
        fail("stopped; run the same command again to resume the match", INTERRUPTED)


def watching() -> "AbstractContextManager[MatchListener]":
    """A live table on a terminal, otherwise a line per game; on stderr, since stdout is for the result."""
    from rich.console import Console

    from fukayomi.cli.arena.match_progress import Lines, LiveTable

    console = Console(stderr=True)
    if console.is_terminal:
        return LiveTable(console)
    return nullcontext(Lines(lambda line: print(line, file=sys.stderr, flush=True)))


def report_result(result: "MatchResult", *, as_json: bool) -> None:
    """Print the result, and exit with the right code."""
    from fukayomi.arena.match.summary import summarize
    from fukayomi.cli.arena.match_progress import failure_text

    if as_json:
        typer.echo(json_text(summarize(result)))
    else:
        _print_tables(result)
    state = result.state
    if result.is_interrupted:
        typer.echo(
            f"Stopped: {counted(state.played, 'game is', 'games are')} in {state.folder}, "
            f"{counted(result.unplayed, 'is', 'are')} left. "
            "Run the same command again to resume.",
            err=True,
        )
        raise typer.Exit(INTERRUPTED)
    reasons = "; ".join(map(failure_text, state.reasons))
    if not result.is_complete:
        fail(
            f"{counted(result.unplayed, 'game was', 'games were')} left out because {reasons}. "
            "Run the same command again to play them; --restart restarts engines that fail"
        )
    if reasons:
        fail(f"all games were played, but {reasons}")


def _print_tables(result: "MatchResult") -> None:
    from rich.console import Console
    from rich.text import Text

    from fukayomi.cli.arena.match_progress import forfeit_tables, percent, sprt_text, standings_table, times_table

    state, diversity = result.state, result.diversity
    console = Console()
    console.print(standings_table(state))
    for table in (*forfeit_tables(state), *([times_table(state)] if state.times else [])):
        console.print(table)
    first = state.standings.first_mover
    console.print(f"first mover {first.text()} ({percent(first.rate)}); a draw scores half a point")
    endings = (f"{ending} {count}" for ending, count in state.standings.terminations.most_common())
    console.print(f"endings: {', '.join(endings) or 'none'}")
    total = diversity.total
    console.print(
        f"{counted(total.distinct_games, 'distinct game')} of {total.games:,}, "
        f"{counted(total.distinct_positions, 'distinct position')} of {total.reached:,} at ply {diversity.ply}"
    )
    if (sprt := sprt_text(state)) is not None:
        console.print(sprt)
    for warning in (*state.warnings, *state.standings.warnings(), *diversity.warnings):
        console.print(Text(f"warning: {warning}", style="yellow"))
    console.print(Text(f"database, records and PGN: {state.folder}"))


BATCH = 8
"""Positions per batch of a core."""

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="NETWORK...", help="Two networks or more: files, or embedded ones by name; embedded is <5x64>."
    ),
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder of the match: database, records, PGN.")]


@options_of(MatchSettings, "seed", "tournament", panel="Games")
class NetworkGames:
    """The games, and when the match stops."""

    games: Annotated[int, typer.Option(metavar="N", min=1)] = 400
    """Games in total; can be raised later."""
    openings: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default="1000 balanced openings that come with the package")
    ] = None
    """Openings, one SFEN or USI line per line; each is played twice with colours swapped."""
    opening_plies: Annotated[int | None, typer.Option(metavar="PLY", min=0)] = None
    """Cut openings at this ply."""
    sprt: Sprt = None


@options_of(PoolSettings, "playouts", "max_plies", "parallel", panel="Search")
class PoolOptions:
    """Options for the games between networks."""


@dataclass(frozen=True)
class NetworkDevices:
    """Devices that run the networks."""

    PANEL: ClassVar = "Network"

    device: str = "native"
    """Library and device: native (residual and sparse), cpu (all in ONNX), openvino, cuda, tensorrt."""
    precision: str = "auto"
    """auto, fp32, fp16, bf16, int16 or int8."""


def networks(
    files: Files,
    out: Out,
    games: NetworkGames,
    pool: PoolOptions,
    devices: NetworkDevices,
    as_json: AsJson = False,
) -> None:
    """Play a match between networks, by the engine's search with a fixed number of playouts.

    \b
      fukayomi match networks new.onnx old.onnx --playouts 100 \\
        --games 1000 --sprt elo0=0,elo1=10 --out new-old

    Many games are played at once and fill the batches together: several times faster than a match of engines, on a GPU
    far more. Each move has a new tree, no side resigns, and nothing is left to chance. A match at equal time, which
    counts in the end, is one of engines: fukayomi match.

    Every finished game is safe on disk; run the same command again to resume, or with more --games to extend the match.
    DIR gets match.db, games/ and games.pgn, for fukayomi rate and fukayomi sprt.
    """
    if len(files) < 2:
        fail("a match needs two networks or more", USAGE)
    result = _play(by_short_name(files, lambda file: file.stem), out, games, pool, devices)
    report_result(result, as_json=as_json)


def _play(
    files: dict[str, str], out: Path, games: NetworkGames, pool: PoolOptions, devices: NetworkDevices
) -> "MatchResult":
    from fukayomi.selfplay import play_networks

    given: dict[str, Any] = {"seed": 0, "playouts": PoolSettings().playouts}
    given |= given_options(games, "opening_plies", "openings", "sprt") | given_options(pool)
    PoolSettings(**{name: value for name, value in given.items() if name in PoolSettings.model_fields})  # checked early
    try:
        with ExitStack() as stack, watching() as listener:
            return play_networks(
                {name: stack.enter_context(_load(file, devices)) for name, file in files.items()},
                openings=_openings(games),
                folder=out,
                sprt=read_sprt(games.sprt),
                reproducible=devices.device == "cpu",
                listener=listener,
                **given,
            )
    except KeyboardInterrupt:  # before there was anything to save, or for the second time
        fail("stopped; run the same command again to resume the match", INTERRUPTED)


def _load(file: str, devices: NetworkDevices) -> "Network":
    """A network on each core, or on a GPU."""
    from fukayomi.engine import Network
    from fukayomi.engine.evaluators.backends.machine import usable_cpus
    from fukayomi.engine.evaluators.backends.network_file import precision_for
    from fukayomi.engine.network import same_everywhere

    on_cores = devices.device in ("native", "cpu")
    return Network(
        [same_everywhere(file)] * (usable_cpus() if on_cores else 1),
        device=devices.device,
        precision=precision_for(file, devices.precision),
        threads=1 if on_cores else 0,
        batch_size=BATCH if on_cores else 0,
        cache_mb=0,
    )


def _openings(games: NetworkGames) -> "Path | list[Position]":
    from fukayomi.arena.game.openings import read_openings
    from fukayomi.loop.settings import OPENINGS

    path = games.openings or OPENINGS
    if games.opening_plies is None:
        return path
    return [opening.position() for opening in read_openings(path, games.opening_plies)]
