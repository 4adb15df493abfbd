"""A USI engine that searches single positions, with the guards of matches."""

import threading
from collections.abc import Callable

from fukayomi.arena.game.player import PlayerFailedError
from fukayomi.arena.game.rules import EngineSettings, Rules
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.game.usi_player import UsiPlayer
from fukayomi.shogi import Position
from fukayomi.usi.engine import UsiResult
from fukayomi.usi.text import Go, shorten

LATE_MS = 10_000
"""Tolerance for late answers; beyond it the engine counts as hanging."""


class UsiSearcher:
    """A USI engine in a process of its own, which starts with the first search, and again after a failure.

    A failure is one that dies, hangs, floods, or answers with an illegal move.

    Args:
        engine: The engine.
        go: How it searches.
        stall_ms: Milliseconds until an answer counts as missing where `go` has no time.
        attempts: Searches of a position by an engine that fails.
        accepted: Answers that may stand for a move.
        stop: Ends the search when set, and refuses others.
    """

    def __init__(
        self, engine: EngineSettings, go: Go, stall_ms: int, attempts: int, accepted: tuple[str, ...],
        stop: threading.Event,
    ) -> None:  # fmt: skip
        self._go, self._attempts, self._accepted, self._stop = go, attempts, accepted, stop
        time_ms = go.movetime_ms or go.byoyomi_ms
        self._limit_ms = time_ms + LATE_MS if time_ms else stall_ms
        self._is_ready = False
        self.has_started = False
        """True if the engine has started once."""
        self.player = UsiPlayer(
            engine, TimeControl(movetime_ms=stall_ms)
        )  # a match's clock; `think` gets its own limits
        """The process."""

    def start(self) -> None:
        """Start the engine, unless it runs.

        Raises:
            PlayerFailedError: It does not start.
            OptionError: It does not declare an option, or a value of it.
            EngineInterruptedError: `stop` was set.
        """
        if not self._is_ready:
            self.player.prepare(Rules(), self._stop)
            self._is_ready = self.has_started = True

    def search(self, position: Position, failed: Callable[[str], None] = lambda _: None) -> UsiResult:
        """Search a position.

        Args:
            position: The position.
            failed: Called with the reason before another attempt.

        Raises:
            PlayerFailedError: Every attempt failed.
            OptionError, EngineInterruptedError: As `start`.
        """
        for attempt in range(1, self._attempts + 1):
            try:
                self.start()
                return self._search(position)
            except PlayerFailedError as error:
                self._is_ready = False
                if attempt == self._attempts:
                    raise
                failed(error.failure.detail)
        raise AssertionError

    def _search(self, position: Position) -> UsiResult:
        answer = self.player.think(position, self._go, self._limit_ms, self._stop)
        result = None if answer.search is None else UsiResult.of(answer.search, position)
        best = None if result is None else result.best
        is_legal = answer.move in self._accepted if best is None else position.is_legal(best)
        if result is None or not is_legal:
            raise self.player.refused(f"answered {shorten(answer.move)!r}, which is not a legal move")
        return result
