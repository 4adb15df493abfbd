"""Workers play the games of a match at the same time; here each is a thread with its own engines and cores."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fukayomi.arena.game.player import MovePlayer
from fukayomi.arena.game.referee import PlayedGame
from fukayomi.arena.match.game_runner import NO_PLAYERS, GameRunner, check_engines
from fukayomi.arena.match.settings import MatchSettings, ScheduledGame
from fukayomi.errors import InvalidValueError
from fukayomi.interruption import join_threads, start_threads
from fukayomi.tabular import counted

LOOKAHEAD = 2
"""Games per worker among which it may choose one between the engines that it already runs."""


@dataclass(frozen=True, slots=True)
class FinishedGame:
    """A scheduled game and how it went."""

    game: ScheduledGame
    played: PlayedGame


@dataclass(frozen=True, slots=True)
class EngineWarnings:
    """Conditions that the match depends on and its engines are not told."""

    texts: tuple[str, ...]


WorkerReport = FinishedGame | EngineWarnings | str | BaseException | None
"""Report of a worker: a game; warnings about engines; a note for the user; the error that ended the worker; None
when it has closed."""


class Workers(Protocol):
    """Plays the games of a queue, here or elsewhere. All arguments and reports can be pickled."""

    def start(self, games: "GameQueue", report: Callable[[WorkerReport], None]) -> int:
        """Begin to take games; `report` is called from any thread. Returns how often it will be called with None."""
        ...

    def join(self) -> None:
        """Wait until no game is played and no engine runs."""
        ...


class GameQueue:
    """The games still to be played, in the order of the schedule as far as possible. Safe for several threads."""

    def __init__(self, games: Sequence[ScheduledGame], workers: int = 1) -> None:
        self._games = list(reversed(games))
        self._lookahead = LOOKAHEAD * workers
        self._excluded: set[str] = set()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Games left, those of excluded engines included."""
        with self._lock:
            return len(self._games)

    def put_back(self, game: ScheduledGame) -> None:
        """Return a game that was taken but not finished; it is the next one."""
        with self._lock:
            self._games.append(game)

    def take(self, running: frozenset[str] = frozenset()) -> ScheduledGame | None:
        """Take the next game, or one of the next few if it is between the engines that are running.

        Returns:
            None if no game is left between engines that may play.
        """
        with self._lock:
            chosen = None
            seen = 0
            for index in range(len(self._games) - 1, -1, -1):
                game = self._games[index]
                if {game.black, game.white} & self._excluded:
                    continue
                if chosen is None:
                    chosen = index
                if running == frozenset((game.black, game.white)):
                    chosen = index
                    break
                seen += 1
                if seen >= self._lookahead:
                    break
            return None if chosen is None else self._games.pop(chosen)

    def exclude(self, engine: str) -> None:
        """Leave out the games of an engine."""
        with self._lock:
            self._excluded.add(engine)

    @property
    def excluded(self) -> frozenset[str]:
        """The engines whose games are left out."""
        with self._lock:
            return frozenset(self._excluded)


class LocalWorkers:
    """Threads of this process, each with engines of its own."""

    def __init__(
        self,
        settings: MatchSettings,
        logs: Path | None,
        stop: threading.Event,
        players: Mapping[str, MovePlayer] | Sequence[Mapping[str, MovePlayer]] = NO_PLAYERS,
    ) -> None:
        """Prepare the workers.

        Args:
            settings: The match.
            logs: Folder for a log of each game; None: no logs.
            stop: Drops the games in progress when set.
            players: The engines that play in this process, by name; for several games at once, those of each worker.

        Raises:
            ValueError: There are not enough processor cores, or several games share a player.
        """
        by_worker = [players] if isinstance(players, Mapping) else list(players)
        if any(by_worker) and settings.concurrency > (count := len(by_worker)):
            names = ", ".join(by_worker[0])
            raise InvalidValueError(f"{names} can play {counted(count, 'game')} at a time: set concurrency to {count}")
        self._settings = settings
        self._logs = logs
        self._stop = stop
        self._players = by_worker
        self._cores = assign_cores(settings.concurrency, settings.cores_per_game)
        self._threads: list[threading.Thread] = []

    def start(self, games: GameQueue, report: Callable[[WorkerReport], None]) -> int:
        """See `Workers`.

        Raises:
            ConfigurationError: An engine does not take its options.
        """
        own = self._players[0] if self._players else NO_PLAYERS
        if warnings := check_engines(self._settings, self._stop, own):
            report(EngineWarnings(warnings))
        for number in range(min(self._settings.concurrency, len(games))):
            thread = threading.Thread(
                target=self._work, args=(number, games, report), name=f"match worker {number + 1}", daemon=True
            )
            self._threads.append(thread)
        start_threads(self._threads)
        return len(self._threads)

    def join(self) -> None:
        """See `Workers`."""
        join_threads(self._threads)

    def _work(self, number: int, games: GameQueue, report: Callable[[WorkerReport], None]) -> None:
        try:
            if self._cores:
                os.sched_setaffinity(0, self._cores[number])  # of this thread; the engines it starts inherit it
            players = self._players[number] if any(self._players) else NO_PLAYERS
            with GameRunner(self._settings, self._logs, players) as runner:
                while not self._stop.is_set() and (game := games.take(runner.running)) is not None:
                    played = runner.play(game, self._stop)
                    if played is None:
                        break
                    if played.failure is not None and not self._settings.restart:
                        games.exclude(played.failure.engine)
                    report(FinishedGame(game, played))
        except Exception as error:  # any error must reach the match, or it would wait forever
            report(error)
        finally:
            report(None)


def can_pin() -> bool:
    """True if this system lets a program choose its processor cores."""
    return hasattr(os, "sched_setaffinity")


def assign_cores(workers: int, cores_each: int) -> list[set[int]]:
    """The logical processors of each worker: whole cores with all their hardware threads; empty without pinning.

    Raises:
        ValueError: There are not enough cores.
    """
    if cores_each == 0 or not can_pin():
        return []
    cores = _physical_cores(os.sched_getaffinity(0))
    if workers * cores_each > len(cores):
        raise InvalidValueError(
            f"{counted(workers, 'game')} at once with {counted(cores_each, 'core')} each: too many; "
            f"this machine has {len(cores)}"
        )
    return [set().union(*cores[worker * cores_each : (worker + 1) * cores_each]) for worker in range(workers)]


def _physical_cores(usable: set[int]) -> list[set[int]]:
    """The usable logical processors, grouped by core."""
    cores: dict[str, set[int]] = {}
    for processor in sorted(usable):
        siblings = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
        try:
            core = siblings.read_text(encoding="ascii").strip()
        except OSError:
            core = str(processor)
        cores.setdefault(core, set()).add(processor)
    return list(cores.values())
