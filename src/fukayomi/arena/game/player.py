"""An engine under guard: whatever it does, its opponent and the referee get an answer or a reason, and in time.

What goes wrong is the engine's, and said under its name: a `PlayerFailedError` ends the engine's process with all that
it started, and the next `prepare` starts a new one. What is odd but harmless becomes a warning.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fukayomi.arena.game.rules import EngineSettings, Rules
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.shogi.record import Termination
from fukayomi.usi.client import (
    BadAnswerError,
    EngineError,
    EngineFloodError,
    EngineInterruptedError,
    EngineTimeoutError,
    SearchAnswer,
    State,
    UsiClient,
)
from fukayomi.usi.options import Kind, OptionError
from fukayomi.usi.text import Go, Info

# Sent by GUIs whether an engine declares them or not, so no engine may mind them.
RESERVED_OPTIONS = frozenset({"USI_Hash", "USI_Ponder"})
WARNINGS_KEPT = 20
# A second bestmove comes at once, if at all. It must not meet the next search of the same engine.
SETTLE_S = 0.002
SETTLE_AFTER_SURPLUS_S = 0.1


@dataclass(frozen=True, slots=True)
class Failure:
    """An engine that is of no more use as it was: its process is gone."""

    engine: str
    """Its name in the match."""
    kind: Termination
    """CRASH, STALL or PROTOCOL."""
    detail: str
    """What happened, with the engine's last words."""


class PlayerFailedError(Exception):
    """The engine failed, and was ended.

    Attributes:
        player: Who.
        failure: Why.
    """

    def __init__(self, player: "Player", failure: Failure) -> None:
        super().__init__(f"{failure.engine}: {failure.detail}")
        self.player = player
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Answer:
    """What an engine answered to ``go``."""

    move: str
    """A USI move, ``resign``, ``win``, or whatever else stood there."""
    used_ms: float
    """From sending ``go`` to the arrival of the answer."""
    info: Info | None
    """What it said of its choice."""


