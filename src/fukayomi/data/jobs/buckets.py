"""Bucket files: rows of a job, divided by a key so that each bucket fits into memory."""

import os
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.jobs.job import WorkFolder


class BucketFiles:
    """The bucket files of one kind of rows, each with its size and checksum."""

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
