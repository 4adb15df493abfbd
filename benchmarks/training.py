"""Training: the loader alone, what `train` adds to a bare loop in torch, and the speed of networks, on a CPU or a GPU.

    python benchmarks/training.py [--json] [--device auto] [--networks 20x256 resnet20x256_swish_lk_tf] [--batch N]
        [--threads N] [--seconds 8] [--rounds 5] [--minutes 8] [FILE.hcpe3]

- `loader`: batches from random places of the file, as floats, into a network that only looks at them: positions a
  second on two cores, and per CPU-second of all threads. `times_20000` is that speed over 20 000 positions a second.
- For each network, steps of `train` with its loader, its guard and its logs, and steps of a bare loop: the same
  network, loss, clipping and optimiser in plain torch, on floats that are on the device already. The two take turns in
  one process; every turn takes about a second, or one step. `ratio_to_bare_loop` is the time of a step of `train` over
  that of the bare loop, the median of the rounds; `ratio_to_bare_loop_cpu` is the same in CPU-seconds of the process,
  which say more on a busy computer without a GPU. First both compute the loss of the same batch, which must agree.
- A sparse network, such as sparse-384x384, is trained alone, in batches of --sparse-batch, on one thread of a CPU: its
  layers are native, so there is no bare loop. `positions_per_cpu_s` is the median of the rounds, with the loader and
  the reading of rows and moves; `times_15000` is that over 15 000.
- `share_of_peak`: operations of convolutions and matrix products, counted by torch, over those of a large product of
  matrices in the same type, which is measured before and is the peak of the device. On a CPU both are per CPU-second.

Without --networks: sparse-384x384; 10x192, 20x256 and 40x512 with SiLU, each plain, with large kernels, and with large
kernels and a Transformer block. They have random parameters: their speed does not depend on them. A batch that does not
fit into a GPU is halved. A network for which the minutes do not suffice is left out and named. Without a file, the
games are random moves.
"""

# pyright: reportUnknownMemberType=false

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, nullcontext, suppress
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - the usual name
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from fukayomi import fan_out
from fukayomi.learning import (
    Batch,
    Dataset,
    JsonLinesListener,
    TensorBoardListener,
    TrainingListener,
    TrainingSettings,
    train,
)
from fukayomi.learning.data.batch import training_batches
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.devices import choose_device, choose_precision, use_threads
from fukayomi.learning.listeners import RunStart, TrainingStep
from fukayomi.learning.settings import PRESETS
from fukayomi.nn import NetworkConfig, PolicyValueNetwork
from fukayomi.nn.sparse_config import SparseConfig
from random_games import write_random_games

TOWERS = [f"resnet{shape}_swish{kind}" for shape in ("10x192", "20x256", "40x512") for kind in ("", "_lk", "_lk_tf")]
NETWORKS = ["sparse-384x384", *TOWERS]
GPU_BATCH, CPU_BATCH, SPARSE_BATCH = 4096, 32, 8192
SPARSE_AIM = 15_000
"""Positions a CPU-second of the training of a sparse network."""
LOADER_BATCH = 1024
AIM = 20_000
"""Positions a second of the loader."""
LOADER_CORES = 2
BARE_BATCHES = 4
"""Batches in memory, over which the bare loop goes round."""
WARM_UP_STEPS = 2
MANY_STEPS = 1_000_000
GAMES = 400
"""Random games; 40 000 positions."""


def shape_of(name: str) -> NetworkConfig:
    """The network of a name such as resnet20x256_swish_lk_tf; 20x256 is short for resnet20x256_swish."""
    return NetworkConfig.from_name(name if name[:1].isalpha() else f"resnet{name}_swish")


def expected_s(name: str, done: list[dict[str, Any]], rounds: int) -> float:
    """Seconds that a network will take, by the speed of the last one and its number of parameters; 0 for a sparse one,
    which never takes long."""
    towers = [figures for figures in done if "positions_per_s" in figures]
    if not towers or name.startswith("sparse"):
        return 0.0
    last = towers[-1]
    step_s = last["batch"] / last["positions_per_s"]
    growth = shape_of(name).parameters() / shape_of(last["network"]).parameters()
    return max(last["seconds"], 2 * (WARM_UP_STEPS + 1 + rounds) * step_s * growth)


