"""An engine as the referee sees it: it answers in time, or it fails with a reason.

`UsiPlayer` drives a USI program, `InProcessPlayer` a Python object. Whatever goes wrong is a `PlayerFailedError` that
names the engine; what is odd but harmless becomes a warning.
"""

import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

from fukayomi.arena.game.rules import EngineSettings, GameTerms, Rules
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.shogi import Position
from fukayomi.shogi.record import Termination
from fukayomi.usi.client import SearchAnswer
from fukayomi.usi.text import Go, Info

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
