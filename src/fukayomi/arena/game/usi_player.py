"""USI engines in processes of their own, as players of a match and for searches of single positions."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from fukayomi.arena.game.player import Answer, Failure, Player, PlayerFailedError, answer_text
from fukayomi.arena.game.rules import EngineSettings, GameTerms, Rules, tell
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.shogi import START_SFEN, Position
from fukayomi.shogi.record import Termination
from fukayomi.usi.client import (
    BadAnswerError,
    EngineError,
    EngineFloodError,
    EngineInterruptedError,
    EngineTimeoutError,
    State,
    UsiClient,
)
from fukayomi.usi.engine import UsiResult
from fukayomi.usi.options import Option, OptionError
from fukayomi.usi.text import Go, shorten

# If an engine answers twice, the second bestmove follows at once. It must not be taken for the next search's answer.
PAUSE_S = 0.002
PAUSE_AFTER_SECOND_ANSWER_S = 0.1


class UsiPlayer(Player):
    """A USI engine. Its process is started when it is needed and kept from game to game.

    An engine that fails is ended together with every process it started; the next `prepare` starts a new one.

    While it ponders, the engine has the position after the move that it expects. `think` says ``ponderhit`` if that is
    the position; otherwise ``stop``, and the answer is not used. The time that the engine takes to stop is its own.
    """

    quit_grace_s = 3.0
    """Time to end after ``quit``; then the process is killed."""

    def __init__(self, settings: EngineSettings, clock: TimeControl, log: Callable[[str], None] | None = None) -> None:
        """Start nothing yet.

        Args:
            settings: The engine.
            clock: The match's clock; a clock in `settings` takes precedence.
            log: Called with "> line" and "< line" for all that is sent and received, from several threads.
        """
        super().__init__(settings, clock)
        self.log = log
        self._settings = settings
        self._client: UsiClient | None = None
        self._pause_until = 0.0
        self._pause_s = PAUSE_S
        self._was_stopped = False
        self._is_in_game = False
        self._declared: Mapping[str, Option] = {}
        self._told: dict[str, str] = {}
        self._pondered: str | None = None  # the position that it ponders
        self._ponder_error: EngineError | None = None
        self._failure: Failure | None = None  # at the end of a game, not yet taken

    @property
    def pid(self) -> int | None:
        """Process ID of the engine; None if it does not run."""
        return None if self._client is None else self._client.pid

    @property
    def declared_options(self) -> Mapping[str, Option]:
        """The options that the engine declared when it was last started, by name."""
        return self._declared

    def prepare(self, rules: Rules, stop: threading.Event | None = None, terms: GameTerms | None = None) -> None:
        """See `Player.prepare`."""
        try:
            client = self._client or self._start(rules, stop)
            client.interrupt = stop
            self._end_ponder(client)  # of a game that was broken off
            if terms is not None:
                self._tell(client, terms)
            client.wait_ready(rules.ready_timeout_ms / 1000)
            self._note_second_answer(client)
            client.new_game()
            self._is_in_game = True
        except EngineInterruptedError:
            self.kill()  # somewhere in the middle of its preparations
            raise
        except EngineError as error:
            raise self._fail(error) from error

    def _start(self, rules: Rules, stop: threading.Event | None) -> UsiClient:
        settings = self._settings
        client = self._client = UsiClient(
            settings.command,
            settings.directory,
            timeout_s=rules.start_timeout_ms / 1000,
            listener=self._write_log,
            interrupt=stop,
        )
        self._pause_s, self._was_stopped = PAUSE_S, False
        client.handshake()
        self._declared = client.options
        ready_s = rules.ready_timeout_ms / 1000
        try:
            odd = client.set_options(settings.options, undeclared=settings.undeclared_options, ready_timeout_s=ready_s)
        except OptionError as error:
            self.kill()
            raise OptionError(f"engine {self.name}: {error}") from error
        for warning in odd:
            self._warn(warning)
        return client

    def _tell(self, client: UsiClient, terms: GameTerms) -> None:
        """Set the options for the terms of a game, unless it has them from the game before."""
        for name, text in tell(client.options, self._settings.options, terms).options.items():
            if self._told.get(name) != text:
                self._told[name] = text
                client.set_option(name, text)

    def check_options(self, rules: Rules, terms: GameTerms, stop: threading.Event | None = None) -> tuple[str, ...]:
        """Start the engine, and see whether it takes its options and can be told of the terms of a game.

        Returns:
            What it cannot be told, and what it does not declare, as ``NAME: text``.

        Raises:
            PlayerFailedError: It does not start.
            OptionError: It does not declare an option, or a value of it.
            EngineInterruptedError: `stop` was set.
        """
        try:
            client = self._client or self._start(rules, stop)
        except EngineInterruptedError:
            self.kill()
            raise
        except EngineError as error:
            raise self._fail(error) from error
        for warning in tell(client.options, self._settings.options, terms).warnings:
            self._warn(warning)
        return self.take_warnings()

    def think(self, position: Position, go: Go, limit_ms: float, stop: threading.Event | None = None) -> Answer:
        """See `Player.think`."""
        client = self._client
        if client is None:
            raise RuntimeError(f"{self.name} was not prepared for the game")
        client.interrupt = stop
        try:
            if self._ponder_error is not None:
                raise self._ponder_error
            if self._pondered == position.usi():
                self._pondered = None
                client.ponderhit()
                answer = self._answer(client, limit_ms)
                if answer.used_ms == 0.0:
                    self._answered_early()
                return replace(answer, is_pondered=True)
            stopped_ms = self._end_ponder(client)
            if stopped_ms > limit_ms:
                return Answer("", stopped_ms, None)
            self._begin(client, position, go)
            answer = self._answer(client, limit_ms - stopped_ms)
            return replace(answer, used_ms=answer.used_ms + stopped_ms)
        except EngineInterruptedError:
            self._stop_search(client)
            raise
        except EngineError as error:
            raise self._fail(error) from error
        finally:
            self._pause_until = time.monotonic() + self._pause_s

    def ponder(self, position: Position, go: Go) -> None:
        """See `Player.ponder`."""
        if self._client is None:
            return
        try:
            self._begin(self._client, position, replace(go, ponder=True))
            self._pondered = position.usi()
        except EngineError as error:
            self._ponder_error = error

    def _begin(self, client: UsiClient, position: Position, go: Go) -> None:
        """Send position and ``go``."""
        start_sfen = position.start_sfen()
        moves = [move.usi() for move in position.moves]
        time.sleep(max(0.0, self._pause_until - time.monotonic()))
        client.position(None if start_sfen == START_SFEN else start_sfen, moves)
        client.start_go(go)
        self._note_second_answer(client)

    def _end_ponder(self, client: UsiClient) -> float:
        """Stop pondering, and drop the answer; returns how long that took, in milliseconds."""
        if self._pondered is None:
            return 0.0
        self._pondered = None
        self._was_stopped = True
        began_s = time.monotonic()
        client.stop()
        try:
            seconds = client.wait_answer(self.stop_grace_s).seconds
        except BadAnswerError as error:  # nobody needs it
            seconds = error.seconds
        answered_s = client.asked_at + seconds
        if answered_s < began_s:
            self._answered_early()
        self._pause_until = time.monotonic() + self._pause_s
        return 1000 * max(0.0, answered_s - began_s)

    def _answered_early(self) -> None:
        """Note an answer while pondering. Another one may follow, to ``ponderhit`` or ``stop``."""
        self._pause_s = PAUSE_AFTER_SECOND_ANSWER_S
        self._warn("answered while it was pondering, before ponderhit or stop")

    def _answer(self, client: UsiClient, limit_ms: float) -> Answer:
        try:
            try:
                found = client.wait_answer_until(client.asked_at + limit_ms / 1000)
            except EngineTimeoutError:
                self._was_stopped = True
                client.stop()
                found = client.wait_answer(self.stop_grace_s)
        except BadAnswerError as error:
            return Answer(error.answer, 1000 * error.seconds, None)
        return Answer(answer_text(found), 1000 * found.seconds, found.best_info, found)

    def _stop_search(self, client: UsiClient) -> None:
        """End a search whose answer is no longer needed; an engine that cannot be stopped is killed."""
        client.interrupt = None
        self._was_stopped = True
        self._pondered = None
        try:
            if client.state in (State.THINKING, State.PONDERING):
                client.stop()
                client.wait_answer(self.stop_grace_s)
        except BadAnswerError:
            return  # it has stopped
        except EngineError:
            self.kill()

    def game_over(self, result: str) -> None:
        """See `Player.game_over`."""
        if self._client is not None and self._is_in_game:
            self._is_in_game = False
            try:
                self._end_ponder(self._client)
                self._client.game_over(result)
            except EngineTimeoutError as error:  # it ponders, and does not stop
                self._failure = self._fail(error).failure
            except EngineError as error:
                self._warn(str(error))

    def take_failure(self) -> Failure | None:
        """See `Player.take_failure`: whether the process has ended by itself."""
        failure, self._failure = self._failure, None
        if failure is not None or self._client is None or self._client.is_alive:
            return failure
        return self._fail(self._client.exit_error()).failure

    def close(self) -> None:
        """Send ``quit`` and make sure that no process is left. The player can be prepared again."""
        self._end(self.quit_grace_s)

    def kill(self) -> None:
        """End the engine at once. The player can be prepared again."""
        self._end(0)

    def _end(self, grace_s: float) -> None:
        client, self._client = self._client, None
        self._is_in_game = False
        self._told, self._pondered, self._ponder_error = {}, None, None
        if client is not None:
            client.close(grace_s)

    def _fail(self, error: EngineError) -> PlayerFailedError:
        kind = Termination.CRASH
        if isinstance(error, EngineTimeoutError):
            kind = Termination.STALL
        elif isinstance(error, EngineFloodError):
            kind = Termination.PROTOCOL
        self.kill()
        return self._failed(kind, str(error))

    def _note_second_answer(self, client: UsiClient) -> None:
        """Warn of answers to no question. After ``stop`` one is accepted: it may have crossed the answer."""
        answers, client.unexpected_answers = client.unexpected_answers, []
        if answers[1:] if self._was_stopped else answers:
            self._pause_s = PAUSE_AFTER_SECOND_ANSWER_S
            self._warn(f"answered more than once; {answers[0][:80]!r} was ignored")
        self._was_stopped = False

    def _write_log(self, line: str) -> None:
        if self.log is not None:
            self.log(line)


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