def synchronize(device: torch.device) -> None:
    """Wait for a GPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class Clock(NamedTuple):
    """A moment."""

    wall: float
    """Seconds."""
    cpu: float
    """CPU-seconds of all threads of the process."""

    @classmethod
    def now(cls, device: torch.device) -> "Clock":
        """After what the device has to do."""
        synchronize(device)
        return cls(time.perf_counter(), time.process_time())

    def since(self, start: "Clock") -> "Clock":
        """From a start to this moment."""
        return Clock(self.wall - start.wall, self.cpu - start.cpu)


# The loader alone


@contextmanager
def some_cores(count: int) -> Generator[None]:
    """Let new threads, and this one, run on so many cores."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def measure_loader(data: Dataset, seconds: float) -> dict[str, object]:
    """Positions a second that reach a network which only looks at them."""
    size = min(LOADER_BATCH, len(data))
    cpu = torch.device("cpu")
    looks = nn.Linear(119, 1)
    positions = 0
    endless = training_batches(data, size, seed=0, start=0, stop=MANY_STEPS)
    with some_cores(LOADER_CORES), use_threads(1), closing(endless) as batches:
        next(batches)  # waits for the loader's thread to start
        start = Clock.now(cpu)
        for batch in batches:
            features = TensorBatch.of(batch, cpu).features()
            seen = torch.cat([planes.mean(dim=(2, 3)) for planes in features], dim=1)
            loss = F.binary_cross_entropy_with_logits(looks(seen).squeeze(1), torch.from_numpy(batch.results))
            loss.backward()
            positions += size
            if Clock.now(cpu).since(start).wall >= seconds:
                break
        spent = Clock.now(cpu).since(start)
    return {
        "cores": LOADER_CORES,
        "batch": size,
        "positions_per_s": round(positions / spent.wall),
        "positions_per_cpu_s": round(positions / spent.cpu),
        "times_20000": round(positions / spent.wall / AIM, 2),
        "times_20000_per_cpu_s": round(positions / spent.cpu / AIM, 2),
    }


# `train` and a bare loop


class BareLoop:
    """What the fewest lines of torch do for the same training, on batches in memory."""

    def __init__(self, config: NetworkConfig, settings: TrainingSettings, data: Dataset, device: torch.device) -> None:
        torch.manual_seed(settings.seed)  # as `train` does, so that the first losses are equal
        self.network = PolicyValueNetwork(config).to(device).train()
        parameters = list(self.network.parameters())
        groups = [
            {"params": [p for p in parameters if p.ndim > 1], "weight_decay": settings.weight_decay},
            {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
        ]
        self._optimizer = torch.optim.SGD(groups, lr=settings.lr / 1000, momentum=0.9, nesterov=True)
        self._settings, self._device = settings, device
        self._is_mixed = choose_precision(settings.amp, device) == "bf16"
        with closing(training_batches(data, settings.batch, seed=settings.seed, start=0, stop=BARE_BATCHES)) as some:
            self._batches = cycle([self._in_memory(batch) for batch in some])
        self.first_loss: float | None = None

    def _in_memory(self, batch: Batch) -> tuple[Tensor, ...]:
        features = TensorBatch.of(batch, self._device).features_for(self.network)
        targets = (torch.from_numpy(array) for array in (batch.policy(), batch.results, batch.values))
        return (*features, *(target.to(self._device) for target in targets))

    def step(self) -> None:
        """One step."""
        features1, features2, policy_target, results, values = next(self._batches)
        with torch.autocast(self._device.type, torch.bfloat16) if self._is_mixed else nullcontext():
            policy, value = self.network(features1, features2)
        logits = value.float().squeeze(1)
        share = self._settings.val_lambda
        loss = F.cross_entropy(policy.float(), policy_target) + torch.lerp(
            F.binary_cross_entropy_with_logits(logits, results),
            F.binary_cross_entropy_with_logits(logits, values),
            share,
        )
        self._optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), self._settings.clip)
        self._optimizer.step()
        if self.first_loss is None:
            self.first_loss = loss.item()

    def operations(self) -> float:
        """Floating point operations of convolutions and matrix products of a step, for each position."""
        features1, features2, *_ = next(self._batches)
        counter = FlopCounterMode(display=False)
        with counter:
            policy, value = self.network(features1[:2], features2[:2])
            (policy.sum() + value.sum()).backward()
        self._optimizer.zero_grad()
        return counter.get_total_flops() / len(features1[:2])


class Enough(Exception):  # noqa: N818 - no error
    """Ends the run when everything is measured."""


