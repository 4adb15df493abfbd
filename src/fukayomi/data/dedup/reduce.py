"""The second half of a job: each bucket on its own, in memory. A bucket needs nothing but the job's folder."""

import bisect
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.dedup.inputs import Kind
from fukayomi.data.dedup.modes import Mode, Weighing
from fukayomi.data.dedup.output import Reduced
from fukayomi.data.dedup.partition import CANDIDATES, ROWS, SIGHTS, STATE, WIDTHS, byte_rows
from fukayomi.data.formats.averages import HEADER, MOVE, POSITION, Averages, AveragesError, read_averages
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.jobs.folder import WorkFolder, flat_bytes

JOB = "job.json"

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
"""Records of one position and move, added up."""

_PIECE = 64 << 20  # bytes of a bucket that are reduced at a time


def reduce_bucket(path: Path, bucket: int) -> Reduced:
    """Reduce one bucket. Its files stay as they are.

    Args:
        path: The job's folder, all of whose inputs have been spread over buckets.
        bucket: Its number.

    Raises:
        JobError: The bucket's rows are not as they were written.
        AveragesError: An input of averages is not in the order of its hashes.
        OSError: Something cannot be read.
    """
    folder = WorkFolder(path)
    job = folder.read(JOB)
    reader = BucketReader(folder, bucket)
    if (mode := Mode(job["mode"])).writes_averages:
        averages = [Path(item["path"]) for item in job["inputs"] if item["kind"] == Kind.AVERAGES]
        evenly = Weighing(job["weighing"]) is Weighing.EVENLY
        return _average(reader, averages, job["bucket_bits"], _Adder(evenly, job["hash_bits"]))
    return _deduplicate(reader, mode, job["hash_bits"])


def remove_bucket(path: Path, bucket: int) -> None:
    """Remove a bucket's rows."""
    for kind in WIDTHS:
        WorkFolder(path).bucket_path(bucket, kind).unlink(missing_ok=True)


