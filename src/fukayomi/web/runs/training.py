"""The document of a training run: its curves, its settings, how far it has come."""

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, cast

import numpy as np

from fukayomi.learning.curves.readers import (
    EVENT_FILES,
    KINDS,
    MEASURES,
    SECONDS,
    Curve,
    CurveError,
    CurveLog,
    read_run,
)
from fukayomi.learning.listeners import LOG_NAME, TIMES_NAME
from fukayomi.settings.toml import read_toml
from fukayomi.web.runs.keeping import Stamp, stamp_of

SETTINGS_NAME = "config.toml"
"""As `fukayomi.learning.training.run_folder.CONFIG_NAME`, which cannot be imported without the packages of training."""
MOST_SETTINGS = 400
MOST_LETTERS = 200
"""Of a setting."""
BINS = 300
"""A longer curve is sent by the extremes of so many bins."""
SMOOTHED_SHARE = 1 / 50
"""Width of the running mean as a share of the run's steps, unless the reader gives one."""
NOT_SMOOTHED = ("learning_rate",)
"""Measures without noise."""


def training_stamp(folder: Path) -> Stamp:
    """Changes when the run has written something."""
    names = (LOG_NAME, TIMES_NAME, SETTINGS_NAME)
    return stamp_of([*(folder / name for name in names), *sorted(folder.glob(EVENT_FILES))])


def read_curves(folder: Path) -> CurveLog:
    """The curves of a run; none while it has written none.

    Raises:
        CurveError: A line is damaged.
        OSError: A file cannot be read.
    """
    try:
        return read_run(folder)
    except CurveError as error:
        if str(error).endswith("no curves yet"):
            return CurveLog()
        raise


def training_document(folder: Path, log: CurveLog, *, smooth: float | None = None, log_x: bool = False) -> Any:
    """The curves of a run as far as it has come.

    Args:
        folder: Folder of the run.
        log: Its curves.
        smooth: Width of the running mean of training curves in steps; 0: none. None: a fiftieth of the run.
        log_x: Keep the details that a logarithmic axis shows.
    """
    curves = log.curves()
    seconds = curves.pop(SECONDS, Curve(()))
    last_step = max((int(curve.steps[-1]) for curve in curves.values()), default=0)
    settings = read_settings(folder / SETTINGS_NAME)
    batch = _number(settings, "batch")
    width = SMOOTHED_SHARE * last_step if smooth is None else smooth
    return {
        "last_step": last_step,
        "steps": _number(settings, "steps"),
        "batch": batch,
        "smooth": width,
        "seconds": _points(seconds.thinned(BINS, log=log_x)),
        "curves": {
            measure: {
                kind: _lines(curves[kind, measure], width if kind == "train" else 0, measure, log_x)
                for kind in KINDS
                if (kind, measure) in curves
            }
            for measure in MEASURES
            if any((kind, measure) in curves for kind in KINDS)
        }
        | _speed(seconds, batch, width, log_x),
        "settings": flat_settings(settings),
    }


def _speed(seconds: Curve, batch: int | None, width: float, log_x: bool) -> dict[str, Any]:
    """The curve of the speed from point to point: positions a second, or steps if the run does not say how many
    positions a step has. None if the run has no times."""
    steps, times = np.diff(seconds.steps), np.diff(seconds.values)
    rates = zip(seconds.steps[1:].tolist(), (steps * (batch or 1)).tolist(), times.tolist(), strict=True)
    curve = Curve((step, count / time) for step, count, time in rates if time > 0)
    name = "positions_a_second" if batch else "steps_a_second"
    return {name: {"train": _lines(curve, width, name, log_x)}} if len(curve) else {}


def _number(settings: Mapping[str, Any], name: str) -> int | None:
    """A number of the table of training; None if it is not set."""
    training = settings.get("training")
    value: Any = cast("dict[str, Any]", training).get(name) if isinstance(training, dict) else None
    return value if isinstance(value, int) else None


def _lines(curve: Curve, width: float, measure: str, log_x: bool) -> dict[str, Any]:
    """The points, and the running mean unless there is none."""
    found = _points(curve.thinned(BINS, log=log_x))
    if width <= 0 or measure in NOT_SMOOTHED:
        return found
    return found | {"smooth": _points(curve.smoothed(width).thinned(BINS, log=log_x))}


def _points(curve: Curve) -> dict[str, Any]:
    values = [float(f"{value:.6g}") for value in curve.values.tolist()]
    return {"step": curve.steps.tolist(), "value": values}


def read_settings(path: Path) -> dict[str, Any]:
    """The settings of a run in TOML; none if they are not there or damaged, for the curves do not need them."""
    try:
        return read_toml(path)
    except (OSError, ValueError):
        return {}


def flat_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings as text by their whole name (``training.lr``); of a path only its name is left."""
    found: dict[str, str] = {}
    waiting: list[tuple[str, Any]] = list(settings.items())
    while waiting and len(found) < MOST_SETTINGS:
        name, value = waiting.pop(0)
        if isinstance(value, dict):
            waiting = [(f"{name}.{key}", each) for key, each in cast("dict[str, Any]", value).items()] + waiting
        else:
            found[name[:MOST_LETTERS]] = _text(value)[:MOST_LETTERS]
    return found


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_text(each) for each in cast("list[Any]", value))
    if isinstance(value, dict):
        return ", ".join(f"{key}={_text(each)}" for key, each in cast("dict[str, Any]", value).items())
    return PurePath(value).name if isinstance(value, str) and PurePath(value).is_absolute() else str(value)
