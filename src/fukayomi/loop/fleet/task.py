"""Task of the workers of a fleet: games to play, with the network by its place in the store and its hash.

| file | content |
|---|---|
| `current.json` | number and hash of the newest task; all that workers read again and again, some 100 bytes |
| `tasks/000012.json` | a task |
| `networks/SHA256.onnx` | the networks (`.sparse`), and their int8 files; one in the store stays where it is |
| `openings/SHA256.sfen` | where games begin: positions, or hcp |
| `games/000012/NAME-SEED/NAME-000001.hcpe3` | the games that a worker played of a task, in chunks with sidecars |

The learner alone writes all but the last. Each file is complete or not there, and only `current.json` changes.
"""

import hashlib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fukayomi import __version__
from fukayomi.engine.evaluators.backends.network_file import NetworkFile, int8_path
from fukayomi.files.atomic import replace_file
from fukayomi.loop.fleet.store import Store, StoreError
from fukayomi.loop.settings import ONNX, LoopError, suffix_of
from fukayomi.selfplay.chunk import Sha256
from fukayomi.selfplay.league import LeagueSettings
from fukayomi.selfplay.openings import Openings, OpeningSet
from fukayomi.selfplay.settings import SelfplaySettings
from fukayomi.settings.problems import first_problem

CURRENT = "current.json"
TASKS = "tasks"
NETWORKS = "networks"
OPENINGS = "openings"
GAMES = "games"


class DamagedError(StoreError):
    """A file of the store is not what its hash says, because it was damaged on the way or is being replaced."""


