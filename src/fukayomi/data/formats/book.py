"""book: Apery's opening book (book.bin), which dlshogi plays from: 16 bytes per move, sorted by position key.

| offset | type | field | meaning |
|---|---|---|---|
| 0 | uint64 | key | key of the position |
| 8 | uint16 | fromToPro | move, coded as in hcpe |
| 10 | uint16 | count | times played |
| 12 | int32 | score | centipawns from the side to move |
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.formats.format import DataFileError, RowFormat, map_rows
from fukayomi.data.formats.kinds import DataFormat

BOOK_ENTRY = np.dtype([("key", "<u8"), ("fromToPro", "<u2"), ("count", "<u2"), ("score", "<i4")])


@dataclass(frozen=True, kw_only=True, eq=False)
class BookFormat(RowFormat):
    """Moves of an opening book. Entries have keys instead of positions, so `faults` cannot check them."""

    def likeness(self, path: Path, head: bytes) -> float:
        """0.6 for sorted keys and possible moves: weaker evidence than a position in any other format."""
        entries = np.frombuffer(head[: len(head) // BOOK_ENTRY.itemsize * BOOK_ENTRY.itemsize], BOOK_ENTRY)
        in_order = entries["key"][1:] >= entries["key"][:-1]
        if path.stat().st_size % BOOK_ENTRY.itemsize or len(np.unique(entries["key"])) < 2:
            return 0.0
        moves = entries["fromToPro"]
        is_move = (moves != 0) & (moves < 1 << 15) & (moves & 127 < 81) & (moves >> 7 & 127 < 88)
        return 0.6 * float(in_order.all() and is_move.all())

    def faults(self, content: NDArray[np.void]) -> list[tuple[int, str]]:
        """None."""
        del content
        return []


FORMAT = BookFormat(
    kind=DataFormat.BOOK, suffixes=(".bin", ".book"), contents="an opening book (book)",
    used_by="fukayomi data print reads it", dtype=BOOK_ENTRY, position="key",
)  # fmt: skip


def read_book(path: Path | str) -> NDArray[np.void]:
    """Map the entries of a book into memory, read-only: BOOK_ENTRY [N].

    Raises:
        DataFileError: The file ends inside an entry, or the entries are not sorted.
        OSError: The file cannot be read.
    """
    entries = map_rows(path, BOOK_ENTRY)
    falls = entries["key"][1:] < entries["key"][:-1]
    if falls.any():
        at = int(np.argmax(falls)) + 1
        raise DataFileError(f"{path}, entry {at} (offset {at * BOOK_ENTRY.itemsize}): the keys are not sorted")
    return entries
