"""How many different positions there are, exactly and in bounded memory.

Positions are kept whole, 32 bytes each, in memory and, when there are too many, in 256 files by a hash; then each file
is sorted by the hash, and positions with the same hash are compared byte by byte.
"""

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.verbs.keys import position_hashes

_FILES = 256
_FILE_BITS = 8


class UniqueCounter:
    """Counts different positions; a context manager, which removes its files."""

    def __init__(self, memory: int = 1 << 28, scratch: Path | None = None, hash_bits: int = 64) -> None:
        """Begin with none.

        Args:
            memory: So many bytes of positions are kept before they go to files; sorting takes about three times a
                256th of all of them.
            scratch: Where the files go; the system's folder for such where it is None.
            hash_bits: How much of the hash counts; less than 64 in tests only.
        """
        self._memory, self._scratch = memory, scratch
        self._mask = np.uint64((1 << hash_bits) - 1 << (64 - hash_bits))
        self._parts: list[NDArray[np.uint8]] = []
        self._bytes = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, positions: NDArray[np.uint8]) -> None:
        """Add positions, uint8 [N, 32].

        Raises:
            OSError: A file cannot be written.
        """
        self._parts.append(np.array(positions))
        self._bytes += positions.nbytes
        if self._bytes >= self._memory:
            self._spill()

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="fukayomi-stats-", dir=self._scratch)
        positions = np.concatenate(self._parts)
        self._parts, self._bytes = [], 0
        files = (self._hashes(positions) >> np.uint64(64 - _FILE_BITS)).astype(np.int64)
        order = np.argsort(files, kind="stable")
        ends = np.cumsum(np.bincount(files, minlength=_FILES))
        for number, part in enumerate(np.split(positions[order], ends[:-1])):
            with self._path(number).open("ab") as file:
                file.write(part.tobytes())

    def _path(self, number: int) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / f"{number:03}"

    def _hashes(self, positions: NDArray[np.uint8]) -> NDArray[np.uint64]:
        return position_hashes(positions) & self._mask

    def count(self) -> int:
        """How many different positions were added.

        Raises:
            OSError: A file cannot be read.
        """
        if self._folder is None:
            return self._count(np.concatenate([np.zeros((0, 32), np.uint8), *self._parts]))
        self._spill_rest()
        return sum(self._count(np.fromfile(self._path(number), np.uint8).reshape(-1, 32)) for number in range(_FILES))

    def _spill_rest(self) -> None:
        if self._parts:
            self._spill()

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
