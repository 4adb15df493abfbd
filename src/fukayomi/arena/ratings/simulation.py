"""How far ratings may be off: the same schedule is played again and again by players who are as strong as estimated."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fukayomi.arena.ratings.draws import draw_chances, fit_draw_rate
from fukayomi.arena.ratings.estimate import Estimate
from fukayomi.arena.ratings.fit import Design, logistic, make_design, solve
from fukayomi.arena.ratings.groups import Groups
from fukayomi.arena.ratings.placement import Sweep
from fukayomi.arena.ratings.result_likelihood import Outcomes, solve_results
from fukayomi.arena.ratings.tally import Floats, Integers, Pairings

_PATIENCE = 20  # times as many replays are tried as are wanted
_CHUNK = 2_000_000  # numbers in the largest arrays


@dataclass(frozen=True, eq=False)
class Replays:
    """What R replays of the schedule gave.

    Attributes:
        ratings: [R, n] in logits, in pools without anchors from the pool's average.
        advantages: [R] in logits.
        draw_rates: [R], 0 to 1.
    """

    ratings: Floats
    advantages: Floats
    draw_rates: Floats


def simulate(pairings: Pairings, found: Estimate, anchors: Mapping[int, float], count: int, seed: int) -> Replays:
    """Plays the schedule again.

    Replays without finite ratings, as when somebody wins everything, are played again. That goes for players who did
    so in truth as well: what their strength may be is not told by a replay in which it is infinite.

    Args:
        pairings: The schedule.
        found: How strong the players are.
        anchors: Players whose ratings are given.
        count: How many replays; fewer come if too many of them have no finite ratings.
        seed: Equal seeds give equal replays.
    """
    stage = _Stage.of(pairings, found, anchors)
    rng = np.random.default_rng(seed)
    chunk = max(1, min(count, _CHUNK // max(1, len(pairings.first), len(pairings.names) ** 2)))
    kept: list[tuple[Floats, Floats, Floats]] = []
    missing, tries = count, _PATIENCE * count
    while missing > 0 and tries > 0:
        size = min(chunk, tries)
        kept.append(stage.replay(size, rng))
        tries -= size
        missing -= len(kept[-1][1])
    ratings, advantages, draw_rates = (np.concatenate(parts)[:count] for parts in zip(*kept, strict=True))
    return Replays(ratings, advantages, draw_rates)


@dataclass(frozen=True, eq=False)
class _Stage:
    """All that every replay needs."""

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
    def of(cls, pairings: Pairings, found: Estimate, anchors: Mapping[int, float]) -> "_Stage":
        pools = found.groups.pools_as_groups()
        references = [int(pools.members(pool)[0]) for pool in pools.without(anchors)]
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
        """Ratings, advantages and draw rates of those of `count` replays that have finite ones."""
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
        """Wins and draws [B, K] of who moves first."""
        expected = logistic(self.design.differences(self.parameters[None, :])[0])
        draw = draw_chances(expected, self.draw_rate)
        win = np.clip(np.divide(expected - draw / 2, 1 - draw, out=np.zeros_like(draw), where=draw < 1), 0, 1)
        games = self.pairings.games
        draws = rng.binomial(games, draw, (count, len(games)))
        wins = rng.binomial(games - draws, win)
        for sweep in self.sweeps:  # each comes again with the chance one half, and never counts: play them apart
            at = np.flatnonzero(sweep.games)
            is_won = (sweep.sides[at] * sweep.sign > 0)[None, :]
            again = np.arange(count)
            while len(again):
                losses = games[at] - wins[np.ix_(again, at)] - draws[np.ix_(again, at)]
                swept = np.where(is_won, wins[np.ix_(again, at)], losses).sum(axis=1) == games[at].sum()
                again = again[swept]
                draws[np.ix_(again, at)] = rng.binomial(games[at], draw[at], (len(again), len(at)))
                wins[np.ix_(again, at)] = rng.binomial(games[at] - draws[np.ix_(again, at)], win[at])
        return wins, draws

    def _are_connected(self, wins: Integers, draws: Integers) -> NDArray[np.bool_]:
        """[B] whether each player of a pool can be reached from its first one, and the other way, by "scored"."""
        pairings = self.pairings
        players = len(pairings.names)
        scored = np.zeros((len(wins), players, players), np.float32)
        scored[:, pairings.first, pairings.second] = wins + draws > 0
        scored[:, pairings.second, pairings.first] += pairings.games - wins > 0
        for one, other in zip(self.anchors[:-1], self.anchors[1:], strict=True):
            scored[:, one, other] = scored[:, other, one] = 1
        starts = np.zeros(players, np.float32)
        starts[np.unique(self.pools.group, return_index=True)[1]] = 1
        return _reaches_all(scored, starts) & _reaches_all(scored.transpose(0, 2, 1), starts)


def _reaches_all(scored: NDArray[np.float32], starts: NDArray[np.float32]) -> NDArray[np.bool_]:
    reached = np.tile(starts, (len(scored), 1))[:, None, :]
    total = -1
    while (now := int(np.count_nonzero(reached))) > total:
        total = now
        reached = np.minimum(1, reached + reached @ scored)
    return np.asarray(reached.all(axis=(1, 2)), np.bool_)
