"""The first half of a job: rows are spread over bucket files by the hash of their position."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.dedup.inputs import CANDIDATE, ROWS_AT_ONCE, SIGHT, Chunk, Kind, iter_chunks
from fukayomi.data.formats.evalfix import EvalTally, rescale_evals
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.jobs.folder import BucketFiles, WorkFolder

STATE = "partition.json"
ROWS, SIGHTS, CANDIDATES = "hcpe", "sights", "candidates"
WIDTHS = {ROWS: HCPE, SIGHTS: SIGHT, CANDIDATES: CANDIDATE}
_ROWS_A_CHECKPOINT = 8 << 20


class Partition:
    """Spreads inputs over bucket files, and remembers how far it is."""

    def __init__(self, folder: WorkFolder, inputs: list[tuple[Path, Kind]], bucket_bits: int, hash_bits: int) -> None:
        """Go on where the folder's state says, or begin.

        Raises:
            JobError: The bucket files are not as the state says.
        """
        self.folder, self.inputs = folder, inputs
        self.bucket_bits, self.hash_bits = bucket_bits, hash_bits
        found = folder.read(STATE)
        self._is_new = found is None
        new: dict[str, Any] = {"input": 0, "cursor": 0, "rows": 0, "scales": [], "files": {}}
        state: dict[str, Any] = new if found is None else found
        self.input: int = state["input"]
        self.cursor: int = state["cursor"]
        self.rows: int = state["rows"]
        self.scales: list[float | None] = state["scales"]
        """Of the inputs begun so far, where evaluations are brought to one scale."""
        if self.is_complete and not self._is_new:
            return  # buckets that were reduced are gone
        self._files = {kind: BucketFiles(folder, kind, 1 << bucket_bits, state["files"].get(kind)) for kind in WIDTHS}
        self._saved = self.rows
        self._spread = np.empty(ROWS_AT_ONCE, HCPE)  # memory that is new costs more than the rows' move

    @property
    def is_complete(self) -> bool:
        """Whether all inputs have been read."""
        return self.input == len(self.inputs)

    def run(self, report: Callable[[int], None], *, evalfix: bool) -> None:
        """Read what has not been read.

        Args:
            report: Called with the rows read so far, of all runs.
            evalfix: Whether evaluations are brought to one scale, fitted to each input.

        Raises:
            ValueError: A row cannot be one.
            OSError: Something cannot be read or written.
        """
        if self._is_new:
            self._save()
        while not self.is_complete:
            path, kind = self.inputs[self.input]
            if len(self.scales) == self.input:
                self.scales.append(_fit_scale(path, kind) if evalfix else None)
                self._save()
            for chunk in iter_chunks(path, kind, self.cursor):
                self._append(chunk, self.scales[self.input])
                self.cursor, self.rows = chunk.cursor, self.rows + len(chunk.rows)
                report(self.rows)
                if self.rows - self._saved >= _ROWS_A_CHECKPOINT:
                    self._save()
            self.input, self.cursor = self.input + 1, 0
            self._save()

    def _append(self, chunk: Chunk, scale: float | None) -> None:
        rows = chunk.rows
        if scale is not None:
            rows["eval"] = rescale_evals(rows["eval"], scale)
        if chunk.candidates is None:
            spread = self._spread[: len(rows)]
            counts = _native.spread_rows(byte_rows(rows), byte_rows(spread), self.bucket_bits, self.hash_bits)
            self._files[ROWS].append(spread, counts)
            return
        order, counts = _native.bucket_rows(byte_rows(rows), self.bucket_bits, self.hash_bits)
        spread = rows.take(order)
        self._files[SIGHTS].append(spread, counts)
        taken = _take_ranges(rows["candidates"].astype(np.int64), order)
        ends = np.concatenate([[0], np.cumsum(spread["candidates"], dtype=np.int64)])
        bucket_ends = ends[np.cumsum(counts).astype(np.int64)]
        self._files[CANDIDATES].append(chunk.candidates.take(taken), np.diff(bucket_ends, prepend=0))

    def _save(self) -> None:
        files = {kind: files.state() for kind, files in self._files.items() if any(files.sizes)}
        state = {"input": self.input, "cursor": self.cursor, "rows": self.rows, "scales": self.scales, "files": files}
        self.folder.write(STATE, state)
        self._saved = self.rows


def byte_rows(rows: NDArray[Any]) -> NDArray[np.uint8]:
    """Rows of some type, [N], as bytes: uint8 [N, size]."""
    return np.ascontiguousarray(rows).view(np.uint8).reshape(-1, rows.dtype.itemsize)


def _take_ranges(lengths: NDArray[np.int64], order: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Consecutive ranges of these lengths, [N], put into another order: the index of every element."""
    starts = np.cumsum(lengths) - lengths
    taken = lengths[order]
    return np.repeat(starts[order] - (np.cumsum(taken) - taken), taken) + np.arange(int(taken.sum()))


def _fit_scale(path: Path, kind: Kind) -> float | None:
    tally = EvalTally()
    for chunk in iter_chunks(path, kind):
        tally.add(chunk.rows)
    return tally.fit()
