"""What a `go` asks of a search, and the move that answers it."""

from typing import TYPE_CHECKING

from fukayomi.engine.clock import Clock, budget
from fukayomi.engine.control import Limits
from fukayomi.engine.settings import UsiSettings
from fukayomi.shogi import BLACK, Move, Position
from fukayomi.usi.text import RESIGN, BestMove, Go

if TYPE_CHECKING:
    from fukayomi.engine.search import SearchResult


def has_limits(go: Go, settings: UsiSettings) -> bool:
    """Whether the search ends by itself: by the command's limits, or by Const_Playout."""
    return not go.infinite and (go.has_limits() or settings.const_playout > 0)


def limits_of(go: Go, position: Position, settings: UsiSettings) -> Limits:
    """The limits of a search that ends by itself: Const_Playout if it is set, otherwise those of the command.

    Args:
        go: The command.
        position: The position to search; its side to move has the clock.
        settings: Const_Playout and the margins of the clock.
    """
    if settings.const_playout:
        return Limits(nodes=settings.const_playout)
    time_budget = budget(_clock(go, position), position.ply, settings.margins())
    limits = Limits(budget=time_budget, nodes=go.nodes, depth=go.depth)
    return limits if limits != Limits() else Limits(nodes=1)  # times without meaning, such as byoyomi 0


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


class Resignation:
    """Decides whether to give a game up: below Resign_Threshold, unless it was lost when the engine took it over.

    A handicap game, or any start that was given away, is played on until mate is proven.
    """

    def __init__(self) -> None:
        self._game: tuple[str, list[Move]] | None = None
        self._was_lost = False

    def is_due(self, position: Position, result: "SearchResult", threshold: int) -> bool:
        """Whether to resign. Every move of a game is asked about, so that its beginning is known.

        Args:
            position: The position of the game; a game begins where it does not continue the last one.
            result: What the search found.
            threshold: Win rate below which a game is lost, per mille.
        """
        if not result.lines:
            return False
        best = result.lines[0]
        is_lost = best.winrate * 1000 < threshold
        game = position.start_sfen(), position.moves
        if self._game is None or game[0] != self._game[0] or game[1][: len(self._game[1])] != self._game[1]:
            self._was_lost = is_lost
        self._game = game
        return is_lost and (not self._was_lost or best.mate is not None)


def best_move(result: "SearchResult", settings: UsiSettings, *, resigns: bool = False) -> BestMove:
    """The answer to `go`: the best move; a mated side resigns.

    Args:
        result: What the search found.
        settings: With Stochastic_Ponder no move to ponder is named.
        resigns: Give the game up.
    """
    if result.best is None or resigns:
        return BestMove(RESIGN)
    ponder = None if settings.stochastic_ponder or result.ponder is None else result.ponder.usi()
    return BestMove(result.best.usi(), ponder)
