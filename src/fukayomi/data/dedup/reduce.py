"""The second half of a deduplication: each bucket is reduced in memory. It needs only the folder of the work.

The output of a deduplication, which grows bucket by bucket.
"""

import bisect
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.dedup.inputs import CANDIDATES, DTYPES, POSITIONS, ROWS, Kind, byte_rows
from fukayomi.data.dedup.settings import Mode, Weighing
from fukayomi.data.formats.averages import HEADER, MOVE, POSITION, Averages, AveragesError, header_bytes, read_averages
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.jobs.buckets import flat_bytes
from fukayomi.data.jobs.job import Job, WorkFolder, read_job

_COPIED_AT_ONCE = 1 << 18  # bytes

Reduced = NDArray[np.void] | Averages
"""A reduced bucket: HCPE [N], or positions whose moves count from 0."""


class Output:
    """The rows of hcpe; or positions, with their moves in a spool until they are appended to the positions."""

    def __init__(self, job: Job, weighing: Weighing | None) -> None:
        """Begin, or go on from the job's checkpoint.

        Args:
            job: The job.
            weighing: Weighing of the averages; None for hcpe.
        """
        self._job, self._weighing = job, weighing
        (self._rows,) = job.outputs
        if weighing is not None and self._rows.size == 0:
            self._rows.append(bytes(HEADER.itemsize), 0)

    def append(self, reduced: Reduced) -> None:
        """Add the next bucket."""
        if not isinstance(reduced, Averages):
            self._rows.append(flat_bytes(reduced), len(reduced))
            return
        memory, (moves,) = self._job.memory, self._job.spools
        reduced.positions["first_move"] += moves.items
        data = flat_bytes(reduced.positions)
        self._rows.append(data, len(reduced.positions))
        memory["crc"] = zlib.crc32(data, memory.get("crc", 0))
        moves.append(flat_bytes(reduced.moves), len(reduced.moves))

    def complete(self) -> None:
        """Append the moves of averages, and write the header."""
        found, memory = self._job.found, self._job.memory
        found["moves"] = 0
        if self._weighing is not None:
            (moves,), crc = self._job.spools, memory.get("crc", 0)
            found["moves"] = moves.items
            with moves.path.open("rb") as file:
                while data := file.read(_COPIED_AT_ONCE):
                    self._rows.append(data, 0)
                    crc = zlib.crc32(data, crc)
            self._rows.overwrite(0, header_bytes(self._rows.items, moves.items, crc, self._weighing))
        found["scales"] = memory["scales"]
        found["buckets"] = memory["buckets"]


SUM = np.dtype(
    [
        ("hcp", "u1", (32,)),
        ("move", "<u2"),
        ("unused", "u1", (6,)),
        ("draws", "<u8"),
        ("black_wins", "<u8"),
        ("white_wins", "<u8"),
        ("eval", "<i8"),
    ]
)
"""The sums of the records of one position and move."""

_PIECE = 64 << 20  # bytes of a bucket that are reduced at once


def reduce_bucket(path: Path, bucket: int) -> Reduced:
    """Reduce one bucket. Its files are not changed.

    Args:
        path: The folder of the work; all inputs have been spread over buckets.
        bucket: Number of the bucket.

    Raises:
        JobError: The bucket's rows have changed since they were written.
        AveragesError: Sums outgrow their fields.
        OSError: A file cannot be read.
    """
    folder = WorkFolder(path)
    job, memory = read_job(folder)
    reader = BucketReader(folder, bucket, memory.get("files", {}))
    if (mode := Mode(job["mode"])).writes_averages:
        given = zip(job["inputs"], job["kinds"], strict=True)
        averages = [Path(path) for (path, _, _), kind in given if kind == Kind.AVERAGES]
        evenly = Weighing(job["weighing"]) is Weighing.EVENLY
        adder = _Adder(evenly, job["hash_bits"], ", ".join(path for path, _, _ in job["inputs"]))
        return _average(reader, averages, job["bucket_bits"], adder)
    return _deduplicate(reader, mode, job["hash_bits"])


def remove_bucket(folder: WorkFolder, bucket: int) -> None:
    """Remove the files of a bucket."""
    for kind in DTYPES:
        folder.bucket_path(bucket, kind).unlink(missing_ok=True)


