"""``fukayomi bench nps``: the speed of networks and USI engines over many positions."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are incomplete.)

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from fukayomi.cli.common.errors import fail
from fukayomi.cli.common.options import AsJson, check_target
from fukayomi.cli.common.progress import StageBars, number_table
from fukayomi.cli.common.text import json_text
from fukayomi.engine.settings import EMBEDDED, MOST_DEVICES, is_network_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fukayomi.engine.measuring.nps import NpsComparison, Subject
    from fukayomi.shogi import Position
    from fukayomi.shogi.record import Record

POSITIONS = 100
SECONDS = 1.0


@dataclass(frozen=True)
class SubjectOptions:
    """Networks and engines to compare."""

    PANEL: ClassVar = "Networks and engines"

    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NETWORK",
            help=f"A network; repeat for several. {EMBEDDED} is the embedded one for this computer.",
            show_default=f"without --engine, {EMBEDDED}; with --device, <5x64>",
        ),
    ] = None
    engine: Annotated[list[str] | None, typer.Option(metavar="NAME=COMMAND")] = None
    """A USI engine; repeat for several."""
    option: Annotated[list[str] | None, typer.Option(metavar="NAME:KEY=VALUE")] = None
    """A USI option of the engine NAME."""
    undeclared_options: Annotated[bool, typer.Option("--undeclared-options")] = False
    """Send options all the same that an engine does not declare."""
    devices: Annotated[int, typer.Option(min=1, max=MOST_DEVICES)] = 1
    """Devices that the networks are measured on, from one to this number; each further --model is that of the next
    device, and devices without one have the first. On a CPU, devices are equal parts of it."""
    device: Annotated[list[str] | None, typer.Option(metavar="NAME", show_default="auto")] = None
    """Library and device of the networks: native, cpu, openvino, cuda, ...; repeat to compare several."""


@dataclass(frozen=True)
class PositionOptions:
    """Options for the positions to search and the length of the searches."""

    PANEL: ClassVar = "Positions"

    records: Annotated[list[Path] | None, typer.Option(metavar="PATH", show_default="games that <5x64> plays")] = None
    """Game records, folders or archives to draw positions from; repeat for several."""
    positions: Annotated[int, typer.Option(min=1, max=100_000)] = POSITIONS
    """Number of positions."""
    seed: int = 0
    """Seed of the drawing."""
    repeats: Annotated[int, typer.Option(min=1, max=1_000)] = 1
    """How often each position is searched."""
    seconds: Annotated[
        float | None, typer.Option(min=0.01, max=3600, show_default=f"without --nodes, {SECONDS:.0f}")
    ] = None
    """Seconds of each search."""
    nodes: Annotated[int | None, typer.Option(min=1, max=2**31 - 1, show_default=False)] = None
    """Nodes of each search."""


@dataclass(frozen=True)
class NpsOptions:
    """Options for the output."""

    picture: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    """Also write a picture: .png or .svg."""
    as_json: AsJson = False


def nps(subjects: SubjectOptions, where: PositionOptions, output: NpsOptions) -> None:
    """Compare networks and USI engines: what they count a second, over many positions.

    Each position is searched with an empty memory by all in turn: a USI engine is started anew for each search, which
    does not count. For each the mean, the median and the extremes, and the ratios between them.

    \b
    fukayomi bench nps --records games.zip --repeats 4
    fukayomi bench nps --model old.onnx --model new.onnx --positions 50
    fukayomi bench nps --engine gps=/usr/games/gpsusi --picture nps.png
    fukayomi bench nps --devices 4 --device torch-cuda --model network.onnx
    """
    from fukayomi.engine.measuring.nps import compare_nps

    if output.picture is not None:
        if output.picture.suffix not in (".png", ".svg"):
            raise typer.BadParameter("a picture is a .png or a .svg", param_hint="--picture")
        check_target(output.picture)
    seconds = SECONDS if where.seconds is None and where.nodes is None else where.seconds
    with ExitStack() as stack:
        compared, firsts = _networks(subjects, stack)
        compared += _engines(subjects, stack)
        positions, problems = _positions(where)
        listener = stack.enter_context(StageBars())
        comparison = compare_nps(
            compared, positions, repeats=where.repeats, seconds=seconds, nodes=where.nodes, listener=listener
        )
    if output.picture is not None:
        comparison.plot().savefig(output.picture)
    ratios = comparison.ratios(firsts or None)
    limit = " or ".join(
        [*([] if seconds is None else [f"{seconds:g} s"]), *([] if where.nodes is None else [f"{where.nodes:,} nodes"])]
    )
    if output.as_json:
        given = {"seconds": seconds, "nodes": where.nodes, "seed": where.seed, "problems": problems}
        typer.echo(json_text(_document(comparison, ratios) | given))
    else:
        _print(comparison, ratios, limit)


def _networks(options: SubjectOptions, stack: ExitStack) -> "tuple[list[Subject], list[str]]":
    """The networks, in the order of the help, and with several devices the names of those on one; the stack closes
    them."""
    from fukayomi.engine.measuring.nps import NetworkSubject, device_subjects
    from fukayomi.engine.network import Network, same_everywhere

    unasked = same_everywhere(EMBEDDED) if options.device else EMBEDDED
    models = options.model or ([] if options.engine and options.devices == 1 else [unasked])
    if len(models) > options.devices > 1:
        raise typer.BadParameter(f"{len(models)} networks on {options.devices} devices", param_hint="--model")
    found: list[Subject] = []
    firsts: list[str] = []
    for device in options.device or ["auto"]:
        where = f" {device}" if options.device else ""
        if options.devices == 1:
            for model in models:
                network = stack.enter_context(Network(model, device=device, cache_mb=0))
                found.append(NetworkSubject(_short(model) + where, network))
            continue
        each = [*models, *models[:1] * (options.devices - len(models))]
        network = stack.enter_context(Network(each, device=device, cache_mb=0))
        subjects = device_subjects(", ".join(dict.fromkeys(map(_short, models))) + where, network)
        found += subjects
        firsts.append(subjects[0].name)
    return found, firsts


def _short(model: str) -> str:
    return model if is_network_name(model) else Path(model).name


def _engines(options: SubjectOptions, stack: ExitStack) -> "list[Subject]":
    """The engines, in the order of the help; the stack closes them."""
    from fukayomi.arena.game.rules import ConfigurationError
    from fukayomi.cli.arena.match_options import split_option
    from fukayomi.engine.measuring.nps import UsiSubject
    from fukayomi.usi.engine import UsiEngine

    found: list[Subject] = []
    commands = dict(split_option("--engine", text, "=", "NAME=COMMAND") for text in options.engine or [])
    given: dict[str, dict[str, str | int | bool]] = {name: {} for name in commands}
    for text in options.option or []:
        name, rest = split_option("--option", text, ":", "NAME:KEY=VALUE")
        key, value = split_option("--option", rest, "=", "NAME:KEY=VALUE")
        if name not in given:
            raise ConfigurationError(f"--option: no engine {name!r}; there are {', '.join(given) or 'no engines'}")
        given[name][key] = value
    for name, command in commands.items():
        engine = UsiEngine(command, options=given[name], undeclared_options=options.undeclared_options)
        found.append(UsiSubject(name, stack.enter_context(engine)))
    return found


def _positions(options: PositionOptions) -> "tuple[list[Position], list[str]]":
    """The positions, and messages about records that were skipped, which are printed."""
    from fukayomi.cli.common.text import print_problems
    from fukayomi.cli.engine.analysis_games import reading_errors
    from fukayomi.engine.measuring.nps import sample_records

    if options.records:
        problems: list[str] = []
        with reading_errors():
            positions = sample_records(_records(options.records, problems), options.positions, options.seed)
        print_problems(problems)
        if not positions:
            fail("there is no position in the records")
        return positions, problems
    from fukayomi.engine.evaluation import sample_positions
    from fukayomi.engine.network import Network, same_everywhere

    with Network(same_everywhere(EMBEDDED)) as network:
        positions = sample_positions(network.evaluator, options.positions, options.seed)
    return [position for position in positions if not position.is_mated()], []


def _records(paths: list[Path], problems: list[str]) -> "Iterator[Record]":
    """The games; what is none becomes a message in the list."""
    from fukayomi.cli.engine.analysis_games import Game, distinct, read_games

    for game in distinct(read_games(paths)):
        if isinstance(game, Game):
            yield game.record
        else:
            problems.append(game.message)


def _document(comparison: "NpsComparison", ratios: list[dict[str, Any]]) -> dict[str, object]:
    from fukayomi.engine.measuring.nps import DEFINITIONS

    return {
        "positions": comparison.positions,
        "repeats": comparison.repeats,
        "ended_early": comparison.early,
        "definitions": DEFINITIONS,
        "rates": list(comparison.rows()),
        "ratios": ratios,
    }


def _print(comparison: "NpsComparison", ratios: list[dict[str, Any]], limit: str) -> None:
    from rich.console import Console

    from fukayomi.engine.measuring.nps import DEFINITIONS, STATISTICS, ratio_text
    from fukayomi.tabular import counted

    console = Console(highlight=False)
    table = number_table("a second", "counted", "searches", *STATISTICS)
    table.columns[1].justify = "left"
    for row in comparison.rows():
        figures = (f"{row[name]:,.0f}" for name in STATISTICS)
        table.add_row(str(row["name"]), str(row["counted"]), f"{row['searches']:,}", *figures)
    console.print(table)
    if ratios:
        table = number_table("ratio", *STATISTICS)
        for row in ratios:
            pair = (str(row["name"]), str(row["of"]))
            if row["counted"] != row["of_counted"]:
                pair = (f"{row['name']} {row['counted']}", f"{row['of']} {row['of_counted']}")
            table.add_row(" / ".join(pair), *(ratio_text(row[name]) for name in STATISTICS))
        console.print(table)
    for name in dict.fromkeys(rate.counted for rate in comparison.rates):
        console.print(f"{name}: {DEFINITIONS[name]}")
    searches = f"{counted(comparison.positions, 'position')}, {counted(comparison.repeats, 'time')}, {limit} each"
    early = (
        f"; not counted: {counted(comparison.early, 'search', 'searches')} that ended early" if comparison.early else ""
    )
    console.print(searches + early)
