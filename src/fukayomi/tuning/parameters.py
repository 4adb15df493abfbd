"""What is tuned: numbers within ranges and choices from lists, as points on lines. Knows no engines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol, Self

from pydantic import Field, model_validator

from fukayomi.errors import InvalidValueError
from fukayomi.settings import Settings

LEAST_C = 0.5
"""Least change of a whole number that is one at least half of the time."""
C_SHARE = 1 / 20
"""`c_end` as a share of the range, unless it is given, as in fishtest."""
R_END_PAIRS, MOST_R_END = 60.0, 0.1
"""`r_end` times the pairs of the run, unless it is given, and its most: fishtest's 0.002 with 30,000 pairs. Chosen
among 20, 60 and 120 by a few runs on functions like those of docs/measurements/tuning.md."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A line on which a parameter moves. Whole numbers on it can be played."""

    low: float
    high: float
    start: float
    c_end: float
    """Distance from the value at which the last pairs are played, on both sides."""
    r_end: float
    """Learning rate of the last pairs: a won pair moves the value by about 2 * r_end * c_end."""
    is_choice: bool = False
    """Whether the points are places in a list."""

    def inside(self, value: float) -> float:
        """The nearest point of the line."""
        return min(max(value, self.low), self.high)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two points to compare: a whole number for each dimension."""

    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known of a parameter: its value and an interval."""

    value: float
    low: float
    high: float


class Tuner(Protocol):
    """Proposes points to compare, learns which are better, and is a function of seed and results alone."""

    @property
    def SIDES(self) -> tuple[str, str]:  # noqa: N802  # a constant of each class
        """What distinguishes the names of the two sides."""
        ...

    def propose(self, count: int) -> list[Proposal]:
        """The next proposals, all from what is known now."""
        ...

    def tell(self, results: Sequence[float | None]) -> None:
        """The results of the last proposals, in order: mean difference of points in a pair of games, from -2 (the first
        lost both) to 2; None: nothing that counts was played."""
        ...

    def estimates(self) -> list[Estimate]:
        """The parameters as far as they are known."""
        ...


class Parameter(Settings):
    """An option that is tuned: a whole number between `low` and `high`, or one of `choices`."""

    low: int | None = None
    """Least value."""
    high: int | None = None
    """Greatest value."""
    choices: tuple[str, ...] = ()
    """Values of an option that is no number, in an order in which neighbours are alike."""
    start: int | str | None = None
    """Value at the start; None: the engine's default, or the one in its options."""
    c_end: Annotated[float | None, Field(ge=LEAST_C)] = None
    """Distance from the value at which the last pairs are played; None: a 20th of the range."""
    r_end: Annotated[float | None, Field(gt=0, le=1)] = None
    """Learning rate of the last pairs; None: 60 / pairs of the run, at most 0.1."""

    @model_validator(mode="after")
    def _is_a_line(self) -> Self:
        if self.choices:
            if self.low is not None or self.high is not None:
                raise InvalidValueError("give choices, or low and high, not both")
            if len(set(self.choices)) < max(2, len(self.choices)):
                raise InvalidValueError(f"choices are two or more different values, not {', '.join(self.choices)}")
            if self.start is not None and self.start not in self.choices:
                raise InvalidValueError(f"start {self.start!r} is not one of {', '.join(self.choices)}")
            return self
        if self.low is None or self.high is None:
            raise InvalidValueError("give low and high, or choices")
        if self.low >= self.high:
            raise InvalidValueError(f"{self.low} to {self.high} is not a range")
        if isinstance(self.start, str) or (self.start is not None and not self.low <= self.start <= self.high):
            raise InvalidValueError(f"start {self.start!r} is not between {self.low} and {self.high}")
        return self

    def dimension(self, pairs: int) -> Dimension:
        """The line, in a run of so many pairs of games. `start` must be known."""
        low, high, start = self.low, self.high, self.start
        if low is None or high is None:
            low, high, start = 0, len(self.choices) - 1, self.choices.index(str(start))
        c_end = self.c_end or max(LEAST_C, C_SHARE * (high - low))
        assert isinstance(start, int), "the start is known"
        r_end = self.r_end or min(MOST_R_END, R_END_PAIRS / pairs)
        return Dimension(low, high, start, c_end, r_end, bool(self.choices))

    def text(self, point: int) -> str:
        """The value at a point, as an engine is told it."""
        return self.choices[point] if self.choices else str(point)
