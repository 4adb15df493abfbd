"""The exact number of different positions, in bounded memory.

Positions are kept whole, 32 bytes each: in memory and, if there are too many, in a file without a name, which vanishes
with the process, however it ends. Whenever memory is full its positions go to the file, sorted into 256 buckets by a
hash. At the end one bucket after the other is collected and sorted by the hash, and positions with the same hash are
compared byte by byte.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Self

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.convert.keys import position_hashes
from fukayomi.data.defaults import UNIQUE_MEMORY
from fukayomi.data.jobs.buckets import flat_bytes
from fukayomi.files.disk import Room, raise_if_full

_BUCKETS = 256
_BUCKET_BITS = 8
_POSITION_BYTES = 32
_REMEDY = "choose another folder for the positions (scratch), or do not count different positions (unique)"


class UniqueCounter:
    """Counts different positions. Use it as a context manager, which removes the file."""

    def __init__(self, memory: int = UNIQUE_MEMORY, scratch: Path | None = None, hash_bits: int = 64) -> None:
        """Begin without positions.

        Args:
            memory: Bytes of positions to keep in memory before they go to the file. Sorting takes about 3/256 of the
                bytes of all positions.
            scratch: Folder for the file; None: the system's folder for temporary files.
            hash_bits: Bits of the hash that count; less than 64 only in tests.
        """
        self._memory, self._scratch = memory, scratch or Path(tempfile.gettempdir())
        self._mask = np.uint64((1 << hash_bits) - 1 << (64 - hash_bits))
        self._parts: list[NDArray[np.uint8]] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self._ends: list[NDArray[np.int64]] = []  # of each write: positions up to the end of each bucket

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def check_room(self, positions: int) -> None:
        """Check that the disk has room for a number of positions.

        Raises:
            DiskError: There may be too little room.
        """
        if (size := positions * _POSITION_BYTES) >= self._memory:
            Room(size, 0, size).check(self._scratch, self._scratch, _REMEDY)

    def add(self, positions: NDArray[np.uint8]) -> None:
        """Add positions, uint8 [N, 32].

        Raises:
            DiskError: The disk is full.
            OSError: The file cannot be written.
        """
        self._parts.append(np.array(positions))
        self._bytes += positions.nbytes
        if self._bytes >= self._memory:
            self._spill()

    def _spill(self) -> None:
        positions = np.concatenate(self._parts)
        self._parts, self._bytes = [], 0
        buckets = (self._hashes(positions) >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)
        counts = np.bincount(buckets, minlength=_BUCKETS)
        try:
            if self._file is None:
                # Without a buffer: writes are large, and closing must not repeat what a full disk refused.
                self._file = tempfile.TemporaryFile(buffering=0, dir=self._scratch)  # noqa: SIM115  # see __exit__
            data = flat_bytes(positions[np.argsort(buckets, kind="stable")])
            while len(data):
                data = data[self._file.write(data) :]
        except OSError as error:
            raise_if_full(error, _REMEDY, self._scratch)
            raise
        self._ends.append(np.cumsum(counts))

    def _buckets(self) -> Iterator[NDArray[np.uint8]]:
        """The positions of each bucket, from the file."""
        assert self._file is not None
        before = np.cumsum([0, *(ends[-1] for ends in self._ends)])
        for bucket in range(_BUCKETS):
            parts: list[bytes] = []
            for ends, first in zip(self._ends, before.tolist(), strict=False):
                begin = int(ends[bucket - 1]) if bucket else 0
                self._file.seek((first + begin) * _POSITION_BYTES)
                parts.append(self._file.read((int(ends[bucket]) - begin) * _POSITION_BYTES))
            yield np.frombuffer(b"".join(parts), np.uint8).reshape(-1, _POSITION_BYTES)

    def _hashes(self, positions: NDArray[np.uint8]) -> NDArray[np.uint64]:
        return position_hashes(positions) & self._mask

    def count(self) -> int:
        """The number of different positions that were added.

        Raises:
            DiskError: The disk is full.
            OSError: The file cannot be written or read.
        """
        if self._file is None:
            return self._count(np.concatenate([np.zeros((0, _POSITION_BYTES), np.uint8), *self._parts]))
        if self._parts:
            self._spill()
        return sum(map(self._count, self._buckets()))

    def _count(self, positions: NDArray[np.uint8]) -> int:
        if not len(positions):
            return 0
        hashes = self._hashes(positions)
        order = np.argsort(hashes)
        hashes, positions = hashes[order], positions[order]
        same_hash = hashes[1:] == hashes[:-1]
        collided = same_hash & (positions[1:] != positions[:-1]).any(axis=1)
        count = len(hashes) - int(same_hash.sum())
        for value in np.unique(hashes[1:][collided]).tolist():
            first, last = (int(np.searchsorted(hashes, np.uint64(value), side)) for side in ("left", "right"))
            count += len({position.tobytes() for position in positions[first:last]}) - 1
        return count
