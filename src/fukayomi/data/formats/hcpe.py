"""hcpe files: 38 bytes a position, as dlshogi and cshogi write them.

A record is a position (hcp), the search's evaluation in centipawns from the side to move, the move played, and the
result of the game from nobody's side: 0 draw, 1 Black won, 2 White won. In hcpe2 the same byte also has flags.
"""

from enum import IntFlag
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.formats.rows import DataFileError, RowWriter, map_rows

HCPE = np.dtype([("hcp", "u1", (32,)), ("eval", "<i2"), ("bestMove16", "<u2"), ("gameResult", "u1"), ("dummy", "u1")])
EVAL_LIMIT = 32_767
MATE_EVAL = 30_000  # evaluations from here on are mates
_LAST_MOVE = 0x4000 + 80 + 80 * 128  # the greatest number of a move: 9i9i with promotion
_CHECKED_AT_ONCE = 1 << 20
RESULT_BITS = 3


class ResultFlag(IntFlag):
    """How a game ended, beside its result in the two lowest bits: in the result bytes of hcpe2 and hcpe3."""

    REPETITION = 4
    """Fourfold repetition (千日手)."""
    DECLARATION = 8
    """Won by declaration (入玉宣言)."""
    MAX_PLIES = 16
    """Stopped at the agreed number of plies."""


class HcpeError(DataFileError):
    """A file that is no hcpe file; the message names the file, the record and the offset."""


def read_hcpe(path: Path | str) -> NDArray[np.void]:
    """The records of a file, memory-mapped and read-only: HCPE [N]. Only the size is checked; check_hcpe does more.

    Raises:
        HcpeError: The size is no whole number of records.
        OSError: The file cannot be read.
    """
    return map_rows(path, HCPE, HcpeError)


def check_hcpe(records: NDArray[np.void], name: str, first: int = 0) -> None:
    """Check results and moves of all records, cheaply; the positions are checked where they are decoded.

    Args:
        records: HCPE [N].
        name: Their file's, for the message.
        first: Which record of the file the first of them is.

    Raises:
        HcpeError: A record cannot be one.
    """
    for start in range(0, len(records), _CHECKED_AT_ONCE):
        part = records[start : start + _CHECKED_AT_ONCE]
        moves = part["bestMove16"]
        bad = (part["gameResult"] > 2) | (moves == 0) | (moves > _LAST_MOVE)
        if bad.any():
            at = start + int(np.argmax(bad))
            record, index = records[at], first + at
            raise HcpeError(
                f"{name}, record {index} (offset {index * HCPE.itemsize}): result {record['gameResult']} and move "
                f"{record['bestMove16']} cannot be; a result is 0, 1 or 2, a move 1 to {_LAST_MOVE}; fukayomi data "
                "convert takes the flags off results (hcpe2)"
            )


def is_hcpe2(records: NDArray[np.void]) -> bool:
    """Whether some result has flags (hcpe2): then `gameResult & 3` is the result, and the rest are ResultFlags."""
    return bool((records["gameResult"] > RESULT_BITS).any())


def without_flags(records: NDArray[np.void]) -> NDArray[np.void]:
    """A copy of the records (HCPE [N]) with plain results: hcpe2 to hcpe."""
    plain = np.array(records, HCPE)
    plain["gameResult"] &= RESULT_BITS
    return plain


class HcpeWriter(RowWriter):
    """Writes an hcpe file that appears under its name only when it is whole; a context manager, as AtomicFile says."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path, HCPE)

    def records(self) -> NDArray[np.void]:
        """What has been written so far, memory-mapped: HCPE [N]."""
        self.flush()
        return read_hcpe(self.temporary)
