"""Results, added up: how often each player met each other with the first move, and what came of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pairings:
    """Games by who moved first and who moved second; arrays [K], K the number of such pairings that were played.

    Players are numbers, their places in `names`. Wins and losses are those of who moved first.
    """

    names: tuple[str, ...]
    first: Integers
    second: Integers
    wins: Integers
    draws: Integers
    losses: Integers

    @property
    def games(self) -> Integers:
        """All games of each pairing."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> Floats:
        """What those with the first move scored, a draw as a half."""
        return (self.wins + 0.5 * self.draws).astype(np.float64)

    def select(self, which: NDArray[np.bool_]) -> "Pairings":
        """Some of the pairings, of the same players."""
        return Pairings(
            self.names, self.first[which], self.second[which], self.wins[which], self.draws[which], self.losses[which]
        )

    def of_player(self, values_first: Floats | Integers, values_second: Floats | Integers) -> Floats:
        """Sums by player, of what each pairing gives to who moves first and to who moves second."""
        count = len(self.names)
        first, second = np.asarray(values_first, np.float64), np.asarray(values_second, np.float64)
        total = np.bincount(self.first, first, count) + np.bincount(self.second, second, count)
        return total.astype(np.float64)


class Tally:
    """Takes games and adds them up."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._counts: dict[tuple[int, int], list[int]] = {}

    @classmethod
    def of(cls, games: Iterable[tuple[str, str, float]]) -> Self:
        """The tally of games as `add` takes them."""
        tally = cls()
        for first, second, points in games:
            tally.add(first, second, points)
        return tally

    def add(self, first: str, second: str, points: float, games: int = 1) -> None:
        """Count games.

        Args:
            first: Who moved first.
            second: Who moved second.
            points: What the first scored in each: 1, 0.5 or 0.
            games: How many such games.

        Raises:
            ValueError: Somebody plays against himself, or the points are no result.
        """
        if first == second:
            raise ValueError(f"{first!r} against itself says nothing about its strength")
        if points not in (0, 0.5, 1):
            raise ValueError(f"a game scores 1, 0.5 or 0, not {points}")
        pairing = tuple(self._numbers.setdefault(name, len(self._numbers)) for name in (first, second))
        self._counts.setdefault((pairing[0], pairing[1]), [0, 0, 0])[round(2 - 2 * points)] += games

    @property
    def names(self) -> tuple[str, ...]:
        """The players, in alphabetical order."""
        return tuple(sorted(self._numbers))

    def pairings(self) -> Pairings:
        """The sums. They do not depend on the order of the games."""
        names = self.names
        place = {self._numbers[name]: number for number, name in enumerate(names)}
        rows = sorted((place[first], place[second], *counts) for (first, second), counts in self._counts.items())
        columns = np.array(rows, np.int64).reshape(-1, 5).T
        return Pairings(names, *(np.ascontiguousarray(column) for column in columns))

    def between(self, one: str, other: str) -> "Tally":
        """The games of two players alone."""
        pair = Tally()
        numbers = {self._numbers[name]: name for name in (one, other)}
        for (first, second), counts in self._counts.items():
            if first in numbers and second in numbers:
                for points, games in zip((1, 0.5, 0), counts, strict=True):
                    pair.add(numbers[first], numbers[second], points, games)
        return pair
