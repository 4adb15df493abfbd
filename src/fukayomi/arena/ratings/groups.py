"""Which players can be compared.

Ratings are finite within a *group*: players that are strongly connected by "scored against". All games between two
groups, if any, were won by the same group, so no difference is too large for it; a player who won every game is a group
of one. Groups without games between them, even through others, are in different *pools*.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fukayomi.arena.ratings.tally import Floats, Integers, Pairings


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups and pools of the n players."""

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

    def centre(self, ratings: Floats, anchors: Iterable[int]) -> Floats:
        """Ratings [B, n] shifted to an average of 0 per group; groups with an anchor stay."""
        ratings = ratings.copy()
        for group in self.without(anchors):
            members = self.members(group)
            ratings[:, members] -= ratings[:, members].mean(axis=1, keepdims=True)
        return ratings

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
    scored = np.eye(len(pairings.names), dtype=bool)
    scored[better, worse] = True
    reached = _reachable(scored)
    group = _number(reached & reached.T)
    pool = _number(_reachable(scored | scored.T))
    games = pairings.of_player(pairings.games, pairings.games)
    return Groups(group, pool, _find_cores(group, pool, games))


def _reachable(steps: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[n, n] which players can be reached from each player."""
    while True:
        further = (steps.astype(np.float32) @ steps.astype(np.float32)) > 0
        if np.array_equal(further, steps):
            return steps
        steps = further


def _number(together: NDArray[np.bool_]) -> Integers:
    """[n] number of each player's class, from [n, n] whether two players are in the same class."""
    return np.unique(together.argmax(axis=1), return_inverse=True)[1].astype(np.int64)


def _find_cores(group: Integers, pool: Integers, games: Floats) -> Integers:
    """By pool, the group with the most players; ties go to the most games, then to the first."""
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
    """The groups other than the cores, in the order in which they can be placed from the cores outward.

    Each group either won or lost every game against its pool's core and the groups before it.
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
