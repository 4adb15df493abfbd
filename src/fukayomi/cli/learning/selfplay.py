"""``fukayomi selfplay``: games of a network against itself."""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.cli.common.errors import INTERRUPTED, USAGE, exit_stopped, fail
from fukayomi.cli.common.options import given_options
from fukayomi.cli.common.text import json_text
from fukayomi.cli.learning.selfplay_options import (
    DeviceOptions,
    GameOptions,
    LeagueOptions,
    MoveOptions,
    OpeningOptions,
    ReportOptions,
    RunOptions,
    SavingOptions,
    SearchOptions,
    SwitchOptions,
)
from fukayomi.engine.settings import EMBEDDED

if TYPE_CHECKING:
    from fukayomi.selfplay.generator import SelfplayResult
    from fukayomi.selfplay.league import League
    from fukayomi.selfplay.listener import SelfplayListener
    from fukayomi.selfplay.settings import SelfplaySettings


def selfplay(
    network: Annotated[str, typer.Argument(help=f"Network file; {EMBEDDED} is the embedded one.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of the games; it is made.")],
    run: RunOptions,
    search: SearchOptions,
    moves: MoveOptions,
    games: GameOptions,
    saving: SavingOptions,
    switches: SwitchOptions,
    openings: OpeningOptions,
    league: LeagueOptions,
    device: DeviceOptions,
    reports: ReportOptions,
) -> None:
    """Let a network play games against itself, for training.

    \b
    fukayomi selfplay network.onnx -o games --positions 1000000 --openings a.hcp
    fukayomi selfplay embedded -o games --games 100 --playouts 100
    fukayomi train games/*.hcpe3 --out run

    DIR gets chunks of games as hcpe3 (NAME-000001.hcpe3), each with a JSON file that says where it comes from. Games
    that are over are safe at once: run the same command again to resume, after a kill too. Ctrl-C ends after the games
    in play, a second Ctrl-C at once.

    The options have dlshogi's names and defaults. The same seed, network and settings give the same games; with
    --reproducible on every device that gives the same numbers for a position in each batch.
    """

    settings = _settings(run, search, moves, games, saving, switches)
    try:
        result = _generate(network, out, settings, run, openings, league, device, reports)
    except KeyboardInterrupt:  # for the second time
        fail("stopped; run the same command again to resume", INTERRUPTED)
    _print(result, out, run)


def _settings(run: RunOptions, *groups: Any) -> "SelfplaySettings":
    from fukayomi.selfplay.settings import SelfplaySettings
    from fukayomi.settings import build, read

    if (run.games is None) == (run.positions is None):
        fail("give --games N or --positions N", USAGE)
    layers = [] if run.config is None else [read(SelfplaySettings, run.config)]
    return build(SelfplaySettings, *layers, *map(given_options, groups))


def _generate(
    network: str,
    out: Path,
    settings: "SelfplaySettings",
    run: RunOptions,
    openings: OpeningOptions,
    league: LeagueOptions,
    device: DeviceOptions,
    reports: ReportOptions,
) -> "SelfplayResult":
    from fukayomi.book import Book
    from fukayomi.listener import fan_out
    from fukayomi.selfplay.generator import generate
    from fukayomi.selfplay.openings import Openings, OpeningSet, keep_book_apart
    from fukayomi.selfplay.reports import JsonLines, TensorBoard

    sets = Openings.read(openings.openings or [])
    apart = [OpeningSet.read(path) for path in openings.keep_apart or []]
    if openings.book is None:
        sets.keep_apart(apart)
    elif apart:
        with Book.open(openings.book) as book:
            keep_book_apart(book, openings.book_plies, apart)
    listeners: list[SelfplayListener] = []
    if reports.json_lines is not None:
        listeners.append(JsonLines(reports.json_lines))
    if reports.tensorboard is not None:
        listeners.append(TensorBoard(reports.tensorboard))
    with _watching(lines=reports.log_lines) as watcher, _opponents(league, run.seed, device) as opponents:
        return generate(
            settings,
            network,
            out,
            games=run.games,
            positions=run.positions,
            name=run.name,
            seed=run.seed,
            openings=sets if openings.openings else None,
            book=openings.book,
            book_plies=openings.book_plies,
            opponents=opponents,
            parallel=run.parallel or 0,
            devices=device.devices,
            device=device.device,
            precision=device.precision,
            threads=device.threads,
            batch_size=device.batch_size,
            cache_mb=device.cache_mb,
            reproducible=run.reproducible,
            listener=fan_out(watcher, *listeners),
        )


def _opponents(options: LeagueOptions, seed: int, device: DeviceOptions) -> "AbstractContextManager[League | None]":
    from fukayomi.selfplay.league import League, LeagueSettings

    if options.league is None:
        if options.split_opponent:
            fail("--split-opponent needs --league", USAGE)
        return nullcontext()
    settings = LeagueSettings.read(options.league)
    if options.split_opponent:
        settings = settings.model_copy(update={"split_opponent": True})
    return League(
        settings, seed, device.device, devices=device.devices, precision=device.precision, threads=device.threads,
        batch_size=device.batch_size,
    )  # fmt: skip


def _watching(*, lines: bool) -> "AbstractContextManager[SelfplayListener]":
    """A live table on a terminal, otherwise log lines; on stderr, since stdout is for the result."""
    from rich.console import Console

    from fukayomi.cli.learning.selfplay_progress import SelfplayTable
    from fukayomi.selfplay.reports import LogLines

    console = Console(stderr=True)
    if console.is_terminal and not lines:
        return SelfplayTable(console)
    return nullcontext(LogLines(lambda line: print(line, file=sys.stderr, flush=True)))


def _print(result: "SelfplayResult", out: Path, run: RunOptions) -> None:
    from fukayomi.selfplay.reports import state_dict

    progress = result.progress
    if run.as_json:
        end = {"finished": result.finished, "waiting": result.waiting, "out": str(out), **state_dict(progress)}
        typer.echo(json_text(end))
    elif result.finished:
        wrong = f"; {progress.wrong_resignations} of {progress.played_out} resignations that were played out were wrong"
        typer.echo(
            f"{progress.games} games, {progress.kept} kept, {progress.positions} positions with targets"
            f"{wrong if progress.played_out else ''}: {out}"
        )
    if not result.finished:
        waiting = f"; {result.waiting} games wait there for the rest of their chunk" if result.waiting else ""
        typer.echo(f"stopped after {progress.games} games in {out}{waiting}. Run the same command to resume", err=True)
        exit_stopped(result.stopped_by)
