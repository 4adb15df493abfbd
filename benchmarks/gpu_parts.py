"""The parts of `gpu_check.py`. Each measures one thing of a card, and gives its figures as they are known.

`gpu_check.py` runs each in a process of its own, so that a part that hangs or dies costs nothing else. A part takes a
`Job` as JSON on stdin and prints rows on stdout, one JSON object a line. A row has a name; one with a `problem` has not
been measured. `left_out` names what there was no time for.
"""

# pyright: reportUnknownMemberType=false

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fukayomi.engine.evaluators.backends.backend import BACKENDS, get_backend, versions

Row = dict[str, Any]
ROOT = Path(__file__).resolve().parent.parent
TEST_FILE = "tests/engine/test_gpu.py"
TEST_LINE = re.compile(r"^\S+::(\S+) (PASSED|FAILED|SKIPPED|ERROR)\b(?: \((.*)\))?")
NO_TESTS = 5
"""What pytest exits with where none was left to run."""
SHAPES = (
    "10x192", "20x256", "20x256_lk_tf", "40x512_lk_tf", "30x384", "10x192_lk_tf", "15x224", "40x512", "15x224_lk_tf",
    "30x384_lk_tf",
)  # fmt: skip
"""Networks to measure, unless others are named: of each size and kind one, then the rest. A card in a session of some
minutes has time for four or five."""
REPEATS = 2
ROUNDS = 3
LEAST_S = 1.0
"""Least time of a measurement that tells something; unless `Job.longest_s` is less."""
GPU_GAMES, CPU_GAMES = 1024, 16
"""Games of self-play at once."""
PLAYOUTS = 800
MOST_SEARCHES = 12
"""Positions that are searched with each number of devices."""
CPU_TRAINING_GAMES = 20
"""Random games to train on with a CPU; a GPU has those of `training.py`."""
EXPORTED = "network.onnx"
ENDLESS = 10_000_000
"""Steps of a run whose speed is not known yet."""
CHUNKS = 4
"""Evaluations of a training, after equal shares of its time."""
SET_ASIDE_S = 30.0
"""Time for the last of them and its export."""


@dataclass(frozen=True)
class Job:
    """What a part is to do."""

    device: str
    """Value of DNN_Provider."""
    seconds: float
    """Time of the part."""
    longest_s: float
    """Most seconds of a single measurement."""
    shapes: list[str]
    """Networks by blocks, channels and modifiers: 10x192, 40x512_lk_tf."""
    positions: int
    """Positions on which backends are compared."""
    train: list[str]
    """Training data."""
    test: list[str]
    """Test set of the training."""
    network: str
    """Network to train, by its name."""
    select: str
    """Which tests, as pytest's -k; empty: all."""
    out: str
    """Folder of the results."""
    work: str
    """Folder of the training run."""
    rows: dict[str, Row]
    """Rows of an earlier call, by name."""

    @property
    def on_gpu(self) -> bool:
        """True if the device is a GPU."""
        return get_backend(self.device).on_gpu

    @property
    def plain(self) -> list[str]:
        """Those networks that have neither large kernels nor a Transformer block."""
        return [shape for shape in self.shapes if "_" not in shape]


class Clock:
    """The time of a part, shared out among what is left to measure."""

    def __init__(self, seconds: float) -> None:
        self._end = time.perf_counter() + seconds
        self._overhead = 0.0

    @property
    def left(self) -> float:
        """Seconds left."""
        return self._end - time.perf_counter()

    def share(self, count: int, measurements: int, longest_s: float) -> float | None:
        """Seconds for each of so many measurements of the first of `count` things; None: there is no time for it.

        The time that the last thing took besides is set aside.
        """
        least_s = min(LEAST_S, longest_s)
        if self.left < self._overhead + measurements * least_s:
            return None
        each = self.left / count
        measured = (each - self._overhead) if self._overhead else each / 2
        return max(least_s, min(longest_s, measured / measurements))

    def note(self, seconds: float, measured: float) -> None:
        """A thing took so many seconds, of which it was measured for some."""
        self._overhead = max(0.0, seconds - measured)


def missing_rows(job: Job, names: list[str]) -> list[str]:
    """The names that an earlier call has not measured."""
    return [name for name in names if name not in job.rows or "problem" in job.rows[name]]


