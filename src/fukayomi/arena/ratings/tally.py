"""Results counted by player and by who moved first, and the groups of players that can be compared."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse  # pyright: ignore[reportMissingTypeStubs]
from scipy.sparse import csgraph  # pyright: ignore

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


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups and pools of the n players.

    Ratings are finite within a *group*: players that are strongly connected by "scored against". All games between two
    groups, if any, were won by the same group, so no difference is too large for it; a player who won every game is a
    group of one. Groups without games between them, even through others, are in different *pools*.
    """

    group: Integers
    """[n] the group of each player."""
    pool: Integers
    """[n] the pool of each player."""
    core: Integers
    """[pools] the largest group of each pool, with which the others are compared."""

    def members(self, group: int) -> Integers:
        """The players of a group, [members]."""
        return np.flatnonzero(self.group == group)

    def without(self, anchors: Iterable[int]) -> list[int]:
        """The groups that contain none of these players."""
        return np.setdiff1d(self.group, self.group[list(anchors)]).tolist()

    def first_members(self, groups: Sequence[int]) -> list[int]:
        """The first player of each of these groups."""
        numbers, first = np.unique(self.group, return_index=True)
        return first[np.searchsorted(numbers, groups)].tolist()

    def centre(self, ratings: Floats, anchors: Iterable[int]) -> Floats:
        """Ratings [B, n] shifted to an average of 0 per group; groups with an anchor stay."""
        order = np.argsort(self.group, kind="stable")
        numbers, begin, sizes = np.unique(self.group[order], return_index=True, return_counts=True)
        averages = np.add.reduceat(ratings[:, order], begin, axis=1) / sizes
        averages[:, ~np.isin(numbers, self.without(anchors))] = 0
        return ratings - averages[:, np.searchsorted(numbers, self.group)]

    def pools_as_groups(self) -> "Groups":
        """Each pool as one group."""
        return Groups(self.pool, self.pool, np.arange(len(self.core)))


def find_groups(pairings: Pairings, anchors: Sequence[int] = ()) -> Groups:
    """Find groups and pools; they are numbered by their first players.

    Args:
        pairings: The games.
        anchors: Players with given ratings; they belong to one group, whatever they played.
    """
    one, other = np.array(anchors[:-1], np.int64), np.array(anchors[1:], np.int64)
    first_scored = pairings.wins + pairings.draws > 0
    second_scored = pairings.losses + pairings.draws > 0
    better = np.concatenate([pairings.first[first_scored], pairings.second[second_scored], one, other])
    worse = np.concatenate([pairings.second[first_scored], pairings.first[second_scored], other, one])
    count = len(pairings.names)
    scored = sparse.coo_array((np.ones(len(better), np.int8), (better, worse)), shape=(count, count))
    group, pool = _classes(scored, "strong"), _classes(scored, "weak")
    games = pairings.of_player(pairings.games, pairings.games)
    return Groups(group, pool, _find_cores(group, pool, games))


def _classes(steps: Any, connection: str) -> Integers:
    """[n] number of each player's component; components are numbered by their first players."""
    label = components(steps, connection)
    _, first, place = np.unique(label, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place].astype(np.int64)


def components(steps: Any, connection: str = "strong") -> Integers:
    """[n] a label of each node's component in a sparse matrix [n, n] of steps; "strong" or "weak"."""
    found: Any = csgraph.connected_components(steps, connection=connection)  # pyright: ignore
    return np.asarray(found[1], np.int64)


def _find_cores(group: Integers, pool: Integers, games: Floats) -> Integers:
    """By pool, the group with the most players; ties go to the most games, then to the first."""
    size = np.bincount(group)
    weight = np.bincount(group, games)
    pool_of = np.zeros(len(size), np.int64)
    pool_of[group] = pool
    groups = split_by(pool_of, np.arange(len(size)))
    return np.array(
        [max(inside.tolist(), key=lambda one: (size[one], weight[one], -one)) for inside in groups], np.int64
    )


def peel(pairings: Pairings, groups: Groups) -> list[int]:
    """The groups other than the cores, in the order in which they can be placed from the cores outward.

    Each group either won or lost every game against its pool's core and the groups before it.
    """
    one, other = groups.group[pairings.first], groups.group[pairings.second]
    won, lost = (pairings.wins > 0) & (one != other), (pairings.losses > 0) & (one != other)  # no draws between groups
    beat = np.unique(np.stack([np.append(one[won], other[lost]), np.append(other[won], one[lost])]), axis=1)
    count = int(groups.group.max()) + 1
    wins, losses = np.bincount(beat[0], minlength=count), np.bincount(beat[1], minlength=count)
    won_against, lost_to = split_by(beat[0], beat[1], count), split_by(beat[1], beat[0], count)
    cores = set(groups.core.tolist())
    left = set(range(count)) - cores
    removed: list[int] = []
    extreme = sorted(group for group in left if not losses[group] or not wins[group])
    while extreme:
        removed += extreme
        left -= set(extreme)
        touched: set[int] = set()
        for group in extreme:
            losses[won_against[group]] -= 1
            wins[lost_to[group]] -= 1
            touched.update(won_against[group].tolist(), lost_to[group].tolist())
        extreme = sorted(group for group in touched & left if not losses[group] or not wins[group])
    return removed[::-1]


def split_by(numbers: Integers, values: Integers, count: int | None = None) -> list[Integers]:
    """The values of each number 0, 1, ..., in their order; `count` numbers, or those that occur."""
    sizes = np.bincount(numbers, minlength=count or 0)
    return np.split(values[np.argsort(numbers, kind="stable")], np.cumsum(sizes)[:-1])
