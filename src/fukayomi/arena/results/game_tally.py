"""Games counted for rating, and the games that were left out."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from fukayomi.arena.ratings.tally import Tally
from fukayomi.arena.results.forfeits import Causes, are_notable, is_forfeit, loser_of
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.head_to_head import counts_for_strength, half_points
from fukayomi.errors import InvalidValueError


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
