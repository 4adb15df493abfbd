"""A small real run: ``python learn_run.py FOLDER [EVENTS [CHANGES]]``. After so many events it kills itself.

CHANGES is JSON with tables or values that replace those of the run.
"""

import json
import os
import signal
import sys
from pathlib import Path

from fukayomi.loop.configuration import build_settings
from fukayomi.loop.listener import LoopListener
from fukayomi.loop.run import LoopResult, learn
from fukayomi.loop.settings import LoopSettings

SMALL = {
    "generations": 2,
    "games": 4,
    "network": {"name": "resnet1x16_relu_fcl16"},
    "generator": {"devices": 1, "batch_size": 4, "parallel": 4},
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
    """Kills its process after a number of reports."""

    def __init__(self, events: int) -> None:
        self._left = events

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self._count()

    def step_started(self, generation: int, step: str) -> None:
        self._count()

    def step_ended(self, entry: object, seconds: float) -> None:
        self._count()

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def small(**changes: object) -> LoopSettings:
    """The small run with some tables or values replaced."""
    tables = {
        name: {**SMALL.get(name, {}), **value} if isinstance(value, dict) else value for name, value in changes.items()
    }
    return build_settings(SMALL, tables)


def run(folder: Path, events: int = 0, **changes: object) -> LoopResult:
    """The small run, in a folder."""
    return learn(small(**changes), folder, listener=Killer(events))


if __name__ == "__main__":
    changes = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    run(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, **changes)
