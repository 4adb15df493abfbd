"""Curves from the files that runs leave: JSON lines, and TensorBoard's, also those of other programs."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import problem_of
from fukayomi.learning.listeners import DAMAGE, LOG_NAME, TIMES_NAME

HEAD_MEASURES = ("soft_policy_loss", "short_term_value_loss", "wdl_loss", "plies_left_loss", "reply_loss")
"""The losses of further heads, of runs that have them."""
MEASURES = (
    "policy_loss", "result_loss", "search_value_loss", "total_loss", "policy_accuracy", "value_accuracy",
    "policy_entropy", "learning_rate", "gradient_norm", *HEAD_MEASURES,
)  # fmt: skip
"""The figures that have a curve."""
KINDS = ("train", "test")
"""Kinds of figures: of training batches, or of the test set."""
SECONDS: Final = ("time", "seconds")
"""The curve of the time that a run has trained, pauses left out; it is an axis, not a figure."""

LARGEST_STEP = (1 << 63) - 1
LARGEST_VALUE = 3.4e38
"""The largest float32: figures of a run are no larger."""

Key = tuple[str, str]
"""Kind and measure."""


class CurveLog:
    """Collects points in the order in which they were written.

    A run that is resumed goes back to its checkpoint. So a point drops the points of its own curve from its step on:
    where steps overlap, those of the later start count.
    """

    def __init__(self) -> None:
        self._points: dict[Key, list[tuple[int, float]]] = {}

    def add(self, kind: str, measure: str, step: int, value: float) -> None:
        """Add a point; NaN stands for a value that is not finite.

        Raises:
            OverflowError: The step has more than 64 bits.
        """
        if not -LARGEST_STEP <= step <= LARGEST_STEP:
            raise OverflowError(f"step {step} has more than 64 bits")
        points = self._points.setdefault((kind, measure), [])
        while points and points[-1][0] >= step:
            points.pop()
        points.append((step, value if abs(value) <= LARGEST_VALUE else math.nan))

    def restart(self, step: int) -> None:
        """Drop the points of all curves after a step, from which a run goes on."""
        for points in self._points.values():
            while points and points[-1][0] > step:
                points.pop()

    def seconds_before(self, step: int) -> float:
        """The time of training up to a step; 0 if it is not known."""
        return next((value for at, value in reversed(self._points.get(SECONDS, [])) if at <= step), 0.0)

    def curves(self) -> "dict[Key, Curve]":
        """The curves that have points."""
        return {key: Curve(points) for key, points in self._points.items() if points}


class Curve:
    """A figure at ascending steps."""

    def __init__(self, points: Iterable[tuple[int, float]]) -> None:
        points = tuple(points)
        self.steps: NDArray[np.int64] = np.array([step for step, _ in points], np.int64)
        """[N], ascending."""
        self.values: NDArray[np.float64] = np.array([value for _, value in points], np.float64)
        """[N]; NaN where a figure was not finite."""

    def __len__(self) -> int:
        """Number of points."""
        return len(self.steps)

    def points(self) -> Mapping[int, float]:
        """The values by step."""
        return dict(zip(self.steps.tolist(), self.values.tolist(), strict=True))

    def smoothed(self, width: float) -> "Curve":
        """A running mean in which a point weighs exp(-age / width), with the age in steps; 0 changes nothing."""
        if width <= 0 or len(self) == 0:
            return self
        total = weight = 0.0
        last = int(self.steps[0])
        means: list[tuple[int, float]] = []
        for step, value in self.points().items():
            fade = math.exp((last - step) / width)
            total, weight, last = total * fade, weight * fade, step
            if math.isfinite(value):
                total, weight = total + value, weight + 1
            means.append((step, total / weight if math.isfinite(value) else math.nan))
        return Curve(means)

    def thinned(self, bins: int, *, log: bool = False) -> "Curve":
        """At most 2 * `bins` + 2 points: the first and last, and of each bin of points the lowest and the highest.

        Args:
            bins: Number of bins.
            log: Bins that grow with the points before them, for a logarithmic axis; otherwise all have the same size.
        """
        if len(self) <= 2 * bins + 2:
            return self
        kept = {0, len(self) - 1}
        edges = np.geomspace(1, len(self), bins + 1) if log else np.linspace(0, len(self), bins + 1)
        for part in np.split(np.arange(len(self)), np.unique(edges.astype(int))[1:-1]):
            finite = part[np.isfinite(self.values[part])]
            if len(finite):
                kept |= {int(finite[self.values[finite].argmin()]), int(finite[self.values[finite].argmax()])}
        rows = sorted(kept)
        return Curve(zip(self.steps[rows].tolist(), self.values[rows].tolist(), strict=True))


EVENT_FILES = "*tfevents*"
"""Names of TensorBoard's files."""

_KIND_WORDS = {
    "train": "train", "training": "train", "test": "test", "val": "test", "valid": "test", "validation": "test",
}  # fmt: skip
_MEASURE_WORDS = {frozenset(name.split("_")): name for name in MEASURES} | {
    frozenset(words.split()): measure
    for words, measure in (
        ("value loss", "result_loss"),
        ("eval loss", "search_value_loss"),
        ("q loss", "search_value_loss"),
        ("loss", "total_loss"),
        ("loss1", "policy_loss"),
        ("loss2", "result_loss"),
        ("loss3", "search_value_loss"),
        ("accuracy1", "policy_accuracy"),
        ("accuracy2", "value_accuracy"),
        ("entropy1", "policy_entropy"),
        ("lr", "learning_rate"),
    )
}
"""Names that other programs, such as dlshogi, have for the measures; the order of words does not matter."""


