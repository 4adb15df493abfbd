"""A small real run: ``python learn_run.py FOLDER [EVENTS [CHANGES [STEP [DELAY]]]]``. It kills itself after EVENTS.

CHANGES is JSON with tables or values that replace those of the run. With a STEP only events of this step count, or of
the stage of this name. With a DELAY in seconds it lives on for so long.
"""

import hashlib
import json
import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from fukayomi.loop.listener import LoopListener
from fukayomi.loop.settings import LoopSettings, build_settings
from fukayomi.loop.steps import LoopResult, learn

SMALL = {
    "generations": 2,
    "games": 4,
    "network": {"name": "resnet1x16_relu_fcl16"},
    "generator": {"devices": 1, "precision": "fp32", "batch_size": 4, "parallel": 4},
    "selfplay": {
        "playouts": 4,
        "max_move": 24,
        "min_move": 1,
        "random": 4,
        "extension": 0,
        "out_max_move": True,
        "threshold": 1,
        "chunk_games": 2,
    },
    "training": {"batch": 16, "lr": 0.01, "warmup": 5, "ema_interval": 2, "amp": "off"},
    "learner": {"samples_per_position": 2, "threads": 1, "checkpoint_interval": 3},
    "gate": {"games": 2, "nodes": 2, "max_plies": 24, "undecided": "accept"},
    "strength": {"games": 2, "nodes": 2, "max_plies": 24, "earlier": 1, "first": True},
}
"""Settings of a run of seconds."""


class Killer(LoopListener):
    """Kills its process after a number of reports: of all, of a step, or of a stage of steps."""

    def __init__(self, events: int, step: str = "", delay_s: float = 0) -> None:
        self._left, self._step, self._now = events, step, ""
        self._delay_s = delay_s

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self._count(stage)

    def step_started(self, generation: int, step: str) -> None:
        self._now = step
        self._count()

    def step_ended(self, entry: object, seconds: float) -> None:
        self._count()

    def _count(self, stage: str = "") -> None:
        if self._step and self._step not in (self._now, stage):
            return
        self._left -= 1
        if self._left == 0:
            self.strike()

    def strike(self) -> None:
        """Kill the process."""
        if self._delay_s == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        timer = threading.Timer(self._delay_s, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True  # or a run that has ended would wait for it
        timer.start()


def digests(folder: Path) -> dict[str, str]:
    """Everything that a run leaves, but what has times: its log, its matches, and the learner's table of files."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.relative_to(folder).parts[0] not in ("matches", "log.jsonl")
        and path.name not in ("config.toml", "times.jsonl")  # one has the folder's name
    }


def small(**changes: object) -> LoopSettings:
    """The small run with some tables or values replaced."""
    tables = {
        name: {**SMALL.get(name, {}), **value} if isinstance(value, dict) else value for name, value in changes.items()
    }
    return build_settings(SMALL, tables)


QUICK: dict[str, object] = {"gate": {"mode": "off"}, "strength": {"games": 0}}
"""Changes for a run without matches."""

PAST: dict[str, object] = {
    "generations": 3,
    "league": {"share": 1, "past": 2},
    "reanalysis": {"nodes": 4},
    "gate": {"mode": "off"},
    "strength": {"games": 0},
}
"""Changes for a run with its past: a league of its earlier networks, and reanalysis of their games."""

INT8: dict[str, object] = {
    "generations": 1,
    "generator": {"device": "cpu", "precision": "int8"},
    "gate": {"device": "cpu"},
    "strength": {"device": "cpu"},
}
"""Changes for a run that computes in int8."""

SPARSE: dict[str, object] = {
    "network": {"name": "sparse-64x64"},
    "training": {"lr": 0.002},
    "league": {"share": 0.5, "past": 1},
    "reanalysis": {"nodes": 4},
}
"""Changes for a run with a sparse network, a league of its past, and reanalysis."""


@contextmanager
def few_positions() -> Generator[None]:
    """Networks in integers are rounded for, and compared on, few positions."""
    with (
        patch("fukayomi.learning.models.ROUNDING_POSITIONS", 8),
        patch("fukayomi.learning.int8.COMPARED_POSITIONS", 256),
    ):
        yield


def run(folder: Path, events: int = 0, step: str = "", delay_s: float = 0, **changes: object) -> LoopResult:
    """The small run, in a folder."""
    with few_positions():
        return learn(small(**changes), folder, listener=Killer(events, step, delay_s))


if __name__ == "__main__":
    changes = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    events = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    step = sys.argv[4] if len(sys.argv) > 4 else ""
    run(Path(sys.argv[1]), events, step, float(sys.argv[5]) if len(sys.argv) > 5 else 0.0, **changes)
