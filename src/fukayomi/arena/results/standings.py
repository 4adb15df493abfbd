"""The standings of a match: wins, losses and draws by engine and colour, and pairs of games."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from fukayomi.arena.results.game import Causes, Game, MatchScore, are_notable, forfeits_text, is_forfeit, loser_of
from fukayomi.arena.results.head_to_head import counts_for_strength, half_points
from fukayomi.arena.statistics.intervals import Strength, estimate_strength
from fukayomi.shogi import BLACK, WHITE, Color
from fukayomi.shogi.record import Termination


@dataclass
class Counts:
    """Results for estimates of strength: without failed games, and complete pairs only."""

    games: list[int] = field(default_factory=lambda: [0] * 3)
    """Losses, draws, wins."""
    pairs: list[int] = field(default_factory=lambda: [0] * 5)
    """By points: 0, 1/2, 1, 3/2, 2."""

    def strength(self) -> Strength:
        """The estimate from pairs, or from games while no pair is complete."""
        return estimate_strength(self.pairs if any(self.pairs) else self.games)


@dataclass
class Meeting:
    """Two engines against each other, from the first one's point of view."""

    first: str
    second: str
    score: MatchScore = field(default_factory=MatchScore)
    counts: Counts = field(default_factory=Counts)
    clean_counts: Counts = field(default_factory=Counts)
    """Without forfeits (`forfeits.py`)."""


@dataclass
class PlayerStanding:
    """One engine against all others."""

    name: str
    by_color: dict[Color, MatchScore] = field(default_factory=lambda: {BLACK: MatchScore(), WHITE: MatchScore()})
    counts: Counts = field(default_factory=Counts)
    clean_counts: Counts = field(default_factory=Counts)
    """Without games that were lost by a forfeit (`forfeits.py`), by whomever."""
    forfeits: Causes = field(default_factory=Counter[Termination])
    """Its losses on time, by illegal moves and by failures."""

    @property
    def rests_on_forfeits(self) -> bool:
        """True if many of its losses are forfeits."""
        return are_notable(self.forfeits, self.total.losses)

    @property
    def total(self) -> MatchScore:
        """Both colours."""
        return self.by_color[BLACK] + self.by_color[WHITE]


class Standings:
    """Counts games as they come in, in any order."""

    def __init__(self, names: Sequence[str], games: Iterable[Game] = ()) -> None:
        self.players = {name: PlayerStanding(name) for name in names}
        """In the order of the settings."""
        self._meetings = {pair: Meeting(*pair) for pair in combinations(names, 2)}
        self.terminations: Counter[Termination] = Counter()
        """Number of games by termination."""
        self.first_mover = MatchScore()
        self._open_pairs: dict[int, Game] = {}  # pairs of which one game was counted
        self._open_clean_pairs: dict[int, Game] = {}
        for game in games:
            self.add(game)

    @property
    def games(self) -> int:
        """Games counted."""
        return self.first_mover.games

    def add(self, game: Game) -> None:
        """Count a game."""
        self.terminations[game.termination] += 1
        self.first_mover.add(half_points(game, game.black))
        for name, color in ((game.black, BLACK), (game.white, WHITE)):
            self.players[name].by_color[color].add(half_points(game, name))
        meeting = self._meeting(game)
        meeting.score.add(half_points(game, meeting.first))
        loser = loser_of(game)
        if loser is not None and is_forfeit(game):
            self.players[loser].forfeits[game.termination] += 1
        if not counts_for_strength(game):
            return
        black, white = self.players[game.black], self.players[game.white]
        views = ((game.black, black.counts), (game.white, white.counts), (meeting.first, meeting.counts))
        _count(game, views, self._open_pairs)
        if not is_forfeit(game):
            clean = (black.clean_counts, white.clean_counts, meeting.clean_counts)
            names = (game.black, game.white, meeting.first)
            _count(game, zip(names, clean, strict=True), self._open_clean_pairs)

    def warnings(self) -> list[str]:
        """A sentence about each engine whose result rests on forfeits."""
        return [
            f"{player.name}: {forfeits_text(player.forfeits, player.total.losses)}; its result says little about "
            "strength"
            for player in self.players.values()
            if player.rests_on_forfeits
        ]

    def meetings(self) -> list[Meeting]:
        """The pairs of engines that have met, in the order of the settings."""
        return [meeting for meeting in self._meetings.values() if meeting.score.games]

    def _meeting(self, game: Game) -> Meeting:
        found = self._meetings.get((game.black, game.white))
        return found or self._meetings[game.white, game.black]


def _count(game: Game, views: Iterable[tuple[str, Counts]], open_pairs: dict[int, Game]) -> None:
    """Add a game, and its pair if that is complete now, to the counts of each view."""
    other = None if game.pair is None else open_pairs.pop(game.pair, None)
    for name, counts in views:
        counts.games[half_points(game, name)] += 1
        if other is not None:
            counts.pairs[half_points(game, name) + half_points(other, name)] += 1
    if other is None and game.pair is not None:
        open_pairs[game.pair] = game
