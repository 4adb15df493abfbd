"""Forfeits: games lost on time, by an illegal move, or because an engine failed.

Losses on time and by illegal moves are results (`head_to_head`), but they often say more about the conditions of a
match than about strength. So they are counted by player, and a player who owes them much of its losses is warned of.
"""

from collections import Counter
from collections.abc import Mapping

from fukayomi.arena.results.game import Game
from fukayomi.shogi.record import Result, Termination
from fukayomi.tabular import counted

FORFEITS: dict[Termination, str] = {
    Termination.TIME_UP: "on time",
    Termination.ILLEGAL_MOVE: "by illegal moves",
    Termination.CRASH: "by crashes",
    Termination.STALL: "by stalls",
    Termination.PROTOCOL: "by breaches of protocol",
}
"""Endings that are forfeits, in words."""

NOTABLE_FORFEITS = 2
"""Forfeits of which a player is warned,"""
NOTABLE_SHARE = 0.1
"""if they are this share of its losses or more."""

Causes = Counter[Termination]
"""Forfeits of a player by their kinds."""


def is_forfeit(game: Game) -> bool:
    """True if the game was decided by a forfeit."""
    return game.termination in FORFEITS and loser_of(game) is not None


def loser_of(game: Game) -> str | None:
    """Name of the loser; None for other results."""
    return {Result.BLACK_WIN: game.white, Result.WHITE_WIN: game.black}.get(game.result)


def are_notable(causes: Causes, losses: int) -> bool:
    """True if a result rests on forfeits: two or more, and a tenth of the player's losses or more."""
    count = causes.total()
    return count >= NOTABLE_FORFEITS and count >= NOTABLE_SHARE * losses


def forfeits_text(causes: Causes, losses: int) -> str:
    """Such as ``12 of 40 losses are forfeits (10 on time, 2 by illegal moves)``."""
    are = "is a forfeit" if causes.total() == 1 else "are forfeits"
    return f"{causes.total():,} of {counted(losses, 'loss', 'losses')} {are} ({causes_text(causes)})"


def causes_text(causes: Causes) -> str:
    """Such as ``10 on time, 2 by illegal moves``."""
    return ", ".join(f"{causes[kind]} {words}" for kind, words in FORFEITS.items() if causes[kind])


def by_name(causes: Causes) -> Mapping[str, int]:
    """The counts by the names of the endings; all kinds are there."""
    return {str(kind): causes[kind] for kind in FORFEITS}
