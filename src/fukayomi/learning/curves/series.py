"""Figures by step, as a run wrote them, restarts included."""

import math
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

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
"""The curve of the time that a run has trained; it is an axis, not a figure."""

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
