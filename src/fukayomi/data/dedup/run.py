"""A whole deduplication: the inputs are spread over buckets, then one bucket after the other is reduced in memory.

Reducing needs only the folder of the work. The output grows bucket by bucket.
"""

import bisect
import zlib
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.dedup.inputs import (
    CANDIDATE,
    CANDIDATES,
    DTYPES,
    POSITIONS,
    ROWS,
    SEARCHED,
    Chunk,
    Kind,
    Spread,
    byte_rows,
    kind_of,
    most_rows,
)
from fukayomi.data.dedup.settings import DedupSettings, Mode, Weighing
from fukayomi.data.formats.averages import (
    HEADER,
    MOVE,
    POSITION,
    Averages,
    AveragesError,
    check_averages,
    header_bytes,
    read_averages,
    read_weighing,
)
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.jobs.job import Job, JobError, Summary, WorkFolder, flat_bytes, read_job
from fukayomi.files.disk import Room
from fukayomi.listener import SILENT, Listener, counter
from fukayomi.settings import build

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


BUCKET_BYTES = 4 << 20
"""Size of a bucket to aim at: small enough for the processor's cache, large enough for the disk."""
MOST_BUCKET_BITS = 10
REMEDY = "choose another folder for the work (scratch), or skip this check (check space) if there are many duplicates"
_SEARCHED_BYTES = SEARCHED.itemsize + CANDIDATE.itemsize  # an hcpe3 move with one candidate; more take less per byte
_KEPT_BYTES = 31 << 20  # the largest freed block that changes what the allocator keeps


class Stage(StrEnum):
    """The stages of a deduplication, as a listener hears of them."""

    CHECK = "checking"
    """Progress in bytes of the inputs that are averages."""
    READ = "reading"
    """Progress in rows."""
    REDUCE = "reducing"
    """Progress in buckets."""
    WRITE = "writing"


Reducer = Callable[[Path, range], Iterator[Reduced]]
"""Yields the reduced buckets, in their order, given the folder of the work and the numbers of the buckets."""


def uniq(
    inputs: Path | str | Sequence[Path | str],
    out: Path | str,
    *,
    mode: Mode | str = Mode.FIRST_MOVE,
    scratch: Path | str | None = None,
    check_space: bool = True,
    listener: Listener = SILENT,
) -> Summary:
    """Remove duplicate positions from hcpe files. After a kill the same call resumes the work.

    Args:
        inputs: hcpe files; with mode "shares" also hcpe2, hcpe3 and avg.
        out: The hcpe file to write; avg with mode "shares".
        mode: Which rows are duplicates, and what is kept of them.
        scratch: Folder for the work, as large as the inputs; None: beside `out`.
        check_space: Begin only if the disks have room even without duplicates.
        listener: Hears of the progress.

    Raises:
        JobError: The folder of the work has another job, or a file in it is damaged.
        LockedError: Another process is working on this job.
        DiskError: A disk is too small, or full.
        ValueError: An input is damaged or has another format.
        OSError: A file cannot be read or written.
    """
    given = {"mode": mode, "inputs": _paths(inputs), "out": out, "scratch": scratch, "check_space": check_space}
    return run_dedup(build(DedupSettings, given), listener=listener)


def average(
    inputs: Path | str | Sequence[Path | str],
    out: Path | str,
    *,
    evalfix: bool = False,
    weighing: Weighing | str = Weighing.EVENLY,
    scratch: Path | str | None = None,
    check_space: bool = True,
    listener: Listener = SILENT,
) -> Summary:
    """Average positions: write each once, with the sums of its values, results, moves and visits.

    After a kill the same call resumes the work. The summary's `found` has the number of moves.

    Args:
        inputs: hcpe, hcpe2, hcpe3 and avg files.
        out: The avg file to write.
        evalfix: Rescale the evaluations of each input to dlshogi's scale, fitted to its results.
        weighing: How much each search counts for the moves of its position.
        scratch: Folder for the work, as large as the inputs; None: beside `out`.
        check_space: Begin only if the disks have room even without duplicates.
        listener: Hears of the progress.

    Raises:
        JobError: An average has another weighing; the folder of the work has another job, or a damaged file.
        LockedError: Another process is working on this job.
        DiskError: A disk is too small, or full.
        ValueError: An input is damaged or has another format.
        OSError: A file cannot be read or written.
    """
    given = {"mode": Mode.SHARES, "inputs": _paths(inputs), "out": out, "scratch": scratch, "check_space": check_space}
    return run_dedup(build(DedupSettings, given, {"weighing": weighing, "evalfix": evalfix}), listener=listener)


def _paths(given: Path | str | Sequence[Path | str]) -> tuple[Path, ...]:
    return tuple(Path(path) for path in ([given] if isinstance(given, str | Path) else given))


def run_dedup(settings: DedupSettings, *, listener: Listener = SILENT, reduce: Reducer | None = None) -> Summary:
    """Run a deduplication, or what is left of it.

    The summary's `found` has the number of moves (of averages), the scale of evaluations fitted to each input in
    centipawns (None without a fit), and the number of buckets.

    Args:
        settings: What to do.
        listener: Hears of the progress.
        reduce: Reduces the buckets; None: this process does.

    Raises:
        JobError: The folder of the work has another job, or a file in it is damaged.
        LockedError: Another process is working on this job.
        DiskError: A disk is too small, or full.
        ValueError: An input is damaged or has another format.
        OSError: A file cannot be read or written.
    """
    options = _options(settings)
    weighing = settings.weighing if settings.mode.writes_averages else None
    with Job(
        "average" if weighing else "uniq", settings.inputs, [settings.out], options,
        spools=["moves"] if weighing else [], scratch=settings.scratch, listener=listener,
        room=_room(settings, options) if settings.check_space else None, remedy=REMEDY,
    ) as job:  # fmt: skip
        _read(job, settings, options)
        if not job.is_done(Stage.REDUCE):
            output = Output(job, weighing)
            _reduce(job, output, 1 << options["bucket_bits"], reduce or reduce_in_turn)
            rows = zip(options["kinds"], options["rows"], strict=True)
            job.read += sum(count for kind, count in rows if kind == Kind.AVERAGES)
            job.listener.progress(Stage.WRITE, 0, 1)
            output.complete()
        return job.finish()


