"""The inputs of a deduplication, and its first half: their rows are spread over bucket files by position.

Rows are those of hcpe, searched positions of hcpe3, or averaged positions. The hash of the position decides the bucket.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats.averages import read_averages
from fukayomi.data.formats.evaluations import EvalTally, rescale_evals
from fukayomi.data.formats.hcpe import HCPE, RESULT_BITS, check_hcpe, read_hcpe
from fukayomi.data.formats.hcpe3 import read_hcpe3
from fukayomi.data.formats.table import UnknownDataError, detect_data, refusal
from fukayomi.data.jobs.job import BucketFiles, Job, flat_bytes
from fukayomi.errors import InvalidValueError

SEARCHED = np.dtype([*HCPE.descr, ("candidates", "<u2")])
"""A searched position: an hcpe record and the number of its candidates."""
CANDIDATE = np.dtype([("move", "<u2"), ("visits", "<u2")])

ROWS_AT_ONCE = 1 << 20
_LEAST_MOVE_BYTES = 10  # a move of hcpe3 with one candidate


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Consecutive rows of an input."""

    rows: NDArray[np.void]
    """HCPE [N] or SEARCHED [N]."""
    candidates: NDArray[np.void] | None
    """CANDIDATE [M], those of all rows; None for HCPE."""
    cursor: int
    """Start of the next chunk; an argument of `iter_chunks`."""


class InputError(InvalidValueError):
    """An input has a format that cannot be deduplicated."""


class Kind(StrEnum):
    """The formats of inputs."""

    RECORDS = "hcpe"
    FLAGGED = "hcpe2"
    GAMES = "hcpe3"
    AVERAGES = "avg"


def kind_of(path: Path, taken: tuple[Kind, ...] = tuple(Kind)) -> Kind:
    """The format of an input, by its content; one of `taken`.

    Raises:
        InputError: The input has another format.
        OSError: The input cannot be read.
    """
    size = path.stat().st_size
    if size == 0:
        return Kind.RECORDS
    try:
        found = detect_data(path)
    except UnknownDataError:
        if size % HCPE.itemsize:
            raise
        return Kind.RECORDS  # records are checked when they are read; positions need not be legal
    if found not in taken:
        raise InputError(refusal(path, found, ", ".join(taken)))
    return Kind(found)


def most_rows(path: Path, kind: Kind) -> int:
    """The number of rows of an input; for hcpe3 an upper bound.

    Raises:
        ValueError: The input is damaged.
        OSError: The input cannot be read.
    """
    if kind is Kind.AVERAGES:
        return len(read_averages(path))
    return path.stat().st_size // _LEAST_MOVE_BYTES if kind is Kind.GAMES else len(read_hcpe(path))


def iter_chunks(path: Path, kind: Kind, cursor: int = 0) -> Iterator[Chunk]:
    """The rows of hcpe, or the searched positions of hcpe3, from a cursor on; results have no flags.

    The arrays are valid until the next chunk is read.

    Raises:
        ValueError: A row is invalid; the message names the file, the row and the offset.
        OSError: The file cannot be read.
    """
    if kind is Kind.GAMES:
        return _game_chunks(path, cursor)
    return _record_chunks(path, cursor, flagged=kind is Kind.FLAGGED)


