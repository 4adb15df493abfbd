"""`fukayomi analyse` with several games: a report for each, and an index of them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.problems import print_problems
from fukayomi.cli.common.text import json_text
from fukayomi.cli.engine.analysis_games import Game, distinct, read_games, reading_errors
from fukayomi.cli.engine.analysis_run import AnalysisRun, locked

if TYPE_CHECKING:
    from rich.table import Table

    from fukayomi.engine.report.files import ReportFolder
    from fukayomi.engine.report.index import AnalysisIndex


def analyse_several(run: AnalysisRun, sources: Sequence[Path], out: Path | None, *, as_json: bool) -> None:
    """Analyse all games, each in a folder of its own, and print the index, or a document for each.

    Args:
        run: How they are analysed.
        sources: Files, folders and archives.
        out: Folder of the reports; None: none are written.
        as_json: Print the documents, each when its game is finished.
    """
    from fukayomi.engine.report.files import INDEX, LOCK
    from fukayomi.engine.report.index import AnalysisIndex

    if out is not None and (out / INDEX).exists() and not (out / LOCK).exists():
        fail(f"{out} holds an {INDEX} of something else: choose another folder")
    with reading_errors():  # before the search, which takes long
        found = list(_sizes(run, sources))
    problems = [each for each in found if isinstance(each, str)]
    sizes = [each for each in found if isinstance(each, int)]
    index = AnalysisIndex()
    is_interrupted = False
    with locked(out), run.progress(sum(sizes)) as bar:
        try:
            for number, game in enumerate(_games(run, sources), 1):
                bar.show(game=f"game {number} of {len(sizes)}, ")
                folder = _open_folder(run, game, out, index) if out else None
                done = run.analyse(game.record, folder, bar)
                index.add(done.analysis, game.name, folder.path.name if folder else "")
                if as_json:
                    typer.echo(json_text(done.analysis.to_dict() | {"files": done.files}))
                if done.is_interrupted:
                    is_interrupted = True
                    break
        finally:
            written = index.write(out) if out is not None and index.games else None
    if not as_json and index.games:
        from rich.console import Console

        Console(highlight=False).print(_table(index))
        typer.echo(written)
    print_problems(problems)
    if is_interrupted:
        complete = sum(game.is_complete for game in index.games)
        again = "Run the same command again to go on." if out else "With --out, a run can be continued."
        typer.echo(f"Stopped: {complete} of {len(sizes)} games are finished. {again}", err=True)
        raise typer.Exit(INTERRUPTED)
    if not index.games:
        fail("no game was analysed")


def _sizes(run: AnalysisRun, sources: Sequence[Path]) -> Iterator[int | str]:
    """For each game the number of positions to analyse, or the reason why it is not analysed."""
    for game in distinct(read_games(sources)):
        if not isinstance(game, Game):
            yield game.message
        elif size := run.positions_of(game.record):
            yield size
        else:
            yield f"{game.record.name}: no ply in the range, it has {len(game.record)}"


def _games(run: AnalysisRun, sources: Sequence[Path]) -> Iterator[Game]:
    """The games that are analysed."""
    with reading_errors():
        for game in distinct(read_games(sources)):
            if isinstance(game, Game) and run.positions_of(game.record):
                yield game


def _open_folder(run: AnalysisRun, game: Game, out: Path, index: "AnalysisIndex") -> "ReportFolder":
    """The folder of a game: named after its file, and by a hash too if another game has that folder."""
    from fukayomi.engine.report.files import OtherGameError, ReportFolder

    engine = str(run.engine.network)
    short, long = game.folder_names()
    if short.casefold() not in {line.folder.casefold() for line in index.games}:
        try:
            return ReportFolder(out / short, game.record, engine)
        except OtherGameError:
            pass
    return ReportFolder(out / long, game.record, engine)


def _table(index: "AnalysisIndex") -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("game", "players"):
        table.add_column(name, overflow="fold")
    for name in ("moves", "loss % ☗ / ☖", "悪手 ☗ / ☖"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in index.games:
        moves = str(line.moves) if line.is_complete else f"{line.moves} of {line.total_moves}"
        table.add_row(
            Text(line.folder or line.name),
            Text(f"☗{line.black or '先手'} ☖{line.white or '後手'}"),
            moves,
            f"{100 * line.black_loss:.1f} / {100 * line.white_loss:.1f}",
            f"{line.black_mistakes} / {line.white_mistakes}",
        )
    return table
