"""`fukayomi analyse` with several games: a report for each, and an index of them."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.problems import print_problems
from fukayomi.cli.common.text import json_text
from fukayomi.cli.engine.analysis_games import Game, distinct, read_games, reading_errors
from fukayomi.cli.engine.analysis_run import AnalysisRun, locked
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from rich.table import Table

    from fukayomi.cli.common.progress import Bar
    from fukayomi.engine.analysis.game_analysis import GameAnalysis
    from fukayomi.engine.report.files import ReportFolder
    from fukayomi.engine.report.index import AnalysisIndex
    from fukayomi.shogi.record import Record


@dataclass(frozen=True, slots=True, eq=False)
class _RunningGame:
    """A game that is being analysed, or has been."""

    name: str
    folder: "ReportFolder | None"
    future: "Future[GameAnalysis]"


def analyse_several(run: AnalysisRun, sources: "Sequence[Path | Record]", out: Path | None, *, as_json: bool) -> None:
    """Analyse all games, several at once, each in a folder of its own; print the index, or a document for each.

    Args:
        run: How they are analysed.
        sources: Files, folders and archives; games themselves.
        out: Folder of the reports; None: none are written.
        as_json: Print the documents, each when its game is finished, and last what was left out.
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
    positions: list[tuple[str, GameAnalysis]] = []

    def finish(game: _RunningGame) -> None:
        analysis = game.future.result()
        if not analysis.positions:  # Ctrl-C came too early
            return
        files = run.finish(analysis, game.folder)
        index.add(analysis, game.name, game.folder.path.name if game.folder else "")
        if not analysis.total_moves:
            positions.append((game.name, analysis))
        bar.show(game=f"{len(index.games)} of {counted(len(sizes), 'game')}, ")
        if as_json:
            typer.echo(json_text(analysis.to_dict() | {"files": files}))

    with locked(out), run.progress(sum(sizes)) as bar:
        try:
            _analyse_at_once(run, sources, out, bar, max(1, min(len(sizes), run.games_at_once)), finish)
        finally:
            written = index.write(out) if out is not None and index.games else None
    if not as_json and index.games:
        from rich.console import Console

        from fukayomi.cli.engine.analysis_tables import print_position

        console = Console(highlight=False)
        for name, analysis in positions:
            print_position(analysis, console, name)
        if len(positions) < len(index.games):
            console.print(_table(index))
        if written is not None:
            typer.echo(written)
    print_problems(problems)
    if as_json and problems:
        typer.echo(json_text({"problems": problems}))
    if run.is_interrupted:
        complete = sum(game.is_complete for game in index.games)
        again = "Run the same command again to go on." if out else "With --out, a run can be continued."
        typer.echo(f"Stopped: {complete} of {len(sizes)} games are finished. {again}", err=True)
        raise typer.Exit(INTERRUPTED)
    if not index.games:
        fail("no game was analysed")


def _sizes(run: AnalysisRun, sources: "Sequence[Path | Record]") -> Iterator[int | str]:
    """For each game the number of positions to analyse, or the reason why it is not analysed."""
    for game in distinct(read_games(sources)):
        if not isinstance(game, Game):
            yield game.message
        elif size := run.positions_of(game.record):
            yield size
        else:
            yield f"{game.record.name}: no ply in the range, it has {len(game.record)}"


def _games(run: AnalysisRun, sources: "Sequence[Path | Record]") -> Iterator[Game]:
    """The games that are analysed."""
    with reading_errors():
        for game in distinct(read_games(sources)):
            if isinstance(game, Game) and run.positions_of(game.record):
                yield game


def _analyse_at_once(
    run: AnalysisRun,
    sources: "Sequence[Path | Record]",
    out: Path | None,
    bar: "Bar",
    at_once: int,
    finish: Callable[[_RunningGame], None],
) -> None:
    """Analyse the games, so many at once, and call `finish` for each in their order, in this thread."""
    games: deque[_RunningGame] = deque()
    folders: set[str] = set()

    def finish_first() -> None:
        finish(games[0])  # before it is removed: Ctrl-C may come
        games.popleft()

    with ThreadPoolExecutor(at_once) as threads:
        try:
            for game in _games(run, sources):
                while len(running := [other.future for other in games if not other.future.done()]) >= at_once:
                    wait(running, return_when=FIRST_COMPLETED)
                while games and games[0].future.done():
                    finish_first()
                folder = _open_folder(run, game, out, folders) if out else None
                future = threads.submit(run.analyse, game.record, folder, bar, at_once)
                games.append(_RunningGame(game.name, folder, future))
            while games:
                finish_first()
        except KeyboardInterrupt:
            run.stop()
            while games:
                finish_first()
        except BaseException:
            run.stop()
            raise


def _open_folder(run: AnalysisRun, game: Game, out: Path, taken: set[str]) -> "ReportFolder":
    """The folder of a game: named after its file, and by a hash too if another game has that folder.

    Args:
        run: How it is analysed.
        game: The game.
        out: The folder of all games.
        taken: The folders of the games before, casefolded; this one is added.
    """
    from fukayomi.engine.report.files import OtherGameError, ReportFolder

    network = str(run.network)
    short, long = game.folder_names()
    if short.casefold() not in taken:
        try:
            folder = ReportFolder(out / short, game.record, network)
            taken.add(short.casefold())
            return folder
        except OtherGameError:
            pass
    taken.add(long.casefold())
    return ReportFolder(out / long, game.record, network)


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
        if not line.total_moves:
            continue
        moves = str(line.moves) if line.is_complete else f"{line.moves} of {line.total_moves}"
        table.add_row(
            Text(line.folder or line.name),
            Text(f"☗{line.black or line.sides[0]} ☖{line.white or line.sides[1]}"),
            moves,
            f"{100 * line.black_loss:.1f} / {100 * line.white_loss:.1f}",
            f"{line.black_mistakes} / {line.white_mistakes}",
        )
    return table
