"""The strength of all players in logits: maximum likelihood within groups, placement between them.

In the logistic (Bradley-Terry) model the expected score at a rating difference x is 1 / (1 + exp(-x)). The likelihood
is concave, and has its maximum where expected points equal scored points, for each player and for the first move.
Newton's method finds it to machine precision, for many sets of results at once (`solve`). A group that won or lost
everything has no maximum; it is placed so that its results had probability 1/2 (`place`).

Davidson's model adds draws; equal players draw most often. With the expected score p, the probabilities w, x, l of a
win, a draw and a loss satisfy w + x / 2 = p, w + x + l = 1 and x² = nu² w l. The draw rate d0 of equal players gives
nu = 2 d0 / (1 - d0). `solve_results` takes a draw as a result of its own, not as half a point.

Sources: R. A. Bradley, M. E. Terry, "Rank analysis of incomplete block designs" (1952); R. R. Davidson, "On extending
the Bradley-Terry model to accommodate ties in paired comparison experiments" (1970); R. R. Davidson, R. J. Beaver, "On
extending the Bradley-Terry model to incorporate within-pair order effects" (1977), for the first move.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fukayomi.arena.ratings.design import RIDGE, Design, logistic, make_design
from fukayomi.arena.ratings.tally import Floats, Groups, Integers, Pairings, find_groups, peel, split_by
from fukayomi.errors import InvalidValueError

MOST_DRAWS = 0.999
"""Upper limit of the estimated draw rate. If the stronger player never lost, the estimate would be 1; near 1 the
likelihood has sharp ridges."""

_LIKELIHOOD_ROUNDS = 100
_LIKELIHOOD_TOLERANCE = 1e-9  # logits
_OVERSHOT = 0.5


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Results of K pairings in each of B simulations."""

    games: Integers
    """[K] games."""
    points: Floats
    """[B, K] points of the first movers."""
    draws: Integers
    """[B, K] draws."""

    def select(self, which: NDArray[np.bool_] | Integers) -> "Outcomes":
        """The simulations of a mask or index."""
        return Outcomes(self.games, self.points[which], self.draws[which])


def solve_results(
    design: Design, outcomes: Outcomes, start: Floats, draw_rates: Floats, *, has_draw_rate: bool
) -> tuple[Floats, Floats]:
    """The parameters with the greatest likelihood of the results.

    They exist wherever the parameters for points exist, and equal these if everything or nothing was drawn or the draw
    rate is fixed at 0. With few games, nearly all drawn, the likelihood has sharp ridges along which scoring is slow;
    it then stops after its last round.

    Args:
        design: The parameters.
        outcomes: The results.
        start: [B, m] parameters fitted to the points.
        draw_rates: [B] the draw rates that belong to them, or the fixed one.
        has_draw_rate: Whether the draw rate is estimated.

    Returns:
        Parameters [B, m] and draw rates [B].
    """
    drawn = outcomes.draws.sum(axis=1)
    is_open = (drawn > 0) & (drawn < outcomes.games.sum()) if has_draw_rate else draw_rates > 0
    active = np.flatnonzero(is_open & (len(outcomes.games) > 0))
    rates = np.minimum(draw_rates[active], MOST_DRAWS)
    scoring = _FisherScoring(design, outcomes.select(active), has_draw_rate)
    top = scoring.run(np.column_stack([start[active], _log_nu(rates)]))
    found, rates_found = start.copy(), draw_rates.copy()
    found[active] = top[:, :-1]
    if has_draw_rate:
        rates_found[active] = _draw_rate(top[:, -1])
    return found, rates_found


def _log_nu(draw_rates: Floats) -> Floats:
    return np.log(2 * draw_rates / (1 - draw_rates))


def _draw_rate(log_nu: Floats) -> Floats:
    return 1 / (1 + 2 * np.exp(-log_nu))


