"""The results of two players against each other (wins, draws, losses, game pairs), and the standings of a match.

Only games decided by play count. A game that an engine broke off (crash, stall, protocol error) or that was
interrupted says something about the program or the computer and nothing about strength, whoever is given the point; it
is left out and reported. A loss on time or by an illegal move is decided by play and counts.

A pair counts if both its games count, one with each colour. A failed game does not complete its pair, and then the
other game of the pair is left out too.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from fukayomi.arena.results.game import Causes, Game, MatchScore, are_notable, forfeits_text, is_forfeit, loser_of
from fukayomi.arena.statistics.intervals import Strength, estimate_strength
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import BLACK, WHITE, Color
from fukayomi.shogi.record import Result, Termination

FAILURES = frozenset(
    {
        Termination.CRASH,
        Termination.STALL,
        Termination.PROTOCOL,
        Termination.ERROR,
        Termination.INTERRUPTED,
        Termination.TAKEN_BACK,
    }
)
"""Endings that say nothing about strength."""


class PairError(InvalidValueError):
    """Games with the same pair number that do not form a pair."""

    __module__ = "fukayomi.arena"


class PlayersError(InvalidValueError):
    """Two players that cannot be compared: unknown, identical, or unnamed among several."""

    __module__ = "fukayomi.arena"


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """The results of two players, from the first player's view."""

    first: str
    second: str
    results: tuple[int, int, int]
    """Losses, draws and wins among all games that count."""
    pairs: tuple[int, int, int, int, int]
    """Complete pairs by points: 0, 1/2, 1, 3/2, 2."""
    drawn_pairs: int
    """Complete pairs of two draws; they are among those of one point."""
    paired_results: tuple[int, int, int]
    """Losses, draws and wins in complete pairs."""
    has_pairs: bool
    """True if the source numbers its pairs; if not, its games only count singly."""
    failed: int
    """Games that do not count."""
    single: int
    """Games that count and are not in a complete pair."""

    @property
    def counts(self) -> tuple[int, ...]:
        """Counts for a sequential test: those of pairs if the source has pairs, otherwise those of games."""
        return self.pairs if self.has_pairs else self.results


def counts_for_strength(game: Game) -> bool:
    """True if a game was decided by play."""
    return game.result is not Result.UNKNOWN and game.termination not in FAILURES


def half_points(game: Game, player: str) -> int:
    """Half points of a player from a game: 0, 1 for a draw, 2 for a win."""
    if game.result is Result.DRAW:
        return 1
    return 2 if (game.result is Result.BLACK_WIN) == (game.black == player) else 0


def find_players(games: Iterable[Game], players: tuple[str, str] | None) -> tuple[str, str]:
    """Check the names of two players; without names, the only two there are.

    Raises:
        PlayersError: A player has no games, both are the same, or no names were given and there are not exactly two.
    """
    names = list(dict.fromkeys(name for game in games for name in (game.black, game.white)))
    listed = ", ".join(names)
    if players is None:
        if len(names) != 2:
            raise PlayersError(f"choose two players (--players A B); the players are {listed}")
        return names[0], names[1]
    for player in players:
        if player not in names:
            raise PlayersError(f"no game of {player!r}; the players are {listed}")
    if players[0] == players[1]:
        raise PlayersError(f"choose two different players, not {players[0]!r} twice")
    return players


def count_head_to_head(games: Iterable[Game], first: str, second: str) -> HeadToHead:
    """Count the results of two players; games of others are skipped.

    Args:
        games: Games of one match.
        first: The player from whose view results are counted.
        second: The other player.

    Raises:
        PairError: More than two games that count share a pair number, or two with the same colours.
    """
    results, pairs, paired_results = [0] * 3, [0] * 5, [0] * 3
    drawn_pairs = failed = 0
    has_pairs = False
    waiting: dict[int, Game] = {}
    complete: set[int] = set()
    for game in games:
        if {game.black, game.white} != {first, second} or game.black == game.white:
            continue
        has_pairs = has_pairs or game.pair is not None
        if not counts_for_strength(game):
            failed += 1
            continue
        points = half_points(game, first)
        results[points] += 1
        if game.pair is None:
            continue
        other = waiting.pop(game.pair, None)
        if game.pair in complete or (other is not None and other.black == game.black):
            raise PairError(f"pair {game.pair} of {first} and {second} has more games than one with each colour")
        if other is None:
            waiting[game.pair] = game
            continue
        complete.add(game.pair)
        both = (points, half_points(other, first))
        pairs[sum(both)] += 1
        drawn_pairs += both == (1, 1)
        for one in both:
            paired_results[one] += 1
    lost, drawn, won = results
    ll, ld, even, wd, ww = pairs
    return HeadToHead(
        first, second, (lost, drawn, won), (ll, ld, even, wd, ww), drawn_pairs,
        (paired_results[0], paired_results[1], paired_results[2]), has_pairs, failed,
        sum(results) - 2 * sum(pairs),
    )  # fmt: skip


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
