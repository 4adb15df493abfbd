"""``fukayomi analyse``: judge the moves of a game (棋譜解析)."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.progress import progress_bar
from fukayomi.cli.common.text import json_text

if TYPE_CHECKING:
    from fukayomi.engine.analysis import GameAnalysis, PositionAnalysis
    from fukayomi.engine.analyst import Analyst
    from fukayomi.shogi.record import Record

# Both limits hold unless the user sets one: the nodes where the machine is fast, the time where it is not, so that a
# game of 120 plies takes less than a minute anywhere.
DEFAULT_NODES = 800
DEFAULT_TIME_MS = 350


def analyse(
    game: Annotated[Path, typer.Argument(help="The record: CSA, KIF, KI2, JKF or USI lines.")],
    model: Annotated[
        Path | None, typer.Option(help="The network, an ONNX file.", show_default="the embedded one")
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(min=1, help="Nodes a position.", show_default=f"{DEFAULT_NODES}, at most {DEFAULT_TIME_MS} ms"),
    ] = None,
    time_ms: Annotated[
        int | None, typer.Option("--time", min=1, help="Milliseconds a position.", show_default=False)
    ] = None,
    multipv: Annotated[int, typer.Option(min=1, max=593, help="Candidates a position, for --json.")] = 1,
    plies: Annotated[
        str, typer.Option("--range", metavar="A:B", help="Judge the plies A to B only; either may be missing.")
    ] = ":",
    number: Annotated[int, typer.Option("--game", min=1, help="Which game of a file that has several.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the page, the graph and the annotated record.",
            show_default="GAME-analysis; none with --json",
        ),
    ] = None,
    png: Annotated[bool, typer.Option("--png", help="Write the graph as PNG, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
    evaluator: Annotated[str, typer.Option(hidden=True, help="hash or uniform, in place of a network.")] = "",
) -> None:
    """Judge every move of a game: what was better, and how much was lost."""
    from fukayomi.engine.analysis import assemble

    record = _read(game, number)
    first, last = _parse_range(plies, len(record))
    if nodes is None and time_ms is None:
        nodes, time_ms = DEFAULT_NODES, DEFAULT_TIME_MS
    folder = out or (None if as_json else Path(f"{game.stem}-analysis"))
    try:
        analyst, engine = _open(model, evaluator, nodes, time_ms, multipv)
        with analyst:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)  # now, rather than after a minute of thought
            positions, is_interrupted = _search(record, analyst, first, last)
        analysis = assemble(record, positions, engine=engine, limits=analyst.limits())
        _report(analysis, record, folder, png=png, as_json=as_json)
    except OSError as error:
        fail(f"cannot write the report: {error}")
    if is_interrupted:
        next_ply = first + len(analysis.moves)
        done = f"plies {first} to {next_ply - 1} are" if analysis.moves else "no ply is"
        typer.echo(f"Stopped: {done} judged. The rest: --range {next_ply}:{last}", err=True)
        raise typer.Exit(INTERRUPTED)


def _read(path: Path, number: int) -> "Record":
    """The game of that number, from 1."""
    from fukayomi.shogi import InvalidSfenError, Position
    from fukayomi.shogi.formats import read_records
    from fukayomi.shogi.record import RecordError

    count = 0
    try:
        for count, record in enumerate(read_records(path), 1):
            if count == number:
                Position.from_sfen(record.initial_sfen)  # a mate problem may lack a king, and then has no evaluation
                return record
    except RecordError as error:
        fail(str(error))
    except InvalidSfenError as error:
        fail(f"{path}: only games can be analysed: {error}")
    except OSError as error:
        fail(f"cannot read {path}: {error.strerror}")
    fail(f"there is no game {number} in {path}, only {count}")


def _parse_range(text: str, plies: int) -> tuple[int, int]:
    """The first and the last ply to judge."""
    match = re.fullmatch(r"(\d*):(\d*)", text, re.ASCII)
    if match is None:
        raise typer.BadParameter(f"{text!r} is not of the form A:B, as 40:80, 40: or :80", param_hint="--range")
    first, last = int(match[1] or 1), min(int(match[2] or plies), plies)
    if plies and not 1 <= first <= last:
        raise typer.BadParameter(f"{text!r}: the game has the plies 1 to {plies}", param_hint="--range")
    return first, last


def _open(
    model: Path | None, evaluator: str, nodes: int | None, time_ms: int | None, multipv: int
) -> "tuple[Analyst, str]":
    """What thinks, and its name."""
    from fukayomi.engine.analyst import Analyst, settings_for
    from fukayomi.engine.evaluators import EvaluatorError
    from fukayomi.engine.network import load_evaluator
    from fukayomi.engine.settings import INTERNAL_NETWORK

    if model is not None and not model.is_file():
        fail(f"there is no network at {model}")
    try:
        settings, complaints = settings_for(f"<{evaluator}>" if evaluator else str(model or INTERNAL_NETWORK))
        loaded = load_evaluator(settings)
    except EvaluatorError as error:
        fail(str(error))
    for complaint in complaints:
        typer.echo(complaint, err=True)
    name = evaluator or (model.name if model else "embedded network")
    return Analyst(loaded, settings, nodes=nodes, time_ms=time_ms, multipv=multipv), f"{name} ({loaded.identity})"


def _search(record: "Record", analyst: "Analyst", first: int, last: int) -> "tuple[list[PositionAnalysis], bool]":
    """The searched positions, and whether Ctrl-C cut them short."""
    from fukayomi.engine.analysis import analyse_positions
    from fukayomi.engine.evaluators import EvaluatorError

    positions: list[PositionAnalysis] = []
    columns = "{task.completed}/{task.total} positions, {task.fields[rate]}"
    with progress_bar(last - first + 2, columns, rate="") as bar:
        try:
            for position in analyse_positions(record, analyst.search, first, last):
                positions.append(position)
                nodes = sum(each.nodes for each in positions)
                bar.show(rate=f"{len(positions) / bar.seconds:.1f}/s ({nodes / bar.seconds:.0f} nodes/s),")
                bar.advance()
        except KeyboardInterrupt:
            return positions, True
        except EvaluatorError as error:
            fail(str(error))
    return positions, False


def _report(analysis: "GameAnalysis", record: "Record", folder: Path | None, *, png: bool, as_json: bool) -> None:
    """Write the files, and print tables and paths or the document."""
    from rich.console import Console

    from fukayomi.engine.report.document import analysis_document
    from fukayomi.engine.report.files import write_report
    from fukayomi.engine.report.terminal import print_analysis

    files = [str(path) for path in write_report(analysis, record, folder, png=png)] if folder else []
    if as_json:
        typer.echo(json_text(analysis_document(analysis) | {"files": files}))
        return
    print_analysis(analysis, Console(highlight=False))
    for path in files:
        typer.echo(path)
