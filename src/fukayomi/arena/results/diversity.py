"""How much the games of a match differ from one another.

A match whose games repeat each other measures less than the number of its games says, and of two engines the one that
plays with less randomness looks stronger. So repeated games and positions are counted, by engine, too.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from math import sqrt

from fukayomi.arena.results.game import Game
from fukayomi.shogi import Position

PLY = 32
"""Here positions are compared: games that are still the same then hardly part."""

CLEAR_SIGMAS = 3.0
"""Two shares differ clearly if they do by more than so many standard deviations of two binomials, ..."""

CLEAR_DIFFERENCE = 0.05
"""... and by at least so much: in long matches differences are certain that mean nothing."""


@dataclass(frozen=True, slots=True)
class Variety:
    """How many of some things are different.

    Attributes:
        games: All games.
        distinct_games: Different starts and moves.
        reached: Games that are long enough to have a position at the ply.
        distinct_positions: Different boards, hands and sides to move there.
    """

    games: int = 0
    distinct_games: int = 0
    reached: int = 0
    distinct_positions: int = 0

    @property
    def share(self) -> float | None:
        """Of positions that are different, 0..1; None where no game went so far."""
        return self.distinct_positions / self.reached if self.reached else None

    def __add__(self, other: "Variety") -> "Variety":
        return Variety(
            self.games + other.games,
            self.distinct_games + other.distinct_games,
            self.reached + other.reached,
            self.distinct_positions + other.distinct_positions,
        )


@dataclass(frozen=True, slots=True)
class Diversity:
    """The variety of all games, and of each player's.

    Attributes:
        ply: Where positions are compared.
        by_player: Games are compared within each pair of opponents and then added up, so that it does not matter how
            many opponents somebody has.
        warnings: In words.
    """

    ply: int
    total: Variety
    by_player: dict[str, Variety]
    warnings: list[str]


@dataclass
class _Seen:
    games: int = 0
    reached: int = 0
    lines: set[int] = field(default_factory=set[int])
    positions: set[int] = field(default_factory=set[int])

    def add(self, line: int, position: int | None) -> None:
        self.games += 1
        self.lines.add(line)
        if position is not None:
            self.reached += 1
            self.positions.add(position)

    def variety(self) -> Variety:
        return Variety(self.games, len(self.lines), self.reached, len(self.positions))


def measure_diversity(games: Iterable[Game], ply: int = PLY) -> Diversity:
    """Count different games and positions. Games without moves are left out.

    Args:
        games: Read once, as a stream.
        ply: Where positions are compared, as so many moves from the start of the record.
    """
    everything = _Seen()
    meetings: dict[frozenset[str], _Seen] = defaultdict(_Seen)
    for game in games:
        if game.moves is None:
            continue
        line, position = hash((game.initial_sfen, game.moves)), _position_key(game, ply)
        everything.add(line, position)
        meetings[frozenset((game.black, game.white))].add(line, position)
    by_player: dict[str, Variety] = defaultdict(Variety)
    for names, seen in meetings.items():
        for name in sorted(names):
            by_player[name] += seen.variety()
    total = everything.variety()
    return Diversity(ply, total, dict(by_player), [*_repetition_warnings(total), *_player_warnings(by_player, ply)])


def _position_key(game: Game, ply: int) -> int | None:
    assert game.moves is not None
    if len(game.moves) < ply:
        return None
    position = Position.from_sfen(game.initial_sfen)
    for move in game.moves[:ply]:
        position.push(move)
    return position.key


def _repetition_warnings(total: Variety) -> list[str]:
    repeated = total.games - total.distinct_games
    if repeated == 0:
        return []
    return [
        f"{repeated} of {total.games} games repeat another one move by move: they add nothing to what is known; "
        "use more openings, or engines with some randomness"
    ]


def _player_warnings(by_player: dict[str, Variety], ply: int) -> list[str]:
    """The rule: shares p and q of distinct positions, of m and n games, differ clearly if |p - q| is at least
    CLEAR_DIFFERENCE and more than CLEAR_SIGMAS times the root of r (1 - r) (1/m + 1/n), where r is the share of both
    together."""
    warnings: list[str] = []
    for (name, one), (other_name, other) in combinations(sorted(by_player.items()), 2):
        if one.share is None or other.share is None:
            continue
        together = (one.distinct_positions + other.distinct_positions) / (one.reached + other.reached)
        sigma = sqrt(together * (1 - together) * (1 / one.reached + 1 / other.reached))
        difference = abs(one.share - other.share)
        if difference >= CLEAR_DIFFERENCE and difference > CLEAR_SIGMAS * sigma:
            (less, low), (more, high) = sorted(((name, one.share), (other_name, other.share)), key=lambda each: each[1])
            warnings.append(
                f"{less} plays less varied games than {more} ({low:.0%} and {high:.0%} distinct positions at ply "
                f"{ply}): less randomness makes an engine look stronger, and so does knowing a line"
            )
    return warnings
