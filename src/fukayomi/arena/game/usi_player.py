"""A player that drives a USI engine in a process of its own.

An engine that fails is ended together with every process it started; the next `prepare` starts a new one.
"""

import threading
import time
from collections.abc import Callable, Mapping

from fukayomi.arena.game.player import Answer, Failure, Player, PlayerFailedError, answer_text
from fukayomi.arena.game.rules import EngineSettings, Rules
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
from fukayomi.usi.options import Kind, Option, OptionError
from fukayomi.usi.text import Go

# GUIs send these whether an engine declares them or not, so every engine must accept them.
RESERVED_OPTIONS = frozenset({"USI_Hash", "USI_Ponder"})
# If an engine answers twice, the second bestmove follows at once. It must not be taken for the next search's answer.
PAUSE_S = 0.002
PAUSE_AFTER_SECOND_ANSWER_S = 0.1


class UsiPlayer(Player):
    """A USI engine. Its process is started when it is needed and kept from game to game."""

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

    @property
    def pid(self) -> int | None:
        """Process ID of the engine; None if it does not run."""
        return None if self._client is None else self._client.pid

    @property
    def declared_options(self) -> Mapping[str, Option]:
        """The options that the engine declares, by name; empty if it does not run."""
        return {} if self._client is None else self._client.options

    def prepare(self, rules: Rules, stop: threading.Event | None = None) -> None:
        """See `Player.prepare`."""
        try:
            client = self._client or self._start(rules, stop)
            client.interrupt = stop
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
        for name, value in settings.options.items():
            option = client.options.get(name)
            if option is None and name not in RESERVED_OPTIONS:
                self._warn(f"declares no option {name!r}; it was sent all the same")
            elif option is not None and option.kind is not Kind.BUTTON:
                try:
                    option.value(value)
                except OptionError as error:
                    self._warn(str(error))
            is_button = option is not None and option.kind is Kind.BUTTON
            client.set_option(name, None if is_button else value)
        return client

    def think(self, position: Position, go: Go, limit_ms: float, stop: threading.Event | None = None) -> Answer:
        """See `Player.think`."""
        client = self._client
        if client is None:
            raise RuntimeError(f"{self.name} was not prepared for the game")
        start_sfen = position.start_sfen()
        moves = [move.usi() for move in position.moves]
        time.sleep(max(0.0, self._pause_until - time.monotonic()))
        client.interrupt = stop
        try:
            client.position(None if start_sfen == START_SFEN else start_sfen, moves)
            client.start_go(go)
            self._note_second_answer(client)
            return self._answer(client, limit_ms)
        except EngineInterruptedError:
            self._stop_search(client)
            raise
        except EngineError as error:
            raise self._fail(error) from error
        finally:
            self._pause_until = time.monotonic() + self._pause_s

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
        try:
            if client.state is State.THINKING:
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
                self._client.game_over(result)
            except EngineError as error:
                self._warn(str(error))

    def take_failure(self) -> Failure | None:
        """See `Player.take_failure`: whether the process has ended by itself."""
        if self._client is None or self._client.is_alive:
            return None
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