class Player:
    """One engine of a match, in a process that is started when it is needed. It plays one game at a time.

    Attributes:
        name: its name in the match.
        clock: what it plays by.
        listener: called with "> line" and "< line" for all that passes, from several threads; may be changed.
        stop_grace_s: how long an engine whose time is over has to answer ``stop``; then it counts as hanging.
        quit_grace_s: how long it has to end after ``quit``; then it is killed.
    """

    stop_grace_s = 5.0
    quit_grace_s = 3.0

    def __init__(
        self, settings: EngineSettings, clock: TimeControl, listener: Callable[[str], None] | None = None
    ) -> None:
        """Start nothing yet.

        Args:
            settings: the engine.
            clock: the match's; that of the settings goes before it.
            listener: as the attribute.
        """
        self.name = settings.name
        self.clock = settings.clock or clock
        self.listener = listener
        self._settings = settings
        self._client: UsiClient | None = None
        self._is_settled_at = 0.0
        self._settle_s = SETTLE_S
        self._was_stopped = False
        self._is_in_game = False
        self._warnings: list[str] = []

    def __enter__(self) -> "Player":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The number of the engine's process; None if there is none."""
        return None if self._client is None else self._client.pid

    # ------------------------------------------------------------------------------------------ conversation

    def prepare(self, rules: Rules, stop: threading.Event | None = None) -> None:
        """Make it ready for a new game, starting it if need be.

        Args:
            rules: how long it may take.
            stop: ends the waiting when set.

        Raises:
            PlayerFailedError: it does not start, dies, or does not get ready.
            EngineInterruptedError: `stop` was set.
        """
        try:
            client = self._client or self._start(rules, stop)
            client.interrupt = stop
            client.is_ready(rules.ready_timeout_ms / 1000)
            self._note_surplus(client)
            client.new_game()
            self._is_in_game = True
        except EngineInterruptedError:
            self.kill()  # it is somewhere in the middle of its preparations
            raise
        except EngineError as error:
            raise self._fail(error) from error

    def _start(self, rules: Rules, stop: threading.Event | None) -> UsiClient:
        settings = self._settings
        client = self._client = UsiClient(
            settings.command,
            settings.directory,
            timeout_s=rules.start_timeout_ms / 1000,
            listener=self._hear,
            interrupt=stop,
        )
        self._settle_s, self._was_stopped = SETTLE_S, False
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

    def think(
        self, sfen: str | None, moves: Sequence[str], go: Go, limit_ms: float, stop: threading.Event | None = None
    ) -> Answer:
        """Let it search.

        An engine that exceeds the limit is sent ``stop``. If it then answers, the answer has the time it took, and the
        engine can go on to another game.

        Args:
            sfen: where the game began; None: the start position.
            moves: all moves so far.
            go: what limits the search.
            limit_ms: how long to wait.
            stop: ends the search when set.

        Raises:
            PlayerFailedError: no answer will come.
            EngineInterruptedError: `stop` was set.
        """
        client = self._client
        if client is None:
            raise RuntimeError(f"{self.name} was not prepared for the game")
        time.sleep(max(0.0, self._is_settled_at - time.monotonic()))
        client.interrupt = stop
        try:
            client.position(sfen, moves)
            client.start_go(go)
            self._note_surplus(client)
            return self._answer(client, limit_ms)
        except EngineInterruptedError:
            self._stop_search(client)
            raise
        except EngineError as error:
            raise self._fail(error) from error
        finally:
            self._is_settled_at = time.monotonic() + self._settle_s

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
        return Answer(_word(found), 1000 * found.seconds, found.best_info)

    def _stop_search(self, client: UsiClient) -> None:
        """End a search that nobody wants any more; an engine that cannot be stopped is ended."""
        client.interrupt = None
        self._was_stopped = True
        try:
            if client.state is State.THINKING:
                client.stop()
                client.wait_answer(self.stop_grace_s)
        except BadAnswerError:
            return  # an answer of a kind
        except EngineError:
            self.kill()

    def game_over(self, result: str) -> None:
        """Tell it ``win``, ``lose`` or ``draw``. No errors: a dead engine is found by `failure`."""
        if self._client is not None and self._is_in_game:
            self._is_in_game = False
            try:
                self._client.game_over(result)
            except EngineError as error:
                self._warn(str(error))

    def failure(self) -> Failure | None:
        """Whether its process ended where nobody asked it anything; it is closed then."""
        if self._client is None or self._client.is_alive:
            return None
        return self._fail(self._client.death()).failure

    def take_warnings(self) -> tuple[str, ...]:
        """What was odd since the last time, as ``NAME: what``."""
        warnings, self._warnings = tuple(self._warnings), []
        return warnings

    # ------------------------------------------------------------------------------------------ its end

    def close(self) -> None:
        """Send ``quit`` and see to it that nothing is left of it. It can be prepared again."""
        self._end(self.quit_grace_s)

    def kill(self) -> None:
        """End it at once. It can be prepared again."""
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
        return PlayerFailedError(self, Failure(self.name, kind, str(error)))

    def _note_surplus(self, client: UsiClient) -> None:
        """Warn of answers that nobody asked for. After a ``stop`` one is forgiven: it may have crossed the answer."""
        surplus, client.unasked = client.unasked, []
        if surplus[1:] if self._was_stopped else surplus:
            self._settle_s = SETTLE_AFTER_SURPLUS_S
            self._warn(f"answered more than once; {surplus[0][:80]!r} was ignored")
        self._was_stopped = False

    def _warn(self, text: str) -> None:
        if len(self._warnings) < WARNINGS_KEPT:
            self._warnings.append(f"{self.name}: {text}")

    def _hear(self, line: str) -> None:
        if self.listener is not None:
            self.listener(line)


def _word(answer: SearchAnswer) -> str:
    """The move, or what stood in its place."""
    if answer.bestmove is not None:
        return answer.bestmove.move
    return answer.checkmate.text() if answer.checkmate is not None else ""
