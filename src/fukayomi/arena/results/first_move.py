"""The win rate of the first move (先手勝率): results by colour for each two players, a draw as half a win.

Engines that do not vary play the same game again and again, and one decided game then counts many times. Therefore
repeated games can be left out: of games with the same players, colours, start and moves, the first one counts, whatever
the results of the others. Games whose moves are unknown, such as results in a PGN, are all kept.

Games that were broken off do not count; see `fukayomi.arena.results.head_to_head`.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fukayomi.arena.results.game import Game, MatchScore
from fukayomi.arena.results.head_to_head import counts_for_strength, half_points
from fukayomi.arena.results.sources import Games, iterate_games
from fukayomi.listener import SILENT, Listener
from fukayomi.tabular import Tabular, counted


@dataclass(slots=True)
class Pairing:
    """The games of two players, or of one against itself."""

    first: str
    second: str
    first_as_black: MatchScore = field(default_factory=MatchScore)
    """The first player's score as Black."""
    first_as_white: MatchScore = field(default_factory=MatchScore)
    """The first player's score as White; empty if it plays itself."""

    @property
    def total(self) -> MatchScore:
        """The first player's score."""
        return self.first_as_black + self.first_as_white

    @property
    def black(self) -> MatchScore:
        """Black's score, whoever played Black."""
        return self.first_as_black + self.first_as_white.mirrored

    def as_black(self, player: str) -> MatchScore:
        """The score of one of the two as Black."""
        return self.first_as_black if player == self.first else self.first_as_white.mirrored

    def as_white(self, player: str) -> MatchScore:
        """The score of one of the two as White."""
        return self.first_as_white if player == self.first else self.first_as_black.mirrored

    def lines(self) -> Iterator[str]:
        """Up to six lines of text: wins, losses, draws and rate of the pairing and of each player by colour."""
        yield f"{self.first} vs {self.second}: {self.black if self.first == self.second else self.total}"
        yield f"Black vs White: {self.black}"
        if self.first == self.second:
            return
        for player in (self.first, self.second):
            yield f"{player} playing Black: {self.as_black(player)}"
            yield f"{player} playing White: {self.as_white(player)}"


@dataclass(frozen=True, slots=True)
class OpponentMean:
    """Mean rates of a player over its opponents, each opponent counted once. Rates are 0..1, None without games."""

    player: str
    opponents: int
    black: float | None
    """Black's rate in the player's pairings, whoever played Black."""
    as_black: float | None
    """The player's rate as Black."""
    as_white: float | None
    """The player's rate as White."""

    def __str__(self) -> str:
        rates = (("Black vs White", self.black), ("playing Black", self.as_black), ("playing White", self.as_white))
        listed = ", ".join(f"{name} {'-' if rate is None else f'{rate:.2%}'}" for name, rate in rates)
        return f"{self.player}, mean over {counted(self.opponents, 'opponent')}: {listed}"


@dataclass(slots=True, repr=False)
class FirstMoveResults(Tabular):
    """Results by colour, one row per pairing."""

    distinct: bool
    """True if repeated games were left out."""
    pairings: list[Pairing] = field(default_factory=list[Pairing])
    """In the order in which the players met."""
    games: int = 0
    """Games in the pairings."""
    failed: int = 0
    """Games not decided by play; they do not count."""
    identical: int = 0
    """Games that repeat the players, colours, start and moves of an earlier one; left out if `distinct`."""
    without_moves: int = 0
    """Counted games whose moves are unknown, so that repetitions cannot be seen."""

    @property
    def black(self) -> MatchScore:
        """Black's score in all games."""
        return sum((pairing.black for pairing in self.pairings), MatchScore())

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per pairing; rates are 0..1 with a draw as half a win, Black's with its 95 % interval."""
        return [
            {
                "first": pairing.first,
                "second": pairing.second,
                "games": pairing.total.games,
                "black_rate": pairing.black.rate,
                "black_low": pairing.black.interval[0],
                "black_high": pairing.black.interval[1],
                "first_rate": pairing.total.rate,
                "first_as_black": pairing.first_as_black.rate,
                "first_as_white": pairing.first_as_white.rate,
            }
            for pairing in self.pairings
        ]

    def means(self, *, as_printed: bool = False) -> list[OpponentMean]:
        """The mean rates of each player with several opponents.

        Args:
            as_printed: Average the rates as printed, rounded to 0.1 %, so that a reader gets the same mean.
        """
        found: list[OpponentMean] = []
        for player in dict.fromkeys(name for pairing in self.pairings for name in (pairing.first, pairing.second)):
            met = [p for p in self.pairings if player in (p.first, p.second) and p.first != p.second]
            if len(met) < 2:
                continue
            groups = [p.black for p in met], [p.as_black(player) for p in met], [p.as_white(player) for p in met]
            found.append(OpponentMean(player, len(met), *(_mean(scores, as_printed) for scores in groups)))
        return found


def first_move(games: Games, *, distinct: bool = False, listener: Listener = SILENT) -> FirstMoveResults:
    """Count results by colour for each two players.

    >>> from fukayomi.arena import first_move
    >>> results = first_move([("a", "b", "1-0"), ("b", "a", "1-0"), ("a", "b", "1/2-1/2")])
    >>> str(results.black)
    '2-0-1 (83.3%)'

    Args:
        games: Games of any number of players; see `fukayomi.arena.results.sources.Games`.
        distinct: Leave out games that repeat the moves of an earlier one.
        listener: Gets a note for each file or game that cannot be read.

    Raises:
        ValueError: No game could be read.
    """
    found = FirstMoveResults(distinct)
    pairings: dict[tuple[str, str], Pairing] = {}
    seen: set[bytes] = set()
    for game in iterate_games(games, listener=listener):
        if not counts_for_strength(game):
            found.failed += 1
            continue
        identity = _identity(game)
        if identity in seen:
            found.identical += 1
            if distinct:
                continue
        if identity is None:
            found.without_moves += 1
        else:
            seen.add(identity)
        found.games += 1
        pairing = pairings.get((game.white, game.black)) or pairings.setdefault(
            (game.black, game.white), Pairing(game.black, game.white)
        )
        score = pairing.first_as_black if game.black == pairing.first else pairing.first_as_white
        score.add(half_points(game, pairing.first))
    found.pairings = list(pairings.values())
    return found


def _identity(game: Game) -> bytes | None:
    """A hash that identical games share; None if the moves are unknown."""
    if game.moves is None:
        return None
    moves = " ".join(move.usi() for move in game.moves)
    return hashlib.blake2b(
        "\n".join((game.black, game.white, game.initial_sfen, moves)).encode(), digest_size=16
    ).digest()


def _mean(scores: Iterable[MatchScore], as_printed: bool) -> float | None:
    rates = [score.rate for score in scores if score.rate is not None]
    if as_printed:
        rates = [round(rate * 100, 1) / 100 for rate in rates]
    return sum(rates) / len(rates) if rates else None
