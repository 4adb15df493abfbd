"""The manifest of a store: which chunks, networks and settings belong to a run, in one file of JSON lines.

Every entry is one line, appended and flushed; nothing is ever changed. What a kill leaves of a line is no entry, and is
removed by the next writer. So the file can be read at any time, by any number of processes, and extended by hand: one
line excludes a worker. Entries hold no times: the same chunks, taken in the same order, give the same bytes.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from fukayomi.data.formats.format import DataFileError
from fukayomi.errors import InvalidValueError
from fukayomi.files.disk import raise_if_full
from fukayomi.files.lock import FolderLock
from fukayomi.loop.ingest.statistics import ChunkStatistics
from fukayomi.selfplay.chunk import Count, Name, Part, ResultCounts, Sha256, settings_sha256
from fukayomi.settings.problems import first_problem

MANIFEST = "manifest.jsonl"
LOCK = ".manifest.lock"
_MOST_TEXT = 1000


class ManifestError(DataFileError):
    """A line of the manifest is not an entry; the message names the line."""

    __module__ = "fukayomi.loop.ingest"


class _Entry(BaseModel):
    """Fields that a later version adds are skipped."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class NetworkEntry(_Entry):
    """A network that may play."""

    entry: Literal["network"] = "network"
    sha256: Sha256
    generation: Count
    """Its number in the run; tripwires compare workers within one generation."""
    name: Annotated[str, Field(max_length=_MOST_TEXT)] = ""


class SettingsEntry(_Entry):
    """Settings of self-play that are part of the run."""

    entry: Literal["settings"] = "settings"
    sha256: Sha256
    settings: dict[str, JsonValue]


class ChunkEntry(_Entry):
    """An accepted chunk."""

    entry: Literal["chunk"] = "chunk"
    sha256: Sha256
    path: str
    """File of the games, relative to the store, with slashes."""
    worker: Name
    seed: Annotated[int, Field(ge=0, lt=1 << 64)]
    sequence: Count
    first_game: Count
    numbers: Count = 0
    """Game numbers that it covers from there on; 0: as many as games."""
    part: Part = "all"
    """Part of the games of these numbers that it has."""
    network: Sha256
    generation: Count
    settings_sha256: Sha256
    games: Count
    plies: Count
    positions: Count
    """Moves with candidates, which are training positions."""
    duplicates: Count
    """Games equal to an accepted one, or to an earlier one of the chunk."""
    results: ResultCounts
    wrong_resignations: tuple[Count, Count]
    weights: str | None
    """Name of the weights' file, in the folder of the chunk; None if all weights are 1."""
    statistics: ChunkStatistics


class QuarantinedEntry(_Entry):
    """A rejected chunk."""

    entry: Literal["quarantined"] = "quarantined"
    path: str
    """Path at which it was delivered, relative to the store, with slashes."""
    folder: str
    """Folder where it is now, with its reasons; relative to the store."""
    files: tuple[str, ...]
    """Names of its files."""
    worker: str | None
    """None if the sidecar cannot be read."""
    faults: Count
    reason: Annotated[str, Field(max_length=_MOST_TEXT)]
    """The first of its faults."""


class ExcludedEntry(_Entry):
    """From here on nothing that a worker delivers, or has delivered, is learnt from."""

    entry: Literal["excluded"] = "excluded"
    worker: Name
    reason: Annotated[str, Field(max_length=_MOST_TEXT)] = ""


class AdmittedEntry(_Entry):
    """The end of a worker's exclusion."""

    entry: Literal["admitted"] = "admitted"
    worker: Name
    reason: Annotated[str, Field(max_length=_MOST_TEXT)] = ""


class ExcludedChunkEntry(_Entry):
    """From here on an accepted chunk is not learnt from, as if it had not been delivered."""

    entry: Literal["excluded_chunk"] = "excluded_chunk"
    path: Annotated[str, Field(max_length=_MOST_TEXT)]
    """As in its own entry."""
    reason: Annotated[str, Field(max_length=_MOST_TEXT)] = ""


