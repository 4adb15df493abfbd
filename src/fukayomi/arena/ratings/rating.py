"""Ratings of all players with errors, and the certainty that one is stronger than another, from a tally of games."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import special  # pyright: ignore[reportMissingTypeStubs]

from fukayomi.arena.ratings.bayes import bayes_ratings
from fukayomi.arena.ratings.estimate import Constraints, Estimate, estimate
from fukayomi.arena.ratings.options import RatingOptions
from fukayomi.arena.ratings.score_interval import ScoreTest
from fukayomi.arena.ratings.simulation import Replays, affordable, half_widths, simulate, simulate_steps
from fukayomi.arena.ratings.tally import Floats, Groups, Integers, Pairings, Tally, split_by
from fukayomi.errors import InvalidValueError
from fukayomi.listener import SILENT, Listener
from fukayomi.tabular import Tabular, counted

_EQUAL = 1e-9  # logits; a difference without an error


@dataclass(frozen=True, eq=False)
class Comparison:
    """The certainty of differences of s players, row by row: the whole table of a large league needs much memory."""

    ratings: Floats
    """[s] in logits."""
    group: Integers
    """[s] players of different groups cannot be compared."""
    replays: Floats | None = None
    """[R, s] simulated ratings less their mean, divided by the root of R - 1."""
    covariance: Floats | None = None
    """[s, s] in place of the replays."""

    @classmethod
    def of_replays(cls, ratings: Floats, group: Integers, replays: Floats) -> Self:
        """From simulated ratings [R, s]."""
        return cls(ratings, group, (replays - replays.mean(axis=0)) / np.sqrt(len(replays) - 1))

    def row(self, player: int) -> Floats:
        """[s] certainty, in percent, that this player is stronger than each; NaN if they cannot be compared."""
        return self._certainty(np.array([player]), np.arange(len(self.ratings)))

    def next(self) -> Floats:
        """[s - 1] certainty that each player but the last is stronger than the next one."""
        return self._certainty(np.arange(len(self.ratings) - 1), np.arange(1, len(self.ratings)))

    def _certainty(self, one: Integers, other: Integers) -> Floats:
        """Of players against players; either array may have one element."""
        if self.covariance is not None:
            variance = np.diag(self.covariance)
            variance = variance[one] + variance[other] - 2 * self.covariance[one, other]
        elif self.replays is not None:
            variance = ((self.replays[:, one] - self.replays[:, other]) ** 2).sum(axis=0)
        else:
            return np.full(max(len(one), len(other)), np.nan)
        deviation = np.sqrt(np.maximum(0, variance))
        difference = self.ratings[one] - self.ratings[other]
        ratio = np.divide(difference, deviation, out=np.full_like(deviation, np.nan), where=deviation > _EQUAL)
        certainty = 100 * special.ndtr(ratio)  # pyright: ignore
        return np.where(self.group[one] == self.group[other], certainty, np.nan)


_NAMED = 50  # players listed in a message
_EQUAL_DECIMALS = 9  # of logits; smaller differences are rounding
_BOUNDS = (
    "> won and < lost every game against the largest group of players who scored against each other, or against "
    "players already compared with it. Their likelihood has no maximum; at the rating shown, this outcome had "
    "probability 1/2. It has no error."
)
_LEAST_USABLE = 0.99
"""Share of simulations with finite ratings below which simulated errors are too small."""
MOST_REFITTED = 80
"""Players up to which every simulation fits all ratings again."""
MOST_PAIRS = 200
"""The same for pairs of players, each rated by its own games."""
_MOST_POOLS = 20  # pools listed in a message
_STEPWISE = (
    "Many players: each simulation is one step of Newton's method from the ratings, not a new fit; ERROR is half of "
    "Wilson's interval with the standard error that this gives."
)
_BY_RESULTS = "Ratings are fitted to win/draw/loss counts, not to points."


@dataclass(frozen=True)
class PlayerRating:
    """The rating and results of a player."""

    name: str
    rating: float
    error: float | None
    """Half the width of the confidence interval; None for anchors, for sweeps and without simulations."""
    points: float
    """Points, a draw as half a point."""
    played: int
    cfs: float | None
    """Confidence for superiority: certainty that the player is stronger than the next one listed, in percent."""
    wins: int
    draws: int
    losses: int
    bound: str
    """``>`` if the player won and ``<`` if it lost every game that it could be compared by; its rating is a convention
    then. Otherwise empty."""
    pool: int
    """Number of the player's pool, from 1; players of different pools cannot be compared."""
    low: float | None
    """Lower end of the confidence interval; None where `error` is."""
    high: float | None
    """Upper end."""
    bayes: float | None
    """The rating by BayesElo's model and prior, if requested."""


