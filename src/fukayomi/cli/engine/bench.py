"""``fukayomi bench``: speed and memory of the search without a network, and speed of networks."""

import time
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi._native import HashEvaluator, Search, SearchParams, UniformEvaluator
from fukayomi.cli.common.options import NETWORK_HELP, AsJson, is_subcommand
from fukayomi.cli.common.progress import StageBars, number_table
from fukayomi.cli.common.text import json_text
from fukayomi.shogi import START_SFEN, InvalidSfenError, Position

if TYPE_CHECKING:
    from fukayomi.engine.measuring.speed import NetworkSpeed

MIDDLE_SFEN = "ln1g2s1l/2ks1g3/1p2p1+N1p/pbppr4/5P1P1/2P1P1RS1/PPBP4P/1S1KG4/LN1G3+p1 b NPl2p 53"
DROPS_SFEN = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
"""A middle game with every kind of piece in hand and two hundred legal moves, known as matsuri (指し手生成祭り)."""
STANDARD_POSITIONS = {"start": START_SFEN, "many drops": DROPS_SFEN}
NETWORK_POSITIONS = {"start": START_SFEN, "middle game": MIDDLE_SFEN, "many drops": DROPS_SFEN}
NODES = 400_000
BATCH = 64
BYTES_RESERVED_PER_NODE = 2048
"""More than the tree of any position takes, so that the memory limit does not end the measurement."""


class EvaluatorName(StrEnum):
    """Evaluators of positions, by name."""

    HASH = "hash"
    UNIFORM = "uniform"
    NETWORK = "network"


@dataclass(frozen=True)
class BenchResult:
    """Speed and memory of one search."""

    nodes: int
    """Newly evaluated leaves; further visits to them and ends of the game do not count."""
    nodes_per_cpu_s: float
    """Nodes per second of CPU time of the whole process."""
    nodes_per_s: float
    """Nodes per second of elapsed time."""
    bytes_per_node: float
    """Memory of the tree per node, free parts of its chunks included."""


def bench_params(leaf_mate_plies: int = 1) -> SearchParams:
    """The parameters that are measured: the defaults, but with mate in one alone at the leaves."""
    params = SearchParams()
    params.leaf_mate_plies = leaf_mate_plies
    return params


