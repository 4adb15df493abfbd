"""The clocks of a game: the time each engine has left, and what it is told of it.

Increments follow USI, where ``btime`` excludes the increment of the coming move: an engine that is told
``btime 40000 binc 10000`` may think for 50 seconds, on its first move too.
"""

from fukayomi.arena.game.time_control import TimeControl
from fukayomi.shogi import BLACK, Color
from fukayomi.usi.text import Go


class GameClock:
    """One side's clock in one game."""

    def __init__(self, control: TimeControl, nodes_index: int = 0, margin_ms: int = 0) -> None:
        """Set the clock.

        Args:
            control: The time control.
            nodes_index: Index of the control's node limit for this game; it wraps around.
            margin_ms: How late an answer may be.
        """
        self.control = control
        self.main_ms = control.main_ms
        """Main time left; never below 0."""
        self._nodes = control.nodes[nodes_index % len(control.nodes)] if control.nodes else None
        self._margin_ms = margin_ms

    def limit_ms(self) -> int | None:
        """Time for the next move without the margin; None: unlimited."""
        if self.control.has_clock:
            return self.main_ms + self.control.byoyomi_ms + self.control.increment_ms
        return self.control.movetime_ms

    def latest_ms(self) -> int | None:
        """Time for the next move with the margin; None: unlimited."""
        limit_ms = self.limit_ms()
        return None if limit_ms is None else limit_ms + self._margin_ms

    def spend(self, used_ms: float) -> bool:
        """Deduct the time of a move; False if it exceeded the limit.

        Time within the margin is not deducted from later moves: the main time stops at 0.
        """
        latest_ms = self.latest_ms()
        if latest_ms is not None and used_ms > latest_ms:
            self.main_ms = 0
            return False
        if self.control.has_clock:
            self.main_ms = max(0, self.main_ms + self.control.increment_ms - round(used_ms))
        return True

    def go(self, turn: Color, opponent: "GameClock") -> Go:
        """The ``go`` command for the owner of this clock, who is to move.

        USI has one ``byoyomi`` for both sides and cannot say that the opponent has none, or plays by nodes. So each
        engine is sent its own kind of clock: its own byoyomi, or else both increments (0 for an opponent with
        byoyomi). An opponent without a clock appears with 0 time left.
        """
        control = self.control
        if not control.has_clock:
            return Go(nodes=self._nodes, depth=control.depth, movetime_ms=control.movetime_ms)
        sides = (self, opponent) if turn == BLACK else (opponent, self)
        black_ms, white_ms = (clock.main_ms for clock in sides)
        if control.increment_ms:
            black_inc_ms, white_inc_ms = (clock.control.increment_ms for clock in sides)
            return Go(btime_ms=black_ms, wtime_ms=white_ms, binc_ms=black_inc_ms, winc_ms=white_inc_ms)
        return Go(btime_ms=black_ms, wtime_ms=white_ms, byoyomi_ms=control.byoyomi_ms)
