"""The curves of a run as JSON lines, for programs and plots."""

import json
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from fukayomi.files.atomic import replace_file
from fukayomi.learning.listeners.listener import RunStart, TrainingListener, TrainingStep
from fukayomi.learning.settings import LOG_INTERVAL

if TYPE_CHECKING:
    from fukayomi.learning.metrics import Metrics

LOG_NAME = "log.jsonl"
TIMES_NAME = "times.jsonl"
"""The time of each line of the log. A file of its own, so that the log of a run does not depend on the computer."""
DAMAGE = (ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError)
"""Exceptions from lines that are not those of a run; OverflowError: a step is infinite."""


class JsonLinesListener(TrainingListener):
    """Writes `log.jsonl` and `times.jsonl` into the folder of the run, one JSON object a line.

    ``{"train": {...}}`` has step, losses, learning rate and gradient norm, ``{"test": {...}}`` step and metrics; null
    is a number that is not finite. ``{"step": 50, "seconds": 12.5}`` says how long the run had trained when it wrote
    the lines of a step, pauses left out. A run that is resumed removes the lines of later steps first, so each step is
    there once.

    Args:
        interval: Steps between two lines of training; the last step always has one.
    """

    def __init__(self, interval: int = LOG_INTERVAL) -> None:
        self._interval = interval
        self._steps = 0
        self._file: TextIO | None = None
        self._times: TextIO | None = None
        self._began_s = 0.0
        self._timed = -1

    def started(self, run: RunStart) -> None:
        """Open the files."""
        self._steps = run.steps
        run.out.mkdir(parents=True, exist_ok=True)
        self._file, _ = _reopened(run.out / LOG_NAME, run.step)
        self._times, times = _reopened(run.out / TIMES_NAME, run.step)
        self._timed, before = _last_time(times)
        self._began_s = time.monotonic() - before

    def step(self, step: TrainingStep) -> None:
        """Write a point of the training curves now and then."""
        if step.step % self._interval == 0 or step.step == self._steps:
            self._write("train", {"step": step.step, **step.as_dict()})

    def evaluated(self, step: int, metrics: "Metrics") -> None:
        """Write a point of the test curves."""
        self._write("test", {"step": step, **metrics.as_dict()})

    def ended(self) -> None:
        """Close the files."""
        for file in (self._file, self._times):
            if file:
                file.close()
        self._file = self._times = None

    def _write(self, kind: str, values: dict[str, Any]) -> None:
        if self._file:
            finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
            self._file.write(json.dumps({kind: finite}) + "\n")
            self._file.flush()
        if self._times and values["step"] > self._timed:
            self._timed = values["step"]
            seconds = round(time.monotonic() - self._began_s, 3)
            self._times.write(json.dumps({"step": self._timed, "seconds": seconds}) + "\n")
            self._times.flush()


def _reopened(path: Path, step: int) -> tuple[TextIO, list[str]]:
    """A file open for appending, and the lines up to a step, which are all that it has; none for a new run."""
    kept = [line for line in _lines(path) if _step_of(line) <= step] if step else []
    replace_file(path, "".join(kept).encode())
    return path.open("a", encoding="utf-8"), kept


def _last_time(lines: list[str]) -> tuple[int, float]:
    """The last step of a file of times, and its seconds; of an empty one, -1 and 0."""
    try:
        values = cast("dict[str, Any]", json.loads(lines[-1])) if lines else {}
        return int(values.get("step", -1)), float(values.get("seconds", 0.0))
    except DAMAGE:
        return -1, 0.0


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        return []
    return path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)


def _step_of(line: str) -> float:
    """The step of a line; infinite if the line was cut off."""
    try:
        values = cast("dict[str, Any]", json.loads(line))
        if "step" not in values:
            (values,) = values.values()
        return float(values["step"])
    except DAMAGE:
        return float("inf")
