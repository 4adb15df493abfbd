"""Jobs of studies/learning_tables.py: runs of training, comparisons on test sets, matches of a network with itself.

Each is a `Job`: a function of this module and its arguments. Its result is a JSON file in the folder of the study,
named after a hash of both, so a job is done once, whichever tables want it.
"""

import hashlib
import json
import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from match_parts import MEMORY_MB, settings_of
from work_folder import StoppedError

from fukayomi.arena import count_strategies, play_match
from fukayomi.arena.results.diversity import measure_diversity
from fukayomi.arena.results.first_move import first_move
from fukayomi.arena.strategy.counts import NO_STRATEGY
from fukayomi.engine import Engine, Network, measure_speed
from fukayomi.files.atomic import replace_file
from fukayomi.learning import Dataset, TrainingListener, TrainingSettings, evaluate_networks, load_model, train
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.devices import use_threads
from fukayomi.learning.listeners import RunStart, TrainingStep
from fukayomi.nn import NetworkConfig, PolicyValueNetwork, export_onnx
from fukayomi.shogi import Position

CHECKPOINTS = 10
"""Checkpoints of a run: a killed run loses at most a tenth."""
MATCH_BATCH = 8
"""Positions per batch in matches."""
MOST_PLIES = 320
"""Longer games are draws."""

_STOPPED = threading.Event()
"""In a process of the pool: Ctrl-C ended its job, and those that the pool has handed to it already must not begin."""

Found = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A network and what it learns from."""

    network: NetworkConfig
    settings: TrainingSettings
    data: str
    """Name of a file in the folder of the study's data."""
    temperature: float = 1.0
    """Of policies in hcpe3 and avg; 0 takes the best move alone."""

    def seeded(self, seed: int) -> "Run":
        """The same with another seed."""
        return replace(self, settings=self.settings.changed(seed=seed))


@dataclass(frozen=True)
class Job:
    """A piece of work that is done once."""

    name: str
    """For the line of progress."""
    work: Callable[..., Found]
    """A function of this module: its first argument is the folder of the study."""
    arguments: tuple[Any, ...]

    def key(self) -> str:
        """A hash of the work and its arguments."""
        return key_of(self.work.__name__, *self.arguments)


def key_of(*values: object) -> str:
    """A short hash of values that print all that they are."""
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]


def do(folder: Path, jobs: Sequence[Job], pool: ProcessPoolExecutor) -> list[Found]:
    """The results of jobs, in their order; those that are missing are computed.

    Args:
        folder: The folder of the study.
        jobs: What to do; the same job may appear several times.
        pool: Processes that work.

    Raises:
        StoppedError: The user stopped a run of training.
    """
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    files = {job.key(): results / f"{job.key()}.json" for job in jobs}
    missing = {job.key(): job for job in jobs if not files[job.key()].exists()}
    begun = {pool.submit(_work, job, folder, files[key]): job for key, job in missing.items()}
    for number, future in enumerate(as_completed(begun), 1):
        future.result()
        print(f"{begun[future].name} ({number} of {len(begun)})", file=sys.stderr, flush=True)
    return [json.loads(files[job.key()].read_text("utf-8")) for job in jobs]


def _work(job: Job, folder: Path, file: Path) -> None:
    if _STOPPED.is_set():
        raise StoppedError
    try:
        found = job.work(folder, *job.arguments)
    except (KeyboardInterrupt, StoppedError):
        _STOPPED.set()
        raise
    replace_file(file, json.dumps({"job": job.name, **found}, indent=1).encode())