class Alternation(TrainingListener):
    """Lets the bare loop take turns with the run that it follows, and times both."""

    def __init__(self, bare: BareLoop, device: torch.device, turn_s: float, rounds: int) -> None:
        self._bare, self._device, self._turn_s, self._rounds = bare, device, turn_s, rounds
        self._begin = Clock(0, 0)
        self.steps_a_turn = 0
        self.ours: list[Clock] = []
        self.theirs: list[Clock] = []
        self.first_loss = 0.0

    def started(self, run: RunStart) -> None:
        """The first steps warm everything up."""
        self._begin = Clock.now(self._device)

    def step(self, step: TrainingStep) -> None:
        """After the last step of a turn the bare loop takes its own."""
        if step.step == 1:
            self.first_loss = step.losses.total.item()
            self._turn_of_bare(1)
        if step.step < WARM_UP_STEPS:
            self._begin = Clock.now(self._device)
        elif self.steps_a_turn == 0:
            spent = self._turn_of_bare(1)
            self.steps_a_turn = max(1, round(self._turn_s / spent.wall))
            self._begin = Clock.now(self._device)
        elif (step.step - WARM_UP_STEPS) % self.steps_a_turn == 0:
            self.ours.append(Clock.now(self._device).since(self._begin))
            self.theirs.append(self._turn_of_bare(self.steps_a_turn))
            if len(self.ours) == self._rounds:
                raise Enough
            self._begin = Clock.now(self._device)

    def _turn_of_bare(self, steps: int) -> Clock:
        start = Clock.now(self._device)
        for _ in range(steps):
            self._bare.step()
        return Clock.now(self._device).since(start)


def measure_network(
    name: str, data: Dataset, device: torch.device, *, batch: int, threads: int, turn_s: float, rounds: int, peak: float
) -> dict[str, object]:
    """All figures of one network."""
    settings = TrainingSettings(steps=MANY_STEPS, batch=min(batch, len(data)))
    config = shape_of(name)
    with use_threads(threads), tempfile.TemporaryDirectory() as folder:
        bare = BareLoop(config, settings, data, device)
        turns = Alternation(bare, device, turn_s, rounds)
        listeners = fan_out(TensorBoardListener(), JsonLinesListener(), turns)
        with suppress(Enough):
            train(config, data, folder, settings=settings, device=device, threads=threads, listener=listeners)
        compare(name, turns.first_loss, bare.first_loss)
        operations = bare.operations()

    def median(of: Callable[[Clock, Clock], float]) -> float:
        return statistics.median(map(of, turns.ours, turns.theirs))

    positions = settings.batch * turns.steps_a_turn
    rate = median(lambda ours, _: positions / ours.wall)
    cpu_rate = median(lambda ours, _: positions / ours.cpu)
    return {
        "network": name,
        "batch": settings.batch,
        "steps_a_turn": turns.steps_a_turn,
        "positions_per_s": round(rate, 1),
        "bare_positions_per_s": round(median(lambda _, theirs: positions / theirs.wall), 1),
        "positions_per_cpu_s": round(cpu_rate, 1),
        "ratio_to_bare_loop": round(median(lambda ours, theirs: ours.wall / theirs.wall), 3),
        "ratio_to_bare_loop_cpu": round(median(lambda ours, theirs: ours.cpu / theirs.cpu), 3),
        "ratios": [round(o.wall / t.wall, 3) for o, t in zip(turns.ours, turns.theirs, strict=True)],
        "ratios_cpu": [round(o.cpu / t.cpu, 3) for o, t in zip(turns.ours, turns.theirs, strict=True)],
        "gflop_per_position": round(operations / 1e9, 2),
        "share_of_peak": round((rate if device.type == "cuda" else cpu_rate) * operations / peak, 3),
    }


def measure_fitting(name: str, data: Dataset, device: torch.device, *, batch: int, **given: Any) -> dict[str, object]:
    """The same, with half the batch as long as it does not fit into a GPU."""
    while True:
        try:
            return measure_network(name, data, device, batch=batch, **given)
        except torch.cuda.OutOfMemoryError:
            if batch == 1:
                raise
            batch //= 2
            torch.cuda.empty_cache()


class Rounds(TrainingListener):
    """Times a run, round after round."""

    def __init__(self, round_s: float, rounds: int) -> None:
        self._round_s, self._rounds = round_s, rounds
        self._begin, self._steps = Clock(0, 0), 0
        self.steps_a_cpu_s: list[float] = []

    def started(self, run: RunStart) -> None:
        """The clock of the first steps, which warm everything up, is thrown away."""
        self._begin = Clock.now(torch.device("cpu"))

    def step(self, step: TrainingStep) -> None:
        """A round ends with the first step after its time."""
        self._steps += 1
        spent = Clock.now(torch.device("cpu")).since(self._begin)
        if step.step > WARM_UP_STEPS and spent.wall < self._round_s:
            return
        if step.step > WARM_UP_STEPS:
            self.steps_a_cpu_s.append(self._steps / spent.cpu)
            if len(self.steps_a_cpu_s) == self._rounds:
                raise Enough
        self._begin, self._steps = Clock.now(torch.device("cpu")), 0


