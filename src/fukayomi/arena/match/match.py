"""Playing a match: what is not in the database yet is played, kept, and written to files, until all is there.

A run may end at any time and in any way; the next run with the same settings goes on where it ended. The games in play
are lost with it, and nothing else.
"""

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from fukayomi.arena.game.openings import Opening, read_openings
from fukayomi.arena.game.player import Failure
from fukayomi.arena.match.schedule import ScheduledGame, schedule
from fukayomi.arena.match.settings import MatchSettings
from fukayomi.arena.match.store import MatchStore
from fukayomi.arena.match.workers import Delivery, Finished, GameQueue, LocalWorkers, Workers, can_pin
from fukayomi.arena.results.diversity import PLY, Diversity, measure_diversity
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.match_files import MatchFiles
from fukayomi.arena.results.standings import Standings
from fukayomi.arena.statistics.sprt import SprtDecision, SprtStatus

LOGS = "logs"
NOTES = 100  # different ones that are told
POLL_S = 1.0  # on Windows, waiting without a limit would not hear Ctrl-C


@dataclass
class MatchState:
    """Where a match stands; it changes as games come in.

    Attributes:
        standings: Of all games in the database.
        missing: Scheduled games that are not there yet.
        new: Of this run.
        failures: Of all runs, with the number of the game.
        left_out: Engines that failed in this run and play no more.
    """

    settings: MatchSettings
    folder: Path
    standings: Standings = field(default_factory=lambda: Standings([]))
    missing: int = 0
    failures: list[tuple[int, Failure]] = field(default_factory=list[tuple[int, Failure]])
    new: int = 0
    left_out: set[str] = field(default_factory=set[str])
    began_s: float = field(default_factory=time.monotonic)

    @property
    def played(self) -> int:
        """Games in the database."""
        return self.standings.games

    def sprt(self) -> SprtStatus | None:
        """Where the sequential test stands; None if none was asked for. It counts complete pairs alone."""
        if self.settings.sprt is None:
            return None
        first = self.standings.players[self.settings.engines[0].name]
        return self.settings.sprt.evaluate(first.counts.pairs)

    @property
    def is_decided(self) -> bool:
        """Whether the sequential test has ended the match."""
        result = self.sprt()
        return result is not None and result.decision is not SprtDecision.CONTINUE

    def read(self, store: MatchStore, openings: list[Opening]) -> list[ScheduledGame]:
        """Take everything from the database, and return the games that are not in it.

        Raises:
            StoreError: They are not the games of this match.
        """
        missing = store.check_schedule(schedule(self.settings, openings))
        self.standings = Standings([engine.name for engine in self.settings.engines], store.results())
        self.failures = store.failures()
        self.missing = len(missing)
        return missing

    def games_an_hour(self) -> float | None:
        """In this run; None before its first game."""
        return self.new / (time.monotonic() - self.began_s) * 3600 if self.new else None

    def seconds_left(self) -> float | None:
        """At the pace of this run; None before its first game."""
        pace = self.games_an_hour()
        return self.missing / pace * 3600 if pace else None


class Listener(Protocol):
    """Who watches a match. Called from the thread that runs it."""

    def started(self, state: MatchState) -> None:
        """Once, before any game."""
        ...

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
        """After every game; it is safe on disk."""
        ...

    def note(self, text: str) -> None:
        """Something that the user should know."""
        ...


@dataclass
class MatchOutcome:
    """What came of a run.

    Attributes:
        unplayed: Scheduled games that are not in the database.
        is_interrupted: By Ctrl-C.
    """

    state: MatchState
    unplayed: int
    diversity: Diversity
    is_interrupted: bool

    @property
    def is_complete(self) -> bool:
        """Whether all games are there that the match needs."""
        return self.unplayed == 0 or self.state.is_decided


StartWorkers = Callable[[MatchSettings, Path | None, threading.Event], Workers]


