"""Errors of large leagues: simulations that take one step of Newton's method instead of fitting all ratings again.

The results of a simulation pull at the ratings; divided by the information of all games, the pull is the change of the
ratings to first order. So all simulations share one matrix, and none is lost because a player wins everything. Errors
from them are those of Fisher's information, with the scatter of the draw model.

A standard error s (logits) becomes an interval as in Wilson's for two players: half its width is 2 asinh(z s / 2).

Source: P. J. Bickel, "One-step Huber estimates in the linear model" (1975), for the step.
"""

from collections.abc import Mapping

import numpy as np

from fukayomi.arena.ratings.design import logistic, make_design
from fukayomi.arena.ratings.draws import draw_chances, draw_root, fit_draw_rate, level_of, win_chances
from fukayomi.arena.ratings.estimate import Estimate
from fukayomi.arena.ratings.simulation import Replays
from fukayomi.arena.ratings.tally import Floats, Pairings
from fukayomi.listener import SILENT, Listener

MOST_RESULTS = 5_000_000
"""Simulated results of pairings at most; this limits the number of simulations."""
LEAST_SIMULATIONS = 200
"""Simulations that are always made, if as many are wanted: errors then scatter by 5 %."""
_CHUNK = 1 << 18  # results simulated together; they fit into the processor's cache
_PRECISION = 1e-5  # relative; the scatter is far larger


def affordable(pairings: Pairings, wanted: int) -> int:
    """How many simulations are made."""
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
    equations = design.equations(games * (1 + lift) * level / 4, _PRECISION)
    rng = np.random.default_rng(seed)
    chunk = max(1, _CHUNK // max(1, design.size, len(games)))
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
