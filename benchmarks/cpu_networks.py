"""Networks on one core: positions per CPU-second by backend, precision and batch size, without a search.

    python benchmarks/cpu_networks.py [--json] [--network FILE.onnx] [--sparse FILE] [--seconds 0.5] [--repeats 3]

The embedded network, or another ONNX file (with its int8 file, if there is one beside it), on positions of games. Rates
are medians of the repeats, in which the backends take turns. `ratio` is to ONNX Runtime in fp32 at the same batch size;
`same_move` and `value_error` compare with it too, over 71 positions. A sparse network, by default one of
384 and 384 accumulators with random parameters, has a row for each set of vector instructions, without the encoding of
the positions.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from fukayomi.engine.evaluation import compare
from fukayomi.engine.evaluators.backends.backend import Model, Plan, get_backend
from fukayomi.engine.evaluators.backends.machine import this_machine
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.protocol import NetworkEvaluator
from fukayomi.engine.evaluators.timing import filled_slot, probe_positions
from fukayomi.engine.network import find_network
from random_networks import sparse_file, sparse_models

BATCHES = (1, 2, 4, 8, 16, 32)
BACKENDS = ("cpu", "native", "openvino")
BASE = "cpu fp32"


def rate(evaluator: NetworkEvaluator | Model, batch: int, seconds: float) -> float:
    """Positions per second of CPU time in full batches of this size."""
    slot = filled_slot(evaluator, batch, probe_positions()[20:])
    evaluator.run(slot, batch)
    start, count = time.process_time(), 0
    while (spent := time.process_time() - start) < seconds:
        evaluator.run(slot, batch)
        count += batch
    return count / spent


def measure(network: NetworkFile, seconds: float, repeats: int) -> dict[str, dict[str, object]]:
    """Every backend of the CPU that can run the network, on one thread."""
    evaluators = {
        f"{name} {precision}": NetworkEvaluator(network, backend.open(network, plan), plan, "")
        for name in BACKENDS
        if (backend := get_backend(name)).problem() is None
        for precision in backend.precisions(network)
        if (plan := Plan(name, precision, threads=1, slots=1, batch_size=BATCHES[-1]))
    }
    rates: dict[str, dict[int, list[float]]] = {name: {batch: [] for batch in BATCHES} for name in evaluators}
    for _ in range(repeats):
        for batch in BATCHES:
            for name, evaluator in evaluators.items():
                rates[name][batch].append(rate(evaluator, batch, seconds))
    medians = {name: {batch: statistics.median(each[batch]) for batch in BATCHES} for name, each in rates.items()}
    found: dict[str, dict[str, object]] = {}
    for name, evaluator in evaluators.items():
        agreement = compare(evaluator, evaluators[BASE], probe_positions())
        found[name] = {
            "positions_per_cpu_s": {batch: round(medians[name][batch]) for batch in BATCHES},
            "ratio": {batch: round(medians[name][batch] / medians[BASE][batch], 2) for batch in BATCHES},
            "same_move": agreement.top1,
            "value_error": agreement.value_error,
        }
    return found


def measure_sparse(network: NetworkFile, seconds: float, repeats: int) -> dict[str, dict[int, int]]:
    """Positions per CPU-second of a sparse network by vector instructions and batch size."""
    models = sparse_models(network.path)
    rates: dict[str, dict[int, list[float]]] = {name: {batch: [] for batch in BATCHES} for name in models}
    for _ in range(repeats):
        for batch in BATCHES:
            for name, model in models.items():
                rates[name][batch].append(rate(model, batch, seconds))
    return {name: {batch: round(statistics.median(each[batch])) for batch in BATCHES} for name, each in rates.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="", help="ONNX file; <5x64> without it")
    parser.add_argument("--sparse", default="", help="file of a sparse network; one with random parameters without it")
    parser.add_argument("--seconds", type=float, default=0.5, help="CPU time of a measurement")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    path: Path = find_network(given.network)
    report = measure(NetworkFile(path), given.seconds, given.repeats)
    with tempfile.TemporaryDirectory() as folder:
        sparse = measure_sparse(sparse_file(given.sparse, Path(folder)), given.seconds, given.repeats)
    machine = this_machine()
    if given.json:
        print(
            json.dumps(
                {
                    "cpu": machine.cpu,
                    "cpu_class": machine.cpu_class,
                    "network": path.name,
                    "backends": report,
                    "sparse": sparse,
                }
            )
        )
        return
    print(f"{machine.cpu}: {machine.cpu_class}; {path.name}; positions per CPU-second (ratio to {BASE})")
    print(f"{'batch':15}" + "".join(f"{batch:>14}" for batch in BATCHES) + "   same move, value error")
    for name, each in report.items():
        cells = "".join(f"{each['positions_per_cpu_s'][b]:>7,} ({each['ratio'][b]:.2f})" for b in BATCHES)  # type: ignore[index]
        print(f"{name:15}{cells}   {each['same_move']:.1%}, {each['value_error']:.1e}")
    for name, each in sparse.items():
        print(f"sparse {name:15}" + "".join(f"{each[b]:>10,}" for b in BATCHES))


if __name__ == "__main__":
    main()
