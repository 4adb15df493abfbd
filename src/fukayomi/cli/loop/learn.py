"""``fukayomi learn``: a run in which a network makes itself stronger, its state, and whose games it learns from."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.cli.common.errors import USAGE, exit_stopped, fail
from fukayomi.cli.common.options import AsJson, check_target
from fukayomi.cli.common.text import json_text, printable
from fukayomi.errors import InvalidValueError
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.arena.ratings.rating import PlayerRating
    from fukayomi.loop.ingest import Manifest
    from fukayomi.loop.report.status import RunStatus
    from fukayomi.loop.settings import LoopSettings


@dataclass(frozen=True)
class LearnOptions:
    """Options for the sources of settings, and for what is printed."""

    preset: Annotated[str | None, typer.Option(metavar="NAME")] = None
    """Settings to start from: tiny (2 cores, 15 minutes), cpu, gpu or fleet. Those of a file win."""
    generations: Annotated[int | None, typer.Option(min=1)] = None
    """Generations of the whole run; a larger number extends a run."""
    network: Annotated[str | None, typer.Option(metavar="NAME")] = None
    """Network of a new run, by its name: resnet5x64_relu, sparse-384x384 (made for CPUs), and others of `fukayomi
    train`."""
    initial: Annotated[str | None, typer.Option(metavar="FILE")] = None
    """Network whose weights a new run begins with, instead of random ones."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print the result as one JSON object; progress goes to stderr."""


def learn(
    out: Annotated[Path, typer.Option(help="Folder of the run; if it has one already, the run goes on.")],
    options: LearnOptions,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="RUN.toml", help="Settings of the run, for example DIR/run.toml of another."),
    ] = None,
) -> None:
    """Make a network stronger by games against itself: generate games, check them, train, test, and again.

    \b
    fukayomi learn --preset tiny --out run
    fukayomi learn --preset cpu --network sparse-384x384 --out run
    fukayomi learn run.toml --out run
    fukayomi learn --out run --generations 40
    fukayomi learn status run
    fukayomi learn report run
    fukayomi learn exclude run WORKER

    Each generation the newest network that passed plays games against itself; the games are checked and added to the
    window from which the learner draws; the new network plays the old one in a sequential test (gate), and anchors and
    earlier networks to be rated. docs/learn.md has the settings.

    On a CPU that is fast at it (x86 with AVX2) the networks of a new run play in int16; generator.precision = "fp32" in
    RUN.toml is exact, and slower.

    Ctrl-C stops the run, and the same command goes on; so it does after a kill, and with one generator on a CPU the
    networks are the same, to the bit. `learn status DIR` says what runs, how fast, and how strong; `learn report DIR`
    writes a page.
    """
    from fukayomi.cli.loop.learn_progress import LearnProgress
    from fukayomi.loop.steps import learn as run_loop

    settings = _settings(file, options, out)
    with LearnProgress(to_stderr=options.as_json) as listener:
        result = run_loop(settings, out, listener=listener)
    if options.as_json:
        values = {"generations": result.generations, "of": result.of, "network": str(result.network)}
        values["trained"] = result.trained
        typer.echo(json_text({"folder": str(result.folder), "finished": result.finished, **values}))
    elif result.finished and result.trained:
        typer.echo(printable(f"done: {result.network}"))
        typer.echo(printable(f"next: fukayomi learn report {out}"))
    if not result.finished:
        typer.echo(
            printable(f"stopped in generation {result.generations + 1} of {result.of}; run the same command to go on"),
            err=True,
        )
        exit_stopped(result.stopped_by)
    if not result.trained:
        fail(
            f"nothing was learned: {counted(result.of, 'generation')} brought too few positions for a step. Go on with "
            "more of them (--generations); or begin another run with more games, a smaller training.batch, or "
            "smaller learner.least_positions"
        )


