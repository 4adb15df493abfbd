"""``fukayomi analyse``: judge the moves of games (棋譜解析)."""

import os
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from fukayomi._native import MAX_MOVES
from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.options import Model, parse_time
from fukayomi.cli.common.text import json_text
from fukayomi.engine.settings import ANALYSIS_CANDIDATES, ANALYSIS_NODES, ANALYSIS_TIME_MS

if TYPE_CHECKING:
    from fukayomi.cli.engine.analysis_games import Game
    from fukayomi.cli.engine.analysis_run import AnalysisRun
    from fukayomi.shogi.record import Record

BOTH_LIMITS = f"{ANALYSIS_NODES} nodes or {ANALYSIS_TIME_MS}ms per position, whichever comes first"


@dataclass(frozen=True)
class SearchOptions:
    """Options for the network and the length of each search."""

    PANEL: ClassVar = "Search"

    model: Model = None
    nodes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=2**31 - 1,
            help="Maximum number of nodes per position, in a game on average.",
            show_default=f"without --time, {BOTH_LIMITS}",
        ),
    ] = None
    time_ms: Annotated[
        int | None,
        typer.Option(
            "--time",
            metavar="TIME",
            parser=parse_time,
            help="Maximum search time per position, in a game on average: 1s, 500ms, 1m; a bare number is "
            "milliseconds.",
            show_default=False,
        ),
    ] = None
    multipv: Annotated[
        int, typer.Option(min=1, max=MAX_MOVES, help="Candidates per position, in the page and the --json output.")
    ] = ANALYSIS_CANDIDATES
    evaluator: Annotated[
        str, typer.Option(hidden=True, help="Search without a network, for tests: hash or uniform.")
    ] = ""


@dataclass(frozen=True)
class ReportOptions:
    """Options for the moves to judge and the folder of the report."""

    plies: Annotated[
        str, typer.Option("--range", metavar="A:B", help="First and last ply to judge; either may be omitted.")
    ] = ":"
    number: Annotated[
        int | None,
        typer.Option(
            "--game", metavar="N", min=1, help="Number of the game in a file with several.", show_default="all games"
        ),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for the web page, the graph, the annotated record and the analysis itself. Of several games, "
            "each gets a folder in it, and index.html lists them.",
            show_default="GAME-analysis; with --json, no files",
        ),
    ] = None
    png: Annotated[bool, typer.Option("--png", help="Also write the graph as PNG.")] = False
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON document per game, each on a line, instead of tables; "
            "what was left out is in a last one, under problems.",
        ),
    ] = False


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
    from fukayomi.cli.engine.analysis_run import AnalysisRun, open_network
    from fukayomi.engine.analysis.game_analysis import SearchLimits

    first, last = _parse_range(report.plies)
    sources = [_source(each) for each in given]
    if report.number is not None and not _is_one_file(sources):
        raise typer.BadParameter("it counts the games of one file", param_hint="--game")
    nodes, time_ms = search.nodes, search.time_ms
    if nodes is None and time_ms is None:
        nodes, time_ms = ANALYSIS_NODES, ANALYSIS_TIME_MS
    game = _single_game(sources, report.number)
    if game is not None and first > max(1, len(game.record)):
        outside = f"{report.plies!r} is outside the game, which has plies 1 to {len(game.record)}"
        raise typer.BadParameter(outside, param_hint="--range")
    out = report.out or (None if report.as_json else _default_folder(sources))
    with open_network(search.model, search.evaluator) as network:
        run = AnalysisRun(network, SearchLimits(nodes, time_ms, search.multipv), first, last, report.png)
        if game is not None:
            _analyse_one(run, game, out, as_json=report.as_json)
        else:
            from fukayomi.cli.engine.analyse_several import analyse_several

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
    from fukayomi.cli.engine.analysis_games import Game, read_games, reading_errors

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
    from fukayomi.cli.engine.analysis_run import locked
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
        judged = f"{len(analysis.moves)} of {len(game.record)} moves are judged"
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
