"""Reanalysis: new targets from a network alone and from searches, beside the network on full batches.

    python benchmarks/reanalysis.py [--json] [--network FILE.onnx] [--positions N] [--nodes N] [FILE.hcpe3]

- alone: batches of the network's size, run as they are; what the network can do.
- relabel: `reanalyze` with 0 nodes, from file to file: replaying, legal moves, planes, softmax, writing.
- search: `reanalyze` with --nodes, of so many positions that the nodes are as many, one game after the other, by
  searches that share batches and a cache of evaluations; and the same without a cache. `evaluations_per_node` is what
  reaches the network.

Positions a second and CPU-seconds are of this process with all its threads. `share_of_network` is the time of "alone"
over that of "relabel", and `cpu_share_of_network` the same in CPU-seconds. Without a file, the games are random moves,
which share less than real games do.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fukayomi.engine import Network
from fukayomi.engine.evaluators.protocol import Evaluator, Slot
from fukayomi.engine.evaluators.timing import filled_slot, probe_positions
from fukayomi.learning import Dataset, ReanalysisSettings, Selection, reanalyze
from random_games import write_random_games


class Counting:
    """An evaluator that counts what it evaluates."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.identity, self.batch_size, self.slots = evaluator.identity, evaluator.batch_size, evaluator.slots
        self.allocate = evaluator.allocate
        self.rows = 0

    def run(self, slot: Slot, n: int) -> None:
        self.rows += n
        self._evaluator.run(slot, n)

    def close(self) -> None:
        pass


def measure(work: Callable[[], int]) -> dict[str, float]:
    """Wall and CPU time of some work, which returns how many positions it was."""
    wall, cpu = time.perf_counter(), time.process_time()
    count = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"positions": count, "seconds": wall, "cpu_seconds": cpu, "positions_per_second": count / wall}


def alone(evaluator: Evaluator, count: int) -> int:
    """Full batches on one thread, until so many positions are evaluated."""
    slot = filled_slot(evaluator, evaluator.batch_size, probe_positions())
    done = 0
    while done < count:
        evaluator.run(slot, evaluator.batch_size)
        done += evaluator.batch_size
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE.hcpe3")
    parser.add_argument("--network", default="<5x64>")
    parser.add_argument("--positions", type=int, default=20_000, help="positions to relabel, at most (default: 20 000)")
    parser.add_argument("--nodes", type=int, default=100, help="nodes of a search (default: 100)")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Network(given.network) as network:
        file = Path(folder, "games.hcpe3")
        if given.file is None:
            write_random_games(file, given.positions // 100 + 1)
        else:
            file.symlink_to(given.file.absolute())
        total = len(Dataset(file))
        share = min(1.0, given.positions / total)
        evaluator = network.evaluator
        alone(evaluator, 4 * evaluator.batch_size)  # warm
        found: dict[str, Any] = {"network": network.identity, "batch_size": evaluator.batch_size, "nodes": given.nodes}
        found["alone"] = measure(lambda: alone(evaluator, round(share * total)))
        found["relabel"] = measure(lambda: chosen(file, Network(evaluator), 0, share, "relabel"))
        for clock, name in (("seconds", "share_of_network"), ("cpu_seconds", "cpu_share_of_network")):
            costs = [found[work][clock] / found[work]["positions"] for work in ("alone", "relabel")]
            found[name] = costs[0] / costs[1]
        found["search"] = searches(file, evaluator, given.nodes, share, 64)
        found["search_without_cache"] = searches(file, evaluator, given.nodes, share, 0)
    if given.json:
        json.dump(found, sys.stdout)
        print()
        return
    print(f"{found['network']}, batches of {found['batch_size']}")
    for name in ("alone", "relabel", "search", "search_without_cache"):
        row = found[name]
        evaluations = f", {row['evaluations_per_node']:.2f} evaluations a node" if "evaluations_per_node" in row else ""
        print(
            f"{name}: {row['positions']:,} positions, {row['positions_per_second']:,.1f} a second, "
            f"{row['cpu_seconds']:.1f} CPU-s{evaluations}"
        )
    shares = found["share_of_network"], found["cpu_share_of_network"]
    print(f"share of the network's own rate: {shares[0]:.1%}, in CPU-seconds {shares[1]:.1%}")


def searches(file: Path, evaluator: Evaluator, nodes: int, share: float, cache_mb: int) -> dict[str, float]:
    """Searches of positions that follow one another."""
    counting = Counting(evaluator)
    network = Network(counting, cache_mb=cache_mb)
    found = measure(lambda: chosen(file, network, nodes, share / nodes, f"cache-{cache_mb}"))
    return found | {"evaluations_per_node": counting.rows / (found["positions"] * nodes)}


def chosen(file: Path, network: Network, nodes: int, share: float, layer: str) -> int:
    """Reanalyse, and count."""
    selection = Selection.AGE if nodes else Selection.RANDOM
    result = reanalyze(file, network, ReanalysisSettings(nodes=nodes, share=share, selection=selection), layer=layer)
    return sum(info.changed for info in result.layers.values())


if __name__ == "__main__":
    main()
