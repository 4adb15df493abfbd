"""Limits that a `go` sets for a search."""

from fukayomi.engine.control import Clock, Limits, budget
from fukayomi.engine.settings import UsiSettings
from fukayomi.shogi import BLACK, Position
from fukayomi.usi.text import Go


def has_limits(go: Go, settings: UsiSettings) -> bool:
    """True if the search ends by itself: by the command's limits, or by Const_Playout."""
    return not go.infinite and (go.has_limits() or settings.const_playout > 0)


def limits_of(go: Go, position: Position, settings: UsiSettings, late_ms: float = 0.0) -> Limits:
    """The limits of a search that ends by itself: Const_Playout if it is set, otherwise those of the command.

    Args:
        go: The command.
        position: The position to search; its side to move has the clock.
        settings: Const_Playout, and how the clock is used.
        late_ms: How late answers have been (`clock.Lateness`).
    """
    stops_when_clear = settings.early_stop_nodes and settings.multipv == 1
    if settings.const_playout:
        return Limits(nodes=settings.const_playout, stops_when_clear=stops_when_clear)
    time_budget = budget(_clock(go, position), position.ply, settings.margins(late_ms), settings.time_shares)
    if time_budget is None and go.nodes is None and go.depth is None:
        return Limits(nodes=1)  # times without meaning, such as byoyomi 0
    return Limits(
        budget=time_budget,
        nodes=go.nodes,
        depth=go.depth,
        stops_when_clear=stops_when_clear,
        min_kld_gain=settings.kld_min_gain / 1e9,
        instability=settings.time_instability / 100,
    )


def _clock(go: Go, position: Position) -> Clock:
    """The clock of the side to move. If only the other side's clock was given, ours has run out."""
    is_black = position.turn == BLACK
    remaining = go.btime_ms if is_black else go.wtime_ms
    if remaining is None and (go.btime_ms is not None or go.wtime_ms is not None):
        remaining = 0
    return Clock(
        remaining_ms=remaining,
        byoyomi_ms=go.byoyomi_ms or 0,
        increment_ms=(go.binc_ms if is_black else go.winc_ms) or 0,
        movetime_ms=go.movetime_ms,
    )
