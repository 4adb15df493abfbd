"""Ratings of all players from the games they played, with errors: from a tally to the figures of the table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from fukayomi.arena.ratings.bayes import bayes_ratings
from fukayomi.arena.ratings.estimate import Estimate, Given, estimate
from fukayomi.arena.ratings.groups import Groups
from fukayomi.arena.ratings.options import RatingOptions
from fukayomi.arena.ratings.simulation import Replays, simulate
from fukayomi.arena.ratings.tally import Floats, Integers, Pairings, Tally

_NAMED = 50  # players in a message
_EQUAL_DECIMALS = 9  # of logits: ratings that differ in later ones differ by rounding
_BOUNDS = (
    "> won, < lost every game against the largest group of players who scored against each other, or against those "
    "already compared with it: no rating is the likeliest. It stands where that had an even chance, and has no error."
)
_BY_RESULTS = "Ratings are those under which the wins, draws and losses are the likeliest, not the points."


@dataclass(frozen=True)
class PlayerRating:
    """A row of the table."""

    name: str
    rating: float
    error: float | None
    """None: it has none, being an anchor, or is not known."""
    points: float
    played: int
    cfs: float | None
    """How certain it is, in percent, that the player is stronger than the next one."""
    wins: int
    draws: int
    losses: int
    bound: str
    """``>``: won every game against those it was compared with, so that the rating is only a convention; ``<``: lost
    every one."""
    pool: int
    """Players of different pools cannot be compared; from 1."""
    bayes: float | None
    """The rating by BayesElo's model and prior, if asked for."""


@dataclass(frozen=True)
class Ratings:
    """The table.

    Attributes:
        players: From strong to weak, pool by pool.
        first_mover_advantage: In points.
        first_mover_deviation: Its standard deviation; None if it was not estimated.
        draw_rate: Of equal players, in percent.
        draw_rate_deviation: As first_mover_deviation.
        confidence: Of the errors, in percent.
        simulations: How many replays the errors come from; None: no errors were wanted.
        certainty: [players, players] percent, how certain it is that the player of the row is the stronger; NaN where
            the two cannot be compared.
        notes: What a reader should know: sentences.
    """

    players: tuple[PlayerRating, ...]
    first_mover_advantage: float
    first_mover_deviation: float | None
    draw_rate: float
    draw_rate_deviation: float | None
    confidence: float
    simulations: int | None
    certainty: Floats
    notes: tuple[str, ...]


def rate(tally: Tally, options: RatingOptions | None = None) -> Ratings:
    """Rates the players of a tally.

    Raises:
        ValueError: There are no games, or a player who is anchored or hidden has none.
    """
    options = options or RatingOptions()
    pairings = tally.pairings()
    if not len(pairings.first):
        raise ValueError("there are no games to rate")
    check_names(pairings.names, [*options.anchors, *sorted(options.hidden)])
    anchors = {pairings.names.index(name): value * options.point for name, value in options.anchors.items()}
    advantage, draw_rate = options.first_mover_advantage, options.draw_rate
    given = Given(
        anchors=anchors,
        average=options.average * options.point,
        advantage=None if advantage is None else advantage * options.point,
        draw_rate=None if draw_rate is None else draw_rate / 100,
        by_results=options.by_results,
    )
    found = estimate(pairings, given)
    replays = None
    if options.simulations:
        replays = simulate(pairings, found, anchors, options.simulations, options.seed)
    bayes = bayes_ratings(pairings, found, anchors) if options.bayes else np.full(len(pairings.names), np.nan)
    return _Writer(pairings, options, found, replays, bayes).write()


def rate_pairs(tally: Tally, options: RatingOptions | None = None) -> list[Ratings]:
    """Rates each two players who met, and are not hidden, by their games against each other alone.

    Raises:
        ValueError: As `rate`.
    """
    options = options or RatingOptions()
    order = [player.name for player in rate(tally, replace(options, simulations=0)).players]
    found: list[Ratings] = []
    for number, one in enumerate(order):
        for other in order[number + 1 :]:
            games = tally.between(one, other)
            if games.names:
                anchors = {name: value for name, value in options.anchors.items() if name in (one, other)}
                found.append(rate(games, replace(options, anchors=anchors, hidden=frozenset())))
    return found


