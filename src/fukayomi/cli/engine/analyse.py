"""``fukayomi analyse``: judge the moves of a game (棋譜解析)."""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from fukayomi._native import MAX_MOVES
from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.progress import progress_bar
from fukayomi.cli.common.text import json_text
from fukayomi.engine.settings import ANALYSIS_CANDIDATES, ANALYSIS_NODES, ANALYSIS_TIME_MS

if TYPE_CHECKING:
    from fukayomi.engine.analyser import Search
    from fukayomi.engine.analysis import GameAnalysis, PositionAnalysis, SearchLimits
    from fukayomi.engine.engine import Engine
    from fukayomi.shogi.record import Record

BOTH_LIMITS = f"{ANALYSIS_NODES} nodes or {ANALYSIS_TIME_MS} ms per position, whichever comes first"


@dataclass(frozen=True)
class SearchOptions:
    """How long each position is searched, and with which network."""

    PANEL: ClassVar = "Search"

    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE.onnx", help="Network.", show_default="the embedded network"),
    ] = None
    nodes: Annotated[
        int | None,
        typer.Option(
            min=1, help="Maximum number of positions to evaluate.", show_default=f"without --time, {BOTH_LIMITS}"
        ),
    ] = None
    time_ms: Annotated[
        int | None, typer.Option("--time", metavar="MS", min=1, help="Maximum search time (ms).", show_default=False)
    ] = None
    multipv: Annotated[
        int, typer.Option(min=1, max=MAX_MOVES, help="Candidates per position, in the page and the --json output.")
    ] = ANALYSIS_CANDIDATES
    evaluator: Annotated[
        str, typer.Option(hidden=True, help="Search without a network, for tests: hash or uniform.")
    ] = ""


@dataclass(frozen=True)
class ReportOptions:
    """Which moves are judged, and where the report goes."""

    plies: Annotated[
        str, typer.Option("--range", metavar="A:B", help="First and last ply to judge; either may be omitted.")
    ] = ":"
    number: Annotated[
        int, typer.Option("--game", metavar="N", min=1, help="Number of the game in a file with several.")
    ] = 1
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for the web page, the graph and the annotated record.",
            show_default="GAME-analysis; with --json, no files",
        ),
    ] = None
    png: Annotated[bool, typer.Option("--png", help="Also write the graph as PNG.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False


def analyse(
    game: Annotated[Path, typer.Argument(help="Game record: CSA, KIF, KI2, JKF or USI.")],
    search: SearchOptions,
    report: ReportOptions,
) -> None:
    """Judge every move of a game: what was better, and how much win rate was lost.

    Prints a table and writes a web page, an evaluation graph and a record with comments.

    \b
    fukayomi analyse game.kif
    fukayomi analyse game.csa --time 1000 --range 40:80
    """
    from fukayomi.engine.analyser import assemble
    from fukayomi.engine.analysis import SearchLimits

    record = _read(game, report.number)
    first, last = _parse_range(report.plies, len(record))
    nodes, time_ms = search.nodes, search.time_ms
    if nodes is None and time_ms is None:
        nodes, time_ms = ANALYSIS_NODES, ANALYSIS_TIME_MS
    folder = report.out or (None if report.as_json else Path(f"{game.stem}-analysis"))
    try:
        with _open(search) as engine:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)  # now, so that an error comes before the search
            think = partial(engine.search, nodes=nodes, time_ms=time_ms, multipv=search.multipv)
            limits = SearchLimits(nodes, time_ms, search.multipv)
            positions, is_interrupted = _search(record, think, first, last, limits)
            analysis = assemble(
                record,
                positions,
                engine=str(engine.network),
            )
        _report(analysis, folder, png=report.png, as_json=report.as_json)
    except OSError as error:
        fail(f"cannot write the report: {error}")
    if is_interrupted:
        next_ply = first + len(analysis.moves)
        done = f"plies {first} to {next_ply - 1} are judged" if analysis.moves else "no ply is judged"
        typer.echo(f"Stopped: {done}. For the rest: --range {next_ply}:{last}", err=True)
        raise typer.Exit(INTERRUPTED)


def _read(path: Path, number: int) -> "Record":
    """The game of this number, from 1."""
    from fukayomi.shogi import InvalidSfenError, Position
    from fukayomi.shogi.formats import read_records
    from fukayomi.shogi.record import RecordError

    count = 0
    try:
        for count, record in enumerate(read_records(path), 1):
            if count == number:
                Position.from_sfen(record.initial_sfen)  # a mate problem may lack a king: no network evaluates it
                return record
    except RecordError as error:
        fail(str(error))
    except InvalidSfenError as error:
        fail(f"{path}: only games can be analysed: {error}")
    except OSError as error:
        fail(f"cannot read {path}: {error.strerror}")
    fail(f"no game {number} in {path}: it has {count}")


def _parse_range(text: str, plies: int) -> tuple[int, int]:
    """The first and the last ply to judge."""
    match = re.fullmatch(r"(\d*):(\d*)", text, re.ASCII)
    if match is None:
        raise typer.BadParameter(f"{text!r} is not a range such as 40:80, 40: or :80", param_hint="--range")
    first, last = int(match[1] or 1), min(int(match[2] or plies), plies)
    if plies and not 1 <= first <= last:
        raise typer.BadParameter(f"{text!r} is outside the game, which has plies 1 to {plies}", param_hint="--range")
    return first, last


def _open(options: SearchOptions) -> "Engine":
    """The engine with its network."""
    from fukayomi.engine.engine import Engine
    from fukayomi.engine.evaluators import EvaluatorError

    try:
        engine = Engine(f"<{options.evaluator}>" if options.evaluator else options.model)
    except EvaluatorError as error:
        fail(str(error))
    for problem in engine.network.problems:
        typer.echo(problem, err=True)
    return engine


def _search(
    record: "Record", think: "Search", first: int, last: int, limits: "SearchLimits"
) -> "tuple[list[PositionAnalysis], bool]":
    """The searched positions, and whether Ctrl-C ended the search early."""
    from fukayomi.engine.analyser import analyse_positions
    from fukayomi.engine.evaluators import EvaluatorError

    positions: list[PositionAnalysis] = []
    columns = "{task.completed}/{task.total} positions, {task.fields[rate]}"
    with progress_bar(last - first + 2, columns, rate="") as bar:
        try:
            for position in analyse_positions(record, think, first, last, limits=limits):
                positions.append(position)
                nodes = sum(each.nodes for each in positions)
                bar.show(rate=f"{len(positions) / bar.seconds:.1f}/s ({nodes / bar.seconds:.0f} nodes/s),")
                bar.advance()
        except KeyboardInterrupt:
            return positions, True
        except EvaluatorError as error:
            fail(str(error))
    return positions, False


def _report(analysis: "GameAnalysis", folder: Path | None, *, png: bool, as_json: bool) -> None:
    """Write the files, and print tables and paths, or the document."""
    files = [str(path) for path in analysis.save(folder, png=png)] if folder else []
    if as_json:
        typer.echo(json_text(analysis.to_dict() | {"files": files}))
        return
    from rich.console import Console

    from fukayomi.cli.engine.analysis_tables import print_analysis

    print_analysis(analysis, Console(highlight=False))
    for path in files:
        typer.echo(path)
