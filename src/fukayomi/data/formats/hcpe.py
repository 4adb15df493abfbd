"""hcpe and hcpe2: 38 bytes a position with its targets, as dlshogi and cshogi write them.

| offset | type | field | meaning |
|---|---|---|---|
| 0 | uint8[32] | hcp | position |
| 32 | int16 | eval | centipawns from the side to move; 30000 and more is a mate |
| 34 | uint16 | bestMove16 | move played: target, origin << 7, promotion 0x4000; a drop has the origin 80 + piece type |
| 36 | uint8 | gameResult | 0 draw, 1 Black won, 2 White won |
| 37 | uint8 | dummy | 0 |

In hcpe2 `gameResult` also has flags: 4 repetition, 8 win by declaration, 16 stopped at the maximum of plies.
"""

from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.formats.format import DataFileError, RowFormat, map_rows
from fukayomi.data.formats.kinds import DataFormat

HCPE = np.dtype([("hcp", "u1", (32,)), ("eval", "<i2"), ("bestMove16", "<u2"), ("gameResult", "u1"), ("dummy", "u1")])
RESULT_BITS = 3
"""The bits of a result byte that say who won; 3 is not a result."""
LAST_MOVE = 0x4000 + 80 + 80 * 128
"""The largest number of a move: 9i9i with promotion."""
_CHECKED_AT_ONCE = 1 << 20


class ResultFlag(IntFlag):
    """Flags of a game's ending: the other bits of result bytes in hcpe2 and hcpe3."""

    REPETITION = 4
    """Fourfold repetition (千日手)."""
    DECLARATION = 8
    """Won by declaration (入玉宣言)."""
    MAX_PLIES = 16
    """Stopped at the agreed number of plies."""


RESULT_FLAGS = int(ResultFlag.REPETITION | ResultFlag.DECLARATION | ResultFlag.MAX_PLIES)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """N positions with targets."""

    records: NDArray[np.void]
    """HCPE [N]; results may have flags."""
    plies: NDArray[np.uint16]
    """[N]: the number of each move in its game; 0 if it is not known."""

    def __len__(self) -> int:
        """Number of positions."""
        return len(self.records)


def are_results(results: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Mask of the valid result bytes, flags included: uint8 [N] to bool [N]."""
    return (results & RESULT_BITS != RESULT_BITS) & (results <= RESULT_BITS | RESULT_FLAGS)


@dataclass(frozen=True, kw_only=True, eq=False)
class HcpeFormat(RowFormat):
    """Rows without flags (hcpe) or with them (hcpe2): one layout, told apart by the results."""

    flags: bool

    def likeness(self, path: Path, head: bytes) -> float:
        """As for all rows; 0 where the sampled results have flags and should not, or the reverse."""
        has_flags = bool((self.samples(path)["gameResult"] > RESULT_BITS).any())
        return super().likeness(path, head) if has_flags == self.flags else 0.0

    def encode(self, items: Any) -> bytes:
        """The rows of `Rows`."""
        records = items.records if self.flags else without_flags(items.records)
        return np.ascontiguousarray(records, HCPE).tobytes()


def _format(kind: DataFormat, suffixes: tuple[str, ...], contents: str, used_by: str, *, flags: bool) -> HcpeFormat:
    return HcpeFormat(
        kind=kind, suffixes=suffixes, contents=contents, used_by=used_by, stores="rows", dtype=HCPE, position="hcp",
        move="bestMove16", result="gameResult", score="eval", is_result=are_results, flags=flags,
    )  # fmt: skip


FORMAT = _format(
    DataFormat.HCPE, (".hcpe", ".hcpe2"), "rows (hcpe)",
    "fukayomi data average, uniq, shuffle, train and others read them", flags=False,
)  # fmt: skip
FLAGGED_FORMAT = _format(
    DataFormat.HCPE2, (".hcpe2",), "rows with flags in their results (hcpe2)",
    "fukayomi data convert makes hcpe of them", flags=True,
)  # fmt: skip


def read_hcpe(path: Path | str) -> NDArray[np.void]:
    """Map the rows of a file into memory, read-only: HCPE [N]. Only the size of the file is checked.

    Raises:
        DataFileError: The file ends inside a row.
        OSError: The file cannot be read.
    """
    return map_rows(path, HCPE)


def check_hcpe(records: NDArray[np.void], name: str, first: int = 0) -> None:
    """Check results and moves of plain hcpe (no flags), without decoding positions.

    Args:
        records: HCPE [N].
        name: Their file, for the message.
        first: Number of the first record in the file.

    Raises:
        DataFileError: A result or a move is invalid.
    """
    for start in range(0, len(records), _CHECKED_AT_ONCE):
        part = records[start : start + _CHECKED_AT_ONCE]
        moves = part["bestMove16"]
        bad = (part["gameResult"] >= RESULT_BITS) | (moves == 0) | (moves > LAST_MOVE)
        if bad.any():
            at = start + int(np.argmax(bad))
            record, index = records[at], first + at
            raise DataFileError(
                f"{name}, record {index} (offset {index * HCPE.itemsize}): invalid result {record['gameResult']} or "
                f"move {record['bestMove16']}: a result is 0, 1 or 2, a move 1 to {LAST_MOVE}; to remove the flags of "
                "hcpe2, use fukayomi data convert"
            )


def without_flags(records: NDArray[np.void]) -> NDArray[np.void]:
    """Copy rows (HCPE [N]) and clear the flags of their results: hcpe2 to hcpe."""
    plain = np.array(records, HCPE)
    plain["gameResult"] &= RESULT_BITS
    return plain