def _settings(file: Path | None, options: LearnOptions, out: Path) -> "LoopSettings":
    from fukayomi.engine.settings import network_in_folder
    from fukayomi.loop.settings import RUN_FILE, build_settings, preset_names, read_settings

    layers: list[dict[str, Any]] = []
    if options.preset is not None:
        layers.append({"preset": options.preset})
    if file is not None:
        layers.append(read_settings(file))
    if not layers:
        layers += RUN_FILE.layers(out)
    if not layers:
        names = ", ".join(preset_names())
        fail(f"{out} has no run yet: name a file of settings, or a preset (--preset {names})", USAGE)
    if options.network is not None:
        layers.append({"network": {"name": options.network}})
    if options.initial is not None:
        layers.append({"learner": {"initial": network_in_folder(options.initial, Path.cwd())}})
    if options.generations is not None:
        layers.append({"generations": options.generations})
    return build_settings(*layers)


Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a learning run.")]


def status(folder: Folder, as_json: AsJson = False) -> None:
    """Say what a learning run does, how fast it is, and how strong its networks are.

    \b
    fukayomi learn status run
    fukayomi learn status run --json

    The run may be under way. Ratings are Elo with 95 % intervals, from all matches of the run; the first network has
    0, or, if it has not played, the mean of all players. Losses and accuracies are of the new games of a generation,
    before the network learned from them.
    """
    from fukayomi.loop.report.status import read_status

    found = read_status(folder)
    if as_json:
        typer.echo(json_text(found.as_dict()))
        return
    for line in _lines(found):
        typer.echo(printable(line))
    if found.history:
        typer.echo(str(found))


def report(
    folder: Folder,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.html", help="File to write.", show_default="DIR/report.html"),
    ] = None,
) -> None:
    """Write a page about a learning run: ratings, losses, accuracies, games, settings.

    \b
    fukayomi learn report run
    fukayomi learn report run -o page.html

    The page is one file without scripts from elsewhere. The run may be under way.
    """
    if output is not None:
        check_target(output)
    from fukayomi.loop.report.page import write_report

    written = write_report(folder, output)
    typer.echo(printable(f"written: {written}"))


def _lines(found: "RunStatus") -> list[str]:
    lines = [f"{found.generation} of {counted(found.generations, 'generation')} done"]
    now = found.now
    if now is not None:
        stage = f": {now.stage}" if now.stage else ""
        done = f" {now.done:,} of {now.total:,}" if now.done is not None and now.total else ""
        state = (
            f"for {now.seconds:,.0f} s" if found.is_running else "when it was cut off; run the same command to go on"
        )
        lines.append(f"generation {now.generation}, {now.step}{stage}{done}, {state}")
    if not found.is_running:
        lines.append("no process works on this run")
    if found.network:
        precision = "the fastest precision" if found.precision == "auto" else found.precision
        lines.append(f"network that plays: {found.network}, in {precision}")
    games = f"{counted(found.games, 'game')}, {counted(found.positions, 'position')}"
    quarantined = f", {counted(found.quarantined, 'chunk')} in quarantine" if found.quarantined else ""
    lines.append(games + quarantined)
    lines += _worker_lines(found)
    if again := [row for row in found.history if row.reanalyzed]:
        lines.append(
            f"reanalysis, generation {again[-1].generation}: {counted(again[-1].reanalyzed or 0, 'position')} searched "
            f"again, {again[-1].moved or 0:.1%} with another best move"
        )
    newest = max((row.generation for row in found.league), default=0)
    for row in (row for row in found.league if row.generation == newest):
        rate = "" if row.win_rate is None else f", {row.win_rate:.1%} (95 %: {row.low:.1%} to {row.high:.1%})"
        lines.append(
            f"league, generation {newest}: {row.opponent}: {counted(row.wins, 'win')}, {counted(row.draws, 'draw')}, "
            f"{counted(row.losses, 'loss', 'losses')}{rate}"
        )
    if tested := [row for row in found.history if row.gate_games]:
        row = tested[-1]
        lines.append(
            f"gate, generation {row.generation}: {row.gate}, {row.gate_score or 0:.1%} in "
            f"{counted(row.gate_games or 0, 'game')}, LLR {row.gate_llr or 0:.2f}"
        )
    lines += [_rating(player) for player in found.anchors]
    lines += found.notes
    if found.games_an_hour and found.positions_an_hour:
        lines.append(f"self-play: {found.games_an_hour:,.0f} games, {found.positions_an_hour:,.0f} positions an hour")
    if found.samples_a_second:
        lines.append(f"training: {found.samples_a_second:,.0f} samples a second")
    return lines


