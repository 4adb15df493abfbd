"""A worker of a fleet: reads what to play from the store, plays, and delivers chunks. It knows nobody else.

One thread speaks with the store, and the games have threads of their own: a store that is out of reach stops no game.
A new task begins while the games in play of the one before are ended, so that the device is never idle.
"""

import random
import threading
import time
from pathlib import Path

from fukayomi import __version__
from fukayomi.listener import SILENT, Listener
from fukayomi.loop.fleet.session import Session
from fukayomi.loop.fleet.store import Backoff, Store, StoreError
from fukayomi.loop.fleet.task import StoredFile, read_current, read_task
from fukayomi.loop.settings import GeneratorSettings, LoopError


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
