"""Playing the games of a match on a Ray cluster that this process is connected to (`fukayomi.cluster`).

The match stays with whoever began it: database, files and schedule are those of a match on one machine, which can be
begun here and gone on with there. A node sees settings and a game, and gives back what was played.
"""

# ray is typed in parts.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import os
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayActorError

from fukayomi import __version__
from fukayomi.arena.game.referee import PlayedGame
from fukayomi.arena.match.configuration import ConfigurationError, check_programs
from fukayomi.arena.match.game_runner import Table
from fukayomi.arena.match.schedule import ScheduledGame
from fukayomi.arena.match.settings import MatchSettings
from fukayomi.arena.match.workers import Delivery, Finished, GameQueue
from fukayomi.cluster import ClusterError, last_line, not_installed

POLL_S = 0.2  # how late a stop may be heard
PATIENCE_S = 20.0  # without a table before the user is told what the match waits for
CLOSE_S = 15.0  # for engines that do not stop and do not quit; then their table is killed
ATTEMPTS = 4  # at the same game, or at a table that does not open


# ---------------------------------------------------------------------------------------------------------- the cluster


def fit(settings: MatchSettings) -> MatchSettings:
    """The settings with as many games at once as the cluster has room for, if they do not say how many.

    Raises:
        ClusterError: It has no room for any.
    """
    if "concurrency" in settings.model_fields_set:
        return settings
    cpus = cpus_of(settings)
    room = sum(int(node["Resources"].get("CPU", 0)) // cpus for node in ray.nodes() if node["Alive"])
    if room == 0:
        raise ClusterError(
            f"no node of the Ray cluster has {cpus} CPUs, which a game needs; "
            "if the cluster grows on demand, say how many games to play at once (--concurrency)"
        )
    return settings.model_copy(update={"concurrency": room})


def cpus_of(settings: MatchSettings) -> int:
    """What a game reserves of its node."""
    return settings.cores_per_game or 1


# ------------------------------------------------------------------------------------------------------------- the node


@dataclass(frozen=True, slots=True)
class Opened:
    """A table on a node."""

    node: str
    """The name of the node, and its address."""
    complaint: str
    """Why nothing can be played there; empty if all is well."""


class RayTable:
    """A table in a process of its own on some node: an actor, which Ray calls from two threads, one for `close`."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._playing = threading.Lock()
        self._owned = ExitStack()
        self._table: Table | None = None
        self._logs: Path | None = None

    def open(self, settings: MatchSettings, folder: str, version: str) -> Opened:
        """Prepare to play.

        Args:
            settings: Of the match.
            folder: Where the match was begun. If it is here, too, engines run in it, as they do there.
            version: Of the program that began the match.
        """
        node = f"{socket.gethostname()} ({ray.util.get_node_ip_address()})"
        if version != __version__:
            return Opened(node, f"fukayomi is {__version__} here and {version} where the match runs")
        if Path(folder).is_dir():
            os.chdir(folder)
        try:
            check_programs(settings)
        except ConfigurationError as error:
            return Opened(node, str(error))
        if settings.log:
            self._logs = Path(self._owned.enter_context(tempfile.TemporaryDirectory(prefix="fukayomi-")))
        self._table = self._owned.enter_context(Table(settings, self._logs))
        return Opened(node, "")

    def play(self, game: ScheduledGame) -> tuple[PlayedGame, str] | None:
        """The game and its log, if logs are kept; None if the table was closed before its end."""
        assert self._table is not None, "it is open"
        with self._playing:
            played = self._table.play(game, self._stop)
            log = ""
            for path in self._logs.iterdir() if self._logs is not None else ():
                log = path.read_text(encoding="utf-8")
                path.unlink()
        return None if played is None else (played, log)

    def close(self) -> None:
        """End the game, if there is one, and the engines."""
        self._stop.set()
        with self._playing:
            self._owned.close()


# ----------------------------------------------------------------------------------------------------------- the driver


@dataclass(slots=True)
class _Seat:
    """A table as the driver knows it."""

    table: Any
    """The actor's handle."""
    node: str = ""
    """Empty until it has opened."""
    game: ScheduledGame | None = None
    """The one in play."""
    is_closing: bool = False
    seated: frozenset[str] = frozenset()


class RayWorkers:
    """Tables on the nodes of the cluster that this process is connected to.

    A game is a task, but of an actor that keeps its two engines from one game to the next: starting an engine, which
    loads a network, may take longer than a fast game. When an actor dies, its game is begun again by another.
    """

    def __init__(self, settings: MatchSettings, logs: Path | None, stop: threading.Event) -> None:
        """Start nothing yet.

        Args:
            settings: Of the match.
            logs: Folder for what is said at the tables; None: nothing is kept.
            stop: When it is set, the games in play are dropped.
        """
        self._settings = settings
        self._logs = logs
        self._stop = stop
        self._thread: threading.Thread | None = None
        self._seats: dict[Any, _Seat] = {}  # by what is awaited of them
        self._losses: Counter[int] = Counter()  # by number of the game; 0: tables that did not open
        self._is_exhausted = False

    def start(self, games: GameQueue, deliver: Callable[[Delivery], None]) -> int:
        """See `Workers`."""
        self._thread = threading.Thread(target=self._work, args=(games, deliver), name="ray tables", daemon=True)
        self._thread.start()
        return 1

    def join(self) -> None:
        """See `Workers`."""
        if self._thread is not None:
            self._thread.join()

    def _work(self, games: GameQueue, deliver: Callable[[Delivery], None]) -> None:
        try:
            for _ in range(min(self._settings.concurrency, len(games))):
                self._open_table()
            is_told = False
            began_s = time.monotonic()
            while not self._stop.is_set() and not self._is_done():
                for ref in ray.wait(list(self._seats), timeout=POLL_S)[0]:
                    self._go_on(ref, self._seats.pop(ref), games, deliver)
                if not is_told and time.monotonic() - began_s > PATIENCE_S:
                    is_told = True
                    if not any(seat.node for seat in self._seats.values()):
                        deliver(f"the cluster has not yet had {cpus_of(self._settings)} CPUs to spare for a game")
        except Exception as error:  # whatever it is, the match must hear of it and not wait for ever
            deliver(error)
        finally:
            self._close_all()
            deliver(None)

    def _is_done(self) -> bool:
        """Whether no game is in play, and none is left for a table that has yet to open."""
        return self._is_exhausted and not any(seat.game for seat in self._seats.values())

    def _open_table(self) -> None:
        # No restarts by Ray: a new actor is as good, and may open on another node. Two threads: play, and close.
        options = {"num_cpus": cpus_of(self._settings), "max_concurrency": 2, "max_restarts": 0}
        try:
            table: Any = ray.remote(RayTable).options(scheduling_strategy="SPREAD", **options).remote()
        except ModuleNotFoundError as error:  # ray:// unpacks it at once
            raise not_installed(error) from error
        self._seats[table.open.remote(self._settings, str(Path.cwd()), __version__)] = _Seat(table)

    def _go_on(self, ref: Any, seat: _Seat, games: GameQueue, deliver: Callable[[Delivery], None]) -> None:
        """Take what came from a table, and give it its next game."""
        if seat.is_closing:
            ray.kill(seat.table)
            return
        try:
            answer: Any = ray.get(ref)
        except RayActorError as error:
            self._begin_again(seat, error, games, deliver)
            return
        if isinstance(answer, Opened):
            if answer.complaint:
                raise ClusterError(f"node {answer.node}: {answer.complaint}")
            seat.node = answer.node
            self._losses.pop(0, None)
        elif seat.game is not None and answer is not None:
            played, log = answer
            if self._logs is not None:
                self._logs.mkdir(parents=True, exist_ok=True)
                (self._logs / f"{seat.game.number:06}.log").write_text(log, encoding="utf-8", newline="\n")
            if played.failure is not None and not self._settings.restart:
                games.exclude(played.failure.engine)
            deliver(Finished(seat.game, played))
        self._play_next(seat, games)

    def _play_next(self, seat: _Seat, games: GameQueue) -> None:
        seat.game = games.take(seat.seated)
        if seat.game is None:
            self._is_exhausted = seat.is_closing = True
            self._seats[seat.table.close.remote()] = seat
            return
        seat.seated = frozenset((seat.game.black, seat.game.white))
        self._seats[seat.table.play.remote(seat.game)] = seat

    def _begin_again(
        self, seat: _Seat, error: RayActorError, games: GameQueue, deliver: Callable[[Delivery], None]
    ) -> None:
        """A table is lost, and perhaps its whole node: open another one, and play the game there or elsewhere.

        Raises:
            ClusterError: That was tried often enough.
        """
        ray.kill(seat.table)  # it may be out of reach, and alive
        reason = last_line(error)
        if error.actor_init_failed:
            raise not_installed(error) from error
        number = 0 if seat.game is None else seat.game.number
        what = "a table" if seat.game is None else f"game {number} on node {seat.node}"
        self._losses[number] += 1
        if self._losses[number] >= ATTEMPTS:
            raise ClusterError(f"{what} was lost {ATTEMPTS} times, the last time by this: {reason}") from error
        if seat.game is not None:
            deliver(f"{what} was lost and is begun again: {reason}")
            games.put_back(seat.game)
            self._is_exhausted = False
        self._open_table()

    def _close_all(self) -> None:
        seats, self._seats = list(self._seats.values()), {}
        _close(seats)


def _close(seats: list[_Seat]) -> None:
    """End the tables with their engines, all at the same time."""
    closing = [seat.table.close.remote() for seat in seats if seat.node]
    if closing:
        ray.wait(closing, num_returns=len(closing), timeout=CLOSE_S)
    for seat in seats:
        ray.kill(seat.table)