def one_by_one(job: Job, clock: Clock, names: list[str], measurements: int, measure: Any) -> Iterator[Row]:
    """The rows of `measure(name, seconds)` for each name, as long as there is time."""
    left = missing_rows(job, names)
    for number, name in enumerate(left):
        yield {"left_out": left[number:]}
        seconds = clock.share(len(left) - number, measurements, job.longest_s)
        if seconds is None:
            return
        start = time.perf_counter()
        try:
            row = measure(name, seconds)
        except (Exception, SystemExit) as error:  # of any library: the others are measured all the same
            row = {"problem": f"{type(error).__name__}: {error}"}
        spent = time.perf_counter() - start
        clock.note(spent, measurements * seconds)
        yield {"name": name, **row, "seconds": round(spent, 1)}
    yield {"left_out": []}


# ------------------------------------------------------------------------------------------------- the machine


def machine(job: Job, clock: Clock) -> Iterator[Row]:
    """The card, the driver, the libraries, and each backend with what it lacks."""
    from fukayomi.engine.evaluators.backends.machine import this_machine

    found = this_machine()
    backends = [get_backend(name) for name in BACKENDS]
    row: Row = {
        "name": "machine",
        "cards": _nvidia_smi("name", "memory.total", "driver_version") or list(found.gpus),
        "cpu": found.cpu,
        "cpus": found.cpus,
        "cpu_class": found.cpu_class,
        "python": ".".join(map(str, sys.version_info[:3])),
        "libraries": versions(sorted({library for backend in backends for library in backend.libraries})),
        "commit": _commit(),
        "backends": [
            {"name": each.name, "title": each.title, "on_gpu": each.on_gpu, "problem": each.problem()}
            for each in backends
        ],
    }
    try:
        import torch

        gpus = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
        row["torch"] = {
            "version": torch.__version__, "cuda": torch.version.cuda, "hip": torch.version.hip, "gpus": gpus
        }  # fmt: skip
    except (ImportError, OSError) as error:
        row["torch"] = {"problem": str(error)}
    yield row


def _nvidia_smi(*fields: str) -> list[str]:
    lines = _said("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader").splitlines()
    return [line.strip() for line in lines if line.strip()]


def _commit() -> str | None:
    """The commit of the checkout; None where there is none."""
    return _said("git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=8") or None


def _said(*command: str) -> str:
    """What a program prints; "" if it is not there, fails or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


# --------------------------------------------------------------------------------------------------- the tests


def tests(job: Job, clock: Clock) -> Iterator[Row]:
    """The tests that need a GPU, on this device and then on others that are GPUs, but for those that have passed."""
    others = [name for name in BACKENDS if get_backend(name).on_gpu and get_backend(name).problem() is None]
    on_gpu = " ".join(dict.fromkeys([job.device, *others]))
    command = [sys.executable, "-m", "pytest", "-v", "-m", "gpu", "-W", "default", "-p", "no:cacheprovider"]
    command += ["-k", job.select] if job.select else []
    passed = [name for name, row in job.rows.items() if row.get("outcome") == "passed"]
    command += [f"--deselect={TEST_FILE}::{name}" for name in passed]
    environment = {**os.environ, "FUKAYOMI_GPU_TESTS": on_gpu, "PYTHONUNBUFFERED": "1", "COLUMNS": "300"}
    left = done = 0
    with subprocess.Popen(
        [*command, TEST_FILE], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", file=sys.stderr, flush=True)
            if line.startswith("collecting"):
                left = int(re.findall(r"(\d+) (?:items?|selected)", line)[-1])
            found = TEST_LINE.match(line)
            if found is None:
                continue
            name, outcome, reason = found[1], found[2].lower(), found[3]
            done += 1
            row: Row = {"name": name, "outcome": outcome} | ({"reason": reason} if reason else {})
            yield row | ({"problem": "see the log"} if outcome in ("failed", "error") else {})
            yield {"left_out": [f"{left - done} tests"] if done < left else []}
    if process.returncode not in (0, 1) and not (process.returncode == NO_TESTS and passed):
        sys.exit(f"pytest ended with {process.returncode} after {done} tests")


# ------------------------------------------------------------------------------------------------- agreement


def agreement(job: Job, clock: Clock) -> Iterator[Row]:
    """The embedded network in every backend and precision beside ONNX Runtime's fp32."""
    from fukayomi.engine import Network
    from fukayomi.engine.evaluation import compare, evaluate, sample_positions
    from fukayomi.engine.evaluators.backends.network_file import NetworkFile
    from fukayomi.engine.network import embedded_network

    onnx = embedded_network()
    with Network(onnx, device="native", precision="fp32", cache_mb=0) as network:
        positions = sample_positions(network.evaluator, job.positions)
    with Network(onnx, device="cpu", precision="fp32", batch_size=32, cache_mb=0) as network:
        reference = evaluate(network.evaluator, positions)
    with tempfile.TemporaryDirectory() as folder:
        parameters = Path(folder) / "embedded.safetensors"
        devices = sorted(BACKENDS, key=lambda name: (name != job.device, not get_backend(name).on_gpu))
        files: dict[str, Path] = {}
        for device in (device for device in devices if get_backend(device).problem() is None):
            path = onnx
            if not get_backend(device).precisions(NetworkFile(onnx)):
                if not parameters.exists():
                    from fukayomi.learning import export_network

                    export_network(onnx, parameters)
                path = parameters
            files |= {f"{device} {precision}": path for precision in get_backend(device).precisions(NetworkFile(path))}

        def measure(name: str, _: float) -> Row:
            device, precision = name.split()
            with Network(files[name], device=device, precision=precision, batch_size=64, cache_mb=0) as network:
                return compare(network.evaluator, reference, positions).as_dict()

        yield from one_by_one(job, clock, list(files), 1, measure)


