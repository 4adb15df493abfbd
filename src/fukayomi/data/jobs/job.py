"""A resumable job: files in, files out, and the same bytes whether or not it was killed on the way.

Until a job is done there is a folder beside the first output (or in `scratch`), `.NAME.work`:

    lock          one process at a time works here
    job.json      name, inputs (with size and time of change), outputs, options; another job is refused
    state.json    the checkpoint: how far each stage is, the size of each output, and what the job remembers
    synced.json   the last checkpoint that waited for the disk

Outputs grow as `.NAME.part` beside their names. After a kill the next run cuts them to their sizes at the checkpoint
and goes on from there. Checkpoints every few seconds wait for the disk; those that a job makes in between do not, so
after a power cut a file may be shorter than the state says, which is noticed: then the job goes on from the last
checkpoint that waited, or, if its files do not fit that either, has to start again.
"""

import json
import os
import shutil
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.convert.blocks import VERB_KINDS, Inputs, open_inputs
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.records.reading import Skipped
from fukayomi.data.records.sources import SourceError
from fukayomi.errors import InvalidValueError
from fukayomi.files.disk import DiskError, Room, raise_if_full
from fukayomi.files.inputs import replaceable
from fukayomi.files.lock import FolderLock
from fukayomi.listener import SILENT, Listener
from fukayomi.tabular import Tabular


class JobError(InvalidValueError):
    """A job cannot go on. The message says why and what to do."""


class WorkFolder:
    """A folder that one process at a time works in.

    Its state files are always whole, whenever the process is killed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: FolderLock | None = None

    def lock(self) -> None:
        """Create the folder if it does not exist, and lock it.

        Raises:
            LockedError: Another process is working in it.
            OSError: It cannot be created.
        """
        self.path.mkdir(exist_ok=True)
        self._lock = FolderLock(self.path)

    def release(self) -> None:
        """End the lock, if this process holds it."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def remove(self) -> None:
        """Remove the folder and everything in it.

        It is renamed first, so that what a kill leaves of it is never taken for a job.
        """
        self.release()
        removed = self.path.with_name(f"{self.path.name}.removed")
        if removed.exists():
            shutil.rmtree(removed)
        self.path.replace(removed)
        shutil.rmtree(removed)

    def read(self, name: str) -> Any:
        """The content of a JSON file; None if the file does not exist."""
        path = self.path / name
        try:
            return json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise JobError(f"{path} is damaged; remove {self.path} and start again") from error

    def write(self, name: str, value: Any) -> None:
        """Replace a JSON file; a reader sees the old content or the new one."""
        temporary = self.path / f"{name}.tmp"  # only the holder of the lock writes here
        temporary.write_text(json.dumps(value), "utf-8")
        temporary.replace(self.path / name)

    def bucket_path(self, bucket: int, kind: str) -> Path:
        """Path of a bucket file."""
        return self.path / f"{bucket:04}.{kind}"

    def damaged(self, path: Path) -> JobError:
        """The error for a file that has changed since it was written."""
        return JobError(f"{path} has changed since it was written; remove {self.path} and start again")


@dataclass(frozen=True, slots=True, repr=False)
class Summary(Tabular):
    """Summary of a job. As a table it has a row for each output."""

    job: str
    """Name of the job, such as "split"."""
    read: int
    """Items read: rows, positions, games or records."""
    written: dict[str, int]
    """Items of each output, by path."""
    skipped: Skipped
    """Records that cannot be read and were skipped."""
    found: dict[str, Any]
    """Further results of the job, by name."""
    resumed: bool
    """True if an earlier run had begun the job."""
    seconds: float
    """Duration of this run."""

    @property
    def kept(self) -> int:
        """Items of all outputs."""
        return sum(self.written.values())

    def rows(self) -> Sequence[dict[str, Any]]:
        """The outputs, with their items and their share of what was read."""
        return [
            {"output": path, "written": count, "read": self.read, "share": count / self.read if self.read else None}
            for path, count in self.written.items()
        ]


# Bytes. Small enough for the memory pages that a removed bucket file has freed: writing more at once takes pages that
# are not in use yet, which costs ten times as much on a virtual machine.
_WRITTEN_AT_ONCE = 1 << 18


def part_of(out: Path) -> Path:
    """Path of an output until it is complete."""
    return out.with_name(f".{out.name}.part")


