"""hcpe files: 38 bytes a position, as dlshogi and cshogi write them.

A record is a position (hcp), the search's evaluation in centipawns from the side to move, the move played, and the
result of the game from nobody's side: 0 draw, 1 Black won, 2 White won.
"""

import contextlib
import os
import secrets
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

HCPE = np.dtype([("hcp", "u1", (32,)), ("eval", "<i2"), ("bestMove16", "<u2"), ("gameResult", "u1"), ("dummy", "u1")])
EVAL_LIMIT = 32_767
MATE_EVAL = 30_000  # evaluations from here on are mates
_LAST_MOVE = 0x4000 + 80 + 80 * 128  # the greatest number of a move: 9i9i with promotion
_CHECKED_AT_ONCE = 1 << 20


class HcpeError(ValueError):
    """A file that is no hcpe file; the message names the file, the record and the offset."""


def read_hcpe(path: Path | str) -> NDArray[np.void]:
    """The records of a file, memory-mapped and read-only: HCPE [N]. Only the size is checked; check_hcpe does more.

    Raises:
        HcpeError: The size is no whole number of records.
        OSError: The file cannot be read.
    """
    path = Path(path)
    size = path.stat().st_size
    if size % HCPE.itemsize:
        whole = size // HCPE.itemsize
        raise HcpeError(
            f"{path}: {size} bytes are no whole number of {HCPE.itemsize}-byte records: "
            f"{size % HCPE.itemsize} bytes are left over after {whole} records (offset {whole * HCPE.itemsize})"
        )
    if size == 0:
        return np.empty(0, HCPE)  # nothing can be mapped
    return np.memmap(path, HCPE, mode="r")


def check_hcpe(records: NDArray[np.void], name: str) -> None:
    """Check results and moves of all records, cheaply; the positions are checked where they are decoded.

    Raises:
        HcpeError: A record cannot be one.
    """
    for start in range(0, len(records), _CHECKED_AT_ONCE):
        part = records[start : start + _CHECKED_AT_ONCE]
        moves = part["bestMove16"]
        bad = (part["gameResult"] > 2) | (moves == 0) | (moves > _LAST_MOVE)
        if bad.any():
            index = start + int(np.argmax(bad))
            record = records[index]
            raise HcpeError(
                f"{name}, record {index} (offset {index * HCPE.itemsize}): result {record['gameResult']} and move "
                f"{record['bestMove16']} cannot be; a result is 0, 1 or 2, a move 1 to {_LAST_MOVE}"
            )


class HcpeWriter:
    """Writes an hcpe file that appears under its name only when it is whole.

    Use it as a context manager: records go into a temporary file beside the target; leaving the block replaces the
    target, leaving it by an exception (Ctrl-C too) removes the temporary file and leaves the target as it was.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.count = 0
        """Records written so far."""
        self._temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.tmp")
        self._file = self._temporary.open("xb", buffering=1 << 20)

    def append(self, records: NDArray[np.void]) -> None:
        """Add records, HCPE [N]."""
        self._file.write(np.ascontiguousarray(records, HCPE).tobytes())
        self.count += len(records)

    def records(self) -> NDArray[np.void]:
        """What has been written so far, memory-mapped: HCPE [N]."""
        self._file.flush()
        return read_hcpe(self._temporary)

    def __enter__(self) -> "HcpeWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                self._temporary.replace(self.path)
        finally:
            # Whatever failed, even the last flush on a full disk: no temporary file stays.
            with contextlib.suppress(OSError):
                self._file.close()
            self._temporary.unlink(missing_ok=True)
