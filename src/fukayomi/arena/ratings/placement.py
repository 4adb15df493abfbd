"""Ratings of groups that won or lost everything: no maximum of the likelihood exists, so probability 1/2 decides."""

import math
from dataclasses import dataclass

import numpy as np

from fukayomi.arena.ratings.design import logistic
from fukayomi.arena.ratings.draws import draw_chances
from fukayomi.arena.ratings.groups import Groups, peel, split_by
from fukayomi.arena.ratings.tally import Floats, Integers, Pairings

_FAR = 100.0  # logits: the outcome is certain
_EVEN = math.log(0.5)


@dataclass(frozen=True, eq=False)
class Sweep:
    """A group that won or lost every game against those placed before it."""

    members: Integers
    """[members] the players."""
    games: Integers
    """[games] the pairings with those placed before."""
    sides: Integers
    """[games] 1 where a member moved first, -1 where it moved second."""
    sign: int
    """1 if the members won, -1 if they lost."""


def find_sweeps(pairings: Pairings, groups: Groups) -> list[Sweep]:
    """The groups other than the cores, in placement order; groups without games against others are skipped."""
    sweeps: list[Sweep] = []
    placed = np.isin(groups.group, groups.core)
    members_of = split_by(groups.group, np.arange(len(groups.group)))
    at = np.arange(len(pairings.first))
    firsts, seconds = (split_by(groups.group[one], at, len(members_of)) for one in (pairings.first, pairings.second))
    for group in peel(pairings, groups):
        members, first, second = members_of[group], firsts[group], seconds[group]
        first, second = first[placed[pairings.second[first]]], second[placed[pairings.first[second]]]
        games = np.append(first, second)
        if len(games):
            sides = np.repeat([1, -1], [len(first), len(second)])
            order = np.argsort(games)
            games, sides = games[order], sides[order]
            # One game shows who won them all.
            sweeps.append(Sweep(members, games, sides, int(sides[0] if pairings.wins[games[0]] else -sides[0])))
        placed[members] = True
    return sweeps


def place(pairings: Pairings, sweeps: list[Sweep], ratings: Floats, advantage: float, draw_rate: float) -> Floats:
    """Ratings with which each sweep had probability 1/2.

    Args:
        pairings: All games.
        sweeps: Result of `find_sweeps`.
        ratings: [n] in logits, correct within each group.
        advantage: First-move advantage in logits.
        draw_rate: Draw rate of equal players, 0..1.
    """
    ratings, games = ratings.copy(), pairings.games
    for sweep in sweeps:
        first, second = pairings.first[sweep.games], pairings.second[sweep.games]
        gaps = sweep.sides * (ratings[first] - ratings[second] + advantage)
        ratings[sweep.members] += _find_shift(gaps, games[sweep.games], sweep.sign, draw_rate)
    return ratings


def _find_shift(gaps: Floats, games: Integers, sign: int, draw_rate: float) -> float:
    """The shift, in logits, of a group that leads by `gaps` in the pairings that it won (sign 1) or lost (-1)."""
    from scipy.optimize import brentq  # pyright: ignore

    def excess(shift: float) -> float:
        """Logarithm of the probability of the sweep over 1/2; monotone."""
        expected = logistic(sign * (gaps + shift))
        wins = np.maximum(expected - draw_chances(expected, draw_rate) / 2, 1e-300)
        return float(games @ np.log(wins)) - _EVEN

    middle = -float(np.average(gaps, weights=games))
    far = _FAR + float(np.ptp(gaps))
    return float(brentq(excess, middle - far, middle + far, xtol=1e-13))  # pyright: ignore