class StepTimer(TrainingListener):
    """How long steps take, and what comes after the last: averaged weights need BatchNorm statistics.

    Args:
        clock: Seconds; CPU-seconds of this process are nearly the same on a busy machine.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._begin = self._last = 0.0
        self._first = self._done = self._steps = 0

    def started(self, run: RunStart) -> None:
        """See `TrainingListener`."""
        self._begin, self._first, self._steps = self._clock(), run.step, run.steps

    def step(self, step: TrainingStep) -> None:
        """See `TrainingListener`."""
        self._last, self._done = self._clock(), step.step

    def seconds(self) -> float:
        """Seconds of the whole run, of which a part may have been before it was resumed."""
        share = (self._done - self._first) / self._steps
        return (self._last - self._begin) / share + self._clock() - self._last


def train_run(folder: Path, run: Run, device: str) -> Found:
    """Train a network, or go on.

    Returns:
        CPU-seconds, or seconds on a GPU.
    """
    out = folder / "runs" / key_of(run)
    checkpoint = out / "checkpoint.pt"
    timer = StepTimer(time.process_time if device == "cpu" else time.perf_counter)
    steps = run.settings.total_steps(0)
    resume = checkpoint.exists()
    if resume and load_checkpoint(checkpoint).step == steps:  # killed before it told its time
        shutil.rmtree(out)
        resume = False
    result = train(
        run.network, Dataset(folder / "data" / run.data, temperature=run.temperature), out, settings=run.settings,
        device=device, threads=1 if device == "cpu" else None, checkpoint_interval=max(1, -(-steps // CHECKPOINTS)),
        resume=resume, listener=timer,
    )  # fmt: skip
    if not result.finished:
        raise StoppedError
    return {"seconds": timer.seconds()}


def compare_runs(
    folder: Path, runs: tuple[tuple[str, Run], ...], tests: tuple[tuple[str, str], ...], device: str
) -> Found:
    """Evaluate trained networks on test sets, all on the same positions; the first is what others are compared with.

    Args:
        folder: The folder of the study.
        runs: Names and runs of one seed.
        tests: Names and files of test sets.
        device: Where to compute.
    """
    with use_threads(1 if device == "cpu" else torch.get_num_threads()):
        table = evaluate_networks(
            {name: folder / "runs" / key_of(run) / "checkpoint.pt" for name, run in runs},
            {name: Dataset(folder / "data" / file) for name, file in tests},
            device=device,
        )
    return {"rows": table.rows(), "tests": [test.resampled() for test in table.tests]}


def play_itself(
    folder: Path, run: Run, games: int, nodes: int, options: tuple[tuple[str, int], ...], device: str
) -> Found:
    """Play a network against itself, from the start position.

    Args:
        folder: The folder of the study.
        run: A run that has ended.
        games: Number of games.
        nodes: Nodes per move.
        options: USI options of both sides, with which games differ.
        device: Where the network computes.

    Returns:
        Games, distinct ones and distinct positions at ply 32; wins of Black and White, draws; shares of strategies,
        without the games that have none.
    """
    key = key_of(run)
    file = folder / "runs" / key / "network.onnx"
    if not file.exists():
        network = load_model(folder / "runs" / key / "checkpoint.pt")
        assert isinstance(network, PolicyValueNetwork)
        export_onnx(network.eval(), file)
    settings = settings_of(dict(options))
    with Network(file, device=device, threads=1, batch_size=MATCH_BATCH) as network:
        engines = [Engine(network, memory_mb=MEMORY_MB, settings=settings) for _ in range(2)]
        result = play_match(
            {"one": engines[0], "two": engines[1]},
            games=games,
            clock=f"nodes={nodes}",
            folder=folder / "matches" / key_of(run, games, nodes, options),
            rules={"max_plies": MOST_PLIES},
        )
        for engine in engines:
            engine.close()
    if not result.is_complete:
        raise StoppedError
    played = result.games
    variety, black = measure_diversity(played).total, first_move(played).black
    (strategies,) = count_strategies(played).tables()
    return {
        "games": variety.games, "distinct_games": variety.distinct_games, "distinct_positions": variety.share,
        "black": black.wins, "white": black.losses, "draws": black.draws,
        "strategies": {row["strategy"]: row["share"] for row in strategies.rows() if row["strategy"] != NO_STRATEGY},
    }  # fmt: skip


def measure_speeds(
    folder: Path, networks: tuple[tuple[str, NetworkConfig], ...], batch: int, seconds: float, rounds: int, device: str
) -> Found:
    """Positions per second of networks with random weights in the engine, measured in turn.

    Returns:
        By name, the figures of the rounds.
    """
    found: dict[str, list[float]] = {name: [] for name, _ in networks}
    for _, config in networks:
        file = folder / "data" / f"{key_of(config)}.onnx"
        if not file.exists():
            export_onnx(PolicyValueNetwork(config).eval(), file)
    for _ in range(rounds):
        for name, config in networks:
            file = folder / "data" / f"{key_of(config)}.onnx"
            with Network(file, device=device, batch_size=batch, precision="auto") as network:
                speed = measure_speed(network, {"start": Position()}, nodes=1, seconds=seconds)
            found[name].append(speed.evaluations_per_s)
    return {"positions_per_s": found}
