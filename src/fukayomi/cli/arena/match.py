"""``fukayomi match``: engines play each other, from a first game to a table that can be trusted."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.arena.game.choices import Tournament
from fukayomi.cli.arena.match_options import GAMES, USAGE, MatchOptions, read_settings, refuse_before
from fukayomi.cli.common.errors import INTERRUPTED, fail, user_errors
from fukayomi.cli.common.text import json_text

if TYPE_CHECKING:
    from fukayomi.arena.match.match import MatchOutcome, StartWorkers
    from fukayomi.arena.match.settings import MatchSettings
    from fukayomi.cli.arena.match_progress import Lines, LiveTable

Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of the match: database, records, PGN.", show_default="must be given"),
]
WhoMeetsWhom = Annotated[
    Tournament | None,
    typer.Option(
        help="Everybody meets everybody, or the first engine all others.",
        show_default="round-robin",
        rich_help_panel=GAMES,
    ),
]
Sprt = Annotated[
    str | None,
    typer.Option(
        metavar="elo0=0,elo1=5",
        help="Stop as soon as this sequential test of two engines decides; also alpha=, beta=, "
        "model=normalized|logistic.",
        rich_help_panel=GAMES,
    ),
]


def match(
    context: typer.Context,
    options: MatchOptions,
    out: Out = None,
    tournament: WhoMeetsWhom = None,
    sprt: Sprt = None,
) -> None:
    """Let engines play each other.

    \b
      fukayomi match --engine new=fukayomi-usi --engine old=/usr/games/gpsusi \\
        --games 200 --clock byoyomi=1s --openings balanced.sfen --out new-old

    Every game is safe on disk when it ends. Ctrl-C, a kill or a power cut costs the games in play; the same command
    goes on, and with more --games the match grows. The exit code is 0 when all games are there.

    DIR has match.db (the match, for `fukayomi rate`), games/ (CSA and KIF), and games.pgn for other rating tools.

    fukayomi match calibrate finds the clock at which an engine scores 50 %.
    """
    if context.invoked_subcommand is not None:
        refuse_before(context.invoked_subcommand, context)
        return
    with user_errors():
        settings = read_settings(options, tournament, sprt)
        if out is None:  # typer cannot demand it of a command that has sub-commands
            fail("a folder is needed: --out DIR", USAGE)
        outcome = _run(settings, out, options.ray)
    _report(outcome, as_json=options.as_json)


def _run(settings: "MatchSettings", out: Path, ray: str | None) -> "MatchOutcome":
    from fukayomi.arena.match.match import run_match

    try:
        with players(settings, ray) as (fitting, start_workers), watching() as listener:
            return run_match(fitting, out, listener, start_workers)
    except KeyboardInterrupt:  # while there was nothing to be saved, or for the second time
        fail("stopped; the same command goes on with the match", INTERRUPTED)


@contextmanager
def players(settings: "MatchSettings", ray: str | None) -> "Generator[tuple[MatchSettings, StartWorkers]]":
    """Who plays, and the settings that they can play: threads of this process, or a Ray cluster at this address."""
    if ray is None:
        from fukayomi.arena.match.workers import LocalWorkers

        yield settings, LocalWorkers
    else:
        from fukayomi.arena.match.ray_workers import RayWorkers, fit
        from fukayomi.cluster import connect

        with connect(ray):
            yield fit(settings), RayWorkers


def watching() -> "LiveTable | Lines":
    """A table on a terminal, lines elsewhere; on stderr, as stdout is for the result."""
    from rich.console import Console

    from fukayomi.cli.arena.match_progress import Lines, LiveTable

    console = Console(stderr=True)
    return LiveTable(console) if console.is_terminal else Lines(lambda line: print(line, file=sys.stderr, flush=True))


def _report(outcome: "MatchOutcome", *, as_json: bool) -> None:
    """Print the result, and end with the right exit code."""
    from fukayomi.arena.match.summary import summarize

    if as_json:
        typer.echo(json_text(summarize(outcome)))
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

    from fukayomi.arena.match.summary import percent
    from fukayomi.cli.arena.match_progress import sprt_text, standings_table

    state, diversity = outcome.state, outcome.diversity
    console = Console()
    console.print(standings_table(state))
    first = state.standings.first_mover
    console.print(f"first mover {first.text()} ({percent(first.rate)}); in all scores a draw is half a point")
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
