"""Files of rows of one fixed size."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi.errors import InvalidValueError
from fukayomi.tabular import counted

REMEDY = "fukayomi data check FILE --good NEW writes the rest to a new file"
"""What to do about damage in a file."""


class DataFileError(InvalidValueError):
    """A file of training data is damaged or of the wrong kind; the message names file, record and offset."""

    __module__ = "fukayomi.data"


def map_rows(path: Path | str, dtype: np.dtype[Any], *, cut: bool = False) -> NDArray[Any]:
    """Map the rows of a file into memory, read-only: [N] of `dtype`. Only the size of the file is checked.

    Args:
        path: The file.
        dtype: Type of a row.
        cut: Accept a file that ends inside a row, and leave that row out.

    Raises:
        DataFileError: The file ends inside a row.
        OSError: The file cannot be read.
    """
    path = Path(path)
    size = path.stat().st_size
    count, rest = divmod(size, dtype.itemsize)
    if rest and not cut:
        raise DataFileError(
            f"{path}: {counted(size, 'byte')}, not a whole number of {dtype.itemsize}-byte records: "
            f"{counted(rest, 'byte')} left over after {counted(count, 'record')} (offset {count * dtype.itemsize})"
        )
    if count == 0:
        return np.empty(0, dtype)  # mmap refuses an empty map
    return np.memmap(path, dtype, mode="r", shape=(count,))


def position_keys(packed: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """A 64-bit hash of each row of bytes, such as packed positions: uint8 [N, 8 * W] to uint64 [N]."""
    words = np.ascontiguousarray(packed).view("<u8")
    keys = np.zeros(len(words), np.uint64)
    for column in range(words.shape[1]):
        # splitmix64's finaliser over each word (Steele, Lea, Flood, 2014)
        keys ^= words[:, column]
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys ^= keys >> np.uint64(31)
    return keys