class _Model(BaseModel):
    """Fields that a later version adds are skipped."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class StoredFile(_Model):
    """A file of the store."""

    name: Annotated[str, Field(pattern=r"^[^/\\\x00-\x1f]+(/[^/\\\x00-\x1f]+)*$", max_length=1000)]
    sha256: Sha256

    def read(self, store: Store) -> bytes:
        """Its content.

        Raises:
            DamagedError: It has another hash, or is not there.
            StoreError: It cannot be read.
        """
        try:
            data = store.read(self.name)
        except FileNotFoundError as error:
            raise DamagedError(f"store {store.url}: {self.name} is missing") from error
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise DamagedError(f"store {store.url}: {self.name} is damaged: it has another SHA-256")
        return data


class StoredNetwork(StoredFile):
    """A network of the store."""

    int8: StoredFile | None = None
    """Its int8 file; None: it is not computed so."""

    @property
    def local_name(self) -> str:
        """Name of the file at a worker."""
        return f"{self.sha256}{suffix_of(self.name)}"

    def fetch(self, store: Store, folder: Path) -> None:
        """Write it to a folder of the worker, with its int8 file.

        Raises:
            DamagedError: A file has another hash, or is not there.
            StoreError: It cannot be read.
            OSError: The disk cannot be written.
        """
        path = folder / self.local_name
        replace_file(path, self.read(store))
        if self.int8 is not None:
            replace_file(int8_path(path), self.int8.read(store))


class StoredOpenings(StoredFile):
    """A set of openings of the store."""

    weight: Annotated[float, Field(gt=0)] = 1.0
    """Weight of each of its positions."""

    @property
    def local_name(self) -> str:
        """Name of the file at a worker."""
        return self.name.rpartition("/")[2]


class Task(_Model):
    """Task of the workers: the games to play."""

    number: Annotated[int, Field(ge=1, lt=1_000_000)] = 1
    build: str = __version__
    """Version of fukayomi that the games belong to."""
    network: StoredNetwork
    """The network that plays."""
    settings: SelfplaySettings
    """Settings of the games."""
    league: dict[str, Any] | None = None
    """Players besides the network, as plain values of `LeagueSettings`; None: nobody."""
    opponents: tuple[StoredNetwork, ...] = ()
    """The networks of the league, in order."""
    openings: tuple[StoredOpenings, ...] = ()
    """Positions where games begin; none: the start position."""

    def networks(self) -> tuple[StoredNetwork, ...]:
        """All networks."""
        return (self.network, *self.opponents)

    def league_settings(self, networks: Path) -> LeagueSettings | None:
        """The league.

        Args:
            networks: Folder with its networks (`StoredNetwork.fetch`).
        """
        if self.league is None:
            return None
        tables = [
            {**table, "file": networks / network.local_name}
            for table, network in zip(self.league["network"], self.opponents, strict=True)
        ]
        return LeagueSettings.model_validate({**self.league, "network": tables})

    def opening_sets(self, folder: Path) -> Openings | None:
        """Openings of the games; None: they begin at the start position.

        Args:
            folder: Folder with the sets.
        """
        if not self.openings:
            return None
        return Openings([OpeningSet.read(folder / each.local_name, each.weight) for each in self.openings])


class _Current(_Model):
    task: int
    sha256: Sha256


def read_current(store: Store) -> StoredFile | None:
    """The newest task's file; None before the first one.

    Raises:
        DamagedError: The file is not what it should be.
        StoreError: It cannot be read.
    """
    try:
        text = store.read(CURRENT)
    except FileNotFoundError:
        return None
    try:
        current = _Current.model_validate_json(text)
    except ValidationError as error:
        raise DamagedError(f"store {store.url}: {CURRENT} is damaged: {first_problem(error)}") from error
    return StoredFile(name=task_name(current.task), sha256=current.sha256)


def read_task(store: Store, file: StoredFile) -> Task:
    """A task.

    Raises:
        DamagedError: It is missing or damaged.
        LoopError: It is of another version.
        StoreError: It cannot be read.
    """
    data = file.read(store)
    try:
        return Task.model_validate_json(data)
    except ValidationError as error:
        raise LoopError(
            f"store {store.url}: {file.name} cannot be read by fukayomi {__version__}: {first_problem(error)}"
        ) from error


def publish(
    store: Store,
    settings: SelfplaySettings,
    network: Path,
    league: LeagueSettings | None,
    known: set[str],
    openings: Openings | None = None,
    *,
    int8: bool = False,
) -> Task:
    """Give the workers something to play. Publishing the same again changes nothing.

    Args:
        store: The store.
        settings: How games are played.
        network: The network that plays.
        league: Who plays besides; None: nobody.
        known: SHA-256 of the networks of the run; the store of another run is refused.
        openings: Where games begin; None: at the start position.
        int8: Whether residual networks play in int8; their int8 files lie beside them.

    Returns:
        The task with its number.

    Raises:
        LoopError: The store is that of another run.
        EvaluatorError: A network has no int8 file.
        StoreError: It cannot be read or written.
    """
    newest = read_current(store)
    before = None if newest is None else read_task(store, newest)
    if before is not None and before.network.sha256 not in known:
        raise LoopError(f"{store.url} is the store of another run; choose an empty folder or URL (fleet, store)")
    without_files = {"networks": {"__all__": {"file"}}}
    task = Task(
        number=1 if before is None else before.number + 1,
        network=_put_network(store, network, int8=int8),
        settings=settings,
        league=None if league is None else league.model_dump(mode="json", by_alias=True, exclude=without_files),
        opponents=tuple(_put_network(store, each.file, int8=int8) for each in (league.networks if league else ())),
        openings=tuple(_put_openings(store, each) for each in (openings.sets if openings else ())),
    )
    if before is not None and before == task.model_copy(update={"number": before.number}):
        return before
    data = task.model_dump_json(indent=1).encode()
    store.write(task_name(task.number), data)
    current = _Current(task=task.number, sha256=hashlib.sha256(data).hexdigest())
    store.write(CURRENT, current.model_dump_json().encode())
    return task


def task_name(number: int) -> str:
    """The file of a task."""
    return f"{TASKS}/{number:06}.json"


def _put_network(store: Store, network: Path, *, int8: bool) -> StoredNetwork:
    """Put a network into the store, unless it is there.

    Raises:
        EvaluatorError: It has no int8 file, or that of another network.
    """
    has_file = int8 and suffix_of(network) == ONNX
    beside = _put(store, NetworkFile(network).of("int8").path) if has_file else None
    return StoredNetwork(**dict(_put(store, network)), int8=beside)


def _put(store: Store, network: Path) -> StoredFile:
    """Put a file of a network into the store, unless it is there."""
    data = network.read_bytes()
    sha256 = hashlib.sha256(data).hexdigest()
    if store.folder is not None and network.resolve().is_relative_to(store.folder.resolve()):
        return StoredFile(name=network.resolve().relative_to(store.folder.resolve()).as_posix(), sha256=sha256)
    name = f"{NETWORKS}/{sha256}{suffix_of(network)}"
    if store.sizes(NETWORKS).get(name) != len(data):
        store.write(name, data)
    return StoredFile(name=name, sha256=sha256)


def _put_openings(store: Store, openings: OpeningSet) -> StoredOpenings:
    """Put a set of openings into the store, unless it is there."""
    data = openings.content()
    sha256 = hashlib.sha256(data).hexdigest()
    name = f"{OPENINGS}/{sha256}{openings.suffix}"
    if store.sizes(OPENINGS).get(name) != len(data):
        store.write(name, data)
    return StoredOpenings(name=name, sha256=sha256, weight=openings.weight)
