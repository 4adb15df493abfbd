"""Playing the games of a match at several tables at once, each a thread with its own engines and processor cores."""

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fukayomi.arena.game.referee import PlayedGame
from fukayomi.arena.match.game_runner import Table
from fukayomi.arena.match.schedule import ScheduledGame
from fukayomi.arena.match.settings import MatchSettings

LOOKAHEAD = 2  # games for each table among which it may choose one that its engines can go on with


@dataclass(frozen=True, slots=True)
class Finished:
    """A game that came to its end."""

    game: ScheduledGame
    played: PlayedGame


Delivery = Finished | str | BaseException | None
"""What comes from a table: a game; a note for the user; what broke the table itself; None once it has closed."""


class Workers(Protocol):
    """Whoever plays the games of a queue, here or elsewhere. What they are given and what they give can be pickled."""

    def start(self, games: "GameQueue", deliver: Callable[[Delivery], None]) -> int:
        """Begin to take games; `deliver` is called from any thread. Returns how often it will be called with None."""
        ...

    def join(self) -> None:
        """Wait until nobody plays and no engine runs any more."""
        ...


class GameQueue:
    """The games that are to be played, in the order of the schedule as far as possible. For several threads."""

    def __init__(self, games: Sequence[ScheduledGame], tables: int = 1) -> None:
        self._games = list(reversed(games))
        self._lookahead = LOOKAHEAD * tables
        self._excluded: set[str] = set()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many are left, those of excluded engines among them."""
        with self._lock:
            return len(self._games)

    def put_back(self, game: ScheduledGame) -> None:
        """Have a game played next that was taken and came to nothing."""
        with self._lock:
            self._games.append(game)

    def take(self, seated: frozenset[str] = frozenset()) -> ScheduledGame | None:
        """The next game; if one of the next few is between the engines that are seated already, that one.

        Returns None if there is none left whose engines may play.
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
                if seated == frozenset((game.black, game.white)):
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
        """Whose games are left out."""
        with self._lock:
            return frozenset(self._excluded)


class LocalWorkers:
    """Tables on this machine."""

    def __init__(self, settings: MatchSettings, logs: Path | None, stop: threading.Event) -> None:
        """Prepare the tables.

        Args:
            settings: Of the match.
            logs: Folder for what is said at the tables; None: nothing is kept.
            stop: When it is set, the games in play are dropped.

        Raises:
            ValueError: There are not enough processor cores.
        """
        self._settings = settings
        self._logs = logs
        self._stop = stop
        self._cores = assign_cores(settings.concurrency, settings.cores_per_game)
        self._threads: list[threading.Thread] = []

    def start(self, games: GameQueue, deliver: Callable[[Delivery], None]) -> int:
        """See `Workers`."""
        for number in range(self._settings.concurrency):
            thread = threading.Thread(
                target=self._work, args=(number, games, deliver), name=f"table {number + 1}", daemon=True
            )
            self._threads.append(thread)
            thread.start()
        return len(self._threads)

    def join(self) -> None:
        """See `Workers`."""
        for thread in self._threads:
            thread.join()

    def _work(self, number: int, games: GameQueue, deliver: Callable[[Delivery], None]) -> None:
        try:
            if self._cores:
                os.sched_setaffinity(0, self._cores[number])  # of this thread; the engines it starts inherit it
            with Table(self._settings, self._logs) as table:
                while not self._stop.is_set() and (game := games.take(table.seated)) is not None:
                    played = table.play(game, self._stop)
                    if played is None:
                        break
                    if played.failure is not None and not self._settings.restart:
                        games.exclude(played.failure.engine)
                    deliver(Finished(game, played))
        except Exception as error:  # whatever it is, the match must hear of it and not wait for ever
            deliver(error)
        finally:
            deliver(None)


def can_pin() -> bool:
    """Whether this system lets a program choose its processor cores."""
    return hasattr(os, "sched_setaffinity")


def assign_cores(tables: int, cores_each: int) -> list[set[int]]:
    """The logical processors of each table: whole cores, with all their hardware threads; empty if none are pinned.

    Raises:
        ValueError: There are not so many.
    """
    if cores_each == 0 or not can_pin():
        return []
    cores = _physical_cores(os.sched_getaffinity(0))
    if tables * cores_each > len(cores):
        raise ValueError(
            f"{tables} games at once with {cores_each} cores each need {tables * cores_each} cores; "
            f"there are {len(cores)}"
        )
    return [set().union(*cores[table * cores_each : (table + 1) * cores_each]) for table in range(tables)]


def _physical_cores(usable: set[int]) -> list[set[int]]:
    """The usable logical processors, those together that share a core."""
    cores: dict[str, set[int]] = {}
    for processor in sorted(usable):
        siblings = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
        try:
            core = siblings.read_text(encoding="ascii").strip()
        except OSError:
            core = str(processor)
        cores.setdefault(core, set()).add(processor)
    return list(cores.values())
