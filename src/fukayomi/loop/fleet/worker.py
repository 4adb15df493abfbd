"""A worker of a fleet: reads what to play from the store, plays, and delivers chunks. It knows nobody else.

One thread speaks with the store, and the games have threads of their own: a store that is out of reach stops no game.
A new task begins while the games in play of the one before are ended, so that the device is never idle.
"""

import contextlib
import os
import random
import secrets
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from fukayomi import __version__
from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import read_input
from fukayomi.files.lock import FolderLock, LockedError
from fukayomi.learning.layers import weights_of
from fukayomi.listener import SILENT, Forwarder, Listener
from fukayomi.loop.fleet.store import Backoff, Store, StoreError
from fukayomi.loop.fleet.task import GAMES, OPENINGS, StoredFile, Task, read_current, read_task
from fukayomi.loop.generation import play_here
from fukayomi.loop.settings import GeneratorSettings, LoopError
from fukayomi.selfplay.chunk import ChunkInfo, Name, find_chunks, sidecar_of
from fukayomi.selfplay.listener import SelfplayListener, SelfplayProgress

ORDER = "session.json"
LOCK = "lock"
SENT = "sent.txt"
LARGEST_ORDER = 1 << 22
"""Bytes."""
FAILED = "failed-"
"""Beginning of the names of folders that nobody adopts."""


