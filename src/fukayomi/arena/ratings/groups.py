"""Who can be compared with whom.

Ratings are finite within a *group*: players of whom each can be reached from each by "scored against". Between two
groups every game, if there are any, went the same way, and no rating is too large for the better one; a player who won
all games is such a group alone. Groups without any game between them, even by way of others, are of different *pools*.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fukayomi.arena.ratings.tally import Floats, Integers, Pairings


@dataclass(frozen=True, eq=False)
class Groups:
    """The players' groups and pools; arrays [n], of the players."""

    group: Integers
    pool: Integers
    core: Integers
    """By pool: the group that has the most games, to which the others are compared."""

    def members(self, group: int) -> Integers:
        """The players of a group."""
        return np.flatnonzero(self.group == group)

    def without(self, anchors: Iterable[int]) -> list[int]:
        """The groups that have none of these players."""
        return np.setdiff1d(self.group, self.group[list(anchors)]).tolist()

    def centre(self, ratings: Floats, anchors: Iterable[int]) -> Floats:
        """Ratings [B, n] from the averages of their groups, but for groups with an anchor."""
        ratings = ratings.copy()
        for group in self.without(anchors):
            members = self.members(group)
            ratings[:, members] -= ratings[:, members].mean(axis=1, keepdims=True)
        return ratings

    def pools_as_groups(self) -> "Groups":
        """As if no group had won everything against another."""
        return Groups(self.pool, self.pool, np.arange(len(self.core)))


def find_groups(pairings: Pairings, anchors: Sequence[int] = ()) -> Groups:
    """Groups and pools, numbered by their first players.

    Args:
        pairings: The games.
        anchors: Players whose ratings are given, and who are so in one group, whatever they played.
    """
    one, other = np.array(anchors[:-1], np.int64), np.array(anchors[1:], np.int64)
    first_scored = pairings.wins + pairings.draws > 0
    second_scored = pairings.losses + pairings.draws > 0
    better = np.concatenate([pairings.first[first_scored], pairings.second[second_scored], one, other])
    worse = np.concatenate([pairings.second[first_scored], pairings.first[second_scored], other, one])
    scored = np.eye(len(pairings.names), dtype=bool)
    scored[better, worse] = True
    reached = _reachable(scored)
    group = _number(reached & reached.T)
    pool = _number(_reachable(scored | scored.T))
    games = pairings.of_player(pairings.games, pairings.games)
    return Groups(group, pool, _find_cores(group, pool, games))


def _reachable(steps: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[n, n] what can be reached from each player in any number of steps."""
    while True:
        further = (steps.astype(np.float32) @ steps.astype(np.float32)) > 0
        if np.array_equal(further, steps):
            return steps
        steps = further


def _number(together: NDArray[np.bool_]) -> Integers:
    """[n] which class each player belongs to, where [n, n] tells who are of one class."""
    return np.unique(together.argmax(axis=1), return_inverse=True)[1].astype(np.int64)


def _find_cores(group: Integers, pool: Integers, games: Floats) -> Integers:
    """The group with the most players; of several the one with the most games, then the first."""
    size = np.bincount(group)
    weight = np.bincount(group, games)
    pool_of = np.zeros(len(size), np.int64)
    pool_of[group] = pool
    return np.array(
        [
            max(np.flatnonzero(pool_of == number), key=lambda one: (size[one], weight[one], -one))
            for number in range(pool.max(initial=-1) + 1)
        ],
        np.int64,
    )


def peel(pairings: Pairings, groups: Groups) -> list[int]:
    """The groups beside the cores, in the order in which they can be placed from the cores outward.

    Each group, when its turn comes, either won or lost every game against those before it and its pool's core.
    """
    count = int(groups.group.max()) + 1
    one, other = groups.group[pairings.first], groups.group[pairings.second]
    won, lost = (pairings.wins > 0) & (one != other), (pairings.losses > 0) & (one != other)
    beat = np.zeros((count, count), bool)  # between groups there are no draws
    beat[one[won], other[won]] = True
    beat[other[lost], one[lost]] = True
    left = set(range(count)) - set(groups.core.tolist())
    removed: list[int] = []
    remaining = np.ones(count, bool)
    while left:
        inside = beat & remaining[:, None] & remaining[None, :]
        extreme = [group for group in sorted(left) if not inside[:, group].any() or not inside[group].any()]
        removed += extreme
        left -= set(extreme)
        remaining[extreme] = False
    return removed[::-1]