@dataclass(frozen=True, eq=False)
class _FisherScoring:
    """Fisher scoring of theta [B, m + 1]: the parameters of the design, then log nu.

    The expected score p of a rating difference is the mean of the points, and v = log nu is a natural parameter, so
    their Fisher information has no cross terms, and Fisher scoring treats the two separately:

    - the gradient of a difference, points - p games, and its information, p (1 - p) per game, are both multiplied by
      1 + d0 / root;
    - the gradient of v is the excess of draws over expected draws, plus a term from the excess of points.
    """

    design: Design
    outcomes: Outcomes
    has_draw_rate: bool

    def run(self, theta: Floats) -> Floats:
        """Climb from given values [B, m + 1] to the maximum."""
        theta = theta.copy()
        steps, slopes = np.zeros_like(theta), np.zeros(len(theta))
        active = np.arange(len(theta))
        for _ in range(_LIKELIHOOD_ROUNDS):
            if not len(active):
                break
            now, last = theta[active], steps[active]
            gradient, step = self._evaluate(now, self.outcomes.select(active))
            # The step overshot: the slope is now almost as steep downward. Go half of it back.
            is_past = (gradient * last).sum(axis=1) < -_OVERSHOT * slopes[active]
            steps[active] = np.where(is_past[:, None], last / 2, step)
            slopes[active] = np.where(is_past, slopes[active] / 2, (gradient * step).sum(axis=1))
            theta[active] = now + np.where(is_past[:, None], -last / 2, step)
            active = active[is_past | (self._size(now, step) >= _LIKELIHOOD_TOLERANCE)]
        return theta

    def _evaluate(self, theta: Floats, outcomes: Outcomes) -> tuple[Floats, Floats]:
        """The gradient of the log-likelihood, [B, m + 1], and the next steps."""
        design, games, rate = self.design, outcomes.games, _draw_rate(theta[:, -1:])
        expected = logistic(design.differences(theta[:, :-1]))
        level = level_of(expected)
        root = draw_root(level, rate)
        lift, draws = rate / root, draw_chances(expected, rate)
        excess = outcomes.points - games * expected
        gradient, step = np.zeros_like(theta), np.zeros_like(theta)
        gradient[:, :-1] = design.gradient((1 + lift) * excess)
        step[:, :-1] = design.solve(games * (1 + lift) * level / 4, gradient[:, :-1])
        if self.has_draw_rate:
            gradient[:, -1] = (outcomes.draws - games * draws + 2 * lift * (2 * expected - 1) * excess).sum(axis=1)
            information_nu = (games * draws * level * (1 - rate) ** 2 / (root * (rate + root))).sum(axis=1) + RIDGE
            most = _log_nu(np.array(MOST_DRAWS))
            step[:, -1] = np.minimum(gradient[:, -1] / information_nu, most - theta[:, -1])
        size = self._size(theta, step)
        return gradient, step * np.divide(np.log1p(size), size, out=np.ones_like(size), where=size > 0)[:, None]

    def _size(self, theta: Floats, steps: Floats) -> Floats:
        """[B] the largest change of a rating difference, or of log nu, by the steps."""
        before = self.design.differences(theta[:, :-1])
        after = self.design.differences(theta[:, :-1] + steps[:, :-1])
        return np.maximum(np.abs(after - before).max(axis=1), np.abs(steps[:, -1]))


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


ADVANTAGE_LIMIT = 12.0
"""Logits (2,100 points). A larger first-move advantage means that it won every informative game."""

_FIT_ROUNDS = 200
_FIT_TOLERANCE = 1e-6  # logits; the step that is smaller leaves its square
_UNDETERMINED = 1e-9


def determines_advantage(pairings: Pairings, fixed: Mapping[int, float]) -> bool:
    """True if the schedule separates the first-move advantage from the players' strength."""
    if not len(pairings.first):
        return False
    games = pairings.games[None, :].astype(np.float64)
    players = make_design(pairings, fixed, 0.0)
    # The players' block has full rank: each player has games, and each group a fixed rating. Its Schur complement is
    # the information about the advantage alone.
    shared, own = players.gradient(games), float(games.sum())
    alone = own - float(shared[0] @ players.solve(games, shared, ridge=0)[0])
    return alone > _UNDETERMINED * own


