"""Intervals of ratings by Rao's score test, for leagues whose simulations are no guide to the errors.

Where a player may well win everything, replays without finite ratings are discarded, and those that remain are no fair
sample. The score test needs no replays: a rating belongs to the interval if the results, fitted with this
rating given, pull at it by less than z standard errors of the pull. For two players with a fixed first-move advantage
this is Wilson's interval. The variance follows the scatter of the results, as in `statistics.intervals`.

Source: C. R. Rao, "Large sample tests of statistical hypotheses concerning several parameters" (1948).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fukayomi.arena.ratings.design import RIDGE, Design, logistic, make_design, solve_linear
from fukayomi.arena.ratings.estimate import Estimate
from fukayomi.arena.ratings.tally import Floats, Groups, Integers, Pairings
from fukayomi.arena.statistics.intervals import PRIOR_RESULTS

_ROUNDS = 100
_STEPS = 50
_TOLERANCE = 1e-9  # logits
_NEAR = 1e-6  # relative to z
_FAR = 30.0  # logits: a bound beyond it is open


@dataclass(frozen=True, eq=False)
class ScoreTest:
    """The score test of ratings, relative to the average of their group or to the anchors."""

    groups: Groups
    anchors: frozenset[int]
    design: Design
    pairings: Pairings
    """The games within groups."""
    best: Floats
    """[m] parameters of maximum likelihood."""
    scatter: float
    """Variance of the results relative to coin flips."""

    @classmethod
    def of(cls, pairings: Pairings, found: Estimate, anchors: Mapping[int, float]) -> "ScoreTest":
        """Prepare the test.

        Args:
            pairings: All games.
            found: The estimated strengths.
            anchors: Given ratings by player, in logits.
        """
        groups = found.groups
        inner = pairings.select(groups.group[pairings.first] == groups.group[pairings.second])
        references = groups.first_members(groups.without(anchors))
        fixed = dict(anchors) | {player: float(found.ratings[player]) for player in references}
        design = make_design(inner, fixed, None if found.has_advantage else found.advantage)
        best = design.pack(found.ratings, found.advantage)
        expected = logistic(design.differences(best[None, :])[0])
        surprises = inner.wins @ (1 - expected) ** 2 + inner.draws @ (0.5 - expected) ** 2 + inner.losses @ expected**2
        count = int(inner.games.sum())
        share = float(surprises) / float(inner.games @ (expected * (1 - expected))) if count else 1.0
        scatter = (PRIOR_RESULTS + share * count) / (PRIOR_RESULTS + count)
        return cls(groups, frozenset(anchors), design, inner, best, scatter)

    def intervals(self, z: float) -> tuple[Floats, Floats]:
        """Distances [n], in logits, from each rating down and up to the ends of its interval.

        NaN for anchors, for players without a maximum-likelihood rating, and where an end is open.

        Args:
            z: Half width of the interval of a normal variable, in standard deviations.
        """
        count = len(self.design.fixed)
        low, high = np.full(count, np.nan), np.full(count, np.nan)
        for core in self.groups.core.tolist():
            members = self.groups.members(core)
            for player in members.tolist():
                if player not in self.anchors and len(members) > 1:
                    contrast = self._contrast(player, members)
                    low[player], high[player] = self._reach(contrast, -z), self._reach(contrast, z)
        return low, high

    def covariance(self) -> Floats:
        """[n, n] covariance of the ratings by Fisher's information, in squared logits; valid within groups."""
        count, free = len(self.design.fixed), self.design.free
        covariance = np.zeros((count, count))
        inverse = self.scatter * np.linalg.inv(self._information(self.best))
        covariance[np.ix_(free, free)] = inverse[: len(free), : len(free)]
        return covariance

    def _contrast(self, player: int, members: Integers) -> Floats:
        """[m] the weights of the parameters in a rating relative to its group's average, or to the anchors."""
        weights = (self.design.free == player).astype(np.float64)
        if not self.anchors.intersection(members.tolist()):
            weights -= np.isin(self.design.free, members) / len(members)
        return np.append(weights, [0.0] * self.design.has_advantage)

    def _reach(self, contrast: Floats, z: float) -> float:
        """Distance of the combination from its estimate at which the test statistic is z; NaN if too far."""
        parameters, distance = self.best, 2 * np.arcsinh(z * self._error(contrast) / 2)
        for _ in range(_STEPS):
            parameters, found = self._test(contrast, float(distance), parameters)
            if abs(found - z) < _NEAR * abs(z):
                return abs(float(distance))
            # Exact for two players: the statistic is proportional to sinh of half their distance.
            distance = 2 * np.arcsinh(np.sinh(distance / 2) * z / found)
            if not abs(distance) < _FAR:
                break
        return float("nan")

    def _error(self, contrast: Floats) -> float:
        """The standard error of the combination by Fisher's information."""
        return float(np.sqrt(self.scatter * (contrast @ solve_linear(self._information(self.best), contrast))))

    def _information(self, parameters: Floats) -> Floats:
        expected = logistic(self.design.differences(parameters[None, :]))
        weights = self.pairings.games * expected * (1 - expected)
        return self.design.hessian(weights)[0] + RIDGE * np.eye(self.design.size)

    def _test(self, contrast: Floats, distance: float, start: Floats) -> tuple[Floats, float]:
        """The likeliest parameters at a distance of the combination from its estimate, and the test statistic."""
        design, now = self.design, start
        pull = variance = 0.0
        for _ in range(_ROUNDS):
            leads = design.differences(now[None, :])
            residuals = self.pairings.points - self.pairings.games * logistic(leads)
            information = self._information(now)
            free, along = solve_linear(information, np.stack([design.gradient(residuals)[0], contrast]))
            variance = float(contrast @ along)
            missing = distance - float(contrast @ (now - self.best))
            pull = (missing - float(contrast @ free)) / variance
            step = free + pull * along
            change = float(np.abs(design.differences((now + step)[None, :]) - leads).max())
            now = now + step * (np.log1p(change) / change if change > 0 else 1.0)
            if change < _TOLERANCE:
                break
        return now, pull * float(np.sqrt(variance / self.scatter))
