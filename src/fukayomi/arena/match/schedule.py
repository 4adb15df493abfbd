"""The schedule of a match: which engines play each game, with which colours and from which opening.

The schedule is endless, and a match consists of its first games. So a match can be extended later, and a match cut off
anywhere is as fair as possible: every pair of engines plays an opening with both colours before the next opening.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from fukayomi.arena.game.choices import Tournament
from fukayomi.arena.game.openings import Opening, arrange
from fukayomi.arena.match.settings import MatchSettings


@dataclass(frozen=True, slots=True)
class ScheduledGame:
    """A game to be played. Its number does not depend on the number of games in the match."""

    number: int
    """From 1."""
    pair: int
    """Number of the pair, from 1: two games of the same engines and opening with swapped colours."""
    black: str
    white: str
    opening: Opening


def schedule(settings: MatchSettings, openings: Sequence[Opening]) -> Iterator[ScheduledGame]:
    """The games of a match in order. They depend on the settings and the openings alone.

    Args:
        settings: Engines, number of games, and order of the openings.
        openings: All openings, in the order of their file.
    """
    return islice(_all_games(settings, openings), settings.games)


def pairings(settings: MatchSettings) -> list[tuple[str, str]]:
    """The pairs of engines that meet, each once; neighbours in the list share as few engines as possible."""
    names = [engine.name for engine in settings.engines]
    if settings.tournament is Tournament.GAUNTLET:
        return [(names[0], opponent) for opponent in names[1:]]
    return _circle(names)


def _all_games(settings: MatchSettings, openings: Sequence[Opening]) -> Iterator[ScheduledGame]:
    pairs = pairings(settings)
    pair = 0
    for opening in islice(arrange(openings, settings.opening_order, settings.seed), settings.opening_start, None):
        for first, second in pairs:
            pair += 1
            yield ScheduledGame(2 * pair - 1, pair, first, second, opening)
            yield ScheduledGame(2 * pair, pair, second, first, opening)


def _circle(names: Sequence[str]) -> list[tuple[str, str]]:
    """A round robin by the circle method: in each round every engine plays once; with an odd number one pauses."""
    circle: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    found: list[tuple[str, str]] = []
    for _ in range(len(circle) - 1):
        for first, second in zip(circle, reversed(circle[len(circle) // 2 :]), strict=False):
            if first is not None and second is not None:
                found.append((first, second))
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return found