def solve(design: Design, games: Floats | Integers, points: Floats, start: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The parameters with expected points equal to scored points.

    Args:
        design: The parameters.
        games: [K] games of each pairing.
        points: [B, K] points of the first movers.
        start: [m] initial parameters.

    Returns:
        Parameters [B, m], and whether they are a maximum [B]. If not, there is no finite maximum although the players
        are connected: the first-move advantage would grow without limit.
    """
    found = np.tile(start, (len(points), 1))
    converged = np.full(len(points), design.size == 0)
    active = np.flatnonzero(~converged)
    for round_number in range(_FIT_ROUNDS):
        if not len(active):
            break
        now = found[active]
        leads = design.differences(now)
        expected = logistic(leads)
        gradient = design.gradient(points[active] - games * expected)
        weights = games * expected * (1 - expected)
        step = design.solve(weights[:1] if round_number == 0 else weights, gradient)  # all begin with the same ones
        # With this damping Newton's method converges from anywhere in logistic models; it vanishes near the root.
        change = np.abs(design.differences(now + step) - leads).max(axis=1)
        damping = np.divide(np.log1p(change), change, out=np.ones_like(change), where=change > 0)
        found[active] = now + step * damping[:, None]
        is_done = change < _FIT_TOLERANCE
        converged[active[is_done]] = True
        if design.has_advantage:
            is_done |= np.abs(found[active, -1]) > ADVANTAGE_LIMIT
        active = active[~is_done]
    if design.has_advantage:
        converged &= np.abs(found[:, -1]) <= ADVANTAGE_LIMIT
    return found, converged


_ROUNDS = 60
_TOLERANCE = 1e-10


def draw_chances(expected: Floats, draw_rate: Floats | float) -> Floats:
    """Probabilities of a draw, [..., K], from expected scores [..., K] and draw rates of equal players [..., 1]."""
    return _draw_chances(level_of(expected), np.asarray(draw_rate))


def win_chances(expected: Floats, draw: Floats) -> Floats:
    """Probabilities of a win of games that are not drawn, from expected scores and probabilities of a draw."""
    return np.clip(np.divide(expected - draw / 2, 1 - draw, out=np.zeros_like(draw), where=draw < 1), 0, 1)


def level_of(expected: Floats) -> Floats:
    """4 p (1 - p) of expected scores p: 1 for equal players, 0 for a certain result."""
    return 4 * expected * (1 - expected)


def draw_root(level: Floats, draw_rate: Floats) -> Floats:
    """The root in the solution for the probability of a draw."""
    # x solves (4 / nu² - 1) x² + 2 x - 4 p (1 - p) = 0, here multiplied by d0² so that no draw rate divides by zero.
    return np.sqrt(np.maximum(0, draw_rate**2 + (1 - 2 * draw_rate) * level))


def _draw_chances(level: Floats, draw_rate: Floats) -> Floats:
    total = draw_rate + draw_root(level, draw_rate)
    return np.divide(draw_rate * level, total, out=np.zeros_like(level), where=total > 0)


def fit_draw_rate(expected: Floats, games: Integers, draws: Integers) -> Floats:
    """Draw rates of equal players, [B], with expected draws equal to observed draws.

    Args:
        expected: [B, K] expected scores.
        games: [K] games of each pairing.
        draws: [B, K] draws of each pairing.
    """
    wanted = draws.sum(axis=1) / max(1, games.sum())
    low, high = np.zeros(len(wanted)), np.ones(len(wanted))
    rate = np.clip(wanted, _TOLERANCE, 1 - _TOLERANCE)
    share, level = games / max(1, games.sum()), level_of(expected)
    for _ in range(_ROUNDS):
        found = _draw_chances(level, rate[:, None]) @ share
        low, high = np.where(found < wanted, rate, low), np.where(found < wanted, high, rate)
        # Draws are almost proportional to the rate, so scaling converges fast; bisection is the fallback.
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = rate * wanted / found
        inside = (scaled > low) & (scaled < high)
        previous, rate = rate, np.where(inside, scaled, (low + high) / 2)
        if np.all(np.abs(rate - previous) < _TOLERANCE):
            break
    return np.where(wanted > 0, np.where(wanted < 1, rate, 1.0), 0.0)


@dataclass(frozen=True)
class Constraints:
    """Values that are given rather than estimated."""

    anchors: Mapping[int, float]
    """Ratings by player, in logits."""
    average: float
    """Average rating of a pool without anchors, in logits."""
    advantage: float | None
    """First-move advantage in logits; None estimates it."""
    draw_rate: float | None
    """Draw rate of equal players, 0..1; None estimates it."""
    by_results: bool = False
    """Fit win/draw/loss counts instead of points."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """The estimated strengths of the n players."""

    groups: Groups
    """Groups of players that can be compared."""
    sweeps: list[Sweep]
    """Groups without a maximum-likelihood rating, which were placed."""
    ratings: Floats
    """[n] in logits."""
    advantage: float
    """First-move advantage in logits."""
    has_advantage: bool
    """True if the advantage was estimated."""
    draw_rate: float
    """Draw rate of equal players, 0..1."""
    has_draw_rate: bool
    """True if the draw rate was estimated."""
    by_results: bool
    """True if win/draw/loss counts were fitted instead of points."""
    notes: tuple[str, ...]
    """Reasons why the advantage could not be estimated, if any."""


def estimate(pairings: Pairings, given: Constraints) -> Estimate:
    """Estimate the strength of all players.

    Raises:
        ValueError: The anchors are too far apart.
    """
    groups = find_groups(pairings, list(given.anchors))
    inner = pairings.select(groups.group[pairings.first] == groups.group[pairings.second])
    fixed = dict(given.anchors) | dict.fromkeys(groups.first_members(groups.without(given.anchors)), 0.0)
    design, parameters, notes = _fit(inner, fixed, given.advantage)
    parameters, draw_rate = _fit_draws(design, inner, parameters[None, :], given)
    ratings, (advantage,) = design.unpack(parameters)
    ratings = groups.centre(ratings, given.anchors)[0]
    sweeps = find_sweeps(pairings, groups)
    ratings = place(pairings, sweeps, ratings, float(advantage), draw_rate)
    _shift_pools(ratings, groups, given)
    has_draw_rate = given.draw_rate is None and len(inner.first) > 0
    return Estimate(
        groups=groups,
        sweeps=sweeps,
        ratings=ratings,
        advantage=float(advantage),
        has_advantage=design.has_advantage,
        draw_rate=draw_rate,
        has_draw_rate=has_draw_rate,
        by_results=given.by_results,
        notes=notes,
    )


def _fit(
    pairings: Pairings, fixed: Mapping[int, float], advantage: float | None
) -> tuple[Design, Floats, tuple[str, ...]]:
    notes: list[str] = []
    if advantage is None and not determines_advantage(pairings, fixed):
        notes.append("The games do not determine the first-move advantage; 0 is used.")
        advantage = 0.0
    design, parameters = _solve(pairings, fixed, advantage)
    if parameters is None:
        notes.append("Too few games to estimate the first-move advantage; 0 is used.")
        design, parameters = _solve(pairings, fixed, 0.0)
    if parameters is None:  # a maximum exists, but is out of numerical reach
        raise InvalidValueError("no ratings fit these games: the anchors are too far apart")
    return design, parameters, tuple(notes)


def _solve(pairings: Pairings, fixed: Mapping[int, float], advantage: float | None) -> tuple[Design, Floats | None]:
    design = make_design(pairings, fixed, advantage)
    start = np.zeros(design.size)
    parameters, has_maximum = solve(design, pairings.games, pairings.points[None, :], start)
    return design, parameters[0] if has_maximum[0] else None


def _fit_draws(design: Design, pairings: Pairings, parameters: Floats, given: Constraints) -> tuple[Floats, float]:
    """Fit the draw rate and, if `by_results`, the parameters too; both parameter arrays are [1, m]."""
    draws = pairings.draws[None, :]
    if given.draw_rate is None:
        rates = fit_draw_rate(logistic(design.differences(parameters)), pairings.games, draws)
    else:
        rates = np.array([given.draw_rate])
    if given.by_results:
        outcomes = Outcomes(pairings.games, pairings.points[None, :], draws)
        parameters, rates = solve_results(design, outcomes, parameters, rates, has_draw_rate=given.draw_rate is None)
    return parameters, float(rates[0])


def _shift_pools(ratings: Floats, groups: Groups, given: Constraints) -> None:
    """Shift each pool to its anchors or, without any, to the average."""
    pools = split_by(groups.pool, np.arange(len(ratings)))
    cores = split_by(groups.group, np.arange(len(ratings)))
    anchors = {int(groups.pool[player]): player for player in reversed([*given.anchors])}
    for number, (core, members) in enumerate(zip(groups.core, pools, strict=True)):
        anchor = anchors.get(number)
        if anchor is not None:
            ratings[members] += given.anchors[anchor] - ratings[anchor]
            continue
        counted = cores[int(core)] if len(cores[int(core)]) > 1 else members
        ratings[members] += given.average - ratings[counted].mean()
