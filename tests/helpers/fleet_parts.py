"""Parts of fleets for tests: a store whose connection can be cut, workers in threads, a first network."""

import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from fukayomi.listener import Listener
from fukayomi.loop.fleet.store import Store, StoreError
from fukayomi.loop.fleet.worker import Worker
from fukayomi.loop.settings import GeneratorSettings

MACHINE = GeneratorSettings(devices=1, batch_size=4, parallel=4)


class Cable:
    """A store that can be out of reach, and counts what is asked of it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.is_cut = False
        self.asked: list[str] = []
        self.url, self.folder = store.url, store.folder

    def read(self, name: str) -> bytes:
        self._ask("read", name)
        return self._store.read(name)

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        names = list(names)
        self._ask("read_all", *names)
        return self._store.read_all(names)

    def write(self, name: str, data: bytes) -> None:
        self._ask("write", name)
        self._store.write(name, data)

    def sizes(self, folder: str) -> dict[str, int]:
        self._ask("sizes", folder)
        return self._store.sizes(folder)

    def folders(self, folder: str) -> list[str]:
        self._ask("folders", folder)
        return self._store.folders(folder)

    def _ask(self, what: str, *names: str) -> None:
        self.asked.append(" ".join((what, *names)))
        if self.is_cut:
            raise StoreError(f"store {self.url}: the cable is cut")


class Notes(Listener):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


class Running:
    """A worker in a thread."""

    def __init__(self, store: Store, scratch: Path, name: str = "w1", machine: GeneratorSettings = MACHINE) -> None:
        self.heard = Notes()
        self.error: Exception | None = None
        self._worker = Worker(store, name, scratch, machine, 0.1, self.heard)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._worker.run()
        except Exception as error:
            self.error = error

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        self._worker.stop()
        self._thread.join()


@contextmanager
def working(store: Store, scratch: Path, name: str = "w1", machine: GeneratorSettings = MACHINE) -> Generator[Running]:
    worker = Running(store, scratch, name, machine)
    try:
        yield worker
    finally:
        worker.stop()
