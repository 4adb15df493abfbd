"""Ranges of clocks of one kind: nodes, or a time."""

from dataclasses import dataclass
from math import log
from typing import Any

from fukayomi.arena.game.time_control import TimeControl
from fukayomi.errors import InvalidValueError

FIELDS = {"main": "main_ms", "byoyomi": "byoyomi_ms", "increment": "increment_ms", "movetime": "movetime_ms"}


class ClockRangeError(InvalidValueError):
    """Two clocks that are not the ends of a range."""


@dataclass(frozen=True, slots=True)
class ClockRange:
    """The clocks between two. A clock is identified by its amount: nodes, or milliseconds of the varied time.

    With several times (``main=1m,increment=1s`` to ``main=10m,increment=10s``) the first that differs is the amount,
    and the others vary with it.

    Raises:
        ClockRangeError: The clocks differ in kind, or the first is not the smaller one.
    """

    low: TimeControl
    high: TimeControl

    def __post_init__(self) -> None:
        low, high = _numbers(self.low), _numbers(self.high)
        both = f"{self.low.text()} and {self.high.text()}"
        if not low or not high:
            raise ClockRangeError(f"the range needs two numbers of nodes or two times, not {both}")
        if low.keys() != high.keys():
            raise ClockRangeError(f"{both} are clocks of different kinds")
        if low == high or any(high[name] < low[name] for name in low):
            raise ClockRangeError(f"the first clock must be the smaller one, not {both}")

    @property
    def kind(self) -> str:
        """What the amount measures: nodes, movetime, main, byoyomi or increment."""
        low, high = _numbers(self.low), _numbers(self.high)
        return next(name for name in low if low[name] != high[name])

    @property
    def least(self) -> int:
        """The amount of the smaller clock."""
        return _numbers(self.low)[self.kind]

    @property
    def most(self) -> int:
        """The amount of the larger clock."""
        return _numbers(self.high)[self.kind]

    def clock(self, amount: float) -> TimeControl:
        """The clock of this amount, in whole nodes or milliseconds; the amount may lie beyond the range."""
        low, high = _numbers(self.low), _numbers(self.high)
        share = log(amount / self.least) / log(self.most / self.least)
        numbers = {name: max(1, round(low[name] * (high[name] / low[name]) ** share)) for name in low}
        if "nodes" in numbers:
            return TimeControl(nodes=(numbers["nodes"],))
        times: dict[str, Any] = {FIELDS[name]: number for name, number in numbers.items()}
        return TimeControl(**times)

    def amount(self, clock: TimeControl) -> int | None:
        """The amount of a clock; None for a clock of another kind."""
        numbers = _numbers(clock)
        return numbers[self.kind] if numbers.keys() == _numbers(self.low).keys() else None


def _numbers(clock: TimeControl) -> dict[str, int]:
    """The numbers of a clock that may vary, by name; empty for other clocks."""
    if clock.nodes:
        return {"nodes": clock.nodes[0]} if len(clock.nodes) == 1 else {}
    times = {name: getattr(clock, field) or 0 for name, field in FIELDS.items()}
    return {name: time_ms for name, time_ms in times.items() if time_ms}
