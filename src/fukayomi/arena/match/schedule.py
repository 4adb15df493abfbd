"""Which games a match consists of: who plays whom, with which colours, from which opening.

The schedule has no end; a match is its first games. So more games can be played later, and a match that is cut
anywhere is as fair as it can be: every opening is played with both colours by every pair of engines before the next
one comes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from fukayomi.arena.game.choices import Tournament
from fukayomi.arena.game.openings import Opening, arrange
from fukayomi.arena.match.settings import MatchSettings


@dataclass(frozen=True, slots=True)
class ScheduledGame:
    """A game to be played. It never changes its number, however many games the match has."""

    number: int
    """From 1."""
    pair: int
    """The two games of a pair have the same engines and opening, and swapped colours. From 1."""
    black: str
    white: str
    opening: Opening


def schedule(settings: MatchSettings, openings: Sequence[Opening]) -> Iterator[ScheduledGame]:
    """The games of a match in their order; a function of the settings and the openings alone.

    Args:
        settings: Who plays, how often, and in which order openings come.
        openings: All openings, in the order of their file.
    """
    return islice(_all_games(settings, openings), settings.games)


def pairings(settings: MatchSettings) -> list[tuple[str, str]]:
    """Who meets whom, each pairing once; neighbours in the list have as few engines in common as possible."""
    names = [engine.name for engine in settings.engines]
    if settings.tournament is Tournament.GAUNTLET:
        return [(names[0], opponent) for opponent in names[1:]]
    return _circle(names)


def _all_games(settings: MatchSettings, openings: Sequence[Opening]) -> Iterator[ScheduledGame]:
    meetings = pairings(settings)
    pair = 0
    for opening in islice(arrange(openings, settings.opening_order, settings.seed), settings.opening_start, None):
        for first, second in meetings:
            pair += 1
            yield ScheduledGame(2 * pair - 1, pair, first, second, opening)
            yield ScheduledGame(2 * pair, pair, second, first, opening)


def _circle(names: Sequence[str]) -> list[tuple[str, str]]:
    """A round robin by the circle method: in each round everybody plays once, or sits out once if they are odd."""
    seats: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    found: list[tuple[str, str]] = []
    for _ in range(len(seats) - 1):
        for first, second in zip(seats, reversed(seats[len(seats) // 2 :]), strict=False):
            if first is not None and second is not None:
                found.append((first, second))
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return found
