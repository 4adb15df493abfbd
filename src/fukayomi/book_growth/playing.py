"""The matches of a round, side by side."""

import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fukayomi.arena.game.openings import Opening
from fukayomi.arena.game.player import Failure
from fukayomi.arena.match.match import POLL_S, StartWorkers, run_match
from fukayomi.arena.match.settings import MatchSettings
from fukayomi.arena.match.state import MatchListener, MatchState
from fukayomi.arena.match.workers import Workers
from fukayomi.arena.results.game import Game
from fukayomi.interruption import join_threads, start_threads
from fukayomi.listener import Forwarder, Listener


@dataclass(frozen=True, slots=True)
class PlannedMatch:
    """A match to play."""

    settings: MatchSettings
    folder: Path
    openings: list[Opening]


def play_matches(
    matches: Sequence[PlannedMatch], listener: Listener, start_workers: StartWorkers, *, at_once: bool
) -> None:
    """Play the missing games of matches; each is a thread, and one that fails or is interrupted ends the others.

    KeyboardInterrupt and SystemExit drop the games in progress, and are raised when no engine runs.

    Args:
        matches: The matches.
        listener: Hears of every game, if it is a `MatchListener`; from one thread at a time.
        start_workers: Creates the workers that play.
        at_once: Whether the matches are played at the same time, or one after the other.
    """
    lock = threading.Lock()
    ended: queue.SimpleQueue[_Match] = queue.SimpleQueue()
    played = [_Match(match, _Locked(listener, lock), start_workers, ended) for match in matches]
    for group in [played] if at_once else [[each] for each in played]:
        error: BaseException | None = None  # the first one: those of the others follow from it
        try:
            start_threads(group)
            running = len(group)
            while running and error is None:
                try:
                    error = ended.get(timeout=POLL_S).error
                except queue.Empty:
                    continue
                running -= 1
        finally:
            for match in group:
                match.stop()  # does nothing at its end
            join_threads(group)
        if error is not None:
            raise error


class _Match(threading.Thread):
    """Plays a match."""

    def __init__(
        self, match: PlannedMatch, listener: Listener, start_workers: StartWorkers, ended: "queue.SimpleQueue[_Match]"
    ) -> None:
        super().__init__(name=f"match {match.folder.name}", daemon=True)
        self.error: BaseException | None = None
        self._match, self._listener, self._start_workers, self._ended = match, listener, start_workers, ended
        self._stop_playing: threading.Event | None = None
        self._is_stopped = False

    def run(self) -> None:
        try:
            run_match(
                self._match.settings,
                self._match.folder,
                openings=self._match.openings,
                listener=self._listener,
                start_workers=self._workers,
            )
        except BaseException as error:  # raised by the thread that waits
            self.error = error
        finally:
            self._ended.put(self)

    def stop(self) -> None:
        """Drop the games in progress."""
        self._is_stopped = True
        if self._stop_playing is not None:
            self._stop_playing.set()

    def _workers(self, settings: MatchSettings, logs: Path | None, stop: threading.Event) -> Workers:
        self._stop_playing = stop
        if self._is_stopped:
            stop.set()
        return self._start_workers(settings, logs, stop)


class _Locked(Forwarder, MatchListener):
    """Passes on what several threads report, one report at a time."""

    def __init__(self, listener: Listener, lock: threading.Lock) -> None:
        super().__init__(listener)
        self._lock = lock

    def progress(self, stage: str, done: int, total: int | None) -> None:
        """The progress is that of all matches: who listens counts the games."""

    def note(self, text: str) -> None:
        with self._lock:
            super().note(text)

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
        with self._lock:
            if isinstance(self._listener, MatchListener):
                self._listener.game_ended(state, game, failure)
