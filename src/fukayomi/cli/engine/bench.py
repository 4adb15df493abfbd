"""``fukayomi bench``: how fast the search is without a network, and what a node costs in memory."""

import json
import time
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated

import typer

from fukayomi._native import HashEvaluator, Search, SearchParams, UniformEvaluator
from fukayomi.shogi import START_SFEN, InvalidSfenError, Position

# A middle game with every kind of piece in hand and two hundred moves; the shogi world calls it matsuri.
DROPS_SFEN = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
STANDARD_POSITIONS = {"start": START_SFEN, "many drops": DROPS_SFEN}

# More than any position's tree takes a node, so that the cap does not end the measurement.
BYTES_RESERVED_PER_NODE = 2048


class EvaluatorName(StrEnum):
    """An evaluator that needs no network."""

    HASH = "hash"
    UNIFORM = "uniform"


@dataclass(frozen=True)
class BenchResult:
    """Figures of one search.

    Attributes:
        nodes: Newly evaluated leaves; visits to them again and to ends of the game do not count.
        nodes_per_cpu_s: By the CPU time of the whole process.
        nodes_per_s: By the wall clock.
        bytes_per_node: Of every arena of the tree, whether in use or free.
    """

    nodes: int
    nodes_per_cpu_s: float
    nodes_per_s: float
    bytes_per_node: float


def measure(sfen: str, nodes: int, batch_size: int, evaluator: EvaluatorName = EvaluatorName.HASH) -> BenchResult:
    """Search a position until `nodes` leaves are evaluated, one batch at a time in one thread.

    Raises:
        InvalidSfenError: The SFEN is no position.
    """
    import numpy as np

    search = Search(SearchParams(), 16 + nodes * BYTES_RESERVED_PER_NODE // 2**20)
    search.set_position(Position.from_sfen(sfen))
    network = HashEvaluator() if evaluator is EvaluatorName.HASH else UniformEvaluator()
    batch = search.new_batch(batch_size)
    planes1, planes2 = np.zeros((batch_size, 628), np.uint8), np.zeros((batch_size, 8), np.uint8)
    labels, counts = np.zeros((batch_size, 593), np.uint16), np.zeros(batch_size, np.uint16)
    logits, values = np.zeros((batch_size, 593), np.float32), np.zeros(batch_size, np.float32)
    cpu, wall = time.process_time(), time.perf_counter()
    done = 0
    while done < nodes:
        n = search.gather(batch, planes1, planes2, labels, counts, min(batch_size, nodes - done))
        if n == 0:
            break  # decided: nothing is left to evaluate
        network.run(planes1, planes2, labels, counts, n, logits, values)
        search.apply(batch, logits, values)
        done += n
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return BenchResult(done, done / max(cpu, 1e-9), done / max(wall, 1e-9), search.bytes_used / max(done, 1))


def print_table(results: dict[str, BenchResult]) -> None:
    """A row a position."""
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


def bench(
    evaluator: Annotated[EvaluatorName, typer.Option(help="What plays the network.")] = EvaluatorName.HASH,
    sfen: Annotated[str | None, typer.Option(help="The position; by default the two standard ones.")] = None,
    nodes: Annotated[int, typer.Option(min=1, max=30_000_000, help="How many leaves to evaluate.")] = 400_000,
    batch: Annotated[int, typer.Option(min=1, max=4096, help="Leaves a batch.")] = 64,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, of the start by default.")] = False,
) -> None:
    """Measure the search without a network: nodes a CPU-second, nodes a second, bytes a node."""
    positions = {"start": START_SFEN} if as_json else STANDARD_POSITIONS
    if sfen is not None:
        positions = {"given": sfen}
    try:
        results = {name: measure(text, nodes, batch, evaluator) for name, text in positions.items()}
    except InvalidSfenError as error:
        raise typer.BadParameter(str(error), param_hint="--sfen") from error
    if as_json:
        (result,) = results.values()
        typer.echo(json.dumps(asdict(result)))
    else:
        print_table(results)
