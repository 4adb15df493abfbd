"""Results counted by player and by who moved first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fukayomi.errors import InvalidValueError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pairings:
    """Games by the player who moved first and the one who moved second. Arrays are [K], K the pairings played.

    Players are numbered by their place in `names`.
    """

    names: tuple[str, ...]
    first: Integers
    """Players who moved first."""
    second: Integers
    """Players who moved second."""
    wins: Integers
    """Games won by the first mover."""
    draws: Integers
    losses: Integers
    """Games lost by the first mover."""

    @property
    def games(self) -> Integers:
        """Number of games of each pairing, [K]."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> Floats:
        """Points of the first movers, [K], a draw as half a point."""
        return (self.wins + 0.5 * self.draws).astype(np.float64)

    def select(self, which: NDArray[np.bool_]) -> "Pairings":
        """The pairings of a mask [K]; the players stay the same."""
        return Pairings(
            self.names, self.first[which], self.second[which], self.wins[which], self.draws[which], self.losses[which]
        )

    def of_player(self, values_first: Floats | Integers, values_second: Floats | Integers) -> Floats:
        """Sums by player, [n], of a value [K] for the first movers and one for the second movers."""
        count = len(self.names)
        first, second = np.asarray(values_first, np.float64), np.asarray(values_second, np.float64)
        total = np.bincount(self.first, first, count) + np.bincount(self.second, second, count)
        return total.astype(np.float64)


class Tally:
    """Counts results by player.

    >>> tally = Tally.of([("new", "old", 1), ("old", "new", 0.5)])
    >>> tally.names
    ('new', 'old')
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._counts: dict[tuple[int, int], list[int]] = {}

    @classmethod
    def of(cls, games: Iterable[tuple[str, str, float]]) -> Self:
        """Count games given as (first mover, second mover, points of the first mover)."""
        tally = cls()
        for first, second, points in games:
            tally.add(first, second, points)
        return tally

    def add(self, first: str, second: str, points: float, games: int = 1) -> None:
        """Count games.

        Args:
            first: The player who moved first.
            second: The player who moved second.
            points: Points of the first mover per game: 1, 0.5 or 0.
            games: Number of such games.

        Raises:
            ValueError: A player plays itself, or the points are invalid.
        """
        if first == second:
            raise InvalidValueError(f"{first!r} against itself says nothing about its strength")
        if points not in (0, 0.5, 1):
            raise InvalidValueError(f"invalid points {points} (expected 1, 0.5 or 0)")
        pairing = tuple(self._numbers.setdefault(name, len(self._numbers)) for name in (first, second))
        self._counts.setdefault((pairing[0], pairing[1]), [0, 0, 0])[round(2 - 2 * points)] += games

    @property
    def names(self) -> tuple[str, ...]:
        """The players, in alphabetical order."""
        return tuple(sorted(self._numbers))

    def pairings(self) -> Pairings:
        """The counts as arrays, independent of the order of the games."""
        names = self.names
        place = {self._numbers[name]: number for number, name in enumerate(names)}
        rows = sorted((place[first], place[second], *counts) for (first, second), counts in self._counts.items())
        columns = np.array(rows, np.int64).reshape(-1, 5).T
        return Pairings(names, *(np.ascontiguousarray(column) for column in columns))

    def between(self, one: str, other: str) -> "Tally":
        """The games between two players."""
        return self.pairs([one, other]).get((one, other), Tally())

    def pairs(self, order: Sequence[str]) -> "dict[tuple[str, str], Tally]":
        """The games of each two of these players who met; pairs are in this order, and so are their names."""
        names = {number: name for name, number in self._numbers.items()}
        place = {name: number for number, name in enumerate(order)}
        found: dict[tuple[str, str], Tally] = {}
        for (first, second), counts in self._counts.items():
            one, other = names[first], names[second]
            if one not in place or other not in place:
                continue
            pair = found.setdefault((one, other) if place[one] < place[other] else (other, one), Tally())
            for points, games in zip((1, 0.5, 0), counts, strict=True):
                pair.add(one, other, points, games)
        return dict(sorted(found.items(), key=lambda item: (place[item[0][0]], place[item[0][1]])))
