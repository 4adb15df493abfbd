"""Where groups go that beat all the others, or lost to them: no rating is the likeliest, so the even chance decides."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fukayomi.arena.ratings.draws import draw_chances
from fukayomi.arena.ratings.fit import logistic
from fukayomi.arena.ratings.groups import Groups, peel
from fukayomi.arena.ratings.tally import Floats, Integers, Pairings

_FAR = 100.0  # logits
_HALVINGS = 60
_EVEN = math.log(0.5)


@dataclass(frozen=True, eq=False)
class Sweep:
    """A group that won or lost every game against those placed before it.

    Attributes:
        members: [n] which players these are.
        games: [K] in which pairings.
        sides: [K] 1 where a member moved first, -1 where second, 0 in other pairings.
        sign: 1 if they won, -1 if they lost.
    """

    members: NDArray[np.bool_]
    games: NDArray[np.bool_]
    sides: Integers
    sign: int


def find_sweeps(pairings: Pairings, groups: Groups) -> list[Sweep]:
    """The groups beside the cores, in the order in which they are placed; those that met nobody are passed over."""
    sweeps: list[Sweep] = []
    placed = np.isin(groups.group, groups.core)
    for group in peel(pairings, groups):
        members = groups.group == group
        first = members[pairings.first] & placed[pairings.second]
        second = members[pairings.second] & placed[pairings.first]
        games = first | second
        if games.any():
            sides = first.astype(np.int64) - second
            one = int(np.argmax(games))  # who won one game of these has won them all
            sweeps.append(Sweep(members, games, sides, int(sides[one] if pairings.wins[one] else -sides[one])))
        placed |= members
    return sweeps


def place(pairings: Pairings, sweeps: list[Sweep], ratings: Floats, advantage: float, draw_rate: float) -> Floats:
    """Ratings in which each sweep had the chance one half.

    Args:
        pairings: All games.
        sweeps: As find_sweeps gives them.
        ratings: [n] in logits, right within each group.
        advantage: Of the first move, in logits.
        draw_rate: Of equal players, 0 to 1.
    """
    ratings = ratings.copy()
    for sweep in sweeps:
        gaps = sweep.sides * (ratings[pairings.first] - ratings[pairings.second] + advantage)
        ratings[sweep.members] += _find_shift(gaps[sweep.games], pairings.games[sweep.games], sweep.sign, draw_rate)
    return ratings


def _find_shift(gaps: Floats, games: Integers, sign: int, draw_rate: float) -> float:
    """How far to move a group, whose players are ahead by `gaps` in the pairings that it won (sign 1) or lost (-1)."""

    def excess(shift: float) -> float:
        expected = logistic(sign * (gaps + shift))
        wins = np.maximum(expected - draw_chances(expected, draw_rate) / 2, 1e-300)
        return float(games @ np.log(wins)) - _EVEN

    middle = -float(np.average(gaps, weights=games))
    low, high = middle - _FAR, middle + _FAR
    for _ in range(_HALVINGS):
        shift = (low + high) / 2
        if (excess(shift) < 0) == (sign > 0):
            low = shift
        else:
            high = shift
    return (low + high) / 2
