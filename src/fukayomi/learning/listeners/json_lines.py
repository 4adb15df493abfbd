"""The curves of a run as JSON lines, for programs and plots."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from fukayomi.files.atomic import replace_file
from fukayomi.learning.listeners.listener import RunStart, TrainingListener, TrainingStep
from fukayomi.learning.settings import LOG_INTERVAL

if TYPE_CHECKING:
    from fukayomi.learning.metrics import Metrics

LOG_NAME = "log.jsonl"


class JsonLinesListener(TrainingListener):
    """Writes `log.jsonl` into the folder of the run, one JSON object a line.

    ``{"train": {...}}`` has step, losses, learning rate and gradient norm, ``{"test": {...}}`` step and metrics; null
    is a number that is not finite. A run that is resumed removes the lines of later steps first, so each step is there
    once.

    Args:
        interval: Steps between two lines of training; the last step always has one.
    """

    def __init__(self, interval: int = LOG_INTERVAL) -> None:
        self._interval = interval
        self._steps = 0
        self._file: TextIO | None = None

    def started(self, run: RunStart) -> None:
        """Open the file."""
        self._steps = run.steps
        path = run.out / LOG_NAME
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = [line for line in _lines(path) if _step_of(line) <= run.step] if run.step else []
        replace_file(path, "".join(kept).encode())
        self._file = path.open("a", encoding="utf-8")

    def step(self, step: TrainingStep) -> None:
        """Write a point of the training curves now and then."""
        if step.step % self._interval == 0 or step.step == self._steps:
            self._write("train", {"step": step.step, **step.as_dict()})

    def evaluated(self, step: int, metrics: "Metrics") -> None:
        """Write a point of the test curves."""
        self._write("test", {"step": step, **metrics.as_dict()})

    def ended(self) -> None:
        """Close the file."""
        if self._file:
            self._file.close()
            self._file = None

    def _write(self, kind: str, values: dict[str, Any]) -> None:
        if self._file:
            finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
            self._file.write(json.dumps({kind: finite}) + "\n")
            self._file.flush()


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        return []
    return path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)


def _step_of(line: str) -> float:
    """The step of a line; infinite if the line was cut off."""
    try:
        (values,) = cast("dict[str, dict[str, Any]]", json.loads(line)).values()
        return float(values["step"])
    except (ValueError, AttributeError, KeyError, TypeError):
        return float("inf")
