"""The strength of all players in logits: maximum likelihood within groups, placement between them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fukayomi.arena.ratings.design import Design, logistic, make_design
from fukayomi.arena.ratings.draws import fit_draw_rate
from fukayomi.arena.ratings.fit import determines_advantage, solve
from fukayomi.arena.ratings.groups import Groups, find_groups, split_by
from fukayomi.arena.ratings.placement import Sweep, find_sweeps, place
from fukayomi.arena.ratings.result_likelihood import Outcomes, solve_results
from fukayomi.arena.ratings.tally import Floats, Pairings
from fukayomi.errors import InvalidValueError


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
