"""Playing on a CPU: what of a backend's speed the search keeps, and what the backends gain over ONNX Runtime in fp32.

    python benchmarks/cpu_play.py [--json] [--blocks 10] [--channels 192] [--seconds 3] [--repeats 3] [--cpus 2]
    python benchmarks/cpu_play.py --network FILE.onnx ...
    python benchmarks/cpu_play.py --sparse [FILE.sparse] ...

The network has random parameters: its speed does not depend on them. It may also be a file, with its int8 file if there
is one beside it, or `<internal>`, the embedded one. Each backend and precision is loaded as the engine loads it, with
threads, batches in flight and batch size as measured then. Searches of three positions alternate with runs of full
batches of the same positions without a search, in the fastest of several settings, and with ONNX Runtime in fp32 in its
fastest setting. An evaluation is a position that the network computed, counted at the evaluator.

`share_of_backend` is the speed in the search over that of the same backend without one; `ratio_to_ort_fp32` that in the
search over that of ONNX Runtime in fp32 without one. Both are medians of the repeats, by the clock. Where the computer
does something else besides, the same per second of CPU time (`_cpu`) says more.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fukayomi.cli.engine.bench import NETWORK_POSITIONS
from fukayomi.engine import Engine, Network
from fukayomi.engine.choice import load
from fukayomi.engine.evaluators.backends.backend import Model, Plan, get_backend
from fukayomi.engine.evaluators.backends.machine import this_machine
from fukayomi.engine.evaluators.backends.network_file import NetworkFile, int8_path
from fukayomi.engine.evaluators.protocol import NetworkEvaluator, Slot
from fukayomi.engine.evaluators.timing import filled_slot, probe_positions, run_batches
from fukayomi.engine.network import find_network
from fukayomi.shogi import Position
from random_networks import random_network, sparse_file, sparse_models

TUNING = 0.1
"""Share of the seconds of a measurement that each setting without a search is tried for."""
BATCHES = (8, 16, 32)
POSITIONS = [Position.from_sfen(sfen) for sfen in NETWORK_POSITIONS.values()]


class Counting:
    """An evaluator that counts the positions it computed."""

    def __init__(self, evaluator: NetworkEvaluator) -> None:
        self.evaluator = evaluator
        self.identity, self.batch_size, self.slots = evaluator.identity, evaluator.batch_size, evaluator.slots
        self.positions = 0
        self.batches = 0

    def allocate(self, capacity: int) -> Slot:
        """As the evaluator does."""
        return self.evaluator.allocate(capacity)

    def run(self, slot: Slot, n: int) -> None:
        """As the evaluator does."""
        self.evaluator.run(slot, n)
        self.positions += n
        self.batches += 1

    def close(self) -> None:
        """The evaluator is used again."""


def make_network(folder: Path, blocks: int, channels: int) -> NetworkFile:
    """A network with random parameters, and its int8 file."""
    from fukayomi.learning.models import features_of
    from fukayomi.nn import export_onnx, quantize_onnx

    path = folder / f"random-{blocks}x{channels}.onnx"
    export_onnx(random_network(f"{blocks}x{channels}"), path)
    int8_path(path).write_bytes(quantize_onnx(path, *features_of(probe_positions())))
    return NetworkFile(path)


def rates(work: Callable[[], int]) -> tuple[float, float]:
    """Positions per second, and per second of CPU time of the process, of work that returns their number."""
    start, cpu_start = time.perf_counter(), time.process_time()
    positions = work()
    return positions / (time.perf_counter() - start), positions / max(time.process_time() - cpu_start, 1e-9)


class Alone:
    """A backend without a search, in the fastest of several settings."""

    def __init__(self, network: NetworkFile, backend: str, precision: str, cpus: int, seconds: float) -> None:
        best = 0.0
        for threads, slots in ((max(1, cpus // 2), min(2, cpus)), (cpus, 1)):
            model = get_backend(backend).open(network, Plan(backend, precision, threads, slots))
            for batch in BATCHES:
                plan = Plan(backend, precision, threads, slots, batch)
                filled = self._fill(model, plan)
                run_batches(model, filled, batch, 0)
                speed, _ = rates(lambda m=model, f=filled, b=batch: b * run_batches(m, f, b, TUNING * seconds))
                if speed > best:
                    best, self.plan, self._model, self._slots = speed, plan, model, filled

    def _fill(self, model: Model, plan: Plan) -> list[Slot]:
        return [filled_slot(model, plan.batch_size, POSITIONS) for _ in range(plan.slots)]

    def run(self, seconds: float) -> int:
        """Compute full batches; returns the number of positions."""
        batch = self.plan.batch_size
        return batch * run_batches(self._model, self._slots, batch, seconds)


def search(evaluator: Counting, seconds: float) -> int:
    """Search the positions one after the other; returns the number of evaluations."""
    before = evaluator.positions
    for position in POSITIONS:
        with Network(evaluator) as network, Engine(network) as engine:
            engine.search(position, time_ms=max(1, round(1000 * seconds / len(POSITIONS))))
    return evaluator.positions - before


def measure(network: NetworkFile, seconds: float, repeats: int, cpus: int) -> dict[str, object]:
    """Measure every backend of the CPU in turn."""
    kinds = [("cpu", "fp32")] + [
        (name, precision)
        for name in ("cpu", "native", "openvino")
        if get_backend(name).problem() is None
        for precision in get_backend(name).precisions(network)
        if (name, precision) != ("cpu", "fp32")
    ]
    playing = {kind: Counting(load(network, Plan(*kind))) for kind in kinds}
    alone = {kind: Alone(network, *kind, cpus, seconds) for kind in kinds}
    base = alone["cpu", "fp32"]
    figures: dict[tuple[str, str], list[tuple[tuple[float, float], ...]]] = {kind: [] for kind in kinds}
    for _ in range(repeats):
        for kind in kinds:
            figures[kind].append(
                (
                    rates(lambda k=kind: search(playing[k], seconds)),
                    rates(lambda k=kind: alone[k].run(seconds)),
                    rates(lambda: base.run(seconds)),
                )
            )

    def median(kind: tuple[str, str], over: int, by: int) -> float:
        return round(statistics.median(round_[0][by] / round_[over][by] for round_ in figures[kind]), 3)

    machine = this_machine()
    return {
        "cpu": machine.cpu,
        "cpu_class": machine.cpu_class,
        "cpus": cpus,
        "network": network.path.stem,
        "backends": {
            f"{backend} {precision}": {
                "evaluations_per_s": round(statistics.median(round_[0][0] for round_ in figures[backend, precision])),
                "alone_per_s": round(statistics.median(round_[1][0] for round_ in figures[backend, precision])),
                "share_of_backend": median((backend, precision), 1, 0),
                "share_of_backend_cpu": median((backend, precision), 1, 1),
                "ratio_to_ort_fp32": median((backend, precision), 2, 0),
                "ratio_to_ort_fp32_cpu": median((backend, precision), 2, 1),
                "positions_per_batch": round(
                    playing[backend, precision].positions / playing[backend, precision].batches, 2
                ),
                "plan": plan_text(playing[backend, precision].evaluator.plan),
                "plan_alone": plan_text(alone[backend, precision].plan),
            }
            for backend, precision in kinds
        },
    }


def measure_sparse(network: NetworkFile, seconds: float, repeats: int, cpus: int) -> dict[str, object]:
    """Measure a sparse network in searches, with one batch in flight and with two."""
    evaluators = {
        f"{name}, {slots} in flight": NetworkEvaluator(network, model, Plan("native", "int8", 1, slots, 8), "")
        for name, model in sparse_models(network.path).items()
        for slots in (1, 2)
    }

    def search_nodes(evaluator: NetworkEvaluator) -> int:
        nodes = 0
        for position in POSITIONS:
            with Network(evaluator) as loaded, Engine(loaded) as engine:
                nodes += engine.search(position, time_ms=max(1, round(1000 * seconds / len(POSITIONS)))).progress.nodes
        return nodes

    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in evaluators}
    for _ in range(repeats):
        for name, evaluator in evaluators.items():
            figures[name].append(rates(lambda e=evaluator: search_nodes(e)))
    machine = this_machine()
    return {
        "cpu": machine.cpu,
        "cpu_class": machine.cpu_class,
        "cpus": cpus,
        "network": network.path.stem,
        "searches": {
            name: {
                "nodes_per_cpu_s": round(statistics.median(cpu for _, cpu in each)),
                "nodes_per_s": round(statistics.median(clock for clock, _ in each)),
            }
            for name, each in figures.items()
        },
    }


def plan_text(plan: Plan) -> str:
    """Threads, batches in flight and batch size."""
    return f"{plan.threads} threads, {plan.slots} in flight, batch {plan.batch_size}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--channels", type=int, default=192)
    parser.add_argument("--network", help="ONNX file, or <internal>")
    parser.add_argument("--sparse", nargs="?", const="", help="only this file, or a random sparse network")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.cpus])
    cpus = this_machine().cpus
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder  # measured now, and not remembered
        if arguments.sparse is not None:
            network = sparse_file(arguments.sparse, Path(folder))
            report = measure_sparse(network, arguments.seconds, arguments.repeats, cpus)
            print(json.dumps(report) if arguments.json else json.dumps(report, indent=2))
            return
        if arguments.network:
            network = NetworkFile(find_network(arguments.network))
        else:
            network = make_network(Path(folder), arguments.blocks, arguments.channels)
        report = measure(network, arguments.seconds, arguments.repeats, cpus)
    print(json.dumps(report) if arguments.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
