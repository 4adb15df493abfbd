"""Descriptions of formats: one `Format` object each, in the table `fukayomi.data.formats.table.FORMATS`.

Detection, refusals, readers, writers, checks and conversions all ask these objects. To add a format, write its module
with a `FORMAT` and add that to the table.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats.kinds import DataFormat
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


ROWS_AT_ONCE = 1 << 16
"""Rows in one part of a file."""
SAMPLES = 16
"""Rows of a file that detection looks at."""
EVAL_LIMIT = 32_767
"""Largest evaluation in a file; -32768 has no opposite."""

Advance = Callable[[int], None]
"""Called with the number of bytes read since the last call."""


def ignore(_: int) -> None:
    """An `Advance` that does nothing."""


class Place(NamedTuple):
    """A point between two items of a file."""

    outer: int = 0
    """Rows or positions before it; bytes for hcpe3 and text; members of an archive for records."""
    inner: int = 0
    """Games before it (hcpe3), lines (text), records of the same member (records)."""


START = Place()


class Part(NamedTuple):
    """Consecutive items of a file."""

    content: Any
    """Content of the part, as the format holds it: see `Format.read`."""
    after: Place
    """Start of the next part."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Format:
    """A format of training data; subclasses say how to detect and read it."""

    kind: DataFormat
    suffixes: tuple[str, ...]
    """Usual suffixes of its files, the preferred one first. Contents decide what a file is."""
    contents: str
    """Contents of its files, for messages."""
    used_by: str
    """Commands that read it, for messages."""
    stores: Literal["games", "rows", "positions", ""] = ""
    """Kind of content that `encode` takes; empty if the format is only read, or written by other means."""

    @property
    def least_bytes(self) -> int:
        """Size of the smallest item in a file; 1 for text."""
        return 1

    def likeness(self, path: Path, head: bytes) -> float:
        """Share of a binary file that fits the format, 0 to 1. `head` is the first 64 KiB."""
        del path, head
        return 0.0

    def is_text(self, text: str) -> bool:
        """True if a text begins like a file of the format."""
        del text
        return False

    def read(self, path: Path, begin: Place = START, advance: Advance = ignore) -> Iterator[Part]:
        """Read a file in parts; memory stays bounded.

        Args:
            path: The file.
            begin: Where to begin: the start, or `Part.after` of an earlier part.
            advance: Called with the number of bytes read since the last call, those before `begin` included.

        Yields:
            Rows [N] of a structured dtype, `Games`, `Averages`, `CachedPositions`, or a list of `Record` and `Dropped`.

        Raises:
            DataFileError: The file is damaged.
            OSError: The file cannot be read.
        """
        raise NotImplementedError

    def faults(self, content: Any) -> list[tuple[int, str]]:
        """Errors that need the rules of shogi and that `read` does not look for: index and reason, in order."""
        del content
        return []

    def encode(self, items: Any) -> bytes:
        """The bytes of items in a file.

        Args:
            items: `Games`, `Rows` or positions (uint8 [N, 32]), whichever the format stores.

        Raises:
            DataFileError: An item does not fit into the format.
        """
        raise NotImplementedError

    def refusal(self, path: Path, taken: str) -> str:
        """The message for a command that takes only the formats named in `taken`."""
        return f"{path} holds {self.contents}, and this takes {taken}; {self.used_by}"


