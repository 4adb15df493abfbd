"""``fukayomi match``: play matches between engines."""

import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.arena.match.settings import MatchSettings
from fukayomi.cli.arena.match_options import (
    EngineOptions,
    GameOptions,
    RuleOptions,
    RunOptions,
    Sprt,
    read_settings,
    read_sprt,
)
from fukayomi.cli.common.errors import INTERRUPTED, USAGE, fail
from fukayomi.cli.common.options import given_options, is_subcommand, options_of
from fukayomi.cli.common.text import json_text
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.arena.match.match import StartWorkers
    from fukayomi.arena.match.result import MatchResult
    from fukayomi.arena.match.state import MatchListener


@dataclass(frozen=True)
class OutOptions:
    """Options for the folder of the match."""

    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the match (required): database, records, PGN."),
    ] = None


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
        with workers(settings, ray) as (fitting, start_workers), watching() as listener:
            return run_match(fitting, out, listener=listener, start_workers=start_workers)
    except KeyboardInterrupt:  # before there was anything to save, or for the second time
        fail("stopped; run the same command again to resume the match", INTERRUPTED)


@contextmanager
def workers(settings: MatchSettings, ray: str | None) -> "Generator[tuple[MatchSettings, StartWorkers]]":
    """The workers, and the settings that they can play: threads of this process, or a Ray cluster at this address."""
    if ray is None:
        from fukayomi.arena.match.workers import LocalWorkers

        yield settings, LocalWorkers
    else:
        from fukayomi.arena.match.ray_workers import RayWorkers, fit
        from fukayomi.cluster import connect

        with connect(ray):
            yield fit(settings), RayWorkers


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
        f"{total.distinct_games} distinct games of {total.games}, "
        f"{total.distinct_positions} distinct positions of {total.reached} at ply {diversity.ply}"
    )
    if (sprt := sprt_text(state)) is not None:
        console.print(sprt)
    for warning in (*state.warnings, *state.standings.warnings(), *diversity.warnings):
        console.print(Text(f"warning: {warning}", style="yellow"))
    console.print(Text(f"database, records and PGN: {state.folder}"))