def _record_chunks(path: Path, cursor: int, *, flagged: bool) -> Iterator[Chunk]:
    # Files are read, not mapped: the pages of a map would count as memory of this process.
    buffer = np.empty(ROWS_AT_ONCE, HCPE)
    with path.open("rb", buffering=0) as file:
        file.seek(cursor * HCPE.itemsize)
        while (size := _fill(file, flat_bytes(buffer))) > 0:
            rows = buffer[: size // HCPE.itemsize]
            if flagged:
                rows["gameResult"] &= RESULT_BITS
            if not _native.are_possible(rows.view(np.uint8).reshape(-1, HCPE.itemsize)):
                check_hcpe(rows, str(path), cursor)  # slower, but it names the row
            cursor += len(rows)
            yield Chunk(rows, None, cursor)


def _game_chunks(path: Path, cursor: int) -> Iterator[Chunk]:
    """The cursor counts games. Those before it are read again, as nothing else tells where a game begins."""
    done = 0
    for games in read_hcpe3(path):
        done += len(games)
        if done <= cursor:
            continue
        counts = games.candidate_counts()
        searched = counts > 0  # other moves were played without a search
        rows = np.zeros(int(searched.sum()), SEARCHED)
        rows["hcp"], rows["eval"], rows["bestMove16"] = (
            games.hcps[searched], games.evals[searched], games.moves[searched],
        )  # fmt: skip
        rows["gameResult"] = games.results[games.game_of_ply()[searched]] & RESULT_BITS
        rows["candidates"] = counts[searched]
        candidates = np.empty(len(games.candidate_moves), CANDIDATE)
        candidates["move"], candidates["visits"] = games.candidate_moves, games.candidate_visits
        yield Chunk(rows, candidates, done)


def _fill(file: FileIO, view: memoryview) -> int:
    """Fill the memory from a file; returns the number of bytes, fewer at the end of the file."""
    done = 0
    while done < len(view) and (count := file.readinto(view[done:])):
        done += count
    return done


ROWS, POSITIONS, CANDIDATES = "hcpe", "searched", "candidates"
DTYPES = {ROWS: HCPE, POSITIONS: SEARCHED, CANDIDATES: CANDIDATE}
"""The kinds of bucket files, by suffix, and their rows."""


class Spread:
    """Spreads the rows of the inputs over the bucket files of a job."""

    def __init__(
        self, job: Job, inputs: list[tuple[Path, Kind]], *, evalfix: bool, bucket_bits: int, hash_bits: int
    ) -> None:
        """Begin, or go on from the job's checkpoint.

        Args:
            job: The job. Its memory gets the files' states, the fitted scales, and the number of buckets.
            inputs: hcpe and hcpe3 files.
            evalfix: Whether to rescale evaluations to a scale that is fitted to each input.
            bucket_bits: log2 of the number of buckets.
            hash_bits: Bits of the hash that count.

        Raises:
            JobError: A bucket file has changed since it was written.
        """
        self._inputs, self._evalfix = inputs, evalfix
        self._bucket_bits, self._hash_bits = bucket_bits, hash_bits
        state, buckets = job.memory.get("files", {}), 1 << bucket_bits
        self._files = {kind: BucketFiles(job.folder, kind, buckets, state.get(kind)) for kind in DTYPES}
        self._job = job
        job.memory["buckets"] = buckets
        self._scales: list[float | None] = job.memory.setdefault("scales", [])
        self._spread = np.empty(ROWS_AT_ONCE, HCPE)  # allocated once: new memory costs more than moving the rows

    def chunks(self, first: int, cursor: int) -> Iterator[tuple[Chunk, list[int]]]:
        """The rows from a place on: input number `first`, and the cursor in it.

        Yields:
            Chunks, each with the place behind it.

        Raises:
            ValueError: An input is damaged.
            OSError: An input cannot be read.
        """
        for number, (path, kind) in enumerate(self._inputs[first:], first):
            if len(self._scales) == number:
                self._scales.append(_fit_scale(path, kind) if self._evalfix else None)
            for chunk in iter_chunks(path, kind, cursor):
                if (scale := self._scales[number]) is not None:
                    chunk.rows["eval"] = rescale_evals(chunk.rows["eval"], scale)
                yield chunk, [number, chunk.cursor]
            cursor = 0

    def append(self, chunk: Chunk) -> None:
        """Write the rows of a chunk to their buckets.

        Raises:
            OSError: A file cannot be written.
        """
        rows = chunk.rows
        if chunk.candidates is None:
            spread = self._spread[: len(rows)]
            counts = _native.spread_rows(byte_rows(rows), byte_rows(spread), self._bucket_bits, self._hash_bits)
            self._files[ROWS].append(spread, counts)
            return
        order, counts = _native.bucket_rows(byte_rows(rows), self._bucket_bits, self._hash_bits)
        spread = rows.take(order)
        self._files[POSITIONS].append(spread, counts)
        taken = _take_ranges(rows["candidates"].astype(np.int64), order)
        ends = np.concatenate([[0], np.cumsum(spread["candidates"], dtype=np.int64)])
        bucket_ends = ends[np.cumsum(counts).astype(np.int64)]
        self._files[CANDIDATES].append(chunk.candidates.take(taken), np.diff(bucket_ends, prepend=0))

    def remember(self) -> None:
        """Put the states of the files into the job's memory."""
        self._job.memory["files"] = {kind: files.state for kind, files in self._files.items() if any(files.sizes)}


def byte_rows(rows: NDArray[Any]) -> NDArray[np.uint8]:
    """Rows of some type, [N], as bytes: uint8 [N, size]."""
    return np.ascontiguousarray(rows).view(np.uint8).reshape(-1, rows.dtype.itemsize)


def _take_ranges(lengths: NDArray[np.int64], order: NDArray[np.uint32]) -> NDArray[np.int64]:
    """The indices of the elements of consecutive ranges (of `lengths`, [N]) when the ranges are reordered."""
    starts = np.cumsum(lengths) - lengths
    taken = lengths[order]
    return np.repeat(starts[order] - (np.cumsum(taken) - taken), taken) + np.arange(int(taken.sum()))


def _fit_scale(path: Path, kind: Kind) -> float | None:
    tally = EvalTally()
    for chunk in iter_chunks(path, kind):
        tally.add(chunk.rows)
    return tally.fit()
