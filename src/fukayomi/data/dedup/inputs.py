"""What is read: rows of hcpe, searched positions of hcpe3, averaged positions."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.averages import MAGIC
from fukayomi.data.hcpe import HCPE, check_hcpe, read_hcpe

SIGHT = np.dtype([*HCPE.descr, ("candidates", "<u2")])
"""A position as one search saw it: an hcpe record, and the number of its candidates."""
CANDIDATE = np.dtype([("move", "<u2"), ("visits", "<u2")])

ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some rows of an input."""

    rows: NDArray[np.void]
    """HCPE [N] or SIGHT [N]."""
    candidates: NDArray[np.void] | None
    """CANDIDATE, those of all rows of SIGHT; None for HCPE."""
    cursor: int
    """Where the next chunk begins, for `iter_chunks`."""


def is_averages(path: Path) -> bool:
    """Whether a file has averaged positions.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def count_rows(path: Path) -> int:
    """How many rows an input has.

    Raises:
        ValueError: It is of no format that is known.
        OSError: It cannot be read.
    """
    return len(read_hcpe(path))


def iter_chunks(path: Path, cursor: int = 0) -> Iterator[Chunk]:
    """The rows of a file from a cursor on. Arrays are valid until the next chunk.

    Files are read, not mapped: the pages of a map would count as this program's memory.

    Raises:
        ValueError: A row cannot be one; the message names the file, the row and the offset.
        OSError: The file cannot be read.
    """
    buffer = np.empty(ROWS_AT_ONCE, HCPE)
    with path.open("rb", buffering=0) as file:
        file.seek(cursor * HCPE.itemsize)
        while (size := _fill(file, memoryview(buffer).cast("B"))) > 0:
            rows = buffer[: size // HCPE.itemsize]
            check_hcpe(rows, str(path), cursor)
            cursor += len(rows)
            yield Chunk(rows, None, cursor)


def _fill(file: "object", view: memoryview) -> int:
    """Read until the memory is full or the file ends."""
    done = 0
    while done < len(view) and (count := file.readinto(view[done:])):  # type: ignore[attr-defined]
        done += count
    return done
