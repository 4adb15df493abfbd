"""The limits of a search, the handle that ends it, and the time budget of a move."""

import threading
import time
from collections import deque
from dataclasses import dataclass

SHARES = 14
"""Shares into which the remaining time is divided by default."""
OPENING_PLIES = 30
"""Each ply before this one adds a share."""
EXTENSION = 2.0
"""An unclear position may take this many times the plan, once."""
EXTENSION_FROM_PLY = 20
"""No extension before this ply."""
EARLIEST_STOP = 0.1
"""Share of the plan before which the search does not stop early: too little is known."""
AUTOMATIC_MARGIN_MS = 100
AUTOMATIC_MARGIN = 0.1
"""The automatic margin of byoyomi and movetime: this share of the time, at most AUTOMATIC_MARGIN_MS."""
UNSEEN = 2.0
"""Ratio of an answer's lateness to the part that the engine can see."""
LATENESS_MOST_MS = 1000
"""More is no busy machine but, say, one that slept."""
SCARCE_INCREMENT = 0.8
"""Share of the increment that a move takes while less than the margin is on the clock, so that it fills."""
RESERVED_ANSWERS = 20
"""The lateness of so many answers stays on the clock, for a game that goes on with hardly any time."""
LATENESS_ANSWERS = 20
"""Answers that `Lateness` remembers."""
NOTHING_LEFT_MS = 100
"""Time for a move with a clock at zero, which some GUIs report in games without time limits."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of the side to move. None: no such limit."""

    remaining_ms: int | None = None
    """Remaining time; a negative time counts as zero."""
    byoyomi_ms: int = 0
    """Byoyomi (秒読み), time per move after the remaining time has run out."""
    increment_ms: int = 0
    """Time added for each move."""
    movetime_ms: int | None = None
    """Time for this move alone, whatever else is given."""

    def is_set(self) -> bool:
        """True if there is any time limit."""
        return (
            self.remaining_ms is not None or self.movetime_ms is not None or max(self.byoyomi_ms, self.increment_ms) > 0
        )


@dataclass(frozen=True, slots=True)
class Margins:
    """Time to leave unused, for the communication with the GUI."""

    byoyomi_ms: int | None = None
    """Subtracted from byoyomi and movetime; None: the automatic margin."""
    clock_ms: int = 0
    """Subtracted from a clock without byoyomi."""
    late_ms: float = 0.0
    """Lateness of answers so far (`Lateness`). The automatic margin is at least as long, and of a clock without byoyomi
    each move plans so much less."""

    def of_byoyomi(self, time_ms: float) -> float:
        """The margin of a byoyomi or movetime."""
        if self.byoyomi_ms is None:
            return max(min(AUTOMATIC_MARGIN_MS, AUTOMATIC_MARGIN * time_ms), self.late_ms)
        return self.byoyomi_ms


class Lateness:
    """Lateness of answers on a busy machine, where threads wait for a core.

    The engine can measure how long after the end of a search it wrote the answer. The way from the GUI and back has as
    many threads that wait, which it cannot see, so the lateness is twice that. The worst of the last answers counts:
    one is a warning for the next ones.
    """

    def __init__(self) -> None:
        self._recent_ms: deque[float] = deque(maxlen=LATENESS_ANSWERS)

    @property
    def ms(self) -> float:
        """The lateness to reckon with; 0 if nothing is known."""
        return max(self._recent_ms, default=0.0)

    def note(self, seconds: float) -> None:
        """Remember an answer that was written so long after the end of its search."""
        self._recent_ms.append(min(LATENESS_MOST_MS, UNSEEN * max(0.0, seconds) * 1000))


@dataclass(frozen=True, slots=True)
class Budget:
    """Time for a move, in seconds since ``go`` arrived: earliest_s <= planned_s <= extended_s <= hard_s."""

    earliest_s: float
    """The search does not stop before, except when the result is proven."""
    planned_s: float
    """The search stops here."""
    extended_s: float
    """The search stops here if the best move is unclear."""
    hard_s: float
    """The search never goes beyond."""

    def stretched_s(self, factor: float) -> float:
        """The planned time multiplied, within the earliest and the extended time."""
        return min(max(self.planned_s * factor, self.earliest_s), self.extended_s)


def budget(clock: Clock, ply: int, margins: Margins, shares: int = SHARES) -> Budget | None:
    """The time budget of a move.

    The plan follows dlshogi: a share of the remaining time that grows as the game goes on, and at least the byoyomi.
    The hard limit never exceeds the time on the clock, less a margin for the communication with the GUI. No clock is
    read here: the times are those that the GUI reports.

    Args:
        clock: The clock of the side to move.
        ply: Number of the move to be played; a game begins at 1.
        margins: Time to leave unused.
        shares: Shares into which the remaining time is divided after the opening.

    Returns:
        The budget, or None if there is no time limit.
    """
    if clock.movetime_ms is not None:
        seconds = _less(clock.movetime_ms, margins.of_byoyomi(clock.movetime_ms)) / 1000
        return Budget(seconds, seconds, seconds, seconds)
    if not clock.is_set():
        return None
    remaining = max(0, clock.remaining_ms or 0)
    byoyomi = max(0, clock.byoyomi_ms)
    available = remaining + byoyomi
    if remaining < clock.increment_ms:
        # GUIs that add the increment after a move report at least one increment; this one adds it before the move.
        available += clock.increment_ms
    if available == 0:
        seconds = NOTHING_LEFT_MS / 1000
        return Budget(seconds, seconds, seconds, seconds)
    hard = _less(available, margins.of_byoyomi(available) if byoyomi else margins.clock_ms)
    increment = max(0, clock.increment_ms)
    if remaining < margins.clock_ms:
        increment *= SCARCE_INCREMENT
    reserve = min(remaining / 2, RESERVED_ANSWERS * margins.late_ms)
    share = (remaining - reserve) / (shares + max(0, OPENING_PLIES - ply)) + increment - margins.late_ms
    planned = min(hard, max(0, share, _less(byoyomi, margins.of_byoyomi(byoyomi))))
    # In byoyomi unused time is lost, so all of it is used; before, unused time stays on the clock.
    earliest = planned if remaining < byoyomi else planned * EARLIEST_STOP
    extended = planned
    if ply >= EXTENSION_FROM_PLY and remaining > EXTENSION * planned:
        extended = min(hard, EXTENSION * planned)
    return Budget(earliest / 1000, planned / 1000, extended / 1000, hard / 1000)


def _less(time_ms: float, margin_ms: float) -> float:
    """Subtract a margin, but at most half of the time."""
    time_ms = max(0, time_ms)
    return time_ms - min(max(0, margin_ms), time_ms / 2)


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
