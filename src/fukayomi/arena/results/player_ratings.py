"""Ratings of players from games, and the tally of the games that count for them."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from fukayomi.arena.ratings.options import RatingOptions
from fukayomi.arena.ratings.rating import Ratings, rate_tally
from fukayomi.arena.ratings.tally import Tally
from fukayomi.arena.results.game import Causes, Game, are_notable, is_forfeit, loser_of
from fukayomi.arena.results.head_to_head import counts_for_strength, half_points
from fukayomi.arena.results.sources import Games, iterate_games
from fukayomi.errors import InvalidValueError
from fukayomi.listener import SILENT, Listener
from fukayomi.tabular import counted


@dataclass
class GameTally:
    """Results by players, the number of games left out by reason, and the players' forfeits."""

    tally: Tally = field(default_factory=Tally)
    clean_tally: Tally = field(default_factory=Tally)
    """Without forfeits (`forfeits.py`)."""
    forfeits: dict[str, Causes] = field(default_factory=dict[str, Causes])
    """By player, also of games that are left out; only players with a forfeit."""
    losses: Counter[str] = field(default_factory=Counter[str])
    """Lost games by player, those left out included."""
    games: int = 0
    """Games that count."""
    without_result: int = 0
    """Games not decided by play: unknown result, broken off, or ended by a failing program."""
    without_names: int = 0
    """Games with a nameless player."""
    against_itself: int = 0
    """Games between players of the same name, which say nothing about strength."""

    def add(self, game: Game) -> None:
        """Count a game, or count it as left out."""
        loser = loser_of(game)
        if loser and game.black != game.white:
            self.losses[loser] += 1
            if is_forfeit(game):
                self.forfeits.setdefault(loser, Counter())[game.termination] += 1
        if not counts_for_strength(game):
            self.without_result += 1
        elif not game.black or not game.white:
            self.without_names += 1
        elif game.black == game.white:
            self.against_itself += 1
        else:
            self.games += 1
            self.tally.add(game.black, game.white, half_points(game, game.black) / 2)
            if not is_forfeit(game):
                self.clean_tally.add(game.black, game.white, half_points(game, game.black) / 2)

    @property
    def resting_on_forfeits(self) -> list[str]:
        """The players who owe much of their losses to forfeits, those with the most first."""
        found = [name for name, causes in self.forfeits.items() if are_notable(causes, self.losses[name])]
        return sorted(found, key=lambda name: (-self.forfeits[name].total(), name))

    @property
    def left_out(self) -> dict[str, int]:
        """Number of games left out, by reason; only reasons that occurred."""
        reasons = {
            "not decided by play": self.without_result,
            "without player names": self.without_names,
            "of a player against itself": self.against_itself,
        }
        return {reason: games for reason, games in reasons.items() if games}


def tally_games(games: Iterable[Game]) -> GameTally:
    """Count all games.

    Raises:
        ValueError: No game counts.
    """
    found = GameTally()
    for game in games:
        found.add(game)
    if found.games == 0:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in found.left_out.items())
        raise InvalidValueError(f"no games to rate: {reasons} left out" if reasons else "no games to rate")
    return found


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
        games: Games, from paths or in memory; see `fukayomi.arena.results.sources.Games`.
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
