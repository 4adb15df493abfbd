"""Curves from the files that runs leave: JSON lines, and TensorBoard's, also those of other programs."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import problem_of
from fukayomi.learning.curves.series import KINDS, MEASURES, SECONDS, CurveLog
from fukayomi.learning.listeners.json_lines import DAMAGE, LOG_NAME, TIMES_NAME

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
    """Read files of TensorBoard, which begin with the time of their start."""
    events = sorted(filter(None, (list(_events(path)) for path in paths)), key=_start)
    for event in (event for file in events for event in file):
        if event.HasField("session_log") and event.session_log.status == event.session_log.START:
            log.restart(event.step)
        for value in event.summary.value:
            name = _name(value.tag)
            number = _scalar(value)
            if name is not None and number is not None:
                log.add(*name, event.step, number)
                log.add(*SECONDS, event.step, event.wall_time - _start(events[0]))


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