def measure_sparse(name: str, data: Dataset, *, batch: int, round_s: float, rounds: int) -> dict[str, object]:
    """Positions a CPU-second of `train` with a sparse network, on one thread."""
    preset: dict[str, Any] = PRESETS["sparse"] | {"steps": MANY_STEPS, "batch": min(batch, len(data))}
    settings = TrainingSettings(**preset)
    times = Rounds(round_s, rounds)
    with use_threads(1), tempfile.TemporaryDirectory() as folder, suppress(Enough):
        train(SparseConfig.from_name(name), data, folder, settings=settings, threads=1, listener=times)
    rates = [settings.batch * steps for steps in times.steps_a_cpu_s]
    rate = statistics.median(rates)
    return {
        "network": name,
        "batch": settings.batch,
        "threads": 1,
        "positions_per_cpu_s": round(rate),
        "times_15000": round(rate / SPARSE_AIM, 2),
        "rates": [round(each) for each in rates],
    }


def compare(name: str, ours: float, bare: float | None) -> None:
    """Exit with a message if the two loops compute different losses for the same batch and weights."""
    if bare is None or abs(ours - bare) > 0.02 * abs(bare):
        sys.exit(f"{name}: the first loss is {ours}, and {bare} in the bare loop")


def measure_peak(device: torch.device, dtype: torch.dtype, threads: int) -> float:
    """Operations a second, on a CPU a CPU-second, of a large product of square matrices: the best of several."""
    size = 8192 if device.type == "cuda" else 1024
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    best = float("inf")
    with use_threads(threads):
        for _ in range(2 + 10):
            start = Clock.now(device)
            for _ in range(8):
                torch.mm(left, right)
            spent = Clock.now(device).since(start)
            best = min(best, (spent.wall if device.type == "cuda" else spent.cpu) / 8)
    return 2 * size**3 / best


def main() -> None:
    """Measure the loader, the peak and the networks one after another, and print each as it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, help="an hcpe3 file (default: random games)")
    parser.add_argument("--networks", nargs="+", default=NETWORKS, metavar="NAME")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--batch", type=int, help=f"positions a step (default {GPU_BATCH}, on a CPU {CPU_BATCH})")
    parser.add_argument("--sparse-batch", type=int, default=SPARSE_BATCH, help="positions a step of a sparse network")
    parser.add_argument("--threads", type=int, help="CPU threads of torch (default: torch's)")
    parser.add_argument("--seconds", type=float, default=8.0, help="of the turns of each network, and of the loader")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=8.0, help="of all together")
    parser.add_argument("--games", type=int, default=GAMES, help="random games, without a file")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    given = parser.parse_args()

    begin = time.perf_counter()
    device = choose_device(given.device)
    threads = given.threads or torch.get_num_threads()
    dtype = torch.bfloat16 if choose_precision("auto", device) == "bf16" else torch.float32
    batch = given.batch or (GPU_BATCH if device.type == "cuda" else CPU_BATCH)
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder) / "random.hcpe3"
        if given.file is None:
            write_random_games(path, given.games)
        data = Dataset(path)
        loader = measure_loader(data, given.seconds / 2)
        print(json.dumps(loader), file=sys.stderr, flush=True)
        peak = measure_peak(device, dtype, threads)
        networks: list[dict[str, object]] = []
        left_out: list[str] = []
        turn_s = given.seconds / 2 / given.rounds
        for name in given.networks:
            start = time.perf_counter()
            if start - begin + expected_s(name, networks, given.rounds) > 60 * given.minutes:
                left_out.append(name)
                continue
            if name.startswith("sparse"):
                figures = measure_sparse(name, data, batch=given.sparse_batch, round_s=2 * turn_s, rounds=given.rounds)
            else:
                figures = measure_fitting(
                    name, data, device, batch=batch, threads=threads, turn_s=turn_s, rounds=given.rounds, peak=peak
                )
            networks.append(figures | {"seconds": round(time.perf_counter() - start, 1)})
            print(json.dumps(networks[-1]), file=sys.stderr, flush=True)
    report = {
        "device": str(device),
        "card": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        "torch": torch.__version__,
        "threads": threads,
        "dtype": str(dtype).removeprefix("torch."),
        "peak_tflops": round(peak / 1e12, 3),
        "loader": loader,
        "networks": networks,
        "left_out": left_out,
        "seconds": round(time.perf_counter() - begin, 1),
    }
    print(json.dumps(report) if given.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