# ---------------------------------------------------------------------------------------------------- speeds


def play(job: Job, clock: Clock) -> Iterator[Row]:
    """`gpu_play.py`."""
    import gpu_play

    def measure(shape: str, seconds: float) -> Row:
        return gpu_play.measure(shape, job.device, seconds, REPEATS)

    yield from one_by_one(job, clock, job.shapes, 3 * REPEATS, measure)


def training(job: Job, clock: Clock) -> Iterator[Row]:
    """`training.py`: positions a second, and the share of the peak of a product of matrices."""
    import torch

    import training
    from fukayomi.learning import Dataset
    from fukayomi.learning.devices import choose_precision
    from random_games import write_random_games

    device = _torch_device(job)
    threads = torch.get_num_threads()
    dtype = torch.bfloat16 if choose_precision("auto", device) == "bf16" else torch.float32
    peak = training.measure_peak(device, dtype, threads)
    yield {"name": "peak", "dtype": str(dtype).removeprefix("torch."), "tflops": round(peak / 1e12, 3)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "random.hcpe3"
        if not job.train:
            write_random_games(path, training.GAMES if job.on_gpu else CPU_TRAINING_GAMES)
        data = Dataset(*(job.train or [path]))
        if missing_rows(job, ["loader"]):
            yield {"name": "loader", **training.measure_loader(data, min(job.longest_s, 0.05 * job.seconds))}
        batch = training.GPU_BATCH if job.on_gpu else training.CPU_BATCH

        def measure(shape: str, seconds: float) -> Row:
            given: dict[str, Any] = {"threads": threads, "turn_s": seconds, "rounds": ROUNDS, "peak": peak}
            return training.measure_fitting(shape, data, device, batch=batch, **given)

        yield from one_by_one(job, clock, job.shapes, 2 * ROUNDS, measure)


def _torch_device(job: Job) -> Any:
    """The device on which torch trains beside the one that plays."""
    from fukayomi.learning.devices import choose_device

    return choose_device("cuda" if job.on_gpu else "cpu")


def selfplay(job: Job, clock: Clock) -> Iterator[Row]:
    """`selfplay.py` with 800 playouts a move."""
    import gpu_play
    import selfplay
    from fukayomi.engine import Network

    games = GPU_GAMES if job.on_gpu else CPU_GAMES

    def measure(shape: str, seconds: float) -> Row:
        with tempfile.TemporaryDirectory() as folder:
            path = gpu_play.make_network(shape, Path(folder))
            with Network(path, device=job.device, cache_mb=0) as network:
                return selfplay.measure(network, games, PLAYOUTS, seconds, REPEATS)

    yield from one_by_one(job, clock, job.plain, 1 + 2 * REPEATS, measure)


def devices(job: Job, clock: Clock) -> Iterator[Row]:
    """`fukayomi bench nps --devices`: searches on one, two, ... and all GPUs; on a CPU, on its halves."""
    import torch

    import gpu_play
    from fukayomi.engine import Network
    from fukayomi.engine.measuring.nps import EVALUATIONS, compare_nps, device_subjects

    count = torch.cuda.device_count() if job.on_gpu else 2
    if count < 2:
        yield {"name": "devices", "note": "there is one GPU"}
        return
    shape = job.plain[min(1, len(job.plain) - 1)]
    with tempfile.TemporaryDirectory() as folder:
        path = gpu_play.make_network(shape, Path(folder))
        with Network([path] * count, device=job.device, cache_mb=0) as network:
            subjects = device_subjects(shape, network)
            each = clock.left / 2 / count
            searches = max(2, min(MOST_SEARCHES, round(each / gpu_play.SEARCH_S)))
            seconds, positions = min(job.longest_s, each / searches), gpu_play.POSITIONS[:searches]
            comparison = compare_nps(subjects, positions, seconds=seconds)
    shares = {row["name"]: row["median"] for row in comparison.ratios([subjects[0].name])}
    for row in comparison.rows():
        if row["counted"] == EVALUATIONS:
            yield {**row, "ratio_to_one": round(shares.get(row["name"], 1.0), 3)}


# -------------------------------------------------------------------------------------------------- a network


def train(job: Job, clock: Clock) -> Iterator[Row]:
    """A network trained as by `fukayomi train`, the best so far in a file; each call goes on where the last one was."""
    from fukayomi.learning import Dataset, TrainingSettings, evaluate, export_network
    from fukayomi.learning import train as run_training

    run, exported = Path(job.work) / "run", Path(job.out) / EXPORTED
    data, test, device = Dataset(*job.train), Dataset(*job.test), _torch_device(job)
    end_s = min(SET_ASIDE_S, 0.25 * job.seconds)
    chunk_s = (clock.left - end_s) / CHUNKS
    settings = TrainingSettings(
        batch=min(4096 if job.on_gpu else 256, len(data)), optimizer="muon", lr=0.01, weight_decay=0.02, warmup=200
    )
    begun = (run / "checkpoint.pt").exists()
    if not begun:
        shutil.rmtree(run, ignore_errors=True)  # killed before its first checkpoint: there is nothing to go on from
    yield {"left_out": ["a network"]}
    best = job.rows.get("best", {}).get("total_loss", float("inf")) if begun and exported.exists() else float("inf")
    step, rate, between_s, finished = 0, 0.0, 0.0, False
    while (left := clock.left - end_s) > 0 and not finished:
        # The learning rate is to reach 0 at the end: once the speed is known, the steps are what there is time for.
        training_s = left - between_s * (left // (chunk_s + between_s))
        steps = step + max(1, round(rate * training_s)) if rate else ENDLESS
        stop = _stop_after(min(chunk_s, left))
        result = run_training(
            job.network, data, run, settings=settings.model_copy(update={"steps": steps}), device=device,
            checkpoint_interval=ENDLESS, resume=begun, listener=stop,
        )  # fmt: skip
        trained = time.perf_counter()
        begun, step, rate, finished = True, result.step, stop.rate, result.finished
        metrics = evaluate(result.checkpoint, test, sample=10_000, device=device).as_dict()
        row: Row = {**metrics, "step": step, "trained": step * settings.batch, "steps_per_s": round(rate, 2)}
        yield {"name": f"step {step}", **row}
        yield {"left_out": []}
        if metrics["total_loss"] < best:
            best = metrics["total_loss"]
            export_network(result.checkpoint, exported, half=True)
            yield {"name": "best", **row, "network": job.network, "file": EXPORTED, "bytes": exported.stat().st_size}
        between_s = time.perf_counter() - trained


def _stop_after(seconds: float) -> Any:
    """A listener that ends a run after a time, as SIGTERM does: with a checkpoint."""
    from fukayomi.learning import TrainingListener
    from fukayomi.learning.listeners import RunStart, TrainingStep

    class Stop(TrainingListener):
        rate = 0.0
        """Steps a second, of the latter half of them."""

        def started(self, run: RunStart) -> None:
            self._end = time.perf_counter() + seconds
            self._times = [time.perf_counter()]

        def step(self, step: TrainingStep) -> None:
            step.losses.total.item()  # waits for the device
            self._times.append(time.perf_counter())
            half = len(self._times) // 2
            if len(self._times) > 2:
                self.rate = (len(self._times) - 1 - half) / max(1e-9, self._times[-1] - self._times[half])
            if self._times[-1] >= self._end:
                signal.raise_signal(signal.SIGTERM)

    return Stop()


# --------------------------------------------------------------------------------------------------- a process

PARTS = (machine, tests, agreement, play, training, selfplay, devices, train)


def _end_with(parent: int) -> None:
    """End this process when the one that started it has ended."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def main() -> None:
    """Run the part that is named, with the job on stdin."""
    part = next(part for part in PARTS if part.__name__ == sys.argv[1])
    given = json.loads(sys.stdin.read())
    threading.Thread(target=partial(_end_with, given.pop("parent")), daemon=True).start()
    rows = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print goes to the log
    job = Job(**given)
    for row in part(job, Clock(job.seconds)):
        print(json.dumps(row), file=rows, flush=True)
    sys.stderr.flush()
    os._exit(0)  # threads of libraries that are left would abort the process when they want to go back to Python


if __name__ == "__main__":
    main()
