"""Running a match: play the games that are not in the database, store them, and write the files.

A run may end at any time and in any way; the next run with the same settings resumes the match. Only the games in
progress are lost.
"""

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from fukayomi.arena.game.openings import Opening, check_playable, read_openings
from fukayomi.arena.match.settings import MatchSettings
from fukayomi.arena.match.state import MatchListener, MatchResult, MatchState
from fukayomi.arena.match.store import MatchStore
from fukayomi.arena.match.workers import (
    EngineWarnings,
    FinishedGame,
    GameQueue,
    LocalWorkers,
    WorkerReport,
    Workers,
    can_pin,
)
from fukayomi.arena.results.diversity import PLY, measure_diversity
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.match_files import LOGS, MatchFiles
from fukayomi.arena.statistics.move_times import MoveTimes
from fukayomi.listener import SILENT, Listener

NOTES = 100
"""Different notes that are passed on; an odd engine may have a new one in every game."""
POLL_S = 1.0  # on Windows, waiting without a limit would not notice Ctrl-C

StartWorkers = Callable[[MatchSettings, Path | None, threading.Event], Workers]
"""Creates workers from the settings, the folder for logs (or None), and the event that stops them."""


def run_match(
    settings: MatchSettings,
    folder: Path,
    *,
    openings: Sequence[Opening] | None = None,
    listener: Listener = SILENT,
    start_workers: StartWorkers = LocalWorkers,
) -> MatchResult:
    """Play the missing games of a match, and write its files.

    KeyboardInterrupt ends the run in an orderly way: games in progress are dropped, engines end, files are written.

    Args:
        settings: As in earlier runs in this folder, except for the fields in `store.FREE_SETTINGS`.
        folder: Folder of the database and the files; created if necessary.
        openings: Openings to use in place of the file in the settings.
        listener: Follows the match; a `MatchListener` hears of every game.
        start_workers: Creates the workers that play; by default threads of this process.

    Raises:
        ValueError: The settings do not fit this machine, the openings or the folder (StoreError, OpeningError).
        OSError: A file cannot be read or written, or another process plays this match.
    """
    used = load_openings(settings) if openings is None else list(openings)
    for opening in used:
        check_playable(opening, settings.rules.max_plies)
    stop = threading.Event()
    workers = start_workers(settings, folder / LOGS if settings.log else None, stop)
    with MatchStore(folder, settings, used) as store:
        files = MatchFiles(folder)
        state = MatchState(settings, folder)
        missing = state.read(store, used)
        is_interrupted = False
        try:
            _write_missing_records(store, files)
            if isinstance(listener, MatchListener):
                listener.started(state)
            if settings.cores_per_game and not can_pin():
                listener.note("engines are not pinned: this system does not let a program choose its processor cores")
            if missing and not state.is_decided:
                _Run(state, store, files, listener, stop).play(workers, GameQueue(missing, settings.concurrency))
        except KeyboardInterrupt:  # wherever it struck, the database is consistent
            is_interrupted = True
            _write_missing_records(store, files)
            state.read(store, used)
        files.write_pgn(store.results(), settings.event)
        return MatchResult(state, state.missing, measure_diversity(store.games(), ply_of(used)), is_interrupted)


def load_openings(settings: MatchSettings) -> list[Opening]:
    """Read the openings of a match, in the order of their file; the start position without a file.

    Raises:
        ValueError: The file is damaged (OpeningError).
        OSError: The file cannot be read.
    """
    if settings.openings is None:
        return [Opening()]
    return read_openings(settings.openings, settings.opening_plies)


def ply_of(openings: Sequence[Opening]) -> int:
    """The ply at which positions are compared: well after the longest opening."""
    return max(PLY, max(len(opening.moves) for opening in openings) + 8)


def _write_missing_records(store: MatchStore, files: MatchFiles) -> None:
    """Write the records that a run which was cut off did not write."""
    for number in files.missing(store.numbers()):
        files.write_record(number, store.record(number))


class _Run:
    """Receives the games of one run."""

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
        """Play until no worker has anything left to do, or the test is decided."""
        reports: queue.SimpleQueue[WorkerReport] = queue.SimpleQueue()
        open_workers = workers.start(games, reports.put)
        try:
            while open_workers:
                try:
                    report = reports.get(timeout=POLL_S)
                except queue.Empty:
                    continue
                if report is None:
                    open_workers -= 1
                elif isinstance(report, BaseException):
                    raise report
                elif isinstance(report, EngineWarnings):
                    self._warn(report)
                elif isinstance(report, str):
                    self._note_once(report)
                elif not self._stop.is_set():
                    self._receive(report, games)
        finally:
            self._stop.set()
            workers.join()

    def _receive(self, finished: FinishedGame, games: GameQueue) -> None:
        scheduled, played = finished.game, finished.played
        self._store.add(scheduled, played)
        self._files.write_record(scheduled.number, played.record)
        game = replace(
            Game.from_record(played.record), black=scheduled.black, white=scheduled.white, name=str(scheduled.number),
            pair=scheduled.pair,
        )  # fmt: skip
        state = self._state
        state.standings.add(game)
        for answer in played.answers:
            state.times.setdefault(answer.engine, MoveTimes()).add(answer)
        state.missing -= 1
        state.new += 1
        if played.failure is not None:
            state.failures.append((scheduled.number, played.failure))
            state.left_out |= games.excluded
        if self._files.is_pgn_due():
            self._files.write_pgn(self._store.results(), state.settings.event)
        self._listener.progress("games", state.played, state.played + state.missing)
        if isinstance(self._listener, MatchListener):
            self._listener.game_ended(state, game, played.failure)
        for warning in played.warnings:
            self._note_once(warning)
        if state.is_decided:
            self._stop.set()

    def _warn(self, report: EngineWarnings) -> None:
        new = [text for text in report.texts if text not in self._state.warnings]
        self._store.add_warnings(new)
        self._state.warnings += new
        for text in new:
            self._note_once(f"warning: {text}")

    def _note_once(self, text: str) -> None:
        """An odd engine is odd in every game."""
        if text not in self._noted and len(self._noted) < NOTES:
            self._noted.add(text)
            self._listener.note(text)
