"""Errors of ratings by parametric bootstrap: players of the estimated strength replay the same schedule many times.

Many players take another way (`simulate_steps`): one step of Newton's method instead of new ratings. The results of a
simulation pull at the ratings; divided by the information of all games, the pull is the change of the ratings to first
order. So all simulations share one matrix, and none is lost because a player wins everything. A standard error s
(logits) becomes an interval as Wilson's of two players: half its width is 2 asinh(z s / 2).

Sources: B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap" (1993), section 6.5; P. J. Bickel, "One-step
Huber estimates in the linear model" (1975).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse  # pyright: ignore[reportMissingTypeStubs]

from fukayomi.arena.ratings.design import Design, logistic, make_design
from fukayomi.arena.ratings.estimate import (
    Estimate,
    Outcomes,
    Sweep,
    draw_chances,
    draw_root,
    fit_draw_rate,
    level_of,
    solve,
    solve_results,
    win_chances,
)
from fukayomi.arena.ratings.tally import Floats, Groups, Integers, Pairings, components
from fukayomi.listener import SILENT, Listener

_PATIENCE = 20  # replays tried per replay wanted
_HOPELESS = 1000  # replays tried before giving up, if none had finite ratings
_CHUNK = 2_000_000  # elements of the largest arrays
MOST_RESULTS = 5_000_000
"""Simulated results of pairings at most; this limits the number of simulations."""
LEAST_SIMULATIONS = 200
"""Simulations that are always made, if as many are wanted: errors then scatter by 5 %."""
_STEP_CHUNK = 1 << 18  # results simulated together; they fit into the processor's cache
_STEP_PRECISION = 1e-5  # relative; the scatter is far larger


@dataclass(frozen=True, eq=False)
class Replays:
    """Estimates from R replays of the schedule."""

    ratings: Floats
    """[R, n] in logits; relative to the pool's average in pools without anchors."""
    advantages: Floats
    """[R] first-move advantages in logits."""
    draw_rates: Floats
    """[R] draw rates of equal players, 0..1."""
    usable: float
    """Share of all replays that had finite ratings, 0..1; the others were discarded."""


