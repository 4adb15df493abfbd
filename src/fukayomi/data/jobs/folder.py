"""The folder of a job: which job it is, its bucket files, and how far it is.

All of it survives a kill. Nothing here waits for the disk: after a power cut a file may not be what was written, which
its checksum tells; then the job starts again.

    job.json          what is done, to which inputs; another job in the same folder is refused
    partition.json    how far the inputs have been read, and size and checksum of every bucket file at that moment
    0007.hcpe ...     rows of bucket 7
    output.json       how many buckets have been reduced, and how large the output was then
"""

import json
import os
import shutil
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi.files.lock import FolderLock


class JobError(ValueError):
    """A job cannot go on; the message says why and what to do."""


class WorkFolder:
    """A job's folder, which one process at a time may hold. Use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: FolderLock | None = None

    def __enter__(self) -> "WorkFolder":
        """Create the folder if it does not exist, and lock it.

        Raises:
            LockedError: Another process is working in it.
            OSError: It cannot be created.
        """
        self.path.mkdir(exist_ok=True)
        self._lock = FolderLock(self.path)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def remove(self) -> None:
        """Remove the folder with all that is in it.

        It loses its name first: what a kill leaves of it is never taken for a job's.
        """
        self.__exit__(None, None, None)
        removed = self.path.with_name(f"{self.path.name}.removed")
        if removed.exists():
            shutil.rmtree(removed)
        self.path.replace(removed)
        shutil.rmtree(removed)

    def read(self, name: str) -> Any:
        """What a JSON file holds, or None where there is none."""
        path = self.path / name
        try:
            return json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise JobError(f"{path} is damaged; remove {self.path} and start again") from error

    def write(self, name: str, value: Any) -> None:
        """Put a JSON file into place whole."""
        temporary = self.path / f"{name}.tmp"  # only the holder of the folder writes here
        temporary.write_text(json.dumps(value), "utf-8")
        temporary.replace(self.path / name)

    def bucket_path(self, bucket: int, kind: str) -> Path:
        """Where a bucket's rows of some kind are."""
        return self.path / f"{bucket:04}.{kind}"

    def damaged(self, path: Path) -> JobError:
        """What is said of a file that is not as it was written."""
        return JobError(f"{path} is not as it was written; remove {self.path} and start again")


class BucketFiles:
    """The bucket files of one kind of rows, each with its size and checksum."""

    def __init__(self, folder: WorkFolder, kind: str, buckets: int, state: dict[str, list[int]] | None) -> None:
        """Open them as they were at some moment.

        Args:
            folder: Where they are.
            kind: Their ending.
            buckets: How many there are.
            state: What `state` gave at that moment; None for the beginning. What was written later is cut off.

        Raises:
            JobError: A file is shorter than it was.
        """
        self.folder, self.kind = folder, kind
        self.sizes = list(state["sizes"]) if state else [0] * buckets
        self.checksums = list(state["checksums"]) if state else [0] * buckets
        for bucket, size in enumerate(self.sizes):
            path = folder.bucket_path(bucket, kind)
            if (there := path.stat().st_size if path.exists() else 0) < size:
                raise folder.damaged(path)
            if there > size:
                os.truncate(path, size)

    def append(self, rows: NDArray[Any], counts: NDArray[np.integer[Any]]) -> None:
        """Add rows, bucket after bucket.

        Args:
            rows: [N], those of bucket 0 first.
            counts: [buckets], how many each bucket gets.
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

    def state(self) -> dict[str, list[int]]:
        """Sizes and checksums, for a JSON file."""
        return {"sizes": self.sizes, "checksums": self.checksums}


def flat_bytes(rows: NDArray[Any]) -> memoryview:
    """The memory of rows, [N] of some type, as bytes."""
    return np.ascontiguousarray(rows).view(np.uint8).reshape(-1).data
