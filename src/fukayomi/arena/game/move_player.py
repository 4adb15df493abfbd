"""Players in this process: any object that chooses moves can play a match."""

import contextlib
import threading
import time
import traceback
from collections.abc import Callable
from typing import Protocol

from fukayomi.arena.game.player import Answer, Failure, Player, PlayerFailedError, answer_text
from fukayomi.arena.game.rules import EngineSettings, GameTerms, Rules
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.shogi import Move, Position
from fukayomi.shogi.record import Termination
from fukayomi.usi.client import EngineInterruptedError, SearchAnswer
from fukayomi.usi.text import BestMove, Go

POLL_S = 0.1
"""Longest delay before an interrupt is noticed."""
FRAMES = 3
"""Lines of a traceback kept in a failure."""


class MovePlayer(Protocol):
    """Chooses moves in this process. Subclass it, or write any class with the same members.

    >>> class FirstMove(MovePlayer):
    ...     def choose(self, position: Position, go: Go) -> Move:
    ...         return position.legal_moves[0]
    >>> FirstMove().choose(Position(), Go(nodes=1)).usi()
    '5i4h'
    """

    @property
    def identity(self) -> str:
        """Player in one line: network, precision, options. Stored with the match, which can be resumed only with
        a player of the same identity."""
        return type(self).__qualname__

    def new_game(self) -> None:
        """Called before each game: forget the last one."""

    def choose(self, position: Position, go: Go) -> Move | SearchAnswer:
        """Choose a move. Called from a thread of its own, never twice at the same time.

        Args:
            position: The position with all moves of the game; a copy that the player may change.
            go: The limits: nodes, depth or movetime_ms; or btime_ms, wtime_ms, byoyomi_ms, binc_ms, winc_ms.

        Returns:
            A move; or an answer that can also resign (``SearchAnswer(BestMove("resign"))``), declare a win (``"win"``)
            and give score and line, which go into the record. Its `seconds` are ignored.

        Raises:
            Exception: Anything; the player loses the game by a crash.
        """
        ...

    def stop(self) -> None:
        """Called from another thread, and again until `choose` returns: end it soon, with the best move so far. If none
        runs, do nothing."""


class InProcessPlayer(Player):
    """Drives a `MovePlayer` with the clocks and failures of a USI engine.

    An exception is a CRASH, and a `choose` that does not end after `stop` a STALL; it cannot be ended, so the next
    game waits for it.
    """

    def __init__(
        self,
        player: MovePlayer,
        settings: EngineSettings,
        clock: TimeControl,
        log: Callable[[str], None] | None = None,
    ) -> None:
        """Call nothing yet.

        Args:
            player: Chooses the moves.
            settings: The name, and a clock of its own if it has one.
            clock: The match's clock; a clock in `settings` takes precedence.
            log: Called with "> line" and "< line", as for a USI engine.
        """
        super().__init__(settings, clock)
        self.log = log
        self._player = player
        self._call: _Call | None = None

    def prepare(self, rules: Rules, stop: threading.Event | None = None, terms: GameTerms | None = None) -> None:
        """See `Player.prepare`; a player in this process is told nothing of the game."""
        timeout_s = rules.ready_timeout_ms / 1000
        if self._call is not None and not self._wait(self._call, timeout_s, stop):
            raise self._failed(Termination.STALL, "is still busy with the last game")
        self._write_log("> usinewgame")
        call = self._begin(self._player.new_game)
        if not self._wait(call, timeout_s, stop):
            raise self._failed(Termination.STALL, "new_game() did not return in time")
        self._result(call)

    def think(self, position: Position, go: Go, limit_ms: float, stop: threading.Event | None = None) -> Answer:
        """See `Player.think`."""
        self._write_log(f"> position {position.usi()}")
        self._write_log(f"> {go.text()}")
        own = position.copy()
        call = self._begin(lambda: self._player.choose(own, go))
        try:
            is_done = self._wait(call, limit_ms / 1000, stop)
        except EngineInterruptedError:
            with contextlib.suppress(PlayerFailedError):  # the game does not count
                self._stop(call)
            raise
        if not is_done and not self._stop(call):
            raise self._failed(Termination.STALL, "choose() did not return after stop()")
        answer = self._result(call)
        if isinstance(answer, Move):
            answer = SearchAnswer(BestMove(answer.usi()))
        if not isinstance(answer, SearchAnswer):
            kind = type(answer).__name__
            raise self._failed(Termination.CRASH, f"choose() returned {kind}, not a Move or a SearchAnswer")
        for info in answer.infos:
            self._write_log(f"< {info.text()}")
        self._write_log(f"< bestmove {answer_text(answer)}")
        return Answer(answer_text(answer), 1000 * call.seconds, answer.best_info, answer)

    def game_over(self, result: str) -> None:
        """Nothing is reported to the player."""
        self._write_log(f"> gameover {result}")

    def take_failure(self) -> Failure | None:
        """None: between its moves nothing of the player runs."""
        return None

    def close(self) -> None:
        """Nothing: who created the player closes it."""

    def _begin(self, function: Callable[[], object]) -> "_Call":
        self._call = _Call(function, self.name)
        return self._call

    def _wait(self, call: "_Call", timeout_s: float, stop: threading.Event | None) -> bool:
        """True if the call has ended in time."""
        deadline_s = time.monotonic() + timeout_s
        while not call.done.wait(max(0.0, min(POLL_S, deadline_s - time.monotonic()))):
            if stop is not None and stop.is_set():
                raise EngineInterruptedError(f"stopped waiting for {self.name}")
            if time.monotonic() >= deadline_s:
                return False
        return True

    def _stop(self, call: "_Call") -> bool:
        """Tell the search to stop; True if it ends."""
        self._write_log("> stop")
        deadline_s = time.monotonic() + self.stop_grace_s
        while True:  # a stop that comes before the search has begun has no effect
            try:
                self._player.stop()
            except Exception as error:
                raise self._crash(error) from error
            left_s = deadline_s - time.monotonic()
            if self._wait(call, min(POLL_S, left_s), None):
                return True
            if left_s <= POLL_S:
                return False

    def _result(self, call: "_Call") -> object:
        if call.error is not None:
            raise self._crash(call.error) from call.error
        return call.result

    def _crash(self, error: BaseException) -> PlayerFailedError:
        frames = "".join(traceback.format_tb(error.__traceback__, limit=-FRAMES))
        return self._failed(Termination.CRASH, f"{type(error).__name__}: {error}\n{frames}".rstrip())

    def _write_log(self, line: str) -> None:
        if self.log is not None:
            self.log(line)


class _Call:
    """A call in a thread of its own, which is abandoned if it never ends."""

    def __init__(self, function: Callable[[], object], name: str) -> None:
        self.done = threading.Event()
        self.result: object = None
        self.error: BaseException | None = None
        self.seconds = 0.0
        threading.Thread(target=self._run, args=(function,), name=name, daemon=True).start()

    def _run(self, function: Callable[[], object]) -> None:
        begin_s = time.monotonic()
        try:
            self.result = function()
        except BaseException as error:  # SystemExit, too, would end this thread without a word
            self.error = error
        finally:
            self.seconds = time.monotonic() - begin_s
            self.done.set()
