"""How long to think: from the clock that a GUI reports to a budget for one move. No clock is read here.

The plan follows dlshogi: a share of the remaining time that grows as the game goes on, at least the byoyomi. The hard
limit is never more than what the clock holds, less a margin for the way to the GUI and back.
"""

from dataclasses import dataclass

OPENING_PLIES = 30  # until then the remaining time is divided into more shares
SHARES = 14
EXTENSION = 2.0  # an unclear position may take this many times the plan, once
EXTENSION_FROM_PLY = 20
EARLIEST_STOP = 0.1  # of the plan: before that, too little is known to stop early
# Some GUIs report a clock at zero where time does not count; where it does, the game is lost already.
NOTHING_LEFT_MS = 100


@dataclass(frozen=True, slots=True)
class Clock:
    """What the clock of the side to move says, in milliseconds. None: no such limit.

    ``remaining_ms`` may be zero or negative with byoyomi, and is then zero.
    """

    remaining_ms: int | None = None
    byoyomi_ms: int = 0
    increment_ms: int = 0
    movetime_ms: int | None = None

    def is_set(self) -> bool:
        """Whether time limits the move at all."""
        return (
            self.remaining_ms is not None or self.movetime_ms is not None or max(self.byoyomi_ms, self.increment_ms) > 0
        )


@dataclass(frozen=True, slots=True)
class Margins:
    """Time that is not ours to use: what the way to the GUI takes. Milliseconds.

    ``byoyomi_ms`` is taken off byoyomi and movetime, ``clock_ms`` off a clock without byoyomi.
    """

    byoyomi_ms: int = 0
    clock_ms: int = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """Seconds since ``go`` was received: not before, as planned, when unclear, and never after.

    earliest_s <= planned_s <= extended_s <= hard_s.
    """

    earliest_s: float
    planned_s: float
    extended_s: float
    hard_s: float


def budget(clock: Clock, ply: int, margins: Margins) -> Budget | None:
    """Divide the clock.

    Args:
        clock: the clock of the side to move.
        ply: the number of the move to be played; a game begins at 1.
        margins: what is left unused.

    Returns:
        The budget, or None if time does not limit the move.
    """
    if clock.movetime_ms is not None:
        seconds = _less(clock.movetime_ms, margins.byoyomi_ms) / 1000
        return Budget(seconds, seconds, seconds, seconds)
    if not clock.is_set():
        return None
    remaining = max(0, clock.remaining_ms or 0)
    byoyomi = max(0, clock.byoyomi_ms)
    available = remaining + byoyomi
    if remaining < clock.increment_ms:
        # A GUI that adds the increment after a move reports at least one increment. This one adds it before.
        available += clock.increment_ms
    if available == 0:
        seconds = NOTHING_LEFT_MS / 1000
        return Budget(seconds, seconds, seconds, seconds)
    hard = _less(available, margins.byoyomi_ms if byoyomi else margins.clock_ms)
    share = remaining / (SHARES + max(0, OPENING_PLIES - ply)) + max(0, clock.increment_ms)
    planned = min(hard, max(share, _less(byoyomi, margins.byoyomi_ms)))
    # Byoyomi that is not used is lost, once the clock has run down to it; before that, it is the clock that is spent.
    earliest = planned if remaining < byoyomi else planned * EARLIEST_STOP
    extended = planned
    if ply >= EXTENSION_FROM_PLY and remaining > EXTENSION * planned:
        extended = min(hard, EXTENSION * planned)
    return Budget(earliest / 1000, planned / 1000, extended / 1000, hard / 1000)


def _less(time_ms: float, margin_ms: float) -> float:
    """Take a margin off, but never more than half of the time."""
    time_ms = max(0, time_ms)
    return time_ms - min(max(0, margin_ms), time_ms / 2)
