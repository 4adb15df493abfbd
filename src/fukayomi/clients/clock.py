"""The time that an engine is told of in a game outside: in the words of USI, and less what the network takes."""

from dataclasses import replace

from fukayomi.arena.game.time_control import TimeControl
from fukayomi.shogi import BLACK, Color
from fukayomi.usi.text import Go

DAY_MS = 86_400_000
"""Time that an engine is told of where a side has no limit."""


def usi_time(main_ms: int, byoyomi_ms: int, increment_ms: int) -> TimeControl:
    """The nearest time control of USI, which gives an engine the right time for its next move.

    USI knows no byoyomi beside increments: it counts as part of the increment.
    """
    if increment_ms:
        return TimeControl(main_ms, 0, increment_ms + byoyomi_ms)
    return TimeControl(main_ms, byoyomi_ms)


def with_margin(go: Go, turn: Color, margin_ms: int) -> Go:
    """A ``go`` for an engine whose answers take a while on their way: with less time for the side to move.

    The margin is taken from the main time first, then from byoyomi or the increment, of which at least half stays.
    """
    own, increment = ("btime_ms", "binc_ms") if turn == BLACK else ("wtime_ms", "winc_ms")
    main_ms = getattr(go, own) or 0
    taken_ms = min(margin_ms, main_ms)
    changes = {own: main_ms - taken_ms}
    more = increment if getattr(go, increment) else "byoyomi_ms"
    if (more_ms := getattr(go, more)) and taken_ms < margin_ms:
        changes[more] = more_ms - min(margin_ms - taken_ms, more_ms // 2)
    return replace(go, **changes)
