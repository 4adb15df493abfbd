"""The output of a job, which grows bucket by bucket and is moved into place at the end."""

import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.dedup.modes import Weighing
from fukayomi.data.formats.averages import HEADER, MOVE, POSITION, Averages, header_bytes
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.jobs.folder import JobError, WorkFolder, flat_bytes

STATE = "output.json"
# Bytes. Small enough for the pages that the last bucket has left: more at once takes memory that is not yet in use, and
# on a virtual machine that costs ten times as much.
_WRITTEN_AT_ONCE = 1 << 18

Reduced = NDArray[np.void] | Averages
"""What a bucket becomes: HCPE [G], or positions whose moves count from 0."""


def part_of(target: Path) -> Path:
    """Where the output is until it is whole."""
    return target.with_name(f".{target.name}.part")


class Output:
    """The file beside the target, and for averages a second one for their moves, which are put behind the positions."""

    def __init__(self, folder: WorkFolder, target: Path, weighing: Weighing | None) -> None:
        """Go on where the folder's state says, or begin.

        Args:
            folder: The job's.
            target: The file to write.
            weighing: How the averages that are written were weighed; None for hcpe.

        Raises:
            JobError: A file is shorter than the state says.
            OSError: A file cannot be written.
        """
        self._folder, self._target, self._weighing = folder, target, weighing
        self._rows_path = part_of(target)
        self._moves_path = folder.path / "moves"
        self._head = HEADER.itemsize if weighing else 0
        self._width = POSITION.itemsize if weighing else HCPE.itemsize
        state: dict[str, Any] = folder.read(STATE) or {"buckets": 0, "rows": 0, "moves": 0, "crc": 0, "complete": False}
        self.buckets: int = state["buckets"]
        """How many buckets are in it, from the first on."""
        self.rows: int = state["rows"]
        """Records or positions."""
        self.moves: int = state["moves"]
        """Of the positions."""
        self._crc: int = state["crc"]  # of the positions
        self._is_complete: bool = state["complete"]  # and perhaps in place already
        if self._is_complete:
            return
        self._cut(self._rows_path, self._head + self.rows * self._width if self.buckets else 0)
        self._cut(self._moves_path, self.moves * MOVE.itemsize)
        if weighing and self.buckets == 0:
            self._rows_path.write_bytes(bytes(HEADER.itemsize))

    def append(self, reduced: Reduced) -> None:
        """Add what the next bucket has become."""
        if isinstance(reduced, Averages):
            reduced.positions["first_move"] += self.moves
            _append(self._rows_path, reduced.positions)
            self._crc = zlib.crc32(flat_bytes(reduced.positions), self._crc)
            _append(self._moves_path, reduced.moves)
            self.rows += len(reduced.positions)
            self.moves += len(reduced.moves)
        else:
            _append(self._rows_path, reduced)
            self.rows += len(reduced)
        self.buckets += 1
        self._save()

    def finish(self) -> None:
        """Complete the file and put it into place; once more does no harm."""
        if not self._is_complete:
            self._complete()
            self._is_complete = True
            self._save()
        if self._rows_path.exists():  # else an earlier run came so far
            self._rows_path.replace(self._target)

    def _save(self) -> None:
        state = {
            "buckets": self.buckets, "rows": self.rows, "moves": self.moves, "crc": self._crc,
            "complete": self._is_complete,
        }  # fmt: skip
        self._folder.write(STATE, state)

    def _complete(self) -> None:
        with self._rows_path.open("r+b") as file:
            if self._weighing is not None:
                crc = self._crc
                file.seek(self._head + self.rows * self._width)
                file.truncate()
                with self._moves_path.open("rb") as moves:
                    while data := moves.read(_WRITTEN_AT_ONCE):
                        file.write(data)
                        crc = zlib.crc32(data, crc)
                file.seek(0)
                file.write(header_bytes(self.rows, self.moves, crc, self._weighing))
            file.flush()
            os.fsync(file.fileno())

    def _cut(self, path: Path, size: int) -> None:
        """Make a file as long as it was; what was written after that is written again."""
        if size == 0:
            path.write_bytes(b"")
        elif not path.exists() or path.stat().st_size < size:
            raise JobError(f"{path} is shorter than it was; remove {self._folder.path} and start again")
        else:
            os.truncate(path, size)


def _append(path: Path, rows: NDArray[np.void]) -> None:
    data = flat_bytes(rows)
    with path.open("ab") as file:
        for begin in range(0, len(data), _WRITTEN_AT_ONCE):
            file.write(data[begin : begin + _WRITTEN_AT_ONCE])