class CurveError(InvalidValueError):
    """A path has no curves, or a file of curves is damaged."""

    __module__ = "fukayomi.learning"


def read_run(path: Path) -> CurveLog:
    """The curves of a run.

    Args:
        path: The folder of the run, its `log.jsonl`, or a file of TensorBoard. In a folder `log.jsonl` is read if there
            is one, otherwise all files of TensorBoard from the oldest to the newest.

    Raises:
        CurveError: There are no curves, or a line is damaged. A line at the end that is cut off, as in a run that goes
            on, is left out.
    """
    if not path.exists():
        raise CurveError(f"{path}: no such file or folder")
    if not path.is_dir() and (problem := problem_of(path)) is not None:
        raise CurveError(f"{path}: {problem}")
    log = CurveLog()
    lines = path / LOG_NAME if path.is_dir() else path
    if lines.is_file() and lines.suffix == ".jsonl":
        _read_lines(lines, log)
        _read_times(lines.with_name(TIMES_NAME), log)
    elif files := sorted(path.glob(EVENT_FILES)) if path.is_dir() else [path]:
        _read_events(files, log)
    else:
        raise CurveError(
            f"{path}: there is neither {LOG_NAME} nor a file of TensorBoard; name the folder of a run (in Python, "
            "train with a JsonLinesListener)"
        )
    if not set(log.curves()) - {SECONDS}:
        raise CurveError(f"{lines if lines.is_file() else path}: no curves yet")
    return log


def _read_lines(path: Path, log: CurveLog) -> None:
    """Read lines such as {"train": {"step": 50, "policy_loss": 5.1}}."""
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            record: Any = json.loads(line) if line.strip() else {}
            for kind, values in cast("dict[str, dict[str, Any]]", record).items():
                for measure in MEASURES if kind in KINDS else ():
                    if measure in values:
                        value = values[measure]
                        log.add(kind, measure, int(values["step"]), float("nan") if value is None else float(value))
        except DAMAGE as error:
            if number < len(lines):  # every whole line ends with a line break
                raise CurveError(f"{path}, line {number}: {line[:60]!r} is not a line of a run") from error


def _read_times(path: Path, log: CurveLog) -> None:
    """Read lines such as {"step": 50, "seconds": 12.5}; others are left out, for the curves do not need them."""
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        try:
            values = cast("dict[str, Any]", json.loads(line))
            log.add(*SECONDS, int(values["step"]), float(values["seconds"]))
        except DAMAGE:
            continue


def _read_events(paths: Sequence[Path], log: CurveLog) -> None:
    """Read files of TensorBoard, which begin with the time of their start, one for each start of a run."""
    for events in sorted(filter(None, (list(_events(path)) for path in paths)), key=_start):
        before: float | None = None  # seconds of the starts before this one
        for event in events:
            if event.HasField("session_log") and event.session_log.status == event.session_log.START:
                log.restart(event.step)
                before = log.seconds_before(event.step)
            for value in event.summary.value:
                name = _name(value.tag)
                number = _scalar(value)
                if name is not None and number is not None:
                    before = log.seconds_before(event.step - 1) if before is None else before
                    log.add(*name, event.step, number)
                    log.add(*SECONDS, event.step, before + event.wall_time - _start(events))


def _start(events: Sequence[Any]) -> float:
    return events[0].wall_time


def _events(path: Path) -> Iterable[Any]:
    """The events of a file; what is cut off at its end is left out."""
    from tensorboard.backend.event_processing.event_file_loader import (  # pyright: ignore[reportMissingTypeStubs]
        LegacyEventFileLoader,
    )

    try:
        yield from LegacyEventFileLoader(str(path)).Load()  # pyright: ignore[reportUnknownMemberType]
    except Exception as error:  # damaged files make it raise almost anything
        raise CurveError(f"{path}: not a file of TensorBoard, or damaged ({error})") from error


def _scalar(value: Any) -> float | None:
    """The number of a summary, in the old or the new form; None if it is something else."""
    if value.HasField("simple_value"):
        return float(value.simple_value)
    if value.HasField("tensor") and not value.tensor.tensor_shape.dim:
        from tensorboard.util import tensor_util  # pyright: ignore[reportMissingTypeStubs]

        try:
            return float(cast("Any", tensor_util).make_ndarray(value.tensor).item())
        except (TypeError, ValueError):  # text
            return None
    return None


def _name(tag: str) -> tuple[str, str] | None:
    """Kind and measure of a tag such as "test/policy_loss" or "val_loss"; None if it has no curve here."""
    words = re.split(r"[/_.\s-]+", tag.lower())
    kind = "train"
    for place in (0, -1):
        if words[place] in _KIND_WORDS:
            kind = _KIND_WORDS[words.pop(place)]
            break
    else:
        if not {"lr", "rate"} & set(words):
            return None
    measure = _MEASURE_WORDS.get(frozenset(words))
    return (kind, measure) if measure else None