def _worker_lines(found: "RunStatus") -> list[str]:
    newest = max((flag.generation for flag in found.flags), default=0)
    lines = [f"generation {newest}: {flag.text}" for flag in found.flags if flag.generation == newest]
    excluded = {f"worker {worker}": reason for worker, reason in found.excluded.items()} | found.excluded_chunks
    for whom, reason in excluded.items():
        lines.append(f"nothing is learned from {whom}{f': {reason}' if reason else ''}")
    return lines


def _rating(player: "PlayerRating") -> str:
    error = "" if player.error is None else f" ±{player.error:.0f}"
    return f"rating of {player.name}: {player.bound}{player.rating:.0f}{error} in {counted(player.played, 'game')}"


Whom = Annotated[
    str,
    typer.Argument(
        metavar="WORKER|CHUNK", help="Name of a worker; or a chunk, by its path in DIR: games/local-000001.hcpe3."
    ),
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why; the manifest keeps it.")]


def exclude(folder: Folder, whom: Whom, reason: Reason = "") -> None:
    """Stop learning from a worker: from the games that it has delivered, and from all to come. Or from one chunk.

    \b
    fukayomi learn exclude run host-2 --reason "plays an old network"
    fukayomi learn exclude run games/local-000012.hcpe3 --reason "the disk damaged it"
    fukayomi learn admit run host-2

    The games stay where they are; `learn admit` takes them back. A run that is under way obeys from its next step on.
    """
    manifest = _manifest(folder)
    if _is_chunk(whom):
        manifest.exclude_chunk(whom, reason)
    else:
        manifest.exclude(whom, reason)
        workers = sorted({chunk.worker for chunk in manifest.accepted.values()})
        if whom not in workers:
            known = f"; workers: {', '.join(workers)}" if workers else ""
            typer.echo(printable(f"{whom} has delivered nothing so far{known}"), err=True)
    typer.echo(printable(f"excluded: {whom}; {_left(manifest)}"))


def admit(folder: Folder, whom: Whom, reason: Reason = "") -> None:
    """Learn from the games of a worker, or from a chunk, again.

    \b
    fukayomi learn admit run host-2
    fukayomi learn admit run games/local-000012.hcpe3
    """
    manifest = _manifest(folder)
    excluded = manifest.excluded_chunks if _is_chunk(whom) else manifest.excluded
    if whom not in excluded:
        raise InvalidValueError(f"{whom} is not excluded; excluded: {', '.join(excluded) or 'nothing'}")
    (manifest.admit_chunk if _is_chunk(whom) else manifest.admit)(whom, reason)
    typer.echo(printable(f"admitted: {whom}; {_left(manifest)}"))


def _is_chunk(whom: str) -> bool:
    """Names of workers have no slashes."""
    return "/" in whom


def _left(manifest: "Manifest") -> str:
    return f"the run learns from {len(manifest.chunks())} of {counted(len(manifest.accepted), 'chunk')}"


def _manifest(folder: Path) -> "Manifest":
    from fukayomi.loop.ingest import Manifest
    from fukayomi.loop.run import RunFolder

    RunFolder(folder).saved_settings()  # it is a run
    return Manifest(folder)
