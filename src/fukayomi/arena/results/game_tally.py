"""The games of a league, added up for rating; and what was left out of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fukayomi.arena.ratings.tally import Tally
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.pairs import counts_for_strength, half_points


@dataclass
class GameTally:
    """Who beat whom."""

    tally: Tally = field(default_factory=Tally)
    games: int = 0
    """That count."""
    without_result: int = 0
    """Without a result that was played for: unknown, broken off, or ended by a program's failure."""
    without_names: int = 0
    against_itself: int = 0
    """Of a player against one of its own name, which tell nothing of its strength."""

    def add(self, game: Game) -> None:
        """Count a game, or that it is left out."""
        if not counts_for_strength(game):
            self.without_result += 1
        elif not game.black or not game.white:
            self.without_names += 1
        elif game.black == game.white:
            self.against_itself += 1
        else:
            self.games += 1
            self.tally.add(game.black, game.white, half_points(game, game.black) / 2)

    @property
    def left_out(self) -> dict[str, int]:
        """How many games do not count, by why; reasons that occur."""
        reasons = {
            "without a result that was played for": self.without_result,
            "without the players' names": self.without_names,
            "of a player against itself": self.against_itself,
        }
        return {reason: games for reason, games in reasons.items() if games}


def tally_games(games: Iterable[Game]) -> GameTally:
    """Adds up all games.

    Raises:
        ValueError: None of them counts.
    """
    league = GameTally()
    for game in games:
        league.add(game)
    if league.games == 0:
        why = ", ".join(f"{count:,} {reason}" for reason, count in league.left_out.items())
        raise ValueError(f"there is no game to rate: {why}" if why else "there is no game to rate")
    return league
