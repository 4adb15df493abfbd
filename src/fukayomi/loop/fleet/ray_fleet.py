"""The workers of a fleet as actors on a Ray cluster, which only starts them, and starts them again when they die.

Neither games nor networks go through Ray: a worker gets the address of the store, and finds everything there. So the
loss of a worker, of its node, or of this process costs the games in play.
"""

# ray is typed in parts.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import contextlib
import hashlib
import os
import re
import socket
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import ray
from ray.exceptions import RayError

from fukayomi.cluster import ClusterError, connect, last_line, loss_of, nodes, start_actor
from fukayomi.engine.evaluators.backends.backend import cache_folder
from fukayomi.listener import Listener
from fukayomi.loop.fleet.generator import FleetGenerator
from fukayomi.loop.fleet.store import Backoff, open_store
from fukayomi.loop.fleet.worker import Worker
from fukayomi.loop.run import Run
from fukayomi.loop.settings import CPU_DEVICES, FleetSettings, GeneratorSettings
from fukayomi.tabular import counted

POLL_S = 0.5
"""Longest delay before the death of a worker is noticed."""
COUNT_S = 10.0
"""Seconds from one look at the nodes of the cluster to the next."""
PATIENCE_S = 20.0
"""Time without a running worker after which the user is told why."""
STEADY_S = 300.0
"""A worker that lived so long did not fail at once."""
ATTEMPTS = 4
"""Failures of each worker in a row, on average, after which the run ends."""


# ------------------------------------------------------------------------------------------------------------- the node


class RayWorker:
    """A `Worker` in a process of its own on some node: an actor."""

    def run(self, url: str, number: int, scratch: str | None, machine: GeneratorSettings, poll_s: float) -> None:
        """Play until the process is ended.

        Args:
            url: The store.
            number: Number of the worker.
            scratch: Folder for games that are not delivered; None: the user's cache.
            machine: What plays.
            poll_s: Seconds from one look for a new task to the next.

        Raises:
            LoopError: Another version is installed here.
            Exception: The games cannot be played.
        """
        store = open_store(url)
        place = Path(scratch).expanduser() if scratch else cache_folder() / "fleet"
        place /= hashlib.sha256(url.encode()).hexdigest()[:12]  # runs do not share folders
        place.mkdir(parents=True, exist_ok=True)
        name = worker_name(socket.gethostname(), number)
        Worker(store, name, place, machine, poll_s, _Log(place / f"{name}.log")).run()


def worker_name(host: str, number: int) -> str:
    """The name of a worker: that of its machine, as far as names of chunks allow, and a number.

    >>> worker_name("node 7.example.org", 12)
    'node-7.example.org-0012'
    """
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", host).lstrip("._-")[:40] or "node"
    return f"{plain}-{number:04}"


