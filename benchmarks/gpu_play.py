"""Playing on a GPU: what of each network's own best speed on the card the search keeps, from 10x192 to 40x512.

    python benchmarks/gpu_play.py [--json] [--device torch-cuda] [--shapes 10x192 20x256 40x512_lk_tf]
        [--seconds 4] [--repeats 2] [--minutes 8]

The networks have random parameters: their speed does not depend on them. Their policies are made as sharp as those of
trained networks, which the speed of the tree does depend on. Each is loaded as the engine loads it. In every repeat:

- `ceiling`: full batches without a search, in the best of several batch sizes;
- `search`: one position after another, each about a second in an empty tree, as in play;
- `at_once`: many positions at once by the analysis service.

The evaluation cache is off. Rates are positions evaluated a second, medians of the repeats; shares are of the ceiling.
`evaluations` and `playouts` have mean, median, minimum and maximum of the single searches (docs/speed.md, NPS).
The first device of `--device` that can run is taken; without it torch-cuda, cuda or cpu. A network for which the
minutes do not suffice is left out and named. The seeds' figures are NPS of dlshogi on other cards, to be read beside
it. `gpu_check.py` measures these networks too, beside all else of a card.
"""

# pyright: reportUnknownMemberType=false

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from fukayomi.engine import AnalysisQuery, AnalysisService, Network
from fukayomi.engine.evaluators.backends.backend import get_backend
from fukayomi.engine.evaluators.protocol import Slot
from fukayomi.engine.evaluators.timing import PROBES, filled_slot, probe_positions, run_batches
from fukayomi.engine.measuring.nps import STATISTICS, NetworkSubject, Rate, compare_nps
from fukayomi.learning.models import features_of
from fukayomi.nn import export_onnx
from gpu_parts import SHAPES
from random_networks import random_network

DEVICES = ("torch-cuda", "cuda", "cpu")
SEEDS = {
    "10x192": {"card": "A100, one of eight", "mean": 40_008, "median": 40_047, "minimum": 27_349, "maximum": 48_654},
    "15x224": {"card": "A100, one of eight", "mean": 36_955, "median": 37_548, "minimum": 27_462, "maximum": 43_013},
    "30x384": {"card": "RTX 4090", "mean": 19_221, "median": 19_270, "minimum": 17_920, "maximum": 20_858},
    "40x512": {"card": "RTX 4090", "mean": 8_008, "median": 7_982, "minimum": 7_596, "maximum": 9_392},
    "40x512_lk_tf": {"card": "RTX 4090", "mean": 8_766, "median": 8_764, "minimum": 8_293, "maximum": 10_140},
}  # fmt: skip
"""NPS of dlshogi, a second a position: seed 000 (WCSC31's 10 and 15 blocks), seed 004 (100 positions, four times)."""
POSITIONS = probe_positions()[len(PROBES) :]
"""Those of a game."""
LARGEST_BATCH = 1024
TUNING_S = 0.3
LOGIT_DEVIATION = 1.5
SHARPENED = 8
"""Positions on which the deviation of the logits is set."""
SEARCH_S = 1.0
LEAST_SEARCHES = 3
ROUNDS = 4
"""Positions of the service for each that it searches at once."""


def make_network(shape: str, folder: Path) -> Path:
    """An ONNX file of a network with random parameters, as users have them."""
    network = random_network(shape)
    with torch.inference_mode():
        logits, _ = network(*(torch.from_numpy(planes) for planes in features_of(POSITIONS[:SHARPENED])))
        network.policy.conv.weight *= LOGIT_DEVIATION / float(logits.std())
    path = folder / f"random-{shape}.onnx"
    export_onnx(network, path)
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


def search_rates(network: Network, seconds: float) -> tuple[Rate, ...]:
    """Evaluations and playouts a second of searches of one position after another."""
    count = max(LEAST_SEARCHES, min(len(POSITIONS), round(seconds / SEARCH_S)))
    positions = [POSITIONS[(2 * n + 1) * len(POSITIONS) // (2 * count)] for n in range(count)]
    return compare_nps([NetworkSubject("search", network)], positions, seconds=seconds / count).rates


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


def measure(shape: str, device: str, seconds: float, repeats: int) -> dict[str, Any]:
    """All figures of one network."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = make_network(shape, Path(folder))
        made = time.perf_counter()
        with Network(path, device=device, cache_mb=0) as network:
            ceiling = Ceiling(network)
            loaded = time.perf_counter()
            alone: list[float] = []
            at_once: list[float] = []
            searches: dict[str, list[float]] = {"evaluations": [], "playouts": []}
            for _ in range(repeats):
                alone.append(ceiling.rate(seconds))
                for rate in search_rates(network, seconds):
                    searches.get(rate.counted, []).extend(rate.values)
                at_once.append(service_rate(network, alone[-1], seconds))
            best, together = statistics.median(alone), statistics.median(at_once)
            rates = [Rate(shape, counted, tuple(values)) for counted, values in searches.items()]
            return {
                "network": shape,
                "identity": network.identity,
                "batch_size": network.evaluator.batch_size,
                "slots": network.evaluator.slots,
                "ceiling_batch_size": ceiling.batch_size,
                "ceiling_per_s": round(best),
                "search_per_s": round(rates[0].median),
                "at_once_per_s": round(together),
                "search_share": round(rates[0].median / best, 3),
                "at_once_share": round(together / best, 3),
                "searches": len(rates[0].values),
                **{rate.counted: {name: round(getattr(rate, name)) for name in STATISTICS} for rate in rates},
                "seeds": SEEDS.get(shape),
                "made_s": round(made - begin, 1),
                "loaded_s": round(loaded - made, 1),
                "measured_s": round(time.perf_counter() - loaded, 1),
            }


def main() -> None:
    """Measure the networks one after another, and print each as it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=SHAPES, metavar="BLOCKSxCHANNELS", help="_lk_tf may follow")
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
    networks: list[dict[str, Any]] = []
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
