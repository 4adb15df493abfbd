"""The clocks of a game: what each engine is told, and what it has used up.

Increments follow USI, where ``btime`` does not hold the increment of the move to come: an engine that is told
``btime 40000 binc 10000`` may think for 50 seconds, also at its first move.
"""

from fukayomi.arena.game.time_control import TimeControl
from fukayomi.shogi import BLACK, Color
from fukayomi.usi.text import Go


class Clock:
    """One side's clock in one game."""

    def __init__(self, control: TimeControl, nodes_index: int = 0, margin_ms: int = 0) -> None:
        """Set the clock.

        Args:
            control: how much there is.
            nodes_index: which of the control's numbers of nodes counts in this game, in a cycle.
            margin_ms: how much later than its time an answer may come.
        """
        self.control = control
        self.main_ms = control.main_ms
        """What is left of the main time; never below 0."""
        self._nodes = control.nodes[nodes_index % len(control.nodes)] if control.nodes else None
        self._margin_ms = margin_ms

    def limit_ms(self) -> int | None:
        """How long the next move may take, the margin not counted; None: as long as it likes."""
        if self.control.has_clock:
            return self.main_ms + self.control.byoyomi_ms + self.control.increment_ms
        return self.control.movetime_ms

    def latest_ms(self) -> int | None:
        """How long the next move may take, the margin included; None: as long as it likes."""
        limit_ms = self.limit_ms()
        return None if limit_ms is None else limit_ms + self._margin_ms

    def spend(self, used_ms: float) -> bool:
        """Count a move of this duration; False if it was too long.

        Within the margin nothing is owed: the next move begins with the main time at 0.
        """
        latest_ms = self.latest_ms()
        if latest_ms is not None and used_ms > latest_ms:
            self.main_ms = 0
            return False
        if self.control.has_clock:
            self.main_ms = max(0, self.main_ms + self.control.increment_ms - round(used_ms))
        return True

    def go(self, turn: Color, opponent: "Clock") -> Go:
        """What the owner, who is to move, is told.

        USI has one ``byoyomi`` for both sides and no way to say that an opponent has none, or counts nodes. So each
        engine is told of its own kind of clock: with byoyomi its own byoyomi, otherwise both increments (the
        opponent's is 0 if it has byoyomi). An opponent without a clock is told to have 0 left.
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
