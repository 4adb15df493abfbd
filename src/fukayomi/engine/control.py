"""What ends a search, and the handle by which others end it."""

import threading
import time
from dataclasses import dataclass

from fukayomi.engine.clock import Budget


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a search. Without any, only `Control.stop` does, or a tree with nothing left to search."""

    budget: Budget | None = None
    nodes: int | None = None  # newly evaluated positions
    depth: int | None = None  # moves in the principal variation
    until_stopped: bool = False  # nothing but a stop (or other limits) ends it: infinite and ponder


class Control:
    """The handle on a running search: stops it, or gives it other limits. Any thread may use it.

    Args:
        limits: what ends the search.
        started_s: when ``go`` was received (`time.monotonic`); the budget counts from there. None: now.
    """

    def __init__(self, limits: Limits, started_s: float | None = None) -> None:
        self._condition = threading.Condition()
        self._limits = limits
        self._started_s = time.monotonic() if started_s is None else started_s
        self._stopped = False

    @property
    def limits(self) -> Limits:
        """The limits that hold now."""
        return self._limits

    @property
    def started_s(self) -> float:
        """When the clock began to count."""
        return self._started_s

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped

    def stop(self) -> None:
        """End the search now."""
        with self._condition:
            self._stopped = True
            self._condition.notify_all()

    def change(self, limits: Limits, started_s: float) -> None:
        """Go on under other limits, as ``ponderhit`` demands."""
        with self._condition:
            self._limits = limits
            self._started_s = started_s
            self._condition.notify_all()

    def wake(self) -> None:
        """Make the watch look again."""
        with self._condition:
            self._condition.notify_all()

    def wait(self, seconds: float) -> None:
        """Sleep until something happens, at most so long."""
        with self._condition:
            if not self._stopped:
                self._condition.wait(max(0.0, seconds))

    def hold(self) -> None:
        """Wait while nothing but a stop, or other limits, may end the search."""
        with self._condition:
            while self._limits.until_stopped and not self._stopped:
                self._condition.wait()
