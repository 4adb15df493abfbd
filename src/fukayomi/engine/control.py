"""The limits of a search, and the handle that ends it."""

import threading
import time
from dataclasses import dataclass

from fukayomi.engine.clock import Budget

BATCH_VISITS = 16
"""Visits of the root for each leaf that a search gives to a batch (docs/strength.md)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Conditions that end a search. Without limits only `Control.stop` does, or a tree with nothing left to search."""

    budget: Budget | None = None
    """Time by the clock of a game; the search ends early if the choice is clear."""
    nodes: int | None = None
    """Positions to evaluate."""
    depth: int | None = None
    """Length of the principal variation in plies."""
    time_ms: int | None = None
    """Milliseconds since the start, whatever the position."""
    stops_when_clear: bool = False
    """True if a search by nodes ends when the nodes that are left cannot change the best move."""
    min_kld_gain: float = 0.0
    """A search by the clock ends when a visit gains less than this (`root_history.kld_gain`); 0: never."""
    instability: float = 0.0
    """Influence of the best move's instability on the planned time, 0 to 1 (`RootHistory.factor`)."""
    until_stopped: bool = False
    """Only a stop ends the search, or other limits: `go infinite` and `go ponder`."""


class Control:
    """The handle of a running search: stops it, or changes its limits. Any thread may use it.

    Args:
        limits: What ends the search.
        started_s: Start of the time limits (`time.monotonic`), such as the arrival of ``go``. None: now.
        evaluations_per_s: Positions that the network evaluates in what counts as a second, so that limits of time do
            not depend on what else the machine does. None: time is read from the clock.
    """

    def __init__(
        self, limits: Limits, started_s: float | None = None, *, evaluations_per_s: float | None = None
    ) -> None:
        self._condition = threading.Condition()
        self._limits = limits
        self._started_s = time.monotonic() if started_s is None else started_s
        self._stopped = False
        self._evaluations_per_s = evaluations_per_s
        self.due_s: float | None = None
        """Due end of the search (`time.monotonic`), once it has ended: the end of its time, or the decision."""

    @property
    def limits(self) -> Limits:
        """The current limits."""
        return self._limits

    @property
    def started_s(self) -> float:
        """Start of the time limits (`time.monotonic`)."""
        return self._started_s

    @property
    def reads_clock(self) -> bool:
        """True if time is read from the clock, and not counted in evaluations."""
        return self._evaluations_per_s is None

    def now_s(self, evaluations: int) -> float:
        """The time (`time.monotonic`), or what counts as the time after so many evaluations."""
        if self._evaluations_per_s is None:
            return time.monotonic()
        return self._started_s + evaluations / self._evaluations_per_s

    @property
    def stopped(self) -> bool:
        """True if `stop` was called."""
        return self._stopped

    def stop(self) -> None:
        """End the search now."""
        with self._condition:
            self._stopped = True
            self._condition.notify_all()

    def change(self, limits: Limits, started_s: float) -> None:
        """Continue with other limits, as ``ponderhit`` demands."""
        with self._condition:
            self._limits = limits
            self._started_s = started_s
            self._condition.notify_all()

    def wake(self) -> None:
        """Make `wait` return."""
        with self._condition:
            self._condition.notify_all()

    def wait(self, seconds: float) -> None:
        """Sleep until the control is stopped, changed or woken, at most this many seconds."""
        with self._condition:
            if not self._stopped:
                self._condition.wait(max(0.0, seconds))

    def hold(self) -> None:
        """Wait while only a stop, or other limits, may end the search."""
        with self._condition:
            while self._limits.until_stopped and not self._stopped:
                self._condition.wait()
