"""Files of rows of one fixed size."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi.files.atomic import AtomicFile


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
