"""What all files of positions have in common: rows of fixed size, and targets that appear only when they are whole."""

import contextlib
import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


class DataFileError(ValueError):
    """A file is not what it should be; the message names the file, the record or game, and the offset."""


def map_rows(path: Path | str, dtype: np.dtype[Any], error: type[DataFileError] = DataFileError) -> NDArray[Any]:
    """The rows of a file, memory-mapped and read-only: [N] of `dtype`. Only the size is checked.

    Raises:
        DataFileError: The size is no whole number of rows; `error` is the class that is raised.
        OSError: The file cannot be read.
    """
    path = Path(path)
    size = path.stat().st_size
    if size % dtype.itemsize:
        whole = size // dtype.itemsize
        raise error(
            f"{path}: {size} bytes are no whole number of {dtype.itemsize}-byte records: "
            f"{size % dtype.itemsize} bytes are left over after {whole} records (offset {whole * dtype.itemsize})"
        )
    if size == 0:
        return np.empty(0, dtype)  # nothing can be mapped
    return np.memmap(path, dtype, mode="r")


class AtomicFile:
    """A file that appears under its name only when it is whole.

    Use it as a context manager: what is written goes into a temporary file beside the target; leaving the block
    replaces the target, leaving it by an exception (Ctrl-C too) removes the temporary file and keeps the target as it
    was.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.tmp")
        """Where the bytes are until the end."""
        self._file = self.temporary.open("xb", buffering=1 << 20)
        self._discarded = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Add bytes."""
        self._file.write(data)

    def flush(self) -> None:
        """Let readers of the temporary file see what was written so far."""
        self._file.flush()

    def discard(self) -> None:
        """Let nothing appear under the name after all; for files that are needed only while they are written."""
        self._discarded = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None and not self._discarded:
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                self.temporary.replace(self.path)
        finally:
            # Whatever failed, even the last flush on a full disk: no temporary file stays.
            with contextlib.suppress(OSError):
                self._file.close()
            self.temporary.unlink(missing_ok=True)


def replace_file(path: Path, content: bytes) -> None:
    """Put a file into place whole, or leave what is there.

    Raises:
        OSError: It cannot be written.
    """
    with AtomicFile(path) as file:
        file.write(content)


class RowWriter(AtomicFile):
    """Writes rows of one type; see AtomicFile."""

    def __init__(self, path: Path | str, dtype: np.dtype[Any]) -> None:
        super().__init__(path)
        self.dtype = dtype
        self.count = 0
        """Rows written so far."""

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows, [N] of the writer's type."""
        self.write(np.ascontiguousarray(rows, self.dtype).tobytes())
        self.count += len(rows)
