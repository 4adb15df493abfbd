"""``fukayomi selfplay``: games of a network against itself.

An option that is not given is None, so that the file of --config or the library decides.
"""

import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from fukayomi.cli.common.errors import INTERRUPTED, USAGE, exit_stopped, fail
from fukayomi.cli.common.options import AsJson, given_options, options_of
from fukayomi.cli.common.text import json_text
from fukayomi.engine.settings import EMBEDDED
from fukayomi.selfplay.settings import SelfplaySettings
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.selfplay.generator import SelfplayResult
    from fukayomi.selfplay.league import League
    from fukayomi.selfplay.listener import SelfplayListener


@dataclass(frozen=True)
class RunOptions:
    """Options for the number of games, their folder, and who makes them."""

    games: Annotated[int | None, typer.Option("--games", "-n", min=1, show_default=False)] = None
    """Games to play, with those in DIR."""
    positions: Annotated[int | None, typer.Option(min=1, show_default=False)] = None
    """Positions with targets to make, instead of --games."""
    name: str = "selfplay"
    """Name of the worker; names of its files begin with it."""
    seed: Annotated[int, typer.Option(min=0, max=2**64 - 1)] = 0
    """Random seed; a game depends on it and its number."""
    parallel: Annotated[int | None, typer.Option(show_default="64 a device, or more for large batches", min=1)] = None
    """Games at once."""
    reproducible: Annotated[bool, typer.Option("--reproducible")] = False
    """Run full batches only, so that games do not depend on which of them meet in one."""
    config: Annotated[Path | None, typer.Option(metavar="TOML", show_default=False)] = None
    """File with settings; options change them."""
    as_json: AsJson = False


@dataclass(frozen=True)
class DeviceOptions:
    """Devices that run the network."""

    PANEL: ClassVar = "Device"

    devices: Annotated[int, typer.Option(min=1, max=8)] = 1
    """Devices that run the network."""
    device: str = "auto"
    """Library and device: native, cpu, openvino, cuda, ..."""
    precision: str = "auto"
    """fp32, fp16, bf16, int16 or int8; auto: measured."""
    threads: Annotated[int, typer.Option(min=0)] = 0
    """CPU threads for a batch; 0: measured."""
    batch_size: Annotated[int, typer.Option(min=0)] = 0
    """Positions in a batch; 0: measured."""
    cache_mb: Annotated[int, typer.Option(min=0)] = 64
    """Memory for evaluations that may come again, MiB; 0: none."""


@dataclass(frozen=True)
class OpeningOptions:
    """Options for the positions where games begin."""

    PANEL: ClassVar = "Openings"

    openings: Annotated[list[str] | None, typer.Option(metavar="FILE", show_default="the start position")] = None
    """Positions to begin at, drawn at random: hcp (*.hcp), or a line each, as SFEN or USI moves. 'FILE*2' gives its
    positions twice the weight. May be given several times."""
    book: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False,
            help="Opening book in place of --openings: a game begins with its moves, drawn with the network's policy.",
        ),
    ] = None  # fmt: skip
    book_plies: Annotated[int, typer.Option(min=1)] = 24
    """Number of these moves at most."""
    keep_apart: Annotated[list[Path] | None, typer.Option(metavar="FILE", show_default=False)] = None
    """Refuse openings, or a book that leads to openings, that share a position with this set."""


@dataclass(frozen=True)
class LeagueOptions:
    """Options for the players besides the network."""

    PANEL: ClassVar = "League"

    league: Annotated[Path | None, typer.Option(metavar="TOML", show_default="nobody")] = None
    """USI engines and earlier networks that play a share of the games; docs/selfplay.md has an example."""
    split_opponent: Annotated[bool, typer.Option("--split-opponent")] = False
    """Write games of the league to files of their own, NAME-000001_opp.hcpe3."""


@dataclass(frozen=True)
class ReportOptions:
    """Options for the reports about the run."""

    PANEL: ClassVar = "Reports"

    log_lines: Annotated[bool, typer.Option("--log-lines")] = False
    """Print dlshogi's log lines even on a terminal, in place of the table."""
    json_lines: Annotated[Path | None, typer.Option(metavar="FILE", show_default=False)] = None
    """Append an object for each game, chunk and state."""
    tensorboard: Annotated[Path | None, typer.Option(metavar="DIR", show_default=False)] = None
    """Folder for TensorBoard's curves."""


@options_of(
    SelfplaySettings, "playouts", "extension", "leaves", "c_init", "c_base", "c_init_root",
    "c_base_root", "fpu", "fpu_reduction", "fpu_root", "fpu_reduction_root", "temperature", "temperature_root",
    "root_rule", "root_noise", "root_noise_epsilon", "root_noise_alpha", "forced_playouts", "gumbel_moves",
    "gumbel_visits", "gumbel_scale", "gumbel_c_visit", "gumbel_c_scale", "leaf_mate_plies", "leaf_mate_nodes",
    "mate_depth", "mate_nodes", "draw_value_black", "draw_value_white", panel="Search"
)  # fmt: skip
class SearchOptions:
    """The search of a move."""


@options_of(
    SelfplaySettings, "random", "random_temperature", "random_temperature_drop", "random_cutoff", "random_cutoff_drop",
    "random2", "low_moves", panel="Choice of moves"
)  # fmt: skip
class MoveOptions:
    """The choice of a move."""


@options_of(
    SelfplaySettings, "min_move", "max_move", "threshold", "play_out", "declaration_rule", "chunk_games", panel="Games"
)
class GameOptions:
    """The end of a game."""


@options_of(
    SelfplaySettings,
    "cheap",
    "cheap_playouts",
    "soft_playouts",
    "soft_weight",
    "surprise",
    "fork",
    panel="For few machines",
)
class SavingOptions:
    """Options that make more of few machines."""


@options_of(SelfplaySettings, "early_stop", "reuse", "train_random", "out_max_move", panel="Switches")
class SwitchOptions:
    """Switches. (Beside them, the names of other options would not fit into 80 columns.)"""


def selfplay(
    network: Annotated[str, typer.Argument(help=f"Network file; {EMBEDDED} is <5x64>.")],
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
    from fukayomi.book import BookReader
    from fukayomi.listener import fan_out
    from fukayomi.selfplay.generator import generate
    from fukayomi.selfplay.openings import Openings, OpeningSet, keep_book_apart
    from fukayomi.selfplay.reports import JsonLines, TensorBoard

    sets = Openings.read(openings.openings or [])
    apart = [OpeningSet.read(path) for path in openings.keep_apart or []]
    if openings.book is None:
        sets.keep_apart(apart)
    elif apart:
        with BookReader.open(openings.book) as book:
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
            reproducible=run.reproducible,
            **asdict(device),
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
        wrong = f"; wrong resignations: {progress.wrong_resignations:,} of {progress.played_out:,} played out"
        typer.echo(
            f"{counted(progress.games, 'game')}, {progress.kept:,} kept, "
            f"{counted(progress.positions, 'position')} with targets{wrong if progress.played_out else ''}: {out}"
        )
    if not result.finished:
        waiting = f"; {counted(result.waiting, 'game waits', 'games wait')} there for the rest of the chunk"
        done = f"{counted(progress.games, 'game')} in {out}{waiting if result.waiting else ''}"
        typer.echo(f"stopped after {done}. Run the same command to resume", err=True)
        exit_stopped(result.stopped_by)