class AdmittedChunkEntry(_Entry):
    """The end of a chunk's exclusion."""

    entry: Literal["admitted_chunk"] = "admitted_chunk"
    path: Annotated[str, Field(max_length=_MOST_TEXT)]
    reason: Annotated[str, Field(max_length=_MOST_TEXT)] = ""


Entry = (
    NetworkEntry
    | SettingsEntry
    | ChunkEntry
    | QuarantinedEntry
    | ExcludedEntry
    | AdmittedEntry
    | ExcludedChunkEntry
    | AdmittedChunkEntry
)
_ENTRIES: TypeAdapter[Entry] = TypeAdapter(Annotated[Entry, Field(discriminator="entry")])
_KINDS = frozenset(
    {"network", "settings", "chunk", "quarantined", "excluded", "admitted", "excluded_chunk", "admitted_chunk"}
)


class Manifest:
    """The entries of a store's manifest. Reading takes no lock; writing waits for other writers.

    >>> import tempfile
    >>> manifest = Manifest(Path(tempfile.mkdtemp()))
    >>> manifest.add_network("0" * 64, generation=0, name="random")
    >>> manifest.exclude("w3", "plays an old network")
    >>> Manifest(manifest.store).excluded
    {'w3': 'plays an old network'}
    """

    def __init__(self, store: Path) -> None:
        """Read the manifest of a folder; a missing file has no entries.

        Raises:
            ManifestError: A line is not an entry.
            OSError: The file cannot be read.
        """
        self.store = store
        """The folder."""
        self.path = store / MANIFEST
        """The file."""
        self._forget()
        self.refresh()

    def _forget(self) -> None:
        self._offset = 0
        self._lines = 0
        self._file: tuple[int, int] | None = None  # device and inode
        self.networks: dict[str, NetworkEntry] = {}
        """Networks by SHA-256, in order."""
        self.settings: dict[str, dict[str, Any]] = {}
        """Settings by `settings_sha256`, in order."""
        self.accepted: dict[str, ChunkEntry] = {}
        """Accepted chunks by SHA-256, in order, those of excluded workers included."""
        self.quarantined: dict[str, QuarantinedEntry] = {}
        """Rejected chunks by their folder, in order."""
        self.excluded: dict[str, str] = {}
        """Excluded workers, with the reason."""
        self.excluded_chunks: dict[str, str] = {}
        """Excluded chunks by path, with the reason."""

    def chunks(self) -> list[ChunkEntry]:
        """The chunks to learn from: accepted, and neither excluded nor of an excluded worker; in order."""
        return [
            chunk
            for chunk in self.accepted.values()
            if chunk.worker not in self.excluded and chunk.path not in self.excluded_chunks
        ]

    def refresh(self) -> None:
        """Read what was appended since the last call; everything if the file was replaced.

        Raises:
            ManifestError: A line is not an entry.
            OSError: The file cannot be read.
        """
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return self._forget()
        with file:
            status = os.fstat(file.fileno())
            if self._file != (status.st_dev, status.st_ino) or status.st_size < self._offset:
                self._forget()
                self._file = (status.st_dev, status.st_ino)
            file.seek(self._offset)
            data = file.read()
        for line in data[: data.rfind(b"\n") + 1].splitlines(keepends=True):
            self._read(line)
            self._lines += 1
            self._offset += len(line)
        return None

    def _read(self, line: bytes) -> None:
        if not line.strip():
            return
        entry = _parse(line)
        if isinstance(entry, str):
            raise ManifestError(f"{self.path}, line {self._lines + 1} (offset {self._offset}): {entry}")
        match entry:
            case NetworkEntry():
                self.networks[entry.sha256] = entry
            case SettingsEntry():
                self.settings[entry.sha256] = entry.settings
            case ChunkEntry():
                self.accepted.setdefault(entry.sha256, entry)
            case QuarantinedEntry():
                self.quarantined[entry.folder] = entry
            case ExcludedEntry():
                self.excluded[entry.worker] = entry.reason
            case AdmittedEntry():
                self.excluded.pop(entry.worker, None)
            case ExcludedChunkEntry():
                self.excluded_chunks[entry.path] = entry.reason
            case AdmittedChunkEntry():
                self.excluded_chunks.pop(entry.path, None)
            case None:
                pass

    def add_network(self, sha256: str, generation: int, name: str = "") -> None:
        """Let a network play. Adding it again does nothing.

        Raises:
            OSError: The file cannot be written.
        """
        self.refresh()
        if (known := self.networks.get(sha256)) is None or known.generation != generation:
            self.append([NetworkEntry(sha256=sha256, generation=generation, name=name)])

    def add_settings(self, settings: dict[str, Any]) -> str:
        """Make settings of self-play part of the run, and return their SHA-256. Adding them again does nothing.

        Raises:
            OSError: The file cannot be written.
        """
        self.refresh()
        sha256 = settings_sha256(settings)
        if sha256 not in self.settings:
            self.append([SettingsEntry(sha256=sha256, settings=settings)])
        return sha256

    def exclude(self, worker: str, reason: str = "") -> None:
        """Learn from nothing that a worker delivers or has delivered.

        Raises:
            ValueError: No worker can have this name, or the reason is too long.
            OSError: The file cannot be written.
        """
        self.append([_about(ExcludedEntry, reason, worker=worker)])

    def admit(self, worker: str, reason: str = "") -> None:
        """End the exclusion of a worker.

        Raises:
            ValueError: No worker can have this name, or the reason is too long.
            OSError: The file cannot be written.
        """
        self.append([_about(AdmittedEntry, reason, worker=worker)])

    def exclude_chunk(self, path: str, reason: str = "") -> None:
        """Do not learn from an accepted chunk.

        Raises:
            ValueError: There is no such chunk, or the reason is too long.
            OSError: The file cannot be written.
        """
        self.refresh()
        if path not in {chunk.path for chunk in self.accepted.values()}:
            raise InvalidValueError(f"{path} is not an accepted chunk of {self.path}")
        self.append([_about(ExcludedChunkEntry, reason, path=path)])

    def admit_chunk(self, path: str, reason: str = "") -> None:
        """End the exclusion of a chunk.

        Raises:
            ValueError: The reason is too long.
            OSError: The file cannot be written.
        """
        self.append([_about(AdmittedChunkEntry, reason, path=path)])

    def append(self, entries: Sequence[Entry]) -> None:
        """Write entries, flush them to the disk, and read what is new.

        Raises:
            DiskError: The disk is full; nothing was entered.
            OSError: The file cannot be written.
        """
        data = b"".join(entry.model_dump_json().encode() + b"\n" for entry in entries)
        with FolderLock(self.store, LOCK, wait=True), self.path.open("ab") as file:
            self.refresh()
            self._end_last_line()
            end = self.path.stat().st_size
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            except OSError as error:
                os.truncate(self.path, end)
                raise_if_full(error, f"nothing was entered in {self.path}", self.store)
                raise
        self.refresh()

    def _end_last_line(self) -> None:
        """Remove what a kill left of a line; end a line that was written by hand."""
        with self.path.open("rb+") as file:
            file.seek(self._offset)
            rest = file.read()
            if not rest.strip():
                return
            if isinstance(_parse(rest), str):
                file.truncate(self._offset)
            else:
                file.write(b"\n")


_Decision = TypeVar("_Decision", ExcludedEntry, AdmittedEntry, ExcludedChunkEntry, AdmittedChunkEntry)


def _about(kind: type[_Decision], reason: str, **whom: str) -> _Decision:
    try:
        return kind.model_validate({**whom, "reason": reason})
    except ValidationError as error:
        raise InvalidValueError(first_problem(error)) from error


def _parse(line: bytes) -> Entry | str | None:
    """The entry of a line, None for one of a kind that is not known here, or what is wrong with it."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    if not isinstance(value, dict) or not isinstance(value.get("entry"), str):  # pyright: ignore[reportUnknownMemberType]
        return 'not an object with a string "entry"'
    if value["entry"] not in _KINDS:
        return None
    try:
        return _ENTRIES.validate_json(line)
    except ValidationError as error:
        return first_problem(error)
