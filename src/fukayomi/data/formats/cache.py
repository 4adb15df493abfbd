"""dlshogi's hcpe3 cache: positions with the sums over their duplicates, and an index.

A file is the number of positions (uint64), the offset of each (uint64), and the positions without gaps:

| offset | type | field | meaning |
|---|---|---|---|
| 0 | uint8[32] | hcp | position |
| 32 | float32 | value | sum of win probabilities by evaluation, from the side to move |
| 36 | float32 | result | sum of results from the side to move: 1 won, 0.5 drawn, 0 lost |
| 40 | int32 | count | number of positions added up |
| 44 | (uint16, 2 bytes, float32) each | move16, padding, prob | a move and the sum of its probabilities |

Divide by the count for averages.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi._native import MAX_MOVES
from fukayomi.data.formats.format import START, Advance, DataFileError, Format, Part, Place, ignore
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.files.atomic import AtomicFile
from fukayomi.files.inputs import replaceable
from fukayomi.tabular import counted

POSITION = np.dtype([("hcp", "u1", (32,)), ("value", "<f4"), ("result", "<f4"), ("count", "<i4")])
CANDIDATE = np.dtype([("move16", "<u2"), ("padding", "<u2"), ("prob", "<f4")])
_AT_ONCE = 1 << 16  # positions


class CacheError(DataFileError):
    """A file is not an hcpe3 cache, or is damaged; the message names the file, the position and the offset."""


@dataclass(frozen=True, slots=True, eq=False)
class CachedPositions:
    """N positions with C candidates in all."""

    positions: NDArray[np.void]
    """POSITION [N]; value and result are sums over `count` positions, from the side to move."""
    starts: NDArray[np.int64]
    """Position i has the candidates from starts[i] to starts[i + 1]: int64 [N + 1]."""
    candidates: NDArray[np.void]
    """CANDIDATE [C]; sums of probabilities."""

    def __len__(self) -> int:
        """Number of positions."""
        return len(self.positions)


def read_cache(path: Path | str, at_once: int = _AT_ONCE, begin: int = 0) -> Iterator[CachedPositions]:
    """Read the positions of a file in parts of `at_once`, beginning with number `begin`.

    Raises:
        CacheError: The index is damaged or does not fit the file.
        OSError: The file cannot be read.
    """
    path = Path(path)
    size = path.stat().st_size
    if size < 8:
        raise CacheError(f"{path}: {counted(size, 'byte')}, too few for an hcpe3 cache")
    data = np.memmap(path, np.uint8, mode="r")
    count = int(data[:8].view("<u8")[0])
    body = 8 + 8 * count
    if body > size:
        raise CacheError(f"{path}: {counted(size, 'byte')}, too few for an index of {counted(count, 'position')}")
    index = data[8:body].view("<u8")
    for first in range(begin, count, at_once):
        last = min(first + at_once, count)
        following = index[last] if last < count else size
        offsets = np.append(index[first:last], np.uint64(following))
        if first == 0 and offsets[0] != body:
            raise CacheError(f"{path}, position 0: offset {offsets[0]} instead of {body}, the end of the index")
        yield _read_part(path, data, offsets, first)
    if count == 0 and size > 8:
        raise CacheError(f"{path}: an index of no positions, followed by {counted(size - 8, 'byte')}")


def _read_part(path: Path, data: NDArray[np.uint8], offsets: NDArray[np.uint64], first: int) -> CachedPositions:
    too_far = offsets > len(data)
    sizes = np.where(too_far[1:] | too_far[:-1], -1, np.diff(offsets.astype(np.int64)))
    rest = sizes - POSITION.itemsize
    bad = (rest < 0) | (rest % CANDIDATE.itemsize != 0) | (rest // CANDIDATE.itemsize > MAX_MOVES)
    if bad.any():
        at = int(np.argmax(bad))
        raise CacheError(
            f"{path}, position {first + at} (offset {offsets[at]}): it ends at {offsets[at + 1]}, which is not "
            f"{POSITION.itemsize} bytes and {CANDIDATE.itemsize} for each of at most {MAX_MOVES} moves further"
        )
    begin = int(offsets[0])
    block = np.asarray(data[begin : int(offsets[-1])])
    heads = offsets[:-1].astype(np.int64) - begin
    positions = block[heads[:, None] + np.arange(POSITION.itemsize)].view(POSITION).reshape(-1)
    if (positions["count"] <= 0).any():
        at = int(np.argmax(positions["count"] <= 0))
        raise CacheError(f"{path}, position {first + at} (offset {offsets[at]}): a count of {positions['count'][at]}")
    is_candidate = np.ones(len(block), np.bool_)
    is_candidate[(heads[:, None] + np.arange(POSITION.itemsize)).reshape(-1)] = False
    starts = np.concatenate([[0], np.cumsum(rest // CANDIDATE.itemsize)])
    return CachedPositions(positions, starts, block[is_candidate].view(CANDIDATE))


def write_cache(path: Path | str, batches: Iterable[CachedPositions]) -> int:
    """Write a cache; returns the number of positions. The file appears when it is complete.

    Positions are kept in a file beside it until their number is known.
    """
    path = replaceable(path)
    sizes: list[NDArray[np.int64]] = []
    with AtomicFile(path.with_name(path.name + ".body")) as body:
        try:
            for batch in batches:
                sizes.append(POSITION.itemsize + CANDIDATE.itemsize * np.diff(batch.starts))
                body.write(_body_of(batch).tobytes())
            body.flush()
            return _write_indexed(path, sizes, body.temporary)
        finally:
            body.discard()


def _body_of(batch: CachedPositions) -> NDArray[np.uint8]:
    counts = np.diff(batch.starts)
    sizes = POSITION.itemsize + CANDIDATE.itemsize * counts
    heads = np.cumsum(sizes) - sizes
    block = np.zeros(int(sizes.sum()), np.uint8)
    where = (heads[:, None] + np.arange(POSITION.itemsize)).reshape(-1)
    is_candidate = np.ones(len(block), np.bool_)
    is_candidate[where] = False
    block[where] = np.ascontiguousarray(batch.positions, POSITION).view(np.uint8).reshape(-1)
    clean = batch.candidates.astype(CANDIDATE)
    clean["padding"] = 0
    block[is_candidate] = clean.view(np.uint8).reshape(-1)
    return block


def _write_indexed(path: Path, sizes: list[NDArray[np.int64]], body: Path) -> int:
    lengths = np.concatenate([np.zeros(0, np.int64), *sizes])
    count = len(lengths)
    offsets = 8 + 8 * count + np.cumsum(lengths) - lengths
    with AtomicFile(path) as out, body.open("rb") as parts:
        out.write(count.to_bytes(8, "little"))
        out.write(offsets.astype("<u8").tobytes())
        while data := parts.read(1 << 20):
            out.write(data)
    return count


@dataclass(frozen=True, kw_only=True, eq=False)
class CacheFormat(Format):
    """Averaged positions as dlshogi trains from them."""

    def likeness(self, path: Path, head: bytes) -> float:
        """1 where the first offset is the end of the index."""
        size = path.stat().st_size
        if size < 16 + POSITION.itemsize:
            return 0.0
        count, first = np.frombuffer(head[:16], "<u8").tolist()
        return float(8 + 8 * count == first <= size - POSITION.itemsize)

    def read(self, path: Path, begin: Place = START, advance: Advance = ignore) -> Iterator[Part]:
        """Yield `CachedPositions`; `Place` counts positions."""
        place = begin.outer
        for part in read_cache(path, begin=place):
            place += len(part)
            yield Part(part, Place(place))
            advance(8 * len(part) + part.positions.nbytes + part.candidates.nbytes)

    def faults(self, content: CachedPositions) -> list[tuple[int, str]]:
        """Positions that break the rules: index and reason."""
        return _native.find_bad_records(np.ascontiguousarray(content.positions["hcp"]), None)


FORMAT = CacheFormat(
    kind=DataFormat.CACHE,
    suffixes=(".cache",),
    contents="averaged positions as dlshogi's cache",
    used_by="fukayomi data check and print read it",
)