def simulate(
    pairings: Pairings,
    found: Estimate,
    anchors: Mapping[int, float],
    count: int,
    seed: int,
    listener: Listener = SILENT,
) -> Replays:
    """Replay the schedule and estimate all strengths again.

    Replays without finite ratings, in which a player wins everything, are discarded and replaced. So are replays in
    which players who really won everything do so again: an infinite rating says nothing about the error.

    Args:
        pairings: The schedule.
        found: The estimated strengths.
        anchors: Given ratings by player, in logits.
        count: Number of replays; fewer are returned if too many have no finite ratings, none if all of the first 1000.
        seed: Random seed.
        listener: Gets the number of finished replays.
    """
    model = _ReplayModel.of(pairings, found, anchors)
    rng = np.random.default_rng(seed)
    chunk = max(1, min(count, _CHUNK // max(1, len(pairings.first), len(pairings.names) ** 2)))
    kept: list[tuple[Floats, Floats, Floats]] = []
    missing, tried, most = count, 0, _PATIENCE * count
    while missing > 0 and tried < most:
        size = min(chunk, most - tried)
        kept.append(model.replay(size, rng))
        tried += size
        missing -= len(kept[-1][1])
        listener.progress("simulating", min(count, count - missing), count)
        if missing == count and tried >= _HOPELESS:
            break
    ratings, advantages, draw_rates = (np.concatenate(parts)[:count] for parts in zip(*kept, strict=True))
    return Replays(ratings, advantages, draw_rates, (count - missing) / tried)


@dataclass(frozen=True, eq=False)
class _ReplayModel:
    """The model from which results are drawn and to which they are fitted."""

    pairings: Pairings
    pools: Groups
    sweeps: list[Sweep]
    anchors: tuple[int, ...]
    design: Design
    parameters: Floats
    draw_rate: float
    has_draw_rate: bool
    by_results: bool

    @classmethod
    def of(cls, pairings: Pairings, found: Estimate, anchors: Mapping[int, float]) -> "_ReplayModel":
        pools = found.groups.pools_as_groups()
        references = pools.first_members(pools.without(anchors))
        fixed = dict(anchors) | {player: float(found.ratings[player]) for player in references}
        design = make_design(pairings, fixed, None if found.has_advantage else found.advantage)
        parameters = design.pack(found.ratings, found.advantage)
        return cls(
            pairings=pairings,
            pools=pools,
            sweeps=found.sweeps,
            anchors=tuple(anchors),
            design=design,
            parameters=parameters,
            draw_rate=found.draw_rate,
            has_draw_rate=found.has_draw_rate,
            by_results=found.by_results,
        )

    def replay(self, count: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Ratings, advantages and draw rates from `count` replays, without those that have no finite ratings."""
        wins, draws = self._play(count, rng)
        usable = self._are_connected(wins, draws)
        outcomes = Outcomes(self.pairings.games, wins + 0.5 * draws, draws).select(usable)
        parameters, has_maximum = solve(self.design, outcomes.games, outcomes.points, self.parameters)
        parameters, outcomes = parameters[has_maximum], outcomes.select(has_maximum)
        if self.has_draw_rate:
            expected = logistic(self.design.differences(parameters))
            rates = fit_draw_rate(expected, outcomes.games, outcomes.draws)
        else:
            rates = np.full(len(parameters), self.draw_rate)
        if self.by_results:
            parameters, rates = solve_results(
                self.design, outcomes, parameters, rates, has_draw_rate=self.has_draw_rate
            )
        ratings, advantages = self.design.unpack(parameters)
        return self.pools.centre(ratings, self.anchors), advantages, rates

    def _play(self, count: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """Wins and draws [B, K] of the first movers."""
        expected = logistic(self.design.differences(self.parameters[None, :])[0])
        draw = draw_chances(expected, self.draw_rate)
        win, games = win_chances(expected, draw), self.pairings.games
        draws = rng.binomial(games, draw, (count, len(games)))
        wins = rng.binomial(games - draws, win)
        for sweep in self.sweeps:  # recurs with probability 1/2 and is never usable: redraw these games alone
            at = sweep.games
            is_won = (sweep.sides * sweep.sign > 0)[None, :]
            again = np.arange(count)
            while len(again):
                losses = games[at] - wins[np.ix_(again, at)] - draws[np.ix_(again, at)]
                swept = np.where(is_won, wins[np.ix_(again, at)], losses).sum(axis=1) == games[at].sum()
                again = again[swept]
                draws[np.ix_(again, at)] = rng.binomial(games[at], draw[at], (len(again), len(at)))
                wins[np.ix_(again, at)] = rng.binomial(games[at] - draws[np.ix_(again, at)], win[at])
        return wins, draws

    def _are_connected(self, wins: Integers, draws: Integers) -> NDArray[np.bool_]:
        """[B] whether every pool is strongly connected by "scored against"."""
        pairings, players, count = self.pairings, len(self.pairings.names), len(wins)
        replay, first = np.nonzero(wins + draws > 0)
        replay_lost, second = np.nonzero(pairings.games - wins > 0)
        ties = np.array([*zip(self.anchors[:-1], self.anchors[1:], strict=True)], np.int64).reshape(-1, 2)
        anchored = np.repeat(np.arange(count), len(ties)) * players  # anchors count as connected
        one, other = np.tile(ties.T, count)
        base, base_lost = replay * players, replay_lost * players
        better = [base + pairings.first[first], base_lost + pairings.second[second], anchored + one, anchored + other]
        worse = [base + pairings.second[first], base_lost + pairings.first[second], anchored + other, anchored + one]
        steps = (np.concatenate(better), np.concatenate(worse))
        size = count * players
        scored = sparse.coo_array((np.ones(len(steps[0]), np.int8), steps), shape=(size, size))
        label = components(scored).reshape(count, players)
        references = np.unique(self.pools.group, return_index=True)[1][self.pools.group]
        return np.asarray((label == label[:, references]).all(axis=1), np.bool_)


def affordable(pairings: Pairings, wanted: int) -> int:
    """Number of simulations to make."""
    return min(wanted, max(LEAST_SIMULATIONS, MOST_RESULTS // max(1, len(pairings.first))))


def simulate_steps(
    pairings: Pairings,
    found: Estimate,
    anchors: Mapping[int, float],
    count: int,
    seed: int,
    listener: Listener = SILENT,
) -> Replays:
    """Simulate the games within groups, and estimate all strengths by one step from `found`.

    Args:
        pairings: The schedule.
        found: The estimated strengths.
        anchors: Given ratings by player, in logits.
        count: Number of simulations.
        seed: Random seed.
        listener: Gets the number of finished simulations.
    """
    groups = found.groups
    inner = pairings.select(groups.group[pairings.first] == groups.group[pairings.second])
    references = groups.first_members(groups.without(anchors))
    fixed = dict(anchors) | {player: float(found.ratings[player]) for player in references}
    design = make_design(inner, fixed, None if found.has_advantage else found.advantage)
    best = design.pack(found.ratings, found.advantage)
    expected = logistic(design.differences(best[None, :]))[0]
    draw = draw_chances(expected, found.draw_rate)
    win, games = win_chances(expected, draw), inner.games
    level = level_of(expected)
    lift = found.draw_rate / draw_root(level, np.array(found.draw_rate)) if found.by_results else np.zeros(len(games))
    equations = design.equations(games * (1 + lift) * level / 4, _STEP_PRECISION)
    rng = np.random.default_rng(seed)
    chunk = max(1, _STEP_CHUNK // max(1, design.size, len(games)))
    parts: list[tuple[Floats, Floats, Floats]] = []
    for begin in range(0, count, chunk):
        size = min(chunk, count - begin)
        draws = rng.binomial(games, draw, (size, len(games)))
        points = rng.binomial(games - draws, win) + 0.5 * draws
        pull = design.gradient((1 + lift) * (points - games * expected))
        parameters = best + equations.solve(pull)
        rates = np.full(size, found.draw_rate)
        if found.has_draw_rate:
            rates = fit_draw_rate(logistic(design.differences(parameters)), games, draws)
        ratings, advantages = design.unpack(parameters)
        parts.append((groups.centre(ratings, anchors), advantages, rates))
        listener.progress("simulating", begin + size, count)
    ratings, advantages, rates = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Replays(ratings, advantages, rates, 1.0)


def half_widths(ratings: Floats, z: float) -> Floats:
    """[n] half the width of the interval of each rating from simulated ratings [R, n], in logits.

    Args:
        ratings: `Replays.ratings`.
        z: Half width of the interval of a normal variable, in standard deviations.
    """
    return 2 * np.arcsinh(z * ratings.std(axis=0, ddof=1) / 2)
