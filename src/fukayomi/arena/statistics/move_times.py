"""Times that engines took for their moves, and the part of them that they did not know of.

The time of a move is what the referee measured, from ``go`` to the arrival of the answer. Its overhead is this time
less the time that the engine itself reported last (``info time``): the protocol, pipes, a busy machine, and whatever
the engine does after its last report. Engines that report no time have no overhead.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Times:
    """Mean, median and greatest of some times, in milliseconds."""

    count: int
    mean_ms: float
    median_ms: float
    greatest_ms: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Times | None":
        """None without values."""
        import numpy as np

        if not values:
            return None
        mean = math.fsum(values) / len(values)  # the same in whatever order games end
        return cls(len(values), mean, float(np.median(values)), max(values))


@dataclass(frozen=True, slots=True)
class AnswerTime:
    """The time of one answer, also of one that lost the game."""

    engine: str
    used_ms: float
    """Measured by the referee, to a tenth of a millisecond: as a match folder keeps it."""
    reported_ms: int | None
    """Time that the engine reported last; None if it reported nothing."""


@dataclass
class MoveTimes:
    """The times of an engine's answers."""

    used_ms: "array[float]" = field(default_factory=lambda: array("f"))
    overhead_ms: "array[float]" = field(default_factory=lambda: array("f"))
    """Of the answers with a reported time."""

    def add(self, answer: AnswerTime) -> None:
        """Count an answer."""
        self.used_ms.append(answer.used_ms)
        if answer.reported_ms is not None:
            self.overhead_ms.append(answer.used_ms - answer.reported_ms)

    def used(self) -> Times | None:
        """The times; None without answers."""
        return Times.of(self.used_ms)

    def overhead(self) -> Times | None:
        """The overheads; None if the engine reported no times."""
        return Times.of(self.overhead_ms)


def collect_times(answers: Iterable[AnswerTime]) -> dict[str, MoveTimes]:
    """The times by engine."""
    found: dict[str, MoveTimes] = {}
    for answer in answers:
        found.setdefault(answer.engine, MoveTimes()).add(answer)
    return found
