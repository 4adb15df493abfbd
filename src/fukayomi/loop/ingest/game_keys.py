"""The hashes of all accepted games, by which a game that is delivered again is found."""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.errors import InvalidValueError
from fukayomi.files.disk import raise_if_full

KEYS = "games.keys"
_KEY_BYTES = 8
_MERGED_AT = 1 << 16  # newer keys, at least


class GameKeys:
    """Keys of games in a file of uint64, in the order of the manifest's chunks.

    A chunk's keys are appended before its line in the manifest. What a kill leaves beyond the manifest is cut off.
    """

    def __init__(self, store: Path, count: int) -> None:
        """Read the keys of the first `count` games; the caller holds the store's lock.

        Raises:
            ValueError: The file has fewer keys.
            OSError: The file cannot be read or written.
        """
        self._path = store / KEYS
        self._path.touch()
        size = self._path.stat().st_size
        if size < count * _KEY_BYTES:
            raise InvalidValueError(
                f"{self._path}: {size // _KEY_BYTES} keys for {count} games of the manifest; remove it to make it again"
            )
        os.truncate(self._path, count * _KEY_BYTES)
        self._sorted = np.sort(np.fromfile(self._path, "<u8"))
        self._newer: set[int] = set()

    def count_known(self, keys: NDArray[np.uint64]) -> int:
        """Number of the given keys [N] that are known, or among them more than once."""
        if not len(keys):
            return 0
        distinct = np.unique(keys)
        is_known = np.zeros(len(distinct), np.bool_)
        if len(self._sorted):
            at = np.minimum(np.searchsorted(self._sorted, distinct), len(self._sorted) - 1)
            is_known = self._sorted[at] == distinct
        if self._newer:
            is_known |= np.array([key in self._newer for key in distinct.tolist()])
        return len(keys) - int((~is_known).sum())

    def append(self, keys: NDArray[np.uint64]) -> None:
        """Add the keys of a chunk, and flush them to the disk.

        Raises:
            DiskError: The disk is full.
            OSError: The file cannot be written.
        """
        try:
            with self._path.open("ab") as file:
                file.write(keys.astype("<u8").tobytes())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise_if_full(error, "no chunk was entered", self._path.parent)
            raise
        self._newer.update(keys.tolist())
        if len(self._newer) > max(_MERGED_AT, len(self._sorted) // 8):
            self._sorted = np.sort(np.concatenate([self._sorted, np.fromiter(self._newer, np.uint64)]))
            self._newer.clear()
