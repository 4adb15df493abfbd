"""The settings of a calibration: a match, and a range of clocks of one kind: nodes, or a time."""

from dataclasses import dataclass
from math import log
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from fukayomi.arena.game.rules import EngineSettings
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.match.settings import MatchSettings
from fukayomi.errors import InvalidValueError
from fukayomi.settings import Settings

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
        """Quantity that the amount measures: nodes, movetime, main, byoyomi or increment."""
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


class CalibrationError(InvalidValueError):
    """Invalid settings of a calibration, or a folder with something else in it."""


class CalibrationSettings(Settings):
    """The settings of a calibration.

    Raises:
        CalibrationError: The settings contradict each other.
    """

    ERROR: ClassVar = CalibrationError

    match: MatchSettings
    """The settings of all matches; `games` is the total of the calibration, an even number."""
    vary: str
    """Name of the engine whose clock varies."""
    clocks: ClockRange
    """The range of its clock."""
    precision: Annotated[float | None, Field(gt=1, le=100)] = None
    """Stop when the 95 % interval is within this factor of its middle, for example 1.2; None: play all games."""

    @model_validator(mode="after")
    def _is_a_comparison(self) -> Self:
        names = [engine.name for engine in self.match.engines]
        if len(names) != 2:
            raise InvalidValueError(f"a calibration compares two engines, not {', '.join(names)}")
        if self.vary not in names:
            raise InvalidValueError(f"no engine is named {self.vary!r}; the engines are {', '.join(names)}")
        if self.match.games % 2:
            raise InvalidValueError(f"games must be even, since each opening is played twice; not {self.match.games}")
        if self.match.sprt is not None:
            raise InvalidValueError("a calibration cannot have a sequential test (sprt)")
        return self

    @property
    def against(self) -> EngineSettings:
        """The other engine."""
        return next(engine for engine in self.match.engines if engine.name != self.vary)

    def at(self, clock: TimeControl, **changes: object) -> MatchSettings:
        """The match in which the engine that varies has this clock."""
        engines = tuple(
            engine.model_copy(update={"clock": clock}) if engine.name == self.vary else engine
            for engine in self.match.engines
        )
        return self.match.model_copy(update={"engines": engines, **changes})


def _numbers(clock: TimeControl) -> dict[str, int]:
    """The numbers of a clock that may vary, by name; empty for other clocks."""
    if clock.nodes:
        return {"nodes": clock.nodes[0]} if len(clock.nodes) == 1 else {}
    times = {name: getattr(clock, field) or 0 for name, field in FIELDS.items()}
    return {name: time_ms for name, time_ms in times.items() if time_ms}