@dataclass(frozen=True, repr=False)
class Ratings(Tabular):
    """Ratings, one row per player. ``ratings["name"]`` is the rating of a player."""

    players: tuple[PlayerRating, ...]
    """From strong to weak, pool by pool."""
    first_mover_advantage: float
    """In rating points."""
    first_mover_deviation: float | None
    """Standard deviation of the advantage; None if it was not estimated."""
    draw_rate: float
    """Draw rate of equal players, in percent."""
    draw_rate_deviation: float | None
    """Standard deviation of the draw rate; None if it was not estimated."""
    confidence: float
    """Confidence level of the errors, in percent."""
    simulations: int | None
    """Simulations behind the errors; None without errors."""
    notes: tuple[str, ...]
    """Remarks for the reader, in sentences."""
    comparison: Comparison = field(repr=False, compare=False)
    """The certainty of differences, row by row in the order of `players`."""

    @cached_property
    def certainty(self) -> Floats:
        """[players, players] certainty, in percent, that the player of the row is stronger than that of the column; NaN
        if they cannot be compared."""
        count = len(self.players)
        return np.array([self.comparison.row(player) for player in range(count)]).reshape(count, count)

    def __getitem__(self, name: str) -> PlayerRating:
        """The rating of a player.

        Raises:
            KeyError: No such player is listed.
        """
        for player in self.players:
            if player.name == name:
                return player
        raise KeyError(name)

    def __repr__(self) -> str:
        return f"<Ratings of {counted(len(self.players), 'player')}>"

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per player, from strong to weak."""
        has_bayes = any(player.bayes is not None for player in self.players)
        return [
            {
                "player": player.name,
                "rating": player.rating,
                "error": player.error,
                "points": player.points,
                "played": player.played,
                "cfs": player.cfs,
                "wins": player.wins,
                "draws": player.draws,
                "losses": player.losses,
                "bound": player.bound,
                "pool": player.pool,
            }
            | ({"bayes": player.bayes} if has_bayes else {})
            for player in self.players
        ]


def rate_tally(tally: Tally, options: RatingOptions | None = None, *, listener: Listener = SILENT) -> Ratings:
    """Rate the players of a tally.

    Args:
        tally: Results by player.
        options: How ratings are computed.
        listener: Gets progress of the simulations.

    Raises:
        ValueError: There are no games, or an anchored or hidden player has none.
    """
    return _rate(tally, options or RatingOptions(), listener, MOST_REFITTED)


def _rate(tally: Tally, options: RatingOptions, listener: Listener, most_refitted: int) -> Ratings:
    """`rate_tally`; the simulations of leagues with more than `most_refitted` players take one step each."""
    pairings = tally.pairings()
    if not len(pairings.first):
        raise InvalidValueError("no games to rate")
    check_names(pairings.names, [*options.anchors, *sorted(options.hidden)])
    anchors = {pairings.names.index(name): value * options.point for name, value in options.anchors.items()}
    advantage, draw_rate = options.first_mover_advantage, options.draw_rate
    given = Constraints(
        anchors=anchors,
        average=options.average * options.point,
        advantage=None if advantage is None else advantage * options.point,
        draw_rate=None if draw_rate is None else draw_rate / 100,
        by_results=options.by_results,
    )
    found = estimate(pairings, given)
    replays = test = None
    is_stepwise = len(pairings.names) > most_refitted
    if options.simulations and is_stepwise:
        count = affordable(pairings, options.simulations)
        players, simulations = counted(len(pairings.names), "player"), counted(count, "simulation")
        listener.note(f"{players}: {simulations}, each one step of Newton's method from the ratings")
        replays = simulate_steps(pairings, found, anchors, count, options.seed, listener)
    elif options.simulations:
        replays = simulate(pairings, found, anchors, options.simulations, options.seed, listener)
        if replays.usable < _LEAST_USABLE and not options.by_results:
            test = ScoreTest.of(pairings, found, anchors)
    bayes = bayes_ratings(pairings, found, anchors) if options.bayes else np.full(len(pairings.names), np.nan)
    return _RatingsBuilder(pairings, options, found, replays, test, bayes, is_stepwise).build()


def rate_pairs(tally: Tally, options: RatingOptions | None = None, *, listener: Listener = SILENT) -> list[Ratings]:
    """Rate each two listed players who met from their games against each other alone.

    Args:
        tally: Results by player.
        options: How ratings are computed.
        listener: Gets the number of pairs that are rated, and a note if there are many.

    Raises:
        ValueError: There are no games, or an anchored or hidden player has none.
    """
    options = options or RatingOptions()
    order = [player.name for player in rate_tally(tally, options.changed(simulations=0)).players]
    pairs = tally.pairs(order)
    most_refitted = MOST_REFITTED
    if options.simulations and len(pairs) > MOST_PAIRS:
        most_refitted = 0
        listener.note(f"{len(pairs):,} pairs of players: each simulation is one step of Newton's method")
    found: list[Ratings] = []
    for number, ((one, other), games) in enumerate(pairs.items(), 1):
        anchors = {name: value for name, value in options.anchors.items() if name in (one, other)}
        own = options.changed(anchors=anchors, hidden=frozenset())
        found.append(_rate(games, own, SILENT, most_refitted))
        listener.progress("rating pairs", number, len(pairs))
    return found


def check_names(names: Sequence[str], wanted: Sequence[str]) -> None:
    """Check that all wanted names are players.

    Raises:
        ValueError: A wanted name is not among the names; the message lists them.
    """
    for name in wanted:
        if name not in names:
            listed = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
            raise InvalidValueError(f"no player named {name!r}; the players are {listed}")


@dataclass(frozen=True, eq=False)
class _RatingsBuilder:
    """Converts estimates in logits to ratings in points."""

    pairings: Pairings
    options: RatingOptions
    found: Estimate
    replays: Replays | None
    test: ScoreTest | None
    """In place of the replays where too many of them were discarded."""
    bayes: Floats
    is_stepwise: bool
    """True if each replay is one step from the ratings."""

    def build(self) -> Ratings:
        names, found, replays, point = self.pairings.names, self.found, self.replays, self.options.point
        score = self._score()  # breaks ties, for example after a single game; names are sorted already
        ranking = np.lexsort((-score, -found.ratings.round(_EQUAL_DECIMALS), found.groups.pool))
        shown = [int(player) for player in ranking if names[player] not in self.options.hidden]
        comparison = self._comparison(np.array(shown, np.int64))
        certainty = [*comparison.next().tolist(), np.nan]
        players = self._rows(shown, certainty[: len(shown)])
        has_error = any(player.error is not None for player in players)
        return Ratings(
            players=players,
            first_mover_advantage=found.advantage / point,
            first_mover_deviation=_deviation(replays.advantages / point) if replays and found.has_advantage else None,
            draw_rate=100 * found.draw_rate,
            draw_rate_deviation=_deviation(100 * replays.draw_rates) if replays and found.has_draw_rate else None,
            confidence=self.options.confidence,
            simulations=len(replays.ratings) if replays else None,
            notes=tuple(self._notes(has_error=has_error)),
            comparison=comparison,
        )

    def _rows(self, shown: list[int], certainty: list[float]) -> tuple[PlayerRating, ...]:
        pairings, found = self.pairings, self.found
        wins = pairings.of_player(pairings.wins, pairings.losses)
        draws = pairings.of_player(pairings.draws, pairings.draws)
        losses = pairings.of_player(pairings.losses, pairings.wins)
        (below, above), bounds = self._errors(), _bounds(pairings, found)
        ratings = found.ratings / self.options.point
        return tuple(
            PlayerRating(
                name=pairings.names[player],
                rating=float(ratings[player]),
                error=_or_none((below[player] + above[player]) / 2),
                low=_or_none(ratings[player] - below[player]),
                high=_or_none(ratings[player] + above[player]),
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
        """[n] points per game."""
        pairings = self.pairings
        points = pairings.of_player(pairings.points, pairings.games - pairings.points)
        return points / pairings.of_player(pairings.games, pairings.games)

    def _errors(self) -> tuple[Floats, Floats]:
        """Distances [n] in points from the ratings to both ends of their intervals; NaN without an interval."""
        z, point = float(special.ndtri(0.5 + self.options.confidence / 200)), self.options.point  # pyright: ignore
        if self.test is not None:
            below, above = self.test.intervals(z)
            return below / point, above / point
        if self.replays is None or len(self.replays.ratings) < 2:
            unknown = np.full(len(self.found.ratings), np.nan)
            return unknown, unknown
        if self.is_stepwise:
            errors = half_widths(self.replays.ratings, z) / point
        else:
            errors = z / point * self.replays.ratings.std(axis=0, ddof=1)
        is_known = _bounds(self.pairings, self.found) == 0
        is_known[[self.pairings.names.index(name) for name in self.options.anchors]] = False
        errors = np.where(is_known, errors, np.nan)
        return errors, errors

    def _comparison(self, shown: Integers) -> Comparison:
        ratings, group = self.found.ratings[shown], self.found.groups.group[shown]
        if self.replays is None or len(self.replays.ratings) < 2:
            return Comparison(ratings, group)
        if self.test is not None:
            return Comparison(ratings, group, covariance=self.test.covariance()[np.ix_(shown, shown)])
        return Comparison.of_replays(ratings, group, self.replays.ratings[:, shown])

    def _notes(self, *, has_error: bool) -> list[str]:
        notes = [*([_BY_RESULTS] if self.options.by_results else []), *self.found.notes]
        wanted = self.options.simulations
        if self.replays is not None and self.is_stepwise:
            notes.append(_STEPWISE)
        elif self.replays is not None and self.test is not None:
            if has_error:
                notes.append(
                    f"{1 - self.replays.usable:.0%} of the simulations had no finite ratings and say nothing about "
                    "errors: ERROR is by Rao's score test and CFS by Fisher's information."
                )
        elif self.replays is not None and len(self.replays.ratings) < wanted:
            notes.append(
                f"Only {len(self.replays.ratings):,} of {wanted:,} simulations had finite ratings: there are too few "
                "games for reliable errors."
            )
        if self.found.sweeps:
            notes.append(_BOUNDS)
        if len(self.found.groups.core) > 1:
            notes.append(_describe_pools(self.pairings.names, self.found.groups))
        return notes


def _bounds(pairings: Pairings, found: Estimate) -> Integers:
    """[n] 1 for players that won all games they could be compared by, -1 for those that lost them, otherwise 0."""
    bounds = np.zeros(len(found.ratings), np.int64)
    for sweep in found.sweeps:
        bounds[sweep.members] = sweep.sign
    core = found.groups.core[found.groups.pool]  # a core of one player has no maximum either
    alone = (found.groups.group == core) & (np.bincount(found.groups.group)[core] == 1)
    scored = pairings.of_player(pairings.points, pairings.games - pairings.points)
    games = pairings.of_player(pairings.games, pairings.games)
    return np.where(alone, np.where(scored == games, 1, np.where(scored == 0, -1, 0)), bounds)


def _describe_pools(names: Sequence[str], groups: Groups) -> str:
    lists: list[str] = []
    pools = split_by(groups.pool, np.arange(len(names)))
    for number, members in enumerate(pools[:_MOST_POOLS], 1):
        listed = [names[int(player)] for player in members[:_NAMED]]
        more = f" and {len(members) - _NAMED} more" if len(members) > _NAMED else ""
        lists.append(f"({number}) {', '.join(listed)}{more}")
    if len(pools) > _MOST_POOLS:
        lists.append(counted(len(pools) - _MOST_POOLS, "more pool"))
    return (
        f"The players are in {len(groups.core)} pools without games between them; ratings of different pools cannot be "
        f"compared: {'; '.join(lists)}. Play games between the pools, or anchor a player of each."
    )


def _deviation(values: Floats) -> float | None:
    return float(values.std(ddof=1)) if len(values) > 1 else None


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
