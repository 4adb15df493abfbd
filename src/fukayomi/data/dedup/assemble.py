"""The end of a job: the buckets' results, one after the other, become one file.

What has been copied is removed, so that the disk never holds all of it twice; what is still there says how far it is.
"""

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fukayomi.data.averages import HEADER, MOVE, POSITION, header_bytes
from fukayomi.data.dedup.folder import JobError, WorkFolder, flat_bytes
from fukayomi.data.dedup.reduce import MOVES, OUT, POSITIONS

BucketOutputs = list[dict[str, list[int]]]
"""Of each bucket, the size and checksum of each kind of file it became."""

_REMOVED_AT_ONCE = 256 << 20  # bytes
_READ_AT_ONCE = 16 << 20


def assemble_records(
    folder: WorkFolder, outputs: BucketOutputs, target: Path, report: Callable[[int, int], None]
) -> int:
    """Put records together. Returns the file's size.

    Raises:
        JobError: A file is not as it was written.
        OSError: Something cannot be read or written.
    """
    assembly = _Assembly(folder, target, b"")
    assembly.run([(bucket, OUT) for bucket in range(len(outputs))], outputs, report)
    assembly.finish(b"")
    return sum(files[OUT][0] for files in outputs)


def assemble_averages(
    folder: WorkFolder, outputs: BucketOutputs, target: Path, report: Callable[[int, int], None]
) -> tuple[int, int]:
    """Put averaged positions together: all positions, then all moves. Returns how many of each.

    Raises:
        JobError: A file is not as it was written.
        OSError: Something cannot be read or written.
    """
    positions = sum(files[POSITIONS][0] for files in outputs) // POSITION.itemsize
    moves = sum(files[MOVES][0] for files in outputs) // MOVE.itemsize
    assembly = _Assembly(folder, target, bytes(HEADER.itemsize))
    parts = [(bucket, kind) for kind in (POSITIONS, MOVES) for bucket in range(len(outputs))]
    assembly.run(parts, outputs, report)
    assembly.finish(header_bytes(positions, moves, assembly.checksum))
    return positions, moves


class _Assembly:
    """A file that grows part by part."""

    def __init__(self, folder: WorkFolder, target: Path, head: bytes) -> None:
        self._folder, self._target, self._head = folder, target, head
        self._moves_before = 0
        self.checksum = 0
        """Of all parts, in their order."""

    def run(
        self, parts: list[tuple[int, str]], outputs: BucketOutputs, report: Callable[[int, int], None]
    ) -> None:
        """Append all parts that have not been appended."""
        copied = self._copied(parts)
        with self._open(sum(outputs[bucket][kind][0] for bucket, kind in parts[:copied])) as file:
            pending: list[Path] = []
            pending_bytes = 0
            for number, (bucket, kind) in enumerate(parts):
                size, checksum = outputs[bucket][kind]
                if number >= copied:
                    path = self._folder.bucket_path(bucket, kind)
                    file.write(data := self._read(path, size, checksum, kind))
                    self.checksum = zlib.crc32(data, self.checksum)
                    pending.append(path)
                    pending_bytes += size
                if kind == POSITIONS:
                    self._moves_before += outputs[bucket][MOVES][0] // MOVE.itemsize
                if pending_bytes >= _REMOVED_AT_ONCE or number + 1 == len(parts):
                    file.flush()
                    for path in pending:
                        path.unlink()
                    pending, pending_bytes = [], 0
                report(number + 1, len(parts))

    def finish(self, head: bytes) -> None:
        """Write what the file begins with."""
        with self._target.open("r+b") as file:
            file.write(head)
            file.flush()
            os.fsync(file.fileno())

    def _copied(self, parts: list[tuple[int, str]]) -> int:
        """How many parts an earlier run appended and removed."""
        for number, (bucket, kind) in enumerate(parts):
            if self._folder.bucket_path(bucket, kind).exists():
                return number
        return len(parts)

    def _open(self, size: int) -> BinaryIO:
        """The file with its first parts, which have so many bytes, ready for more; their checksum is taken."""
        if size == 0:
            file = self._target.open("wb")
            file.write(self._head)
            return file
        there = self._target.stat().st_size if self._target.exists() else 0
        if there < len(self._head) + size:
            raise JobError(f"{self._target} is shorter than it was; remove {self._folder.path} and start again")
        os.truncate(self._target, len(self._head) + size)
        with self._target.open("rb") as file:
            file.seek(len(self._head))
            while data := file.read(_READ_AT_ONCE):
                self.checksum = zlib.crc32(data, self.checksum)
        return self._target.open("ab")

    def _read(self, path: Path, size: int, checksum: int, kind: str) -> bytes | memoryview:
        data = path.read_bytes()
        if (len(data), zlib.crc32(data)) != (size, checksum):
            raise self._folder.damaged(path)
        if kind != POSITIONS:
            return data
        positions = np.frombuffer(bytearray(data), POSITION)
        positions["first_move"] += self._moves_before  # the bucket counted from 0
        return flat_bytes(positions)

