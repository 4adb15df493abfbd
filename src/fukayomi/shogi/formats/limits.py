"""Limits of game records from outside."""

from fukayomi._native import MOST_PLIES
from fukayomi.shogi.record import RecordError

LARGEST_RECORD = 64 << 20
"""Bytes; no larger file is read as one game."""

MOST_VARIATION_PLIES = 100_000
"""Plies of all variations of a game, each counted from where it leaves the game; later variations are left out."""


def check_plies(count: int, name: str, line: int | None) -> None:
    """Raise an error if a game has more plies than `MOST_PLIES`.

    Args:
        count: Plies of the game so far.
        name: Name of the record.
        line: Line of the last move, if known.

    Raises:
        RecordError: There are too many.
    """
    if count > MOST_PLIES:
        raise RecordError(name, line, f"a game may have at most {MOST_PLIES} plies")