class _Log(Listener):
    """Writes notes to a file, with times."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, text: str) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{now} {os.getpid()} {text}\n")


# ----------------------------------------------------------------------------------------------------------- the driver


@dataclass(slots=True)
class _Slot:
    """A worker as the driver sees it."""

    number: int
    actor: Any = None
    """Handle of its `RayWorker`; None while it waits to be started again."""
    is_ready: bool = False
    """True if its process runs; before, it may wait for room on the cluster."""
    since_s: float = 0.0
    """Time when it was started, or when it may be started again."""
    backoff: Backoff = field(default_factory=Backoff)


class RayFleet:
    """The generator of a run whose games are played on a Ray cluster. Use it as a context manager.

    Args:
        run: The run.

    Raises:
        LoopError: The store cannot be used.
        ClusterError: The cluster cannot be reached.
    """

    def __init__(self, run: Run) -> None:
        assert run.settings.fleet is not None
        self._settings: FleetSettings = run.settings.fleet
        machine = run.settings.generator
        on_gpu = machine.device not in CPU_DEVICES
        self._gpus = (1.0 if on_gpu else 0.0) if self._settings.gpus is None else self._settings.gpus
        if machine.devices is None and not on_gpu:
            machine = machine.model_copy(update={"devices": self._settings.cpus})
        self._machine = machine
        self._url = self._settings.store or str(run.folder.path.absolute())
        store = open_store(self._url)
        self.generate = FleetGenerator(
            store, run.folder, self._settings.poll_s, self._check, int8=machine.precision_on(machine.device) == "int8"
        )
        """Generator that the loop calls."""
        self._slots: list[_Slot] = []
        self._pending: dict[Any, _Slot] = {}
        """The workers, by the reference to the end of their work."""
        self._starting: dict[Any, _Slot] = {}
        """Those whose processes do not run yet, by the reference to their beginning."""
        self._notes: list[str] = []
        self._failures = 0  # since a worker was seen that plays steadily
        self._error: Exception | None = None
        self._counted_s = -COUNT_S
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="ray fleet", daemon=True)
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        self._opened.enter_context(connect(self._settings.ray))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the workers at once: what is not delivered waits on their machines for the next ones."""
        self._stopped.set()
        self._thread.join()
        for slot in self._slots:
            if slot.actor is not None:
                with contextlib.suppress(RayError):  # the cluster may be lost
                    ray.kill(slot.actor)
        self._opened.close()

    def _check(self, listener: Listener) -> int:
        """The number of workers; called by the loop.

        Raises:
            ClusterError: They fail again and again.
        """
        with self._lock:
            notes, self._notes = self._notes, []
        for note in notes:
            listener.note(note)
        if self._error is not None:
            raise self._error
        return sum(slot.is_ready for slot in self._slots)

    def _work(self) -> None:
        try:
            began_s, is_told = time.monotonic(), False
            while not self._stopped.is_set():
                self._start_workers()
                if not self._pending:
                    self._stopped.wait(POLL_S)
                refs = [*self._pending, *self._starting]
                for ref in ray.wait(refs, timeout=POLL_S)[0] if refs else ():
                    if (slot := self._starting.pop(ref, None)) is not None:
                        slot.is_ready = slot.actor is not None
                    elif (slot := self._pending.pop(ref, None)) is not None:
                        self._lost(ref, slot)
                if not is_told and time.monotonic() > began_s + PATIENCE_S:
                    is_told = True
                    if not any(slot.is_ready for slot in self._slots):
                        self._note(f"waiting for the cluster: no node has {self._needs()} free for a worker")
        except RayError as error:
            self._error = ClusterError(f"the Ray cluster was lost: {last_line(error)}")
        except Exception as error:  # the loop raises it
            self._error = error

    def _start_workers(self) -> None:
        """Start those that are missing, as many as there shall be."""
        now_s = time.monotonic()
        if now_s >= self._counted_s + COUNT_S:
            self._counted_s = now_s
            for number in range(len(self._slots) + 1, self._wanted() + 1):
                self._slots.append(_Slot(number))
        for slot in self._slots:
            if slot.actor is None and now_s >= slot.since_s:
                self._start(slot)

    def _wanted(self) -> int:
        """As many workers as the settings say, or as the nodes of the cluster have room for now."""
        if self._settings.workers is not None:
            return self._settings.workers
        return sum(map(self._room, nodes()))

    def _room(self, resources: dict[str, float]) -> int:
        """Workers for which a node has room."""
        room = resources.get("CPU", 0) // self._settings.cpus
        return int(min(room, resources.get("GPU", 0) // self._gpus) if self._gpus else room)

    def _start(self, slot: _Slot) -> None:
        slot.actor = start_actor(RayWorker, cpus=self._settings.cpus, gpus=self._gpus)
        slot.since_s = time.monotonic()
        self._starting[slot.actor.__ray_ready__.remote()] = slot
        scratch, poll_s = self._settings.scratch, self._settings.poll_s
        ref = slot.actor.run.remote(self._url, slot.number, scratch, self._machine, poll_s)
        self._pending[ref] = slot

    def _lost(self, ref: Any, slot: _Slot) -> None:
        """A worker ended, which it never does by itself: start another one, later if it fails at once.

        Raises:
            ClusterError: All of them fail again and again.
        """
        problem: Exception | None = None
        try:
            ray.get(ref)
        except Exception as error:  # of Ray, or of the worker itself
            problem = error
        reason = loss_of(slot.actor, problem)
        self._starting = {ref: other for ref, other in self._starting.items() if other is not slot}
        now_s = time.monotonic()
        if now_s >= slot.since_s + STEADY_S:
            slot.backoff.worked()
        if any(each.is_ready and now_s >= each.since_s + STEADY_S for each in self._slots):
            self._failures = 0
        slot.actor, slot.is_ready = None, False
        self._failures += 1
        if self._failures >= ATTEMPTS * len(self._slots):
            raise ClusterError(f"workers failed {self._failures} times in a row, the last time by this: {reason}")
        self._note(f"worker {slot.number} was lost and is started again: {reason}")
        slot.since_s = time.monotonic() + slot.backoff.failed()

    def _needs(self) -> str:
        """Resources that a worker takes, for messages."""
        gpus = f" and {self._gpus:g} GPU" if self._gpus else ""
        return f"{counted(self._settings.cpus, 'CPU')}{gpus}"

    def _note(self, text: str) -> None:
        with self._lock:
            self._notes.append(text)
