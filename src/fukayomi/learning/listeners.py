"""The interface for reports of a training run, and listeners that write its curves: JSON lines, TensorBoard's files."""

# pyright: reportUnknownMemberType=false

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import replace_file
from fukayomi.learning.settings import LOG_INTERVAL
from fukayomi.listener import Listener

if TYPE_CHECKING:
    from torch import Tensor
    from torch.utils.tensorboard import SummaryWriter

    from fukayomi.learning.loss import Losses
    from fukayomi.learning.metrics import Metrics


@dataclass(frozen=True)
class RunStart:
    """Description of a run that is about to start."""

    step: int
    """Steps done before; 0 unless the run is resumed."""
    steps: int
    """Steps of the whole run."""
    batch: int
    """Positions per step."""
    out: Path
    """Folder of the run."""


@dataclass(frozen=True)
class TrainingStep:
    """One finished step. Reading a tensor waits for the device, so do not read it at every step."""

    step: int
    """Steps done, this one included."""
    losses: "Losses"
    """Means over the batch, before the update; those of further heads are without their weights."""
    learning_rate: float
    """Learning rate of the update."""
    gradient_norm: "Tensor"
    """Norm of the gradient before clipping, a scalar."""

    def as_dict(self) -> Mapping[str, float]:
        """Losses, learning rate and gradient norm as numbers, by name."""
        losses = {f"{name}_loss": loss.item() for name, loss in self.losses.by_name().items()}
        return {**losses, "learning_rate": self.learning_rate, "gradient_norm": self.gradient_norm.item()}


class TrainingListener(Listener):
    """Follows a training run. Every method does nothing: override those you need.

        >>> class Evaluations(TrainingListener):
        ...     def evaluated(self, step, metrics):
        ...         print(step, round(metrics.policy_accuracy, 3))

    Settings that a resumed run changes are reported by `note`.
    """

    def started(self, run: RunStart) -> None:
        """Called before the first step."""

    def step(self, step: TrainingStep) -> None:
        """Called after every step."""

    def evaluated(self, step: int, metrics: "Metrics") -> None:
        """Called after an evaluation on the test set."""

    def checkpoint(self, step: int, path: Path) -> None:
        """Called after a checkpoint was saved."""

    def ended(self) -> None:
        """Called once after `started`, when the run ends, is stopped, or fails."""


SILENT = TrainingListener()
"""Reports nothing; the default."""


LOG_NAME = "log.jsonl"
TIMES_NAME = "times.jsonl"
"""The time of each line of the log. A file of its own, so that the log of a run does not depend on the computer."""
DAMAGE = (ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError)
"""Exceptions from lines that are not those of a run; OverflowError: a step is infinite."""


class JsonLinesListener(TrainingListener):
    """Writes `log.jsonl` and `times.jsonl` into the folder of the run, one JSON object a line.

    ``{"train": {...}}`` has step, losses, learning rate and gradient norm, ``{"test": {...}}`` step and metrics; null
    is a number that is not finite. ``{"step": 50, "seconds": 12.5}`` says how long the run had trained when it wrote
    the lines of a step, and again when it had saved the checkpoint of a step, from which a resumed run counts on:
    pauses, and work that was lost, do not count. The last line of a step counts. A run that is resumed removes the
    lines of later steps first.

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

    def checkpoint(self, step: int, path: Path) -> None:
        """Write the time at which a resumed run begins."""
        self._write_time(step)

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
        if values["step"] > self._timed:
            self._write_time(values["step"])

    def _write_time(self, step: int) -> None:
        if self._times:
            self._timed = step
            seconds = round(time.monotonic() - self._began_s, 3)
            self._times.write(json.dumps({"step": step, "seconds": seconds}) + "\n")
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


FILE_PREFIX = "events.out.tfevents"
"""Prefix of the names of TensorBoard's files."""


class TensorBoardListener(TrainingListener):
    """Writes losses, learning rate, gradient norm and test metrics into the folder of the run.

    Show them with ``tensorboard --logdir FOLDER``.
    """

    def __init__(self) -> None:
        self._writer: SummaryWriter | None = None
        self._steps = 0

    def started(self, run: RunStart) -> None:
        """Open a file; what a run before it wrote after the step is hidden."""
        from torch.utils.tensorboard import SummaryWriter

        self._steps = run.steps
        try:
            self._writer = SummaryWriter(str(run.out), purge_step=run.step)
        except UnicodeEncodeError as error:
            raise InvalidValueError(
                f"{run.out}: the name is not UTF-8, and TensorBoard cannot write there: rename it"
            ) from error

    def step(self, step: TrainingStep) -> None:
        """Write a point of the training curves now and then."""
        if self._writer and (step.step % LOG_INTERVAL == 0 or step.step == self._steps):
            for name, value in step.as_dict().items():
                self._writer.add_scalar(f"train/{name}", value, step.step)

    def evaluated(self, step: int, metrics: "Metrics") -> None:
        """Write a point of the test curves."""
        if self._writer:
            for name, value in metrics.as_dict().items():
                if name != "positions" and not math.isnan(value):
                    self._writer.add_scalar(f"test/{name}", value, step)
            self._writer.flush()

    def ended(self) -> None:
        """Close the file."""
        if self._writer:
            self._writer.close()
