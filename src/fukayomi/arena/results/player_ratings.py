"""Ratings of players from games."""

from collections.abc import Collection, Mapping

from fukayomi.arena.ratings.options import RatingOptions
from fukayomi.arena.ratings.rating import Ratings, rate_tally
from fukayomi.arena.results.game_input import Games, iterate_games
from fukayomi.arena.results.game_tally import tally_games
from fukayomi.listener import SILENT, Listener
from fukayomi.tabular import counted

_USUAL = RatingOptions()


def rate(
    games: Games,
    *,
    anchors: Mapping[str, float] | None = None,
    average: float = _USUAL.average,
    hidden: Collection[str] = (),
    first_mover_advantage: float | None = _USUAL.first_mover_advantage,
    draw_rate: float | None = _USUAL.draw_rate,
    scale: float = _USUAL.scale,
    by_results: bool = _USUAL.by_results,
    confidence: float = _USUAL.confidence,
    bayes: bool = _USUAL.bayes,
    simulations: int = _USUAL.simulations,
    seed: int = _USUAL.seed,
    listener: Listener = SILENT,
) -> Ratings:
    """Rate players by maximum likelihood from their games, as Ordo does; docs/ratings.md has the model.

    >>> from fukayomi.arena import rate
    >>> games = [("new", "old", "1-0")] * 6 + [("old", "new", "1-0")] * 3 + [("new", "old", "1/2-1/2")] * 2
    >>> ratings = rate(games, anchors={"old": 1000}, simulations=0)
    >>> print(f"{ratings['new'].rating:.1f} {ratings['new'].points} of {ratings['new'].played}")
    1098.1 7.0 of 11
    >>> [row["player"] for row in ratings.rows()]
    ['new', 'old']

    Ratings and the first-move advantage are in points of `scale`, rates in percent.

    Args:
        games: Games, from paths or in memory; see `fukayomi.arena.results.game_input.Games`.
        anchors: Fixed ratings by player.
        average: Average rating of the players, if none is anchored.
        hidden: Players whose games count but who are not listed.
        first_mover_advantage: Fixed advantage of the first move (先手); None estimates it.
        draw_rate: Fixed draw rate of equal players; None estimates it.
        scale: Rating difference for a 76 % expected score; 200.2419 gives the Elo scale.
        by_results: Fit win/draw/loss counts under the draw model instead of points (Ordo's -M).
        confidence: Confidence level of the errors (%).
        bayes: Add ratings by BayesElo's model and prior.
        simulations: Simulations for errors and CFS; 0 for neither.
        seed: Random seed of the simulations.
        listener: Gets progress of the simulations, and a note for whatever is left out.

    Raises:
        ValueError: No game counts, or an anchored or hidden player has no games.
    """
    tally = tally_games(iterate_games(games, listener=listener))
    for reason, count in tally.left_out.items():
        listener.note(f"{counted(count, 'game')} {reason} left out")
    options = RatingOptions(
        average=average,
        anchors=anchors or {},
        hidden=frozenset(hidden),
        first_mover_advantage=first_mover_advantage,
        draw_rate=draw_rate,
        scale=scale,
        by_results=by_results,
        confidence=confidence,
        bayes=bayes,
        simulations=simulations,
        seed=seed,
    )
    return rate_tally(tally.tally, options, listener=listener)