class _Order(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    task: Task
    name: Name
    seed: int


class _StoppedError(Exception):
    """The worker stops at once."""


class _Following(Forwarder, SelfplayListener):
    """Tells the worker of chunks, passes notes on, and stops the games at once when told to."""

    def __init__(self, listener: Listener, chunk: Callable[[], None], stopped: threading.Event) -> None:
        super().__init__(listener)
        self._chunk, self._stopped = chunk, stopped

    def state(self, state: SelfplayProgress) -> None:
        if self._stopped.is_set():
            raise _StoppedError

    def chunk(self, path: Path, info: ChunkInfo) -> None:
        self._chunk()


class Session:
    """A folder with the games of one task. `create`, `adopt` or `find` make one.

    It outlives the process:

    | file | content |
    |---|---|
    | `session.json` | the task, the name of the worker, the seed |
    | `networks/` | its networks, by hash, with their int8 files |
    | `openings/` | where games begin |
    | `games/` | chunks, and the finished games that wait for theirs |
    | `sent.txt` | names of the chunks that are in the store |

    A process that is killed loses the games in play: the next worker on the machine adopts the folder, plays what
    chunks still wait for, and delivers them. When all is delivered the folder is removed.
    """

    def __init__(self, folder: Path, lock: FolderLock, order: _Order) -> None:
        self.folder = folder
        """The folder."""
        self.task = order.task
        """Task that is played."""
        self.error: Exception | None = None
        """Failure that ended the games; None: nothing did."""
        self._order, self._lock = order, lock
        self._end, self._stopped = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        path = folder / SENT
        self._sent = set(path.read_text(encoding="utf-8").split()) if path.is_file() else set[str]()

    @classmethod
    def create(cls, scratch: Path, task: Task, name: str, store: Store) -> Self:
        """Begin a task: fetch its networks and openings.

        Raises:
            StoreError: One of them cannot be read.
            OSError: The disk cannot be written.
        """
        while True:
            seed = secrets.randbits(63)  # no other session has the same games
            folder = scratch / f"{task.number:06}-{seed:016x}"
            folder.mkdir(parents=True)
            if (lock := _take(folder)) is not None:
                break
        try:
            (folder / "networks").mkdir()
            for network in task.networks():
                network.fetch(store, folder / "networks")
            (folder / OPENINGS).mkdir()
            for openings in task.openings:
                replace_file(folder / OPENINGS / openings.local_name, openings.read(store))
            order = _Order(task=task, name=name, seed=seed)
            replace_file(folder / ORDER, order.model_dump_json(indent=1).encode())
        except BaseException:
            _remove(folder)
            lock.release()
            raise
        return cls(folder, lock, order)

    @classmethod
    def adopt(cls, folder: Path) -> Self | None:
        """Take over what a killed worker left; None if another worker has it, or it has no games."""
        if (lock := _take(folder)) is None:
            return None
        try:
            order = _Order.model_validate_json(read_input(folder / ORDER, LARGEST_ORDER))
        except FileNotFoundError:  # it was killed before it began
            _remove(folder)
        except ValidationError:  # of another version, or damaged
            _set_aside(folder)
        else:
            return cls(folder, lock, order)
        lock.release()
        return None

    @classmethod
    def find(cls, scratch: Path, task: Task | None = None) -> Self | None:
        """Take over a session that nobody works on.

        Args:
            scratch: Folder of the sessions.
            task: The task that it must have; None: any.
        """
        beginning = "" if task is None else f"{task.number:06}-"
        for folder in sorted(scratch.glob(f"{beginning}*")) if scratch.is_dir() else ():
            if folder.name.startswith(FAILED) or not folder.is_dir() or (session := cls.adopt(folder)) is None:
                continue
            if task is None or session.task == task:
                return session
            session.close()
        return None

    def start(self, machine: GeneratorSettings, listener: Listener, wake: Callable[[], None]) -> None:
        """Play, in a thread.

        Args:
            machine: What plays.
            listener: Is told what happens.
            wake: Called when there is a chunk, and when it is over.
        """
        following = _Following(listener, wake, self._stopped)

        def play() -> None:
            networks = self.folder / "networks"
            try:
                play_here(
                    machine, self.task.settings, networks / self.task.network.local_name, self.folder / GAMES,
                    seed=self._order.seed, league=self.task.league_settings(networks), name=self._order.name,
                    openings=self.task.opening_sets(self.folder / OPENINGS), until=self._end, listener=following,
                )  # fmt: skip
            except _StoppedError:
                pass
            except Exception as error:  # the worker raises it
                self.error = error
            finally:
                wake()

        self._thread = threading.Thread(target=play, name=f"fukayomi-fleet-{self.task.number}", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Begin no more games; those in play are ended."""
        self._end.set()

    @property
    def is_over(self) -> bool:
        """True if no game is in play any more."""
        return self._thread is not None and not self._thread.is_alive()

    def send(self, store: Store) -> None:
        """Put all complete chunks that are not there into the store, each with its sidecar last.

        Raises:
            StoreError: The store cannot be written; the next call goes on.
        """
        folder = self.folder / GAMES
        for chunk in find_chunks(folder) if folder.is_dir() else ():
            if chunk.stem in self._sent:
                continue
            where = f"{GAMES}/{self.task.number:06}/{self._order.name}-{self._order.seed:016x}"
            weights = weights_of(chunk)
            for file in (chunk, *([weights] if weights.is_file() else []), sidecar_of(chunk)):
                store.write(f"{where}/{file.name}", file.read_bytes())
            self._sent.add(chunk.stem)
            with (self.folder / SENT).open("a", encoding="utf-8") as sent:  # if a line is lost, it is sent again
                sent.write(chunk.stem + "\n")

    def remove(self) -> None:
        """Everything is delivered: remove the folder."""
        _remove(self.folder)
        self._lock.release()

    def set_aside(self) -> None:
        """Keep the folder for a human, out of the way of other workers."""
        _set_aside(self.folder)
        self._lock.release()

    def close(self) -> None:
        """Stop at once, and leave the folder to others."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        self._lock.release()


def _take(folder: Path) -> FolderLock | None:
    """Lock a folder; None if another worker has it, or has removed it meanwhile as one without an order."""
    try:
        lock = FolderLock(folder, LOCK)
    except (LockedError, FileNotFoundError, NotADirectoryError):
        return None
    if (folder / LOCK).exists():
        return lock
    lock.release()
    return None


def _remove(folder: Path) -> None:
    """Remove a locked folder. What another worker sees of it meanwhile is locked, or has no order."""
    with contextlib.suppress(FileNotFoundError):
        (folder / ORDER).unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _set_aside(folder: Path) -> None:
    with contextlib.suppress(OSError):
        os.replace(folder, folder.with_name(FAILED + folder.name))  # noqa: PTH105 - as in the rest of the package


class Worker:
    """Plays what the store says until it is told to stop.

    Args:
        store: The store.
        name: Its name, which no other worker has at the same time.
        scratch: Folder of this machine for games that are not delivered; workers may share it.
        machine: What plays the games.
        poll_s: Seconds from one look for a new task to the next, on average.
        listener: Is told of networks, failures and adopted games.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        scratch: Path,
        machine: GeneratorSettings,
        poll_s: float,
        listener: Listener = SILENT,
    ) -> None:
        self._store, self._name, self._scratch, self._machine = store, name, scratch, machine
        self._poll_s, self._listener = poll_s, listener
        self._chance = random.Random(name)
        self._stopped, self._wake = threading.Event(), threading.Event()
        self._known: StoredFile | None = None
        self._current: Session | None = None
        self._ending: list[Session] = []
        self._due_s = 0.0

    def stop(self) -> None:
        """Make `run` return; games in play are lost, everything else is kept for the next worker."""
        self._stopped.set()
        self._wake.set()

    def run(self) -> None:
        """Play.

        Raises:
            LoopError: The tasks are for another version of fukayomi.
            Exception: The games of the newest task cannot be played.
        """
        backoff = Backoff(self._chance)
        try:
            while not self._stopped.is_set():
                self._wake.clear()
                try:
                    self._exchange()
                except StoreError as error:
                    if not backoff.failures:
                        self._listener.note(f"{error}; trying again, and playing on")
                    self._stopped.wait(backoff.failed())
                    continue
                backoff.worked()
                self._wake.wait(max(0.0, self._due_s - time.monotonic()))
        finally:
            for session in (self._current, *self._ending):
                if session is not None:
                    session.close()

    def _exchange(self) -> None:
        """Deliver what there is, and look for a new task.

        Raises:
            StoreError: The store is out of reach; call it again.
        """
        self._check_sessions()
        for session in [*self._ending, *([self._current] if self._current else [])]:
            is_over = session.is_over  # before it is asked for its chunks
            session.send(self._store)
            if is_over and session in self._ending:
                self._ending.remove(session)
                session.remove()
        if time.monotonic() >= self._due_s:
            self._take_newest()
            self._due_s = time.monotonic() + self._poll_s * self._chance.uniform(0.5, 1.5)
        if not self._ending and (left := Session.find(self._scratch)) is not None:
            self._listener.note(f"ending the games that a worker left in {left.folder}")
            left.end()
            left.start(self._machine, self._listener, self._wake.set)
            self._ending.append(left)

    def _check_sessions(self) -> None:
        if self._current is not None and self._current.error is not None:
            raise self._current.error
        for session in list(self._ending):
            if session.error is not None:
                self._listener.note(f"{session.folder} is set aside, as its games cannot be ended: {session.error}")
                session.send(self._store)
                self._ending.remove(session)
                session.set_aside()

    def _take_newest(self) -> None:
        """Begin the newest task, if it is a new one, and end the one before."""
        file = read_current(self._store)
        if file is None or file == self._known:
            return
        task = read_task(self._store, file)
        if task.build != __version__:
            raise LoopError(f"fukayomi is {__version__} on this machine and {task.build} where the run is")
        session = Session.find(self._scratch, task) or Session.create(self._scratch, task, self._name, self._store)
        session.start(self._machine, self._listener, self._wake.set)
        if self._current is not None:
            self._current.end()
            self._ending.append(self._current)
        self._known, self._current = file, session
        self._listener.note(f"playing task {task.number} with {task.network.name}")
