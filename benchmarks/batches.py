"""Many positions: searched at once in common batches, beside one after another.

    python benchmarks/batches.py [--json] [--positions 24] [--visits 200] [--repeats 3] [--model FILE.onnx]
        [--device auto] [--precision auto] [--batch 0]

Positions of games that the network plays are searched in three ways, each in turn in every repeat:

- `at_once`: by the analysis service, in common batches to which each tree gives four leaves or more;
- `in_turn`: one after another, the whole batch from one tree;
- `small`: one after another in batches of four, so that a tree is searched as carefully as in `at_once`.

The evaluation cache is off. Rates are positions evaluated a second, by the clock and per second of CPU time, medians of
the repeats; `alone` is the network without a search, in full batches. The ratios are of `at_once` to the others.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fukayomi.engine import AnalysisQuery, AnalysisService, Engine, Network
from fukayomi.engine.evaluation import sample_positions
from fukayomi.engine.evaluator_pool import SHARE
from fukayomi.engine.evaluators.protocol import Evaluator, Slot
from fukayomi.engine.evaluators.timing import filled_slot, run_batches
from fukayomi.shogi import Position

ALONE_S = 2.0


class Small:
    """An evaluator in batches of four, with the same threads and batches in flight."""

    batch_size = SHARE

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.identity, self.slots = evaluator.identity, evaluator.slots

    def allocate(self, capacity: int) -> Slot:
        """As the evaluator does."""
        return self._evaluator.allocate(capacity)

    def run(self, slot: Slot, n: int) -> None:
        """As the evaluator does."""
        self._evaluator.run(slot, n)

    def close(self) -> None:
        """The evaluator is used again."""


def in_turn(network: Network, positions: Sequence[Position], visits: int) -> int:
    """Search one position after another; returns the positions evaluated."""
    with Engine(network) as engine:
        nodes = 0
        for position in positions:
            engine.new_game()
            nodes += engine.search(position, nodes=visits).progress.nodes
    return nodes


def at_once(network: Network, positions: Sequence[Position], visits: int) -> int:
    """The same by the analysis service."""
    with AnalysisService(network) as service:
        running = [service.submit(AnalysisQuery(sfen=position.sfen(), visits=visits)) for position in positions]
        return sum(answer.visits for each in running for answer in each.result())


def alone(network: Network, positions: Sequence[Position]) -> int:
    """Evaluate full batches for some seconds, without a search."""
    evaluator = network.evaluator
    size = evaluator.batch_size
    slots = [filled_slot(evaluator, size, positions) for _ in range(evaluator.slots)]
    return run_batches(evaluator, slots, size, ALONE_S) * size


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=24)
    parser.add_argument("--visits", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--model", default="<5x64>", help="an ONNX file, or <5x64>")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--batch", type=int, default=0, help="positions per batch; 0: measured")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()

    model = given.model if given.model.startswith("<") else Path(given.model)
    with (
        Network(model, device=given.device, precision=given.precision, batch_size=given.batch, cache_mb=0) as network,
        Network(Small(network.evaluator), cache_mb=0) as small,
    ):
        positions = [each for each in sample_positions(network.evaluator, given.positions) if not each.is_mated()]
        ways: dict[str, Callable[[], int]] = {
            "alone": lambda: alone(network, positions),
            "at_once": lambda: at_once(network, positions, given.visits),
            "in_turn": lambda: in_turn(network, positions, given.visits),
            "small": lambda: in_turn(small, positions, given.visits),
        }
        rates: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for _ in range(given.repeats):
            for name, way in ways.items():
                wall, cpu = time.perf_counter(), time.process_time()
                done = way()
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                rates[name].append((done / wall, done / max(cpu, 1e-9)))
        per_s = {name: statistics.median(rate for rate, _ in found) for name, found in rates.items()}
        per_cpu_s = {name: statistics.median(rate for _, rate in found) for name, found in rates.items()}
        report = {
            "network": str(network),
            "batch_size": network.evaluator.batch_size,
            "slots": network.evaluator.slots,
            "positions": len(positions),
            "visits": given.visits,
            "per_s": {name: round(rate) for name, rate in per_s.items()},
            "per_cpu_s": {name: round(rate) for name, rate in per_cpu_s.items()},
            "ratio_to_in_turn": round(per_s["at_once"] / per_s["in_turn"], 2),
            "ratio_to_small": round(per_s["at_once"] / per_s["small"], 2),
            "share_of_alone": round(per_s["at_once"] / per_s["alone"], 2),
        }
    print(json.dumps(report) if given.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