class PartFile:
    """A file that grows; after a kill it is cut to its size at the last checkpoint."""

    def __init__(self, folder: WorkFolder, path: Path, size: int, items: int) -> None:
        """Open the file as it was at a checkpoint.

        Args:
            folder: The job's folder.
            path: Path of the file; it is created if it does not exist.
            size: Its bytes at the checkpoint.
            items: Its items at the checkpoint.

        Raises:
            JobError: The file is shorter than it was.
            OSError: It cannot be opened.
        """
        self.path, self.size, self.items = path, size, items
        found = path.stat().st_size if path.exists() else 0
        if found < size:
            raise folder.damaged(path)
        # Without a buffer nothing is left to write when the file is closed, which a full disk would refuse.
        self._file = path.open("r+b" if path.exists() else "xb", buffering=0)
        if found > size:
            self._file.truncate(size)
        self._file.seek(size)

    def append(self, data: bytes | memoryview, items: int) -> None:
        """Add bytes at the end, which hold `items` items."""
        rest = memoryview(data)
        while len(rest):
            written = self._file.write(rest[:_WRITTEN_AT_ONCE])
            rest, self.size = rest[written:], self.size + written
        self.items += items

    def overwrite(self, offset: int, data: bytes) -> None:
        """Replace bytes that were written before."""
        self._file.seek(offset)
        self._file.write(data)
        self._file.seek(self.size)

    def sync(self) -> None:
        """Wait until the disk has everything."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


CHECKPOINT_SECONDS = 5.0
_JOB, _STATE, _SYNCED = "job.json", "state.json", "synced.json"
_VERSION = 4

_Item = TypeVar("_Item")


def _nothing() -> None:
    pass


class Job:
    """A resumable job. Use it as a context manager: run its stages in order, then `finish`.

    The options and the inputs decide the bytes of the outputs; everything else that a later run needs to know goes
    into `memory`.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Path],
        outs: Sequence[Path],
        options: Mapping[str, Any],
        *,
        spools: Sequence[str] = (),
        scratch: Path | None = None,
        room: Room | None = None,
        remedy: str = "choose another disk",
        listener: Listener = SILENT,
    ) -> None:
        """Describe the job; nothing is written yet.

        Args:
            name: Name of the job.
            inputs: The files that it reads.
            outs: The files that it writes.
            options: Everything else that its outputs depend on, as JSON values.
            spools: Names of files that grow in the job's folder as outputs do, and are removed with it.
            scratch: Where the job's folder is; None: beside the first output.
            room: Disk space that must be free at the beginning; None if it is not known.
            remedy: What helps against a lack of space, for the message.
            listener: Hears of the progress.

        Raises:
            JobError: An output is an input, or is given twice.
            OSError: An input cannot be read, or an output is no file that can be replaced.
        """
        self.name, self.listener = name, listener
        self.outs = [replaceable(out).absolute() for out in outs]
        if len(set(self.outs)) != len(outs):
            raise JobError("two outputs have the same name")
        if both := {path.absolute() for path in inputs} & set(self.outs):
            raise JobError(f"{min(both)} is both input and output; give the output another name")
        self._description = {
            "version": _VERSION, "job": name, "inputs": [_stamp(path) for path in inputs],
            "outs": [str(out) for out in self.outs], **options,
        }  # fmt: skip
        self.folder = WorkFolder((scratch or self.outs[0].parent).absolute() / f".{self.outs[0].name}.work")
        self._room, self._remedy = room, remedy
        self._paths = [*map(part_of, self.outs), *(self.folder.path / name for name in spools)]
        self._files: list[PartFile] = []
        self.memory: dict[str, Any] = {}
        """Data that a later run needs, as JSON values."""
        self.found: dict[str, Any] = {}
        """Results for the summary, as JSON values."""
        self.read = 0
        """Items read so far."""
        self.skipped = Skipped()
        """Records that cannot be read."""
        self.resumed = False
        """True if an earlier run had begun the job."""
        self._stages: dict[str, dict[str, Any]] = {}
        self._is_finished = False
        self._start = self._saved = time.monotonic()

    @property
    def is_begun(self) -> bool:
        """True if an earlier run left work that this one would resume; known before the job is entered."""
        return self.folder.path.exists()

    @property
    def outputs(self) -> list[PartFile]:
        """The outputs; empty if all that is left is to rename them."""
        return self._files[: len(self.outs)]

    @property
    def spools(self) -> list[PartFile]:
        """The files that grow in the folder."""
        return self._files[len(self.outs) :]

    def __enter__(self) -> Self:
        """Lock the folder, and begin the job or load its checkpoint.

        Raises:
            JobError: The folder has another job, or a file has changed since it was written.
            LockedError: Another process is working on the job.
            DiskError: There is too little room to begin.
            OSError: A file cannot be opened.
        """
        try:
            self.folder.lock()
            self._claim()
        except BaseException as error:
            self._close()
            self._explain(error)
            raise
        return self

    def _claim(self) -> None:
        found = self.folder.read(_JOB)
        if found is None:
            self._check_room()
            left = [self.folder.path / name for name in (_STATE, _SYNCED)]  # by a kill during the removal of the folder
            for path in [*left, *self._paths]:
                path.unlink(missing_ok=True)
            self.folder.write(_JOB, self._description)
        elif found != self._description:
            keys = dict.fromkeys([*found, *self._description])
            different = ", ".join(key for key in keys if found.get(key) != self._description.get(key))
            raise JobError(
                f"{self.folder.path} holds the unfinished work of another job (different: {different}); "
                "finish that job, or remove the folder"
            )
        self.resumed = found is not None
        try:
            self._load(self.folder.read(_STATE) or {})
        except JobError:
            synced = self.folder.read(_SYNCED)
            if synced is None:
                raise
            self._load(synced)

    def _load(self, state: dict[str, Any]) -> None:
        self._stages, self.memory, self.found = (state.get(key, {}) for key in ("stages", "memory", "found"))
        self.read = state.get("read", 0)
        self.skipped = Skipped(*state.get("skipped", ()))
        self._is_finished = state.get("finished", False)
        sizes: list[list[int]] = state.get("sizes", [[0, 0]] * len(self._paths))
        if self._is_finished:  # the outputs may have their names already
            self.memory["written"] = [items for _, items in sizes]
            return
        while self._files:
            self._files.pop().close()  # of a checkpoint that does not fit
        for path, (size, items) in zip(self._paths, sizes, strict=True):
            self._files.append(PartFile(self.folder, path, size, items))

    def _check_room(self) -> None:
        if self._room is None:
            return
        try:
            self._room.check(self.folder.path, self.outs[0].parent, self._remedy)
        except DiskError:
            self.folder.remove()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close()
        # Work on damaged inputs is useless, as their repair makes it another job; after other errors it can go on.
        if isinstance(error, DataFileError | SourceError):
            self._remove()
        self._explain(error)

    def _explain(self, error: BaseException | None) -> None:
        if isinstance(error, OSError):
            advice = f"make room and run the same job again: it resumes the work in {self.folder.path}"
            raise_if_full(error, advice, self.folder.path, *(out.parent for out in self.outs))

    def _close(self) -> None:
        for file in self._files:
            file.close()
        self.folder.release()

    def _remove(self) -> None:
        for path in self._paths:
            path.unlink(missing_ok=True)
        self.folder.remove()

    def is_done(self, stage: str) -> bool:
        """True if a stage is complete."""
        return self._is_finished or self._stages.get(stage, {}).get("done", False)

    @property
    def is_first_stage(self) -> bool:
        """True if no stage is complete."""
        return not any(stage["done"] for stage in self._stages.values())

    def place(self, stage: str) -> Any:
        """Progress of a stage that a kill cannot undo; None at its beginning."""
        return self._stages.get(stage, {}).get("place")

    def stream(
        self,
        stage: str,
        read: Callable[[Any], Iterable[tuple[_Item, Any]]],
        remember: Callable[[], None] = _nothing,
    ) -> Iterator[_Item]:
        """Run a stage that handles items one after the other, from where an earlier run got to.

        Args:
            stage: Name of the stage.
            read: Called with a place (None: the beginning); yields the items from there on, each with the place
                behind it as a JSON value.
            remember: Called before a checkpoint; puts into `memory` what a later run needs.

        Yields:
            The items. One is done when the next is asked for.
        """
        if self.is_done(stage):
            return
        place = self.place(stage)
        for item, place in read(place):  # noqa: B020  # the place is what remains at the end
            yield item
            self.reached(stage, place, remember)
        self.reached(stage, place, remember, done=True)

    def reached(
        self,
        stage: str,
        place: Any,
        remember: Callable[[], None] = _nothing,
        *,
        done: bool = False,
        now: bool = False,
    ) -> None:
        """Note how far a stage is: make a checkpoint if the last one is some seconds old.

        Args:
            stage: Name of the stage.
            place: The place, as a JSON value.
            remember: Called before the checkpoint.
            done: Whether the stage is complete; then there is always a checkpoint.
            now: Make a checkpoint in any case, but wait for the disk only if the last one is old.
        """
        is_due = done or time.monotonic() - self._saved >= CHECKPOINT_SECONDS
        if is_due or now:
            remember()
            self._stages[stage] = {"place": place, "done": done}
            self._save(wait=is_due)

    def _save(self, *, wait: bool) -> None:
        if wait:
            for file in self._files:
                file.sync()
            self._saved = time.monotonic()
        state = {
            "stages": self._stages,
            "sizes": [[file.size, file.items] for file in self._files],
            "memory": self.memory,
            "found": self.found,
            "read": self.read,
            "skipped": [self.skipped.count, self.skipped.messages, self.skipped.copies],
            "finished": self._is_finished,
        }
        for name in (_SYNCED, _STATE) if wait else (_STATE,):
            self.folder.write(name, state)

    def finish(self) -> Summary:
        """Rename the outputs, and remove the folder.

        Raises:
            OSError: A file cannot be renamed.
        """
        if not self._is_finished:
            self.memory["written"] = [file.items for file in self._files]
            self._is_finished = True
            self._save(wait=True)
        for file in self._files:
            file.close()
        for out in self.outs:
            if part_of(out).exists():  # an earlier run may have been killed between two of them
                part_of(out).replace(out)
        self.folder.remove()
        written = dict(zip(map(str, self.outs), self.memory["written"], strict=False))
        return Summary(
            self.name, self.read, written, self.skipped, self.found, self.resumed, time.monotonic() - self._start
        )