def _options(settings: DedupSettings) -> dict[str, Any]:
    """The options of the job, with the kind and the number of rows of each input.

    Raises:
        JobError: An average cannot be added to the others.
        ValueError: An input is damaged or has another format.
        OSError: An input cannot be read.
    """
    taken = tuple(Kind) if settings.mode.writes_averages else (Kind.RECORDS,)
    kinds = [kind_of(path, taken) for path in settings.inputs]
    for path, kind in zip(settings.inputs, kinds, strict=True):
        if kind is Kind.AVERAGES:
            _check_average(settings, path)
    size = sum(path.stat().st_size for path in settings.inputs)
    bits = max(0, min(MOST_BUCKET_BITS, (size // BUCKET_BYTES).bit_length()))
    return {
        "mode": str(settings.mode),
        "weighing": str(settings.weighing),
        "kinds": [str(kind) for kind in kinds],
        "rows": [most_rows(path, kind) for path, kind in zip(settings.inputs, kinds, strict=True)],
        "evalfix": settings.evalfix,
        "bucket_bits": bits if settings.bucket_bits is None else settings.bucket_bits,
        "hash_bits": settings.hash_bits,
    }


def _check_average(settings: DedupSettings, path: Path) -> None:
    if settings.evalfix:
        raise JobError(f"{path} is averaged: its evaluations can no longer be rescaled")
    if (weighing := read_weighing(path)) is not settings.weighing:
        raise JobError(
            f"{path} was averaged with the weighing {weighing}, and {settings.out} has {settings.weighing}: their sums "
            f"cannot be added; choose the weighing {weighing}, or average the games of {path} again"
        )


def _room(settings: DedupSettings, options: dict[str, Any]) -> Room:
    """The disk space that the job takes if there are no duplicates; buckets are removed when they are reduced."""
    work = rows = moves = 0
    for path, kind, count in zip(settings.inputs, options["kinds"], options["rows"], strict=True):
        rows += count
        if kind == Kind.AVERAGES:
            size = path.stat().st_size - HEADER.itemsize
            moves += size // MOVE.itemsize - count * (POSITION.itemsize // MOVE.itemsize)
        else:
            moves += count
            work += count * (_SEARCHED_BYTES if kind == Kind.GAMES else HCPE.itemsize)
    if not settings.mode.writes_averages:
        return Room(work, work, work)
    moves *= MOVE.itemsize
    out = HEADER.itemsize + rows * POSITION.itemsize + moves
    return Room(max(work, moves), out, max(work, out + moves))  # moves are appended to the positions at the end


def _read(job: Job, settings: DedupSettings, options: dict[str, Any]) -> None:
    """Spread all rows over the buckets."""
    if job.is_done(Stage.READ):
        return
    files = list(zip(settings.inputs, map(Kind, options["kinds"]), options["rows"], strict=True))
    _check_averages(job, [path for path, kind, _ in files if kind is Kind.AVERAGES], settings.hash_bits)
    spread = Spread(
        job,
        [(path, kind) for path, kind, _ in files if kind is not Kind.AVERAGES],
        evalfix=settings.evalfix,
        bucket_bits=options["bucket_bits"],
        hash_bits=settings.hash_bits,
    )
    total = sum(count for _, kind, count in files if kind is not Kind.AVERAGES)
    job.listener.progress(Stage.READ, job.read, total)

    def chunks(place: list[int] | None) -> Iterator[tuple[Chunk, list[int]]]:
        return spread.chunks(*(place or (0, 0)))

    for chunk in job.stream(Stage.READ, chunks, spread.remember):
        spread.append(chunk)
        job.read += len(chunk.rows)
        job.listener.progress(Stage.READ, job.read, total)


def _check_averages(job: Job, paths: list[Path], hash_bits: int) -> None:
    """Check the inputs that are averages before anything is made of them."""
    if not paths:
        return
    advance = counter(job.listener, Stage.CHECK, sum(path.stat().st_size for path in paths))
    for path in paths:
        check_averages(path, hash_bits=hash_bits, advance=advance)


def _reduce(job: Job, output: Output, buckets: int, reduce: Reducer) -> None:
    """Append all reduced buckets to the output."""
    done: int = job.place(Stage.REDUCE) or 0
    job.listener.progress(Stage.REDUCE, done, buckets)
    left = range(done, buckets)
    for bucket, reduced in zip(left, reduce(job.folder.path, left), strict=True):
        output.append(reduced)
        job.reached(Stage.REDUCE, bucket + 1, now=True)
        remove_bucket(job.folder, bucket)
        job.listener.progress(Stage.REDUCE, bucket + 1, buckets)


def reduce_in_turn(folder: Path, buckets: range) -> Iterator[Reduced]:
    """Reduce buckets one after the other in this process."""
    # The GNU allocator keeps twice the largest block that was ever freed for the next bucket. Without a large one it
    # returns memory after each bucket, and the kernel clears it again: a tenth of the time. This one is never touched.
    np.empty(_KEPT_BYTES, np.uint8)
    return (reduce_bucket(folder, bucket) for bucket in buckets)
