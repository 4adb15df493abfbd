"""The search of a section: which configuration is the fastest, and still exact."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fukayomi.engine.evaluators.backends.opencl.parameters import Parameters
from fukayomi.engine.evaluators.backends.opencl.tuning.configurations import Configuration, Space
from fukayomi.engine.evaluators.backends.opencl.tuning.listener import Tried
from fukayomi.engine.evaluators.backends.opencl.tuning.shapes import Shape
from fukayomi.engine.evaluators.backends.opencl.tuning.trials import SLOW, Bench, Part

LARGEST_ERROR = 0.5
INEXACT, INEXACT_FACTOR = 1e-5, 0.9
"""An error above which a score is less by this factor."""


@dataclass(frozen=True, slots=True)
class Section:
    """A search for the fastest parameters of one kernel."""

    name: str
    title: str
    space: Space
    apply: Callable[[Configuration], Parameters]
    """Parameters with a configuration."""
    default: Configuration
    """Tried in any case, so that nothing slower is chosen."""
    part: Part = "product"
    kernel: int = 3
    """Of the shapes to measure: 3 or 1."""
    tolerance: float = 0.005
    """Error at which a speed is worth less than a third."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best configuration of a section."""

    configuration: Configuration
    calls_per_s: float
    """0: none runs."""


class Search:
    """What a section has found so far.

    Args:
        bench: Where kernels are measured.
        section: What is searched.
        cases: Shapes of layers, and their shares.
    """

    def __init__(self, bench: Bench, section: Section, cases: Sequence[tuple[Shape, float]]) -> None:
        self._bench, self._section, self._cases = bench, section, cases
        self._fastest_s = [math.inf] * len(cases)
        self._score = self._error = 0.0
        self.best: Best | None = None

    def attempt(self, number: int, count: int, configuration: Configuration) -> Tried:
        """Measure a configuration; a better one once more, beside the best one: the device may have been busy."""
        speed, error = self._measure(configuration)
        score = score_of(speed, error, self._section.tolerance)
        if self.best is not None and score > self._score:
            again = score_of(self._measure(self.best.configuration)[0], self._error, self._section.tolerance)
            speed = max(speed, self._measure(configuration)[0])
            score, self._score = score_of(speed, error, self._section.tolerance), max(again, self._score)
        is_better = score > self._score
        if is_better:
            self._score, self._error = score, error
            self.best = Best(configuration, speed)
        return Tried(number, count, configuration, speed, error, is_better)

    def _measure(self, configuration: Configuration) -> tuple[float, float]:
        """Calls per second and the error; 0 calls of one that fails, or is much slower on a shape than the best."""
        parameters = self._section.apply(configuration)
        total_s = error = 0.0
        for place, (shape, share) in enumerate(self._cases):
            trial = self._bench.measure(parameters, shape, self._section.part, self._fastest_s[place])
            error = max(error, trial.error)
            if trial.seconds > SLOW * self._fastest_s[place] or error > min(LARGEST_ERROR, 5 * self._section.tolerance):
                return 0.0, error
            self._fastest_s[place] = min(trial.seconds, self._fastest_s[place])
            total_s += share * trial.seconds
        return (1 / total_s if 0 < total_s < math.inf else 0.0), error


def score_of(calls_per_s: float, error: float, tolerance: float) -> float:
    """What a configuration is worth: its speed, less for errors. KataGo's formula."""
    exactness = 1 - math.sqrt(error / (error + tolerance))
    return calls_per_s * exactness * (INEXACT_FACTOR if error > INEXACT else 1)
