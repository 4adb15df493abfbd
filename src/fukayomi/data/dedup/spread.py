"""The first half of a deduplication: rows are spread over bucket files by the hash of their position."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.dedup.inputs import CANDIDATE, ROWS_AT_ONCE, SEARCHED, Chunk, Kind, iter_chunks
from fukayomi.data.formats.evaluations import EvalTally, rescale_evals
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.jobs.buckets import BucketFiles
from fukayomi.data.jobs.job import Job

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
