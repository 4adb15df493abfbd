"""Playing on a GPU: what of each network's own best speed on the card the search keeps, from 10x192 to 40x512.

    python benchmarks/gpu_play.py [--json] [--device torch-cuda] [--shapes 10x192 15x224 20x256 30x384 40x512]
        [--seconds 4] [--repeats 2] [--minutes 8]

The networks have random parameters: their speed does not depend on them. Their policies are made as sharp as those of
trained networks, which the speed of the tree does depend on. Each is loaded as the engine loads it. In every repeat:

- `ceiling`: full batches without a search, in the best of several batch sizes;
- `search`: one position after another, each in a tree of its own, as in play;
- `at_once`: many positions at once by the analysis service.

The evaluation cache is off. Rates are positions evaluated a second, medians of the repeats; shares are of the ceiling.
The first device of `--device` that can run is taken; without it torch-cuda, cuda or cpu. A network for which the
minutes do not suffice is left out and named. The seeds' figures are NPS of dlshogi on other cards, to be read beside
it.
"""

# pyright: reportUnknownMemberType=false

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

from fukayomi.cli.engine.bench import NETWORK_POSITIONS
from fukayomi.engine import AnalysisQuery, AnalysisService, Engine, Network
from fukayomi.engine.evaluators.backends.backend import get_backend
from fukayomi.engine.evaluators.protocol import Slot
from fukayomi.engine.evaluators.timing import filled_slot, probe_positions, run_batches
from fukayomi.learning.models import features_of
from fukayomi.nn import export_onnx, save_parameters
from fukayomi.shogi import Position
from random_networks import random_residual

SHAPES = ("10x192", "15x224", "20x256", "30x384", "40x512")
DEVICES = ("torch-cuda", "cuda", "cpu")
SEEDS = {
    "10x192": {"A100": 40_008},
    "15x224": {"A100": 36_955},
    "30x384": {"RTX 4090": 19_221},
    "40x512": {"RTX 4090": 8_008},
}
"""Seed 000: a GPU's share of eight; seed 004: the ResNet of each size."""
POSITIONS = [Position.from_sfen(sfen) for sfen in NETWORK_POSITIONS.values()]
LARGEST_BATCH = 1024
TUNING_S = 0.3
LOGIT_DEVIATION = 1.5
ROUNDS = 4
"""Positions of the service for each that it searches at once."""


def make_network(shape: str, folder: Path, device: str) -> Path:
    """A file of a network with random parameters."""
    blocks, channels = map(int, shape.split("x"))
    network = random_residual(blocks, channels)
    with torch.inference_mode():
        logits, _ = network(*(torch.from_numpy(planes) for planes in features_of(probe_positions())))
        network.policy.conv.weight *= LOGIT_DEVIATION / float(logits.std())
    path = folder / f"random-{shape}{'.safetensors' if device.startswith('torch') else '.onnx'}"
    (save_parameters if path.suffix == ".safetensors" else export_onnx)(network, path)
    return path


class Ceiling:
    """A network without a search, in the fastest of several batch sizes."""

    def __init__(self, network: Network) -> None:
        self._evaluator = network.evaluator
        self._slots: list[Slot] = []
        self.batch_size = best = 0
        size = self._evaluator.batch_size
        while size <= max(LARGEST_BATCH, self._evaluator.batch_size):
            slots = [filled_slot(self._evaluator, size, POSITIONS) for _ in range(max(2, self._evaluator.slots))]
            run_batches(self._evaluator, slots, size, 0)  # the first run prepares this size
            start = time.perf_counter()
            speed = run_batches(self._evaluator, slots, size, TUNING_S) * size / (time.perf_counter() - start)
            if speed <= 1.02 * best:
                break
            best, self.batch_size, self._slots, size = speed, size, slots, 2 * size

    def rate(self, seconds: float) -> float:
        """Positions a second."""
        start = time.perf_counter()
        done = run_batches(self._evaluator, self._slots, self.batch_size, seconds) * self.batch_size
        return done / (time.perf_counter() - start)


