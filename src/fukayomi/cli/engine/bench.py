"""``fukayomi bench``: speed of the search without a network, and memory per node."""

import time
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated

import typer

from fukayomi._native import HashEvaluator, Search, SearchParams, UniformEvaluator
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.text import json_text
from fukayomi.shogi import START_SFEN, InvalidSfenError, Position

DROPS_SFEN = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
"""A middle game with every kind of piece in hand and two hundred legal moves, known as matsuri (指し手生成祭り)."""
STANDARD_POSITIONS = {"start": START_SFEN, "many drops": DROPS_SFEN}
BYTES_RESERVED_PER_NODE = 2048
"""More than the tree of any position takes, so that the memory limit does not end the measurement."""


class EvaluatorName(StrEnum):
    """An evaluator that needs no network."""

    HASH = "hash"
    UNIFORM = "uniform"


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


def measure(sfen: str, nodes: int, batch_size: int, evaluator: EvaluatorName = EvaluatorName.HASH) -> BenchResult:
    """Search a position until `nodes` leaves are evaluated, one batch at a time in one thread.

    Raises:
        InvalidSfenError: The SFEN is not a position.
    """
    from fukayomi.engine.evaluators.protocol import Slot

    search = Search(SearchParams(), 16 + nodes * BYTES_RESERVED_PER_NODE // 2**20)
    search.set_position(Position.from_sfen(sfen))
    network = HashEvaluator() if evaluator is EvaluatorName.HASH else UniformEvaluator()
    batch, slot = search.new_batch(batch_size), Slot.zeros(batch_size)
    cpu, wall = time.process_time(), time.perf_counter()
    done = 0
    while done < nodes:
        limit = min(batch_size, nodes - done)
        n = search.gather(batch, slot.planes1, slot.planes2, slot.labels, slot.counts, limit)
        if n == 0:
            break  # decided: there is nothing left to evaluate
        network.run(slot.planes1, slot.planes2, slot.labels, slot.counts, n, slot.logits, slot.values)
        search.apply(batch, slot.logits, slot.values)
        done += n
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return BenchResult(done, done / max(cpu, 1e-9), done / max(wall, 1e-9), search.bytes_used / max(done, 1))


def print_table(results: dict[str, BenchResult]) -> None:
    """Print a table with one row per position."""
    from rich.console import Console

    from fukayomi.cli.common.tables import number_table

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
    """What is searched."""

    evaluator: Annotated[EvaluatorName, typer.Option(help="Evaluator in place of a network.")] = EvaluatorName.HASH
    sfen: Annotated[
        str | None,
        typer.Option(help="Position to search.", show_default="the start, and a position with many drops"),
    ] = None
    nodes: Annotated[int, typer.Option(min=1, max=30_000_000, help="Leaves to evaluate.")] = 400_000
    batch: Annotated[int, typer.Option(min=1, max=4096, help="Leaves per batch.")] = 64
    as_json: AsJson = False


def bench(options: BenchOptions) -> None:
    """Measure the search without a network: nodes per second of CPU time, nodes per second, bytes per node.

    With --json only one position is searched: the start, or that of --sfen.

    \b
    fukayomi bench
    fukayomi bench --nodes 1000000 --evaluator uniform --json
    """
    positions = {"start": START_SFEN} if options.as_json else STANDARD_POSITIONS
    if options.sfen is not None:
        positions = {"given": options.sfen}
    try:
        results = {
            name: measure(text, options.nodes, options.batch, options.evaluator) for name, text in positions.items()
        }
    except InvalidSfenError as error:
        raise typer.BadParameter(str(error), param_hint="--sfen") from error
    if options.as_json:
        (result,) = results.values()
        typer.echo(json_text(asdict(result)))
    else:
        print_table(results)