def run_match(
    settings: MatchSettings, folder: Path, listener: Listener, start_workers: StartWorkers = LocalWorkers
) -> MatchOutcome:
    """Play what is missing of a match, and write its files.

    KeyboardInterrupt ends the run in order: the games in play are dropped, engines end, files are written.

    Args:
        settings: The same as in earlier runs in this folder, but for the fields in `store.FREE_SETTINGS`.
        folder: Holds the database and the files; made if need be.
        listener: Is told of every game.
        start_workers: Who plays; by default threads of this process.

    Raises:
        ValueError: The settings do not fit this machine, the openings or the folder (StoreError, OpeningError).
        OSError: Something cannot be read or written.
    """
    openings = load_openings(settings)
    stop = threading.Event()
    workers = start_workers(settings, folder / LOGS if settings.log else None, stop)
    with MatchStore(folder, settings, openings) as store:
        files = MatchFiles(folder)
        state = MatchState(settings, folder)
        missing = state.read(store, openings)
        is_interrupted = False
        try:
            _write_missing_records(store, files)
            listener.started(state)
            if settings.cores_per_game and not can_pin():
                listener.note("this system lets no program choose its processor cores: none are pinned")
            if missing and not state.is_decided:
                _Run(state, store, files, listener, stop).play(workers, GameQueue(missing, settings.concurrency))
        except KeyboardInterrupt:  # wherever it struck, the database is right
            is_interrupted = True
            _write_missing_records(store, files)
            state.read(store, openings)
        files.write_pgn(store.results(), settings.event)
        return MatchOutcome(state, state.missing, measure_diversity(store.games(), ply_of(openings)), is_interrupted)


def load_openings(settings: MatchSettings) -> list[Opening]:
    """The openings of a match, in the order of their file; the start position if there is none.

    Raises:
        ValueError: The file is damaged (OpeningError).
        OSError: It cannot be read.
    """
    if settings.openings is None:
        return [Opening()]
    return read_openings(settings.openings, settings.opening_plies)


def ply_of(openings: list[Opening]) -> int:
    """Where positions are compared: engines must have moved by themselves for a while."""
    return max(PLY, max(len(opening.moves) for opening in openings) + 8)


def _write_missing_records(store: MatchStore, files: MatchFiles) -> None:
    """A run that was cut off may have left games without their files."""
    for number in files.missing(store.numbers()):
        files.write_record(number, store.record(number))


class _Run:
    """Takes in the games of one run."""

    def __init__(
        self, state: MatchState, store: MatchStore, files: MatchFiles, listener: Listener, stop: threading.Event
    ) -> None:
        self._state = state
        self._store = store
        self._files = files
        self._listener = listener
        self._stop = stop
        self._noted: set[str] = set()

    def play(self, workers: Workers, games: GameQueue) -> None:
        """Returns when no worker has anything left to do, or the test is decided."""
        deliveries: queue.SimpleQueue[Delivery] = queue.SimpleQueue()
        open_workers = workers.start(games, deliveries.put)
        try:
            while open_workers:
                try:
                    delivery = deliveries.get(timeout=POLL_S)
                except queue.Empty:
                    continue
                if delivery is None:
                    open_workers -= 1
                elif isinstance(delivery, BaseException):
                    raise delivery
                elif isinstance(delivery, str):
                    self._note_once(delivery)
                elif not self._stop.is_set():
                    self._take_in(delivery, games)
        finally:
            self._stop.set()
            workers.join()

    def _take_in(self, finished: Finished, games: GameQueue) -> None:
        scheduled, played = finished.game, finished.played
        self._store.add(scheduled, played)
        self._files.write_record(scheduled.number, played.record)
        game = replace(
            Game.from_record(played.record), black=scheduled.black, white=scheduled.white, name=str(scheduled.number),
            pair=scheduled.pair,
        )  # fmt: skip
        state = self._state
        state.standings.add(game)
        state.missing -= 1
        state.new += 1
        if played.failure is not None:
            state.failures.append((scheduled.number, played.failure))
            state.left_out |= games.excluded
        if self._files.is_pgn_due():
            self._files.write_pgn(self._store.results(), state.settings.event)
        self._listener.game_ended(state, game, played.failure)
        for warning in played.warnings:
            self._note_once(warning)
        if state.is_decided:
            self._stop.set()

    def _note_once(self, text: str) -> None:
        """An engine that is odd is so in every game."""
        if text not in self._noted and len(self._noted) < NOTES:
            self._noted.add(text)
            self._listener.note(text)
