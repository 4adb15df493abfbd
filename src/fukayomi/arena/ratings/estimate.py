"""The likeliest strength of all players: within groups by maximum likelihood, between them by placement. In logits."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fukayomi.arena.ratings.draws import fit_draw_rate
from fukayomi.arena.ratings.fit import Design, determines_advantage, logistic, make_design, solve
from fukayomi.arena.ratings.groups import Groups, find_groups
from fukayomi.arena.ratings.placement import Sweep, find_sweeps, place
from fukayomi.arena.ratings.result_likelihood import Outcomes, solve_results
from fukayomi.arena.ratings.tally import Floats, Pairings


@dataclass(frozen=True)
class Given:
    """What is not estimated."""

    anchors: Mapping[int, float]
    """Ratings of players, in logits."""
    average: float
    """Of the players of a pool without anchors, in logits."""
    advantage: float | None
    """Of the first move, in logits; None: estimated."""
    draw_rate: float | None
    """Of equal players, 0 to 1; None: estimated."""
    by_results: bool = False
    """Whether the wins, draws and losses shall be the likeliest, and not the points."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """What was found.

    Attributes:
        groups: Who can be compared with whom.
        sweeps: Groups that were placed, having no likeliest rating.
        ratings: [n] in logits.
        advantage: Of the first move, in logits.
        has_advantage: Whether it was estimated.
        draw_rate: Of equal players, 0 to 1.
        has_draw_rate: Whether it was estimated.
        by_results: As given.
        notes: Why the first move's worth was not estimated although it was not given: a sentence, if so.
    """

    groups: Groups
    sweeps: list[Sweep]
    ratings: Floats
    advantage: float
    has_advantage: bool
    draw_rate: float
    has_draw_rate: bool
    by_results: bool
    notes: tuple[str, ...]


def estimate(pairings: Pairings, given: Given) -> Estimate:
    """Finds the strength of the players of some games.

    Raises:
        ValueError: The anchors are absurdly far apart.
    """
    groups = find_groups(pairings, list(given.anchors))
    inner = pairings.select(groups.group[pairings.first] == groups.group[pairings.second])
    fixed = dict(given.anchors) | {int(groups.members(group)[0]): 0.0 for group in groups.without(given.anchors)}
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
        notes.append("No games can tell what the first move is worth; it is taken as 0.")
        advantage = 0.0
    design, parameters = _solve(pairings, fixed, advantage)
    if parameters is None:
        notes.append("The first move won, or lost, every game that could tell its worth; it is taken as 0.")
        design, parameters = _solve(pairings, fixed, 0.0)
    if parameters is None:  # with finite anchors and a given advantage there is a maximum, if it can be reached
        raise ValueError("no ratings fit these games: the anchors are too far apart")
    return design, parameters, tuple(notes)


def _solve(pairings: Pairings, fixed: Mapping[int, float], advantage: float | None) -> tuple[Design, Floats | None]:
    design = make_design(pairings, fixed, advantage)
    start = np.zeros(design.size)
    parameters, has_maximum = solve(design, pairings.games, pairings.points[None, :], start)
    return design, parameters[0] if has_maximum[0] else None


def _fit_draws(design: Design, pairings: Pairings, parameters: Floats, given: Given) -> tuple[Floats, float]:
    """The draw rate of equals and, if by results, better parameters than those of the points; [1, m] both times."""
    draws = pairings.draws[None, :]
    if given.draw_rate is None:
        rates = fit_draw_rate(logistic(design.differences(parameters)), pairings.games, draws)
    else:
        rates = np.array([given.draw_rate])
    if given.by_results:
        outcomes = Outcomes(pairings.games, pairings.points[None, :], draws)
        parameters, rates = solve_results(design, outcomes, parameters, rates, has_draw_rate=given.draw_rate is None)
    return parameters, float(rates[0])


def _shift_pools(ratings: Floats, groups: Groups, given: Given) -> None:
    """Moves each pool to its anchors or, without any, to the average."""
    for number, core in enumerate(groups.core):
        pool = groups.pool == number
        anchored = [player for player in given.anchors if pool[player]]
        if anchored:
            ratings[pool] += given.anchors[anchored[0]] - ratings[anchored[0]]
            continue
        counted = groups.members(int(core))
        if len(counted) == 1:
            counted = np.flatnonzero(pool)
        ratings[pool] += given.average - ratings[counted].mean()