def search_rate(network: Network, seconds: float) -> float:
    """Positions a second of searches of one position after another."""
    nodes = elapsed = 0.0
    for position in POSITIONS:
        with Engine(network) as engine:
            progress = engine.search(position, time_ms=max(1, round(1000 * seconds / len(POSITIONS)))).progress
        nodes, elapsed = nodes + progress.nodes, elapsed + progress.seconds
    return nodes / elapsed


def service_rate(network: Network, rate: float, seconds: float) -> float:
    """Positions a second of many searches at once, which take about so long at this rate."""
    with AnalysisService(network) as service:
        count = ROUNDS * service.at_once
        visits = max(2, round(rate * seconds / count))
        start = time.perf_counter()
        running = [
            service.submit(AnalysisQuery(sfen=POSITIONS[n % len(POSITIONS)].sfen(), visits=visits))
            for n in range(count)
        ]
        done = sum(answer.visits for each in running for answer in each.result())
        return done / (time.perf_counter() - start)


def measure(shape: str, device: str, seconds: float, repeats: int) -> dict[str, object]:
    """All figures of one network."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = make_network(shape, Path(folder), device)
        made = time.perf_counter()
        with Network(path, device=device, cache_mb=0) as network:
            ceiling = Ceiling(network)
            loaded = time.perf_counter()
            rates: dict[str, list[float]] = {"ceiling": [], "search": [], "at_once": []}
            for _ in range(repeats):
                rates["ceiling"].append(ceiling.rate(seconds))
                rates["search"].append(search_rate(network, seconds))
                rates["at_once"].append(service_rate(network, rates["ceiling"][-1], seconds))
            evaluator = network.evaluator
            medians = {name: statistics.median(found) for name, found in rates.items()}
            return {
                "network": shape,
                "identity": network.identity,
                "batch_size": evaluator.batch_size,
                "slots": evaluator.slots,
                "ceiling_batch_size": ceiling.batch_size,
                **{f"{name}_per_s": round(rate) for name, rate in medians.items()},
                "search_share": round(medians["search"] / medians["ceiling"], 3),
                "at_once_share": round(medians["at_once"] / medians["ceiling"], 3),
                "seeds_per_s": SEEDS.get(shape, {}),
                "made_s": round(made - begin, 1),
                "loaded_s": round(loaded - made, 1),
                "measured_s": round(time.perf_counter() - loaded, 1),
            }


def main() -> None:
    """Measure the networks one after another, and print each as it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=SHAPES, metavar="BLOCKSxCHANNELS")
    parser.add_argument("--device", nargs="+", default=DEVICES)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=8.0, help="of all together")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    given = parser.parse_args()

    problems = {name: get_backend(name).problem() for name in given.device}
    device = next((name for name, problem in problems.items() if problem is None), None)
    if device is None:
        parser.error("; ".join(f"{name}: {problem}" for name, problem in problems.items()))
    on_gpu = get_backend(device).on_gpu
    report: dict[str, object] = {
        "device": device,
        "card": torch.cuda.get_device_name() if on_gpu and torch.cuda.is_available() else None,
        "torch": torch.__version__,
        "networks": [],
        "left_out": [],
    }
    networks: list[dict[str, object]] = []
    left_out: list[str] = []
    begin = time.perf_counter()
    longest = 0.0
    for shape in given.shapes:
        start = time.perf_counter()
        if start - begin + longest > 60 * given.minutes:
            left_out.append(shape)
            continue
        networks.append(measure(shape, device, given.seconds, given.repeats))
        print(json.dumps(networks[-1]), file=sys.stderr, flush=True)
        longest = max(longest, time.perf_counter() - start)
    report |= {"networks": networks, "left_out": left_out, "seconds": round(time.perf_counter() - begin, 1)}
    print(json.dumps(report) if given.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