def check_names(names: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuses names that nobody has.

    Raises:
        ValueError: One of the wanted is not among the names; it lists these.
    """
    for name in wanted:
        if name not in names:
            listed = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
            raise ValueError(f"nobody of the name {name!r} played; the players are {listed}")


@dataclass(frozen=True, eq=False)
class _Writer:
    """Turns what was computed, in logits, into the table."""

    pairings: Pairings
    options: RatingOptions
    found: Estimate
    replays: Replays | None
    bayes: Floats

    def write(self) -> Ratings:
        names, found, replays, point = self.pairings.names, self.found, self.replays, self.options.point
        score = self._score()  # decides between equals, as after a single game; the names are in order already
        ranking = np.lexsort((-score, -found.ratings.round(_EQUAL_DECIMALS), found.groups.pool))
        shown = [int(player) for player in ranking if names[player] not in self.options.hidden]
        certainty = self._certainty()[np.ix_(shown, shown)]
        next_certainty = [*np.diagonal(certainty, 1).tolist(), np.nan]
        return Ratings(
            players=self._rows(shown, next_certainty[: len(shown)]),
            first_mover_advantage=found.advantage / point,
            first_mover_deviation=_deviation(replays.advantages / point) if replays and found.has_advantage else None,
            draw_rate=100 * found.draw_rate,
            draw_rate_deviation=_deviation(100 * replays.draw_rates) if replays and found.has_draw_rate else None,
            confidence=self.options.confidence,
            simulations=len(replays.ratings) if replays else None,
            certainty=certainty,
            notes=tuple(self._notes()),
        )

    def _rows(self, shown: list[int], certainty: list[float]) -> tuple[PlayerRating, ...]:
        pairings, found = self.pairings, self.found
        wins = pairings.of_player(pairings.wins, pairings.losses)
        draws = pairings.of_player(pairings.draws, pairings.draws)
        losses = pairings.of_player(pairings.losses, pairings.wins)
        errors, bounds = self._errors(), _bounds(pairings, found)
        return tuple(
            PlayerRating(
                name=pairings.names[player],
                rating=float(found.ratings[player] / self.options.point),
                error=_or_none(errors[player]),
                points=float(wins[player] + draws[player] / 2),
                played=int(wins[player] + draws[player] + losses[player]),
                cfs=_or_none(cfs),
                wins=int(wins[player]),
                draws=int(draws[player]),
                losses=int(losses[player]),
                bound={1: ">", -1: "<", 0: ""}[int(bounds[player])],
                pool=int(found.groups.pool[player]) + 1,
                bayes=_or_none(self.bayes[player] / self.options.point),
            )
            for player, cfs in zip(shown, certainty, strict=True)
        )

    def _score(self) -> Floats:
        """[n] points a game."""
        pairings = self.pairings
        points = pairings.of_player(pairings.points, pairings.games - pairings.points)
        return points / pairings.of_player(pairings.games, pairings.games)

    def _errors(self) -> Floats:
        """[n] in points; NaN where there is none."""
        if self.replays is None or len(self.replays.ratings) < 2:
            return np.full(len(self.found.ratings), np.nan)
        factor = NormalDist().inv_cdf(0.5 + self.options.confidence / 200) / self.options.point
        errors = factor * self.replays.ratings.std(axis=0, ddof=1)
        is_known = _bounds(self.pairings, self.found) == 0
        is_known[[self.pairings.names.index(name) for name in self.options.anchors]] = False
        return np.where(is_known, errors, np.nan)

    def _certainty(self) -> Floats:
        count = len(self.found.ratings)
        if self.replays is None or len(self.replays.ratings) < 2:
            return np.full((count, count), np.nan)
        covariance = np.cov(self.replays.ratings, rowvar=False).reshape(count, count)
        variance = np.diag(covariance)
        deviation = np.sqrt(np.maximum(0, variance[:, None] + variance[None, :] - 2 * covariance))
        difference = self.found.ratings[:, None] - self.found.ratings[None, :]
        ratio = np.divide(difference, deviation, out=np.full_like(deviation, np.nan), where=deviation > 1e-9)
        group = self.found.groups.group
        return np.where(group[:, None] == group[None, :], 100 * _normal(ratio), np.nan)

    def _notes(self) -> list[str]:
        notes = [*([_BY_RESULTS] if self.options.by_results else []), *self.found.notes]
        wanted = self.options.simulations
        if self.replays is not None and len(self.replays.ratings) < wanted:
            notes.append(
                f"Only {len(self.replays.ratings):,} of {wanted:,} simulations had finite ratings: there are too few "
                "games for errors that deserve trust."
            )
        if self.found.sweeps:
            notes.append(_BOUNDS)
        if len(self.found.groups.core) > 1:
            notes.append(_describe_pools(self.pairings.names, self.found.groups))
        return notes


def _bounds(pairings: Pairings, found: Estimate) -> Integers:
    bounds = np.zeros(len(found.ratings), np.int64)
    for sweep in found.sweeps:
        bounds[sweep.members] = sweep.sign
    core = found.groups.core[found.groups.pool]  # nobody has a likeliest rating where this is one player, nor has he
    alone = (found.groups.group == core) & (np.bincount(found.groups.group)[core] == 1)
    scored = pairings.of_player(pairings.points, pairings.games - pairings.points)
    games = pairings.of_player(pairings.games, pairings.games)
    return np.where(alone, np.where(scored == games, 1, np.where(scored == 0, -1, 0)), bounds)


def _describe_pools(names: Sequence[str], groups: Groups) -> str:
    lists: list[str] = []
    for number in range(len(groups.core)):
        members = [names[player] for player in np.flatnonzero(groups.pool == number).tolist()]
        more = f" and {len(members) - _NAMED} more" if len(members) > _NAMED else ""
        lists.append(f"({number + 1}) {', '.join(members[:_NAMED])}{more}")
    return (
        f"The players fall into {len(groups.core)} pools that never met, and ratings of different pools cannot be "
        f"compared: {'; '.join(lists)}. Play games between them, or anchor a player of each."
    )


def _normal(values: Floats) -> Floats:
    """The normal distribution function."""
    flat = [0.5 * math.erfc(-value / math.sqrt(2)) for value in values.ravel().tolist()]
    return np.array(flat).reshape(values.shape)


def _deviation(values: Floats) -> float | None:
    return float(values.std(ddof=1)) if len(values) > 1 else None


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