def read_job(folder: WorkFolder) -> tuple[dict[str, Any], dict[str, Any]]:
    """The description and the memory of a job in progress, for a process that helps with it."""
    return folder.read(_JOB), folder.read(_STATE)["memory"]


def _stamp(path: Path) -> list[Any]:
    status = path.stat()
    return [str(path.absolute()), status.st_size, status.st_mtime_ns]


Files: TypeAlias = Inputs | Path | str | Sequence[Path | str]
"""A file, a folder, several of them, or `open_inputs(paths, format)` if the format is to be given."""


def opened(files: Files, taken: Sequence[DataFormat] = VERB_KINDS) -> Inputs:
    """Open the inputs.

    Args:
        files: The inputs.
        taken: The formats that the caller reads.

    Raises:
        ValueError: They have different formats, or one that cannot be read in blocks.
        OSError: A file cannot be read.
    """
    if isinstance(files, Inputs):
        return files
    return open_inputs([Path(path) for path in ([files] if isinstance(files, str | Path) else files)], taken=taken)


class BucketFiles:
    """The bucket files of one kind of rows, each with its size and checksum.

    Rows are divided by a key so that each bucket fits into memory.
    """

    def __init__(self, folder: WorkFolder, kind: str, buckets: int, state: dict[str, list[int]] | None) -> None:
        """Open them as they were at a checkpoint.

        Args:
            folder: The job's folder.
            kind: File suffix.
            buckets: Number of buckets.
            state: The value of `state` at the checkpoint; None at the beginning. What was written later is cut off.

        Raises:
            JobError: A file is shorter than it was.
        """
        self.folder, self.kind = folder, kind
        self.sizes = list(state["sizes"]) if state else [0] * buckets
        self.checksums = list(state["checksums"]) if state else [0] * buckets
        for bucket, size in enumerate(self.sizes):
            path = folder.bucket_path(bucket, kind)
            found = path.stat().st_size if path.exists() else 0
            if found < size:
                raise folder.damaged(path)
            if found > size:
                os.truncate(path, size)

    def append(self, rows: NDArray[Any], counts: NDArray[np.integer[Any]]) -> None:
        """Append rows to the buckets.

        Args:
            rows: [N], sorted by bucket.
            counts: [buckets], the number of rows of each bucket.
        """
        data = flat_bytes(rows)
        ends = np.cumsum(counts) * rows.dtype.itemsize
        begin = 0
        for bucket, end in enumerate(ends.tolist()):
            if end == begin:
                continue
            part = data[begin:end]
            with self.folder.bucket_path(bucket, self.kind).open("ab") as file:
                file.write(part)
            self.sizes[bucket] += len(part)
            self.checksums[bucket] = zlib.crc32(part, self.checksums[bucket])
            begin = end

    @property
    def state(self) -> dict[str, list[int]]:
        """Sizes and checksums for a JSON file; the lists change with the files."""
        return {"sizes": self.sizes, "checksums": self.checksums}


def flat_bytes(rows: NDArray[Any]) -> memoryview:
    """The memory of an array, [N] of any type, as bytes."""
    return np.ascontiguousarray(rows).view(np.uint8).reshape(-1).data
