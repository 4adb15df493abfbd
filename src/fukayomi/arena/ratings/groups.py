"""Groups of players that can be compared.

Ratings are finite within a *group*: players that are strongly connected by "scored against". All games between two
groups, if any, were won by the same group, so no difference is too large for it; a player who won every game is a group
of one. Groups without games between them, even through others, are in different *pools*.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse  # pyright: ignore[reportMissingTypeStubs]
from scipy.sparse import csgraph  # pyright: ignore

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