@dataclass(frozen=True, kw_only=True, eq=False)
class RowFormat(Format):
    """A format whose files are rows of a fixed size, each with a position and perhaps a move, a result and a score."""

    dtype: np.dtype[Any]
    position: str
    """Field of the packed position."""
    move: str = ""
    """Field of the move; empty for positions alone."""
    result: str = ""
    score: str = ""
    is_result: Callable[[NDArray[Any]], NDArray[np.bool_]] = lambda results: np.ones(len(results), np.bool_)
    """Mask of the valid values of the result field."""
    psv: bool = False
    """True if positions and moves are coded as in psv, where move 0 is no move."""
    encoder: Callable[[Any], bytes] = lambda rows: rows.tobytes()

    @property
    def least_bytes(self) -> int:
        """Size of a row."""
        return self.dtype.itemsize

    def read(self, path: Path, begin: Place = START, advance: Advance = ignore) -> Iterator[Part]:
        """Yield rows [N]; results and moves are checked, positions are not (see `faults`)."""
        for first, rows in self.scan(path, begin, advance):
            self.raise_first_fault(path, first, self.first_invalid(rows))
            yield Part(rows, Place(first + len(rows)))

    def scan(
        self, path: Path, begin: Place = START, advance: Advance = ignore, *, cut: bool = False
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """As `read`, but without checks: the number of the first row, and rows; `cut` as for `map_rows`."""
        rows = map_rows(path, self.dtype, cut=cut)
        advance(begin.outer * self.dtype.itemsize)
        for first in range(begin.outer, len(rows), ROWS_AT_ONCE):
            part = np.array(rows[first : first + ROWS_AT_ONCE])
            yield first, part
            advance(part.nbytes)

    def first_invalid(self, rows: NDArray[Any]) -> list[tuple[int, str]]:
        """The first row with an invalid result or move, without checking its position: index and reason."""
        if not self.move:
            return []
        bad_result = ~self.is_result(rows[self.result])
        bad_move = (rows[self.move] == 0) & (not self.psv)
        bad = bad_result | bad_move
        if not bad.any():
            return []
        index = int(np.argmax(bad))
        name = self.result if bad_result[index] else self.move
        return [(index, f"invalid {'result' if bad_result[index] else 'move'} {rows[name][index]}")]

    def faults(self, content: NDArray[Any]) -> list[tuple[int, str]]:
        """Positions that break the rules, illegal moves and invalid results: index and reason, in order."""
        packed = np.ascontiguousarray(content[self.position])
        moves = np.ascontiguousarray(content[self.move]) if self.move else None
        found = _native.find_bad_records(packed, moves, psv=self.psv)
        if self.result:
            results = content[self.result]
            found += [(int(at), f"invalid result {results[at]}") for at in np.flatnonzero(~self.is_result(results))]
        return sorted(found, key=lambda fault: fault[0])

    def raise_first_fault(self, path: Path, first: int, faults: list[tuple[int, str]]) -> None:
        """Raise the first of the faults found in rows that begin at row `first` of a file.

        Raises:
            DataFileError: There is one; the message names the file, the record and its offset.
        """
        for index, reason in faults:
            number = first + index
            raise DataFileError(f"{path}, record {number} (offset {number * self.dtype.itemsize}): {reason}; {REMEDY}")

    def encode(self, items: Any) -> bytes:
        """The rows' bytes."""
        return self.encoder(items)

    def likeness(self, path: Path, head: bytes) -> float:
        """The share of sampled rows with a valid position, result and move."""
        del head
        rows = self.samples(path)
        if not len(rows):
            return 0.0
        packed = np.ascontiguousarray(rows[self.position])
        good = self.is_result(rows[self.result]) if self.result else np.ones(len(rows), np.bool_)
        good[[index for index, _ in _native.find_bad_records(packed, None, psv=self.psv)]] = False
        share = good.mean()
        if self.move:
            legal = good.copy()
            moves = np.ascontiguousarray(rows[self.move])
            legal[[index for index, _ in _native.find_bad_records(packed, moves, psv=self.psv)]] = False
            share = (share + legal.mean()) / 2
        # A file may be cut, but some rows decode as psv and as hcpe: then the size decides.
        is_whole = path.stat().st_size % self.dtype.itemsize == 0
        return float(share) * (1.0 if is_whole else 0.9)

    def samples(self, path: Path) -> NDArray[Any]:
        """Up to 16 rows spread over a file."""
        rows = map_rows(path, self.dtype, cut=True)
        return np.array(rows[np.unique(np.linspace(0, len(rows) - 1, SAMPLES).astype(np.int64))]) if len(rows) else rows