class BucketReader:
    """Reads a bucket's rows in pieces, and compares their checksums at the end."""

    def __init__(self, folder: WorkFolder, bucket: int) -> None:
        self.folder, self.bucket = folder, bucket
        self._files: dict[str, dict[str, list[int]]] = folder.read(STATE)["files"]

    def rows(self) -> Iterator[NDArray[np.void]]:
        """HCPE [N], piece after piece."""
        return self._pieces(ROWS)

    def sights(self) -> Iterator[tuple[NDArray[np.void], NDArray[np.void]]]:
        """SIGHT [N] with the CANDIDATEs of all of them, piece after piece."""
        whole = _Checked(self, CANDIDATES)
        for sights in self._pieces(SIGHTS):
            yield sights, whole.read(int(sights["candidates"].sum(dtype=np.int64)))
        whole.finish()

    def _pieces(self, kind: str) -> Iterator[NDArray[np.void]]:
        file = _Checked(self, kind)
        while len(piece := file.read(_PIECE // WIDTHS[kind].itemsize)):
            yield piece
        file.finish()

    def expected(self, kind: str) -> tuple[int, int]:
        """Size and checksum of one of the bucket's files."""
        files = self._files.get(kind)
        return (files["sizes"][self.bucket], files["checksums"][self.bucket]) if files else (0, 0)


class _Checked:
    """One bucket file, of which size and checksum are known."""

    def __init__(self, reader: BucketReader, kind: str) -> None:
        self._path, self._dtype = reader.folder.bucket_path(reader.bucket, kind), WIDTHS[kind]
        self._folder = reader.folder
        self._size, self._checksum = reader.expected(kind)
        self._done = self._crc = 0

    def read(self, rows: int) -> NDArray[np.void]:
        """At most so many rows more; none at the end."""
        rows = min(rows, (self._size - self._done) // self._dtype.itemsize)
        if rows == 0:
            return np.empty(0, self._dtype)
        piece = np.fromfile(self._path, self._dtype, rows, offset=self._done)
        self._done += piece.nbytes
        self._crc = zlib.crc32(flat_bytes(piece), self._crc)
        return piece

    def finish(self) -> None:
        """Raise JobError if what was read is not what was written."""
        if (self._done, self._crc) != (self._size, self._checksum):
            raise self._folder.damaged(self._path)


def _deduplicate(reader: BucketReader, mode: Mode, hash_bits: int) -> NDArray[np.void]:
    """HCPE [G]."""
    if mode in (Mode.FIRST_MOVE, Mode.ALL_FIELDS):
        kept = np.empty(0, HCPE)
        for piece in reader.rows():
            rows = np.concatenate([kept, piece]) if len(kept) else piece  # what came first stays first
            found = _native.first_records(byte_rows(rows), mode is Mode.ALL_FIELDS, hash_bits)
            kept = found.view(HCPE).ravel()
        return kept
    last, sums = byte_rows(np.empty(0, HCPE)), byte_rows(np.empty(0, SUM))
    for piece in reader.rows():  # hardly ever more than one
        if len(last):
            sums = _native.sum_records(last, sums, hash_bits)
        last = byte_rows(piece)
    return _native.merge_records(last, sums, mode is Mode.MODE, hash_bits).view(HCPE).ravel()


def _average(reader: BucketReader, inputs: list[Path], bucket_bits: int, adder: "_Adder") -> Averages:
    for path in inputs:
        adder.add(averages=_bucket_of_averages(path, reader.bucket, bucket_bits, adder.hash_bits))
    for rows in reader.rows():
        adder.add(rows=rows)
    for sights, candidates in reader.sights():
        adder.add(sights=sights, candidates=candidates)
    return adder.total


_NO_ROWS, _NO_SIGHTS, _NO_CANDIDATES = (np.empty(0, WIDTHS[kind]) for kind in (ROWS, SIGHTS, CANDIDATES))


class _Adder:
    """Adds up a bucket, piece after piece."""

    def __init__(self, evenly: bool, hash_bits: int) -> None:
        self.total = Averages(np.empty(0, POSITION), np.empty(0, MOVE))
        self.evenly, self.hash_bits = evenly, hash_bits

    def add(
        self,
        rows: NDArray[np.void] = _NO_ROWS,
        sights: NDArray[np.void] = _NO_SIGHTS,
        candidates: NDArray[np.void] = _NO_CANDIDATES,
        averages: Averages | None = None,
    ) -> None:
        """Add rows (HCPE [N]), sights with their candidates, or what was averaged before."""
        positions, moves = self.total.positions, self.total.moves
        if averages is not None:
            added = np.array(averages.positions)
            added["first_move"] += len(moves)
            positions, moves = np.concatenate([positions, added]), np.concatenate([moves, averages.moves])
        given = [byte_rows(each) for each in (rows, sights, candidates, positions, moves)]
        out_positions, out_moves = _native.average_rows(*given, evenly=self.evenly, hash_bits=self.hash_bits)
        self.total = Averages(out_positions.view(POSITION).ravel(), out_moves.view(MOVE).ravel())


def _bucket_of_averages(path: Path, bucket: int, bucket_bits: int, hash_bits: int) -> Averages:
    """The positions of a file that belong to a bucket: they stand together, as files are in the order of the hash."""
    positions = read_averages(path).positions

    def bucket_at(index: int) -> int:
        return int(_buckets(positions[index : index + 1], bucket_bits, hash_bits)[0])

    begin, end = (bisect.bisect_left(range(len(positions)), at, key=bucket_at) for at in (bucket, bucket + 1))
    # Read, not mapped: the pages of a map would count as this program's memory.
    part = np.fromfile(path, POSITION, end - begin, offset=HEADER.itemsize + begin * POSITION.itemsize)
    if (_buckets(part, bucket_bits, hash_bits) != bucket).any():
        raise AveragesError(f"{path}: positions {begin} to {end} are not in the order of their hashes")
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
