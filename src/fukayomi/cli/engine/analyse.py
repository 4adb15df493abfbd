"""``fukayomi analyse``: a report on the moves of a game (棋譜解析), or a report for each of several and an index."""

import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from fukayomi._native import MAX_MOVES
from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.options import Model, parse_time
from fukayomi.cli.common.text import json_text, print_problems
from fukayomi.cli.engine.analysis_games import Game, distinct, read_games, reading_errors
from fukayomi.cli.engine.analysis_run import AnalysisRun, locked
from fukayomi.engine.settings import ANALYSIS_CANDIDATES, ANALYSIS_NODES, ANALYSIS_TIME_MS, SPARSE_ANALYSIS_NODES
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from rich.table import Table

    from fukayomi.cli.common.progress import Bar
    from fukayomi.engine.analysis.game_analysis import GameAnalysis
    from fukayomi.engine.report.files import AnalysisIndex, ReportFolder
    from fukayomi.shogi.record import Record

BOTH_LIMITS = (
    f"{ANALYSIS_NODES} nodes, of a sparse network {SPARSE_ANALYSIS_NODES}, or {ANALYSIS_TIME_MS}ms per position, "
    "whichever comes first"
)


@dataclass(frozen=True)
class SearchOptions:
    """Options for the network and the length of each search."""

    PANEL: ClassVar = "Search"

    model: Model = None
    nodes: Annotated[int | None, typer.Option(min=1, max=2**31 - 1, show_default=f"without --time, {BOTH_LIMITS}")] = (
        None
    )
    """Maximum number of nodes per position, in a game on average."""
    time_ms: Annotated[int | None, typer.Option("--time", metavar="TIME", parser=parse_time, show_default=False)] = None
    """Maximum search time per position, in a game on average: 1s, 500ms, 1m; a bare number is milliseconds."""
    multipv: Annotated[int, typer.Option(min=1, max=MAX_MOVES)] = ANALYSIS_CANDIDATES
    """Candidates per position, in the page and the --json output."""
    evaluator: Annotated[str, typer.Option(hidden=True)] = ""
    """Search without a network, for tests: hash or uniform."""


@dataclass(frozen=True)
class ReportOptions:
    """Options for the moves to judge and the folder of the report."""

    plies: Annotated[str, typer.Option("--range", metavar="A:B")] = ":"
    """First and last ply to judge; either may be omitted."""
    number: Annotated[int | None, typer.Option("--game", metavar="N", min=1, show_default="all games")] = None
    """Number of the game in a file with several."""
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", show_default="GAME-analysis; with --json, no files")] = (
        None
    )
    """Folder for the web page, the graph, the annotated record and the analysis itself. Of several games, each gets a
    folder in it, and index.html lists them."""
    png: Annotated[bool, typer.Option("--png")] = False
    """Also write the graph as PNG."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print one JSON document per game, each on a line, instead of tables; what was left out is in a last one, under
    problems."""


def analyse(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="GAME|POSITION...",
            help="Game records: CSA, KIF, KI2, JKF or USI; folders, zip, tar. Or positions: SFEN, USI.",
        ),
    ],
    search: SearchOptions,
    report: ReportOptions,
) -> None:
    """Judge every move of a game: what was better, and how much win rate was lost.

    Prints a table and writes a web page, an evaluation graph and records with comments and variations. Of a position
    without moves it prints the best moves, and writes files only with --out.

    \b
    fukayomi analyse game.kif
    fukayomi analyse game.csa --time 1s --range 40:80
    fukayomi analyse games/ final.kif --out reports
    fukayomi analyse "startpos moves 7g7f 3c3d" --nodes 5000

    A position without moves is searched to its limits. In a game most positions get 35 or 50 % of them, and those with
    suspicious moves up to 800 %: on average at most the limits.

    Run the same command again after Ctrl-C or a kill: it goes on where it was. Another --range is added to the analysis
    in the folder; what was searched with lower limits is searched again. The analysis of another game or network is
    never replaced.
    """
    from fukayomi.cli.engine.analysis_run import open_network

    first, last = _parse_range(report.plies)
    sources = [_source(each) for each in given]
    if report.number is not None and not _is_one_file(sources):
        raise typer.BadParameter("it counts the games of one file", param_hint="--game")
    game = _single_game(sources, report.number)
    if game is not None and first > max(1, len(game.record)):
        outside = f"{report.plies!r} is outside the game, which has plies 1 to {len(game.record)}"
        raise typer.BadParameter(outside, param_hint="--range")
    out = report.out or (None if report.as_json else _default_folder(sources))
    with open_network(search.model, search.evaluator) as network:
        limits = network.analysis_limits(search.nodes, search.time_ms, search.multipv)
        run = AnalysisRun(network, limits, first, last, report.png)
        if game is not None:
            _analyse_one(run, game, out, as_json=report.as_json)
        else:
            analyse_several(run, sources, out, as_json=report.as_json)