class BucketReader:
    """Reads the rows of a bucket in pieces, and compares their checksums at the end."""

    def __init__(self, folder: WorkFolder, bucket: int, files: dict[str, dict[str, list[int]]]) -> None:
        """Prepare to read.

        Args:
            folder: The folder of the work.
            bucket: Number of the bucket.
            files: States of the bucket files, by kind.
        """
        self.folder, self.bucket, self._files = folder, bucket, files

    def rows(self) -> Iterator[NDArray[np.void]]:
        """HCPE [N], piece after piece."""
        return self._pieces(ROWS)

    def searched(self) -> Iterator[tuple[NDArray[np.void], NDArray[np.void]]]:
        """SEARCHED [N] with all their candidates (CANDIDATE [M]), piece after piece."""
        whole = _Checked(self, CANDIDATES)
        for positions in self._pieces(POSITIONS):
            yield positions, whole.read(int(positions["candidates"].sum(dtype=np.int64)))
        whole.finish()

    def _pieces(self, kind: str) -> Iterator[NDArray[np.void]]:
        file = _Checked(self, kind)
        while len(piece := file.read(_PIECE // DTYPES[kind].itemsize)):
            yield piece
        file.finish()

    def expected(self, kind: str) -> tuple[int, int]:
        """Size and checksum of a file of the bucket."""
        files = self._files.get(kind)
        return (files["sizes"][self.bucket], files["checksums"][self.bucket]) if files else (0, 0)


class _Checked:
    """Reads one bucket file and checks its size and checksum."""

    def __init__(self, reader: BucketReader, kind: str) -> None:
        self._path, self._dtype = reader.folder.bucket_path(reader.bucket, kind), DTYPES[kind]
        self._folder = reader.folder
        self._size, self._checksum = reader.expected(kind)
        self._done = self._crc = 0

    def read(self, rows: int) -> NDArray[np.void]:
        """The next rows, at most this many; none at the end."""
        rows = min(rows, (self._size - self._done) // self._dtype.itemsize)
        if rows == 0:
            return np.empty(0, self._dtype)
        piece = np.fromfile(self._path, self._dtype, rows, offset=self._done)
        self._done += piece.nbytes
        self._crc = zlib.crc32(flat_bytes(piece), self._crc)
        return piece

    def finish(self) -> None:
        """Raise JobError if the file has changed since it was written."""
        if (self._done, self._crc) != (self._size, self._checksum):
            raise self._folder.damaged(self._path)


def _deduplicate(reader: BucketReader, mode: Mode, hash_bits: int) -> NDArray[np.void]:
    """HCPE [G]."""
    if mode in (Mode.FIRST_MOVE, Mode.ALL_FIELDS):
        kept = np.empty(0, HCPE)
        for piece in reader.rows():
            rows = np.concatenate([kept, piece]) if len(kept) else piece  # keeps the order of the input
            found = _native.first_records(byte_rows(rows), mode is Mode.ALL_FIELDS, hash_bits)
            kept = found.view(HCPE).ravel()
        return kept
    last, sums = byte_rows(np.empty(0, HCPE)), byte_rows(np.empty(0, SUM))
    for piece in reader.rows():  # rarely more than one
        if len(last):
            sums = _native.sum_records(last, sums, hash_bits)
        last = byte_rows(piece)
    return _native.merge_records(last, sums, mode is Mode.MODE, hash_bits).view(HCPE).ravel()


def _average(reader: BucketReader, inputs: list[Path], bucket_bits: int, adder: "_Adder") -> Averages:
    for path in inputs:
        adder.add(averages=_bucket_of_averages(path, reader.bucket, bucket_bits, adder.hash_bits))
    for rows in reader.rows():
        adder.add(rows=rows)
    for searched, candidates in reader.searched():
        adder.add(searched=searched, candidates=candidates)
    return adder.total


_NO_ROWS, _NO_SEARCHED, _NO_CANDIDATES = (np.empty(0, DTYPES[kind]) for kind in (ROWS, POSITIONS, CANDIDATES))


class _Adder:
    """Adds up a bucket piece by piece."""

    def __init__(self, evenly: bool, hash_bits: int, inputs: str) -> None:
        self.total = Averages(np.empty(0, POSITION), np.empty(0, MOVE))
        self.evenly, self.hash_bits, self.inputs = evenly, hash_bits, inputs

    def add(
        self,
        rows: NDArray[np.void] = _NO_ROWS,
        searched: NDArray[np.void] = _NO_SEARCHED,
        candidates: NDArray[np.void] = _NO_CANDIDATES,
        averages: Averages | None = None,
    ) -> None:
        """Add rows (HCPE [N]), searched positions with their candidates, or averages."""
        positions, moves = self.total.positions, self.total.moves
        if averages is not None:
            added = np.array(averages.positions)
            added["first_move"] += len(moves)
            positions, moves = np.concatenate([positions, added]), np.concatenate([moves, averages.moves])
        given = [byte_rows(each) for each in (rows, searched, candidates, positions, moves)]
        try:
            out_positions, out_moves = _native.average_rows(*given, evenly=self.evenly, hash_bits=self.hash_bits)
        except ValueError as error:
            raise AveragesError(f"{self.inputs} cannot be averaged together: {error}") from error
        self.total = Averages(out_positions.view(POSITION).ravel(), out_moves.view(MOVE).ravel())


def _bucket_of_averages(path: Path, bucket: int, bucket_bits: int, hash_bits: int) -> Averages:
    """The positions of a file that belong to a bucket: they are adjacent, as files are sorted by the hash."""
    positions = read_averages(path).positions

    def bucket_at(index: int) -> int:
        return int(_buckets(positions[index : index + 1], bucket_bits, hash_bits)[0])

    begin, end = (bisect.bisect_left(range(len(positions)), at, key=bucket_at) for at in (bucket, bucket + 1))
    # Read, not mapped: the pages of a map would count as memory of this process.
    part = np.fromfile(path, POSITION, end - begin, offset=HEADER.itemsize + begin * POSITION.itemsize)
    if len(part) == 0:
        return Averages(part, np.empty(0, MOVE))
    first = int(part["first_move"][0])
    last = int(part["first_move"][-1]) + int(part["moves"][-1])
    offset = HEADER.itemsize + len(positions) * POSITION.itemsize + first * MOVE.itemsize
    part["first_move"] -= first
    return Averages(part, np.fromfile(path, MOVE, last - first, offset=offset))


def _buckets(positions: NDArray[Any], bucket_bits: int, hash_bits: int) -> NDArray[np.uint64]:
    if bucket_bits == 0:
        return np.zeros(len(positions), np.uint64)
    return _native.hash_keys(byte_rows(positions), hash_bits) >> np.uint64(64 - bucket_bits)
