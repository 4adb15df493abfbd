"""``fukayomi learn status`` and ``fukayomi learn report``: what a run has come to."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.options import AsJson, check_target
from fukayomi.cli.common.text import json_text, printable
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.arena.ratings.rating import PlayerRating
    from fukayomi.loop.report.status import RunStatus

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
            f"reanalysis, generation {again[-1].generation}: {again[-1].reanalyzed:,} positions searched again, "
            f"{again[-1].moved or 0:.1%} with another best move"
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