def _source(given: str) -> "Path | Record":
    """A file or folder, or a position on the command line, as a game."""
    from fukayomi.cli.engine.given_positions import check_given, is_position, line_record

    check_given(given)
    return line_record(given) if is_position(given) else Path(given)


def _default_folder(sources: "list[Path | Record]") -> Path | None:
    """Folder of the report; None: there is none, of positions on the command line."""
    files = [source for source in sources if isinstance(source, Path)]
    if not files:
        return None
    return Path("analysis" if len(sources) > 1 else f"{files[0].absolute().stem}-analysis")


def _is_one_file(sources: "list[Path | Record]") -> bool:
    if len(sources) > 1:
        return False
    source = sources[0]
    return not (isinstance(source, Path) and os.path.isdir(source))  # noqa: PTH112  # Path.is_dir raises where it may not look


def _single_game(sources: "list[Path | Record]", number: int | None) -> "Game | None":
    """The game that is to be analysed; None if there are several."""
    if not _is_one_file(sources):
        return None
    with reading_errors():
        games = list(islice(read_games(sources), number or 2))
    if number is None and len(games) > 1:
        return None
    if not games or len(games) < (number or 1):
        name = sources[0] if isinstance(sources[0], Path) else sources[0].name
        fail(f"no game {number} in {name}: it has {len(games)}" if number else f"no game in {name}")
    if not isinstance(games[-1], Game):
        fail(games[-1].message)
    return games[-1]


def _analyse_one(run: "AnalysisRun", game: "Game", out: Path | None, *, as_json: bool) -> None:
    """Analyse one game, and print the tables and paths, or the document."""
    from fukayomi.cli.engine.analysis_tables import print_analysis
    from fukayomi.engine.report.files import ReportFolder

    with locked(out), run.progress(run.positions_of(game.record)) as bar:
        folder = ReportFolder(out, game.record, str(run.network)) if out else None
        analysis = run.analyse(game.record, folder, bar)
        files = run.finish(analysis, folder)
    if as_json:
        typer.echo(json_text(analysis.to_dict() | {"files": files}))
    else:
        from rich.console import Console

        print_analysis(analysis, Console(highlight=False))
        for path in files:
            typer.echo(path)
    if run.is_interrupted:
        judged = f"{len(analysis.moves)} of {counted(len(game.record), 'move is', 'moves are')} judged"
        again = "Run the same command again to go on." if out else "With --out, a run can be continued."
        typer.echo(f"Stopped: {judged}. {again}", err=True)
        raise typer.Exit(INTERRUPTED)


def _parse_range(text: str) -> tuple[int, int | None]:
    """The first and the last ply to judge; None: the last of the game."""
    match = re.fullmatch(r"(\d{0,9}):(\d{0,9})", text, re.ASCII)
    if match is None:
        raise typer.BadParameter(f"{text!r} is not a range such as 40:80, 40: or :80", param_hint="--range")
    first, last = int(match[1] or 1), int(match[2]) if match[2] else None
    if first < 1 or (last is not None and last < first):
        raise typer.BadParameter(f"{text!r} has no plies", param_hint="--range")
    return first, last


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
    from fukayomi.engine.report.files import INDEX, LOCK, AnalysisIndex

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
        typer.echo(f"Stopped: {complete} of {counted(len(sizes), 'game is', 'games are')} finished. {again}", err=True)
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