def measure(
    sfen: str,
    nodes: int,
    batch_size: int,
    evaluator: EvaluatorName = EvaluatorName.HASH,
    *,
    params: SearchParams | None = None,
) -> BenchResult:
    """Search a position until `nodes` leaves are evaluated, one batch at a time in one thread.

    Args:
        sfen: The position.
        nodes: Leaves to evaluate.
        batch_size: Leaves per batch.
        evaluator: What evaluates them.
        params: By default `bench_params`.

    Raises:
        InvalidSfenError: The SFEN is not a position.
    """
    from fukayomi.engine.evaluators.protocol import PlaneSlot

    search = Search(params or bench_params(), 16 + nodes * BYTES_RESERVED_PER_NODE // 2**20)
    search.set_position(Position.from_sfen(sfen))
    network = HashEvaluator() if evaluator is EvaluatorName.HASH else UniformEvaluator()
    batch, slot = search.new_batch(batch_size), PlaneSlot.zeros(batch_size)
    cpu, wall = time.process_time(), time.perf_counter()
    done = 0
    while done < nodes:
        limit = min(batch_size, nodes - done)
        n = search.gather(batch, slot.input, 0, limit)
        if n == 0:
            break  # decided: there is nothing left to evaluate
        network.run(slot.input, n, slot.logits, slot.values)
        search.apply(batch, slot.logits, slot.values)
        done += n
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return BenchResult(done, done / max(cpu, 1e-9), done / max(wall, 1e-9), search.bytes_used / max(done, 1))


def measure_network(
    model: Path | None, positions: dict[str, Position], nodes: int | None, batch: int
) -> "NetworkSpeed":
    """Measure a network; None is the embedded one for this computer."""
    from fukayomi.engine.measuring.speed import measure_speed
    from fukayomi.engine.network import Network

    with Network(model, batch_size=batch) as network, StageBars() as listener:
        return measure_speed(network, positions, nodes=nodes, listener=listener)


def print_network(speed: "NetworkSpeed") -> None:
    """Print a table with one row per position, and the speed of the network alone."""
    from rich.console import Console

    table = number_table("position", "nodes", "evaluations", "seconds", "nodes/s")
    for search in speed.searches:
        table.add_row(
            search.position,
            f"{search.nodes:,}",
            f"{search.evaluations:,}",
            f"{search.seconds:.1f}",
            f"{search.nodes_per_s:,.0f}",
        )
    Console().print(table)
    typer.echo(
        f"{speed.network} ({speed.identity}): {speed.evaluations_per_s:,.0f} evaluations/s alone, "
        f"batch {speed.batch_size}, {speed.slots} in flight"
    )


def print_table(results: dict[str, BenchResult]) -> None:
    """Print a table with one row per position."""
    from rich.console import Console

    table = number_table("position", "nodes", "nodes/CPU-s", "nodes/s", "bytes/node")
    for name, result in results.items():
        table.add_row(
            name,
            f"{result.nodes:,}",
            f"{result.nodes_per_cpu_s:,.0f}",
            f"{result.nodes_per_s:,.0f}",
            f"{result.bytes_per_node:.0f}",
        )
    Console().print(table)


@dataclass(frozen=True)
class BenchOptions:
    """Options that decide what is searched."""

    evaluator: EvaluatorName = EvaluatorName.HASH
    """What evaluates positions: a network, or a function in its place."""
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="NETWORK",
            help=f"{NETWORK_HELP} Implies --evaluator network.",
            show_default="with --evaluator network, the embedded one for this computer",
        ),
    ] = None
    sfen: Annotated[str | None, typer.Option(show_default="the start, and a position with many drops")] = None
    """Position to search."""
    nodes: Annotated[
        int | None,
        typer.Option(min=1, max=30_000_000, show_default=f"{NODES}; with a network, as many as 5 seconds allow"),
    ] = None
    """Leaves to evaluate."""
    batch: Annotated[int | None, typer.Option(min=1, max=4096, show_default=f"{BATCH}; with a network, measured")] = (
        None
    )
    """Leaves per batch."""
    signature: Annotated[bool, typer.Option("--signature")] = False
    """Print only what the search does with 40 positions, on every computer alike."""
    as_json: AsJson = False


def bench(context: typer.Context, options: BenchOptions) -> None:
    """Measure the search on this computer, without a network or with one.

    Without a network: nodes per second of CPU time, nodes per second, bytes per node, and a signature of what the
    search does with 40 positions, which a change of its speed alone leaves as it is. With --json only one position is
    searched: the start, or that of --sfen.

    With a network: nodes per second of the search, 5 seconds per position, and evaluations per second of the network
    alone.

    \b
    fukayomi bench
    fukayomi bench --nodes 1000000 --evaluator uniform --json
    fukayomi bench --evaluator network
    fukayomi bench --model network.onnx --json

    fukayomi bench nps compares networks and USI engines over many positions.
    """
    if is_subcommand(context):
        return
    from fukayomi.engine.measuring.speed import search_signature

    if options.signature:
        signature = search_signature()
        typer.echo("\n".join([*(row.text() for row in signature.rows), str(signature)]))
        return
    is_network = options.model is not None or options.evaluator is EvaluatorName.NETWORK
    positions = {"start": START_SFEN} if options.as_json else STANDARD_POSITIONS
    if options.sfen is not None:
        positions = {"given": options.sfen}
    elif is_network:
        positions = NETWORK_POSITIONS
    try:
        parsed = {name: Position.from_sfen(text) for name, text in positions.items()}
    except InvalidSfenError as error:
        raise typer.BadParameter(str(error), param_hint="--sfen") from error
    if is_network:
        speed = measure_network(options.model, parsed, options.nodes, options.batch or 0)
        if options.as_json:
            typer.echo(json_text(asdict(speed)))
        else:
            print_network(speed)
        return
    nodes, batch = options.nodes or NODES, options.batch or BATCH
    results = {name: measure(text, nodes, batch, options.evaluator) for name, text in positions.items()}
    if options.as_json:
        (result,) = results.values()
        typer.echo(json_text(asdict(result)))
    else:
        print_table(results)
        typer.echo(str(search_signature()))
