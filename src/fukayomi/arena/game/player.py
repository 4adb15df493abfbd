"""The engines of a match as the referee sees them, and players in this process.

An engine answers in time, or it fails with a `PlayerFailedError` that names the engine; what is odd but harmless
becomes a warning. `UsiPlayer` drives a USI program, `InProcessPlayer` any Python object that chooses moves.
"""

import contextlib
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

from fukayomi.arena.game.rules import EngineSettings, GameTerms, Rules
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.shogi import Move, Position
from fukayomi.shogi.record import Termination
from fukayomi.usi.client import EngineInterruptedError, SearchAnswer
from fukayomi.usi.text import BestMove, Go, Info

WARNINGS_KEPT = 20


@dataclass(frozen=True, slots=True)
class Failure:
    """An engine that broke down. It has to be started again before it can play on."""

    engine: str
    """Its name in the match."""
    kind: Termination
    """CRASH, STALL or PROTOCOL."""
    detail: str
    """Description of what happened, with the last lines of the error output."""


class PlayerFailedError(Exception):
    """An engine broke down and was ended."""

    def __init__(self, player: "Player", failure: Failure) -> None:
        super().__init__(f"{failure.engine}: {failure.detail}")
        self.player = player
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Answer:
    """An engine's answer to ``go``."""

    move: str
    """A USI move, ``resign`` or ``win``; or any other text that was sent in its place."""
    used_ms: float
    """From ``go`` to the arrival of the answer."""
    info: Info | None
    """The last statement about the chosen move: score and line."""
    search: SearchAnswer | None = None
    """All that was said, with every line of MultiPV; None if the answer names no move."""
    is_pondered: bool = False
    """True if the engine had pondered the position: its own times then count from before `used_ms`."""


class Player(ABC):
    """One engine of a match. It plays one game at a time."""

    stop_grace_s = 5.0
    """Time to answer ``stop`` when its time is over; an engine that takes longer counts as hanging."""

    def __init__(self, settings: EngineSettings, clock: TimeControl) -> None:
        """Start nothing yet.

        Args:
            settings: The engine.
            clock: The match's clock; a clock in `settings` takes precedence.
        """
        self.name = settings.name
        self.clock = settings.clock or clock
        self._warnings: list[str] = []

    @abstractmethod
    def prepare(self, rules: Rules, stop: threading.Event | None = None, terms: GameTerms | None = None) -> None:
        """Get ready for a new game; starts the engine if it does not run.

        Args:
            rules: The timeouts.
            stop: Ends the wait when set.
            terms: What to tell the engine of the game; None: nothing.

        Raises:
            PlayerFailedError: The engine does not start, dies, or does not get ready in time.
            OptionError: The engine does not declare an option, or a value of it.
            EngineInterruptedError: `stop` was set.
        """

    @abstractmethod
    def think(self, position: Position, go: Go, limit_ms: float, stop: threading.Event | None = None) -> Answer:
        """Search a position.

        An engine that exceeds the limit is told to stop. If it then answers, the answer has the time it really took,
        and the engine can play another game.

        Args:
            position: The position with all moves of the game.
            go: The limits of the search.
            limit_ms: How long to wait.
            stop: Ends the search when set.

        Raises:
            PlayerFailedError: The engine broke down.
            EngineInterruptedError: `stop` was set.
        """

    def ponder(self, position: Position, go: Go) -> None:  # noqa: B027 - not all can
        """Begin to think in the opponent's time, and return at once. The next `think`, or the end of the game, ends it.

        Never fails: what goes wrong is found by `think`. A player that cannot ponder does nothing.

        Args:
            position: The position after the move that the player expects.
            go: The limits of the search, once the move has been played.
        """

    @abstractmethod
    def game_over(self, result: str) -> None:
        """Report the result: ``win``, ``lose`` or ``draw``. Never fails; `take_failure` finds a dead engine."""

    @abstractmethod
    def take_failure(self) -> Failure | None:
        """Return a failure since the last answer, if any, and close the engine then."""

    @abstractmethod
    def close(self) -> None:
        """End the engine. It can be prepared again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take_warnings(self) -> tuple[str, ...]:
        """Return the warnings since the last call, as ``NAME: text``."""
        warnings, self._warnings = tuple(self._warnings), []
        return warnings

    def _warn(self, text: str) -> None:
        if len(self._warnings) < WARNINGS_KEPT:
            self._warnings.append(f"{self.name}: {text}")

    def refused(self, detail: str) -> PlayerFailedError:
        """End an engine that broke the protocol; returns the error to raise."""
        self.close()
        return self._failed(Termination.PROTOCOL, detail)

    def _failed(self, kind: Termination, detail: str) -> PlayerFailedError:
        return PlayerFailedError(self, Failure(self.name, kind, detail))


def answer_text(answer: SearchAnswer) -> str:
    """The move of an answer, or what was sent in its place."""
    if answer.bestmove is not None:
        return answer.bestmove.move
    return answer.checkmate.text() if answer.checkmate is not None else ""


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
