"""Diversity: how much the games of a match differ from one another.

A match whose games repeat each other measures less than its number of games suggests, and of two engines the one that
plays with less randomness looks stronger. So repeated games and positions are counted, also for each engine.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from math import sqrt

from fukayomi.arena.results.game import Game
from fukayomi.shogi import Position

PLY = 32
"""The ply at which positions are compared: games that still agree there rarely differ later."""

CLEAR_SIGMAS = 3.0
"""Two shares differ clearly if their difference exceeds this many standard deviations of two binomials, ..."""

CLEAR_DIFFERENCE = 0.05
"""... and at least this: in long matches even meaningless differences are significant."""


@dataclass(frozen=True, slots=True)
class Variety:
    """Counts of distinct games and positions."""

    games: int = 0
    """All games."""
    distinct_games: int = 0
    """Games with different starting positions or moves."""
    reached: int = 0
    """Games that are long enough to have a position at the ply."""
    distinct_positions: int = 0
    """Different boards, hands and sides to move at the ply."""

    @property
    def share(self) -> float | None:
        """Share of distinct positions, 0..1; None if no game reached the ply."""
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
    """The variety of all games, and of each player's games."""

    ply: int
    """Ply at which positions are compared."""
    total: Variety
    by_player: dict[str, Variety]
    """Games are compared within each pair of opponents and then added up, so that the number of opponents does not
    matter."""
    warnings: list[str]
    """Sentences about repeated games, and about clear differences between players."""


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
    """Count distinct games and positions. Games without moves are ignored.

    Args:
        games: Read once, as a stream.
        ply: Where positions are compared, in moves from the start of the record.
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
        f"{repeated:,} of {total.games:,} games {'repeats' if repeated == 1 else 'repeat'} another one move by move: "
        "no new information; use more openings, or engines with some randomness"
    ]


def _player_warnings(by_player: dict[str, Variety], ply: int) -> list[str]:
    """Shares p and q of distinct positions, in m and n games, differ clearly if |p - q| is at least CLEAR_DIFFERENCE
    and more than CLEAR_SIGMAS times the root of r (1 - r) (1/m + 1/n), where r is the share of both together."""
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
                f"{ply}): an engine with less randomness, or with prepared lines, looks stronger"
            )
    return warnings
