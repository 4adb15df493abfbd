"""A whole job: spread the inputs over buckets, and reduce one after the other."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from fukayomi.data.dedup.inputs import CANDIDATE, SIGHT, Kind, kind_of, most_rows
from fukayomi.data.dedup.modes import Mode, Weighing
from fukayomi.data.dedup.output import Output, Reduced, part_of
from fukayomi.data.dedup.partition import Partition
from fukayomi.data.dedup.reduce import JOB, reduce_bucket, remove_bucket
from fukayomi.data.formats.averages import HEADER, MOVE, POSITION, read_weighing
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.formats.rows import DataFileError
from fukayomi.data.jobs.folder import JobError, WorkFolder
from fukayomi.files.disk import DiskError, Room, raise_if_full

BUCKET_BYTES = 4 << 20
"""What a bucket should hold: small enough for the processor's cache, large enough for the disk."""
MOST_BUCKET_BITS = 10
_KEPT_BYTES = 31 << 20  # of larger blocks the allocator takes no note
_SEARCHED_BYTES = SIGHT.itemsize + CANDIDATE.itemsize  # a move of hcpe3 with one candidate; those with more take less


class Stage(StrEnum):
    """What a job is doing."""

    READ = "reading"
    REDUCE = "reducing"
    WRITE = "writing"


Listener = Callable[[Stage, int, int], None]
"""Called with the stage, what is done of it and how much there is: rows while reading, buckets while reducing."""

Reducer = Callable[[Path, range], Iterator[Reduced]]


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done.

    Attributes:
        mode: Which rows are the same, and what is kept of them.
        inputs: hcpe files; with Mode.SHARES averaged positions too.
        out: The file to write.
        scratch: The folder for the work; beside `out` where it is None.
        weighing: How much each record says about the moves of averages.
        evalfix: Bring the evaluations of each input to one scale, fitted to its results.
        check_space: Begin only where the disks have room for the most that may be written.
        bucket_bits: There are 2 to the power of so many buckets; by the inputs' size where it is None.
        hash_bits: How much of the hash counts: less than 64 in tests only.
    """

    mode: Mode
    inputs: tuple[Path, ...]
    out: Path
    scratch: Path | None = None
    weighing: Weighing = Weighing.EVENLY
    evalfix: bool = False
    check_space: bool = True
    bucket_bits: int | None = None
    hash_bits: int = 64

    @property
    def folder(self) -> Path:
        """The job's own folder, which stays until the job is done."""
        return (self.scratch or self.out.absolute().parent) / f".{self.out.name}.work"


@dataclass(frozen=True, slots=True)
class Summary:
    """What was done.

    Attributes:
        rows: Rows of all inputs; positions of those that are averages.
        kept: Rows written: records of an hcpe file, positions of an .avg file.
        moves: Moves of the positions of an .avg file; 0 for hcpe.
        scales: The scale of evaluations fitted to each input, in centipawns; None where nothing was fitted.
        buckets: How many there were.
        resumed: Whether an earlier run had begun.
        seconds: Of this run.
    """

    rows: int
    kept: int
    moves: int
    scales: tuple[float | None, ...]
    buckets: int
    resumed: bool
    seconds: float


def run_job(job: Job, listener: Listener = lambda stage, done, total: None, reduce: Reducer | None = None) -> Summary:
    """Do a job, or what is left of it. After an error or Ctrl-C the same job goes on where it was.

    Only of a job whose inputs are damaged nothing stays: they have to become others.

    Args:
        job: What is to be done.
        listener: Told of the progress.
        reduce: Yields what the given buckets of a job's folder become, in their order; this process where it is None.

    Raises:
        JobError: Another job is in the folder, another process is at it, or a file is damaged.
        DiskError: A disk is too small, or full.
        ValueError: An input is not what it should be.
        OSError: Something cannot be read or written.
    """
    start = time.monotonic()
    description = _describe(job)
    try:
        with WorkFolder(job.folder) as folder:
            resumed = _claim(folder, job, description)
            try:
                partition, output = _run(job, description, folder, listener, reduce or reduce_in_turn)
            except DataFileError:  # work on inputs that are damaged is of no use
                part_of(job.out).unlink(missing_ok=True)
                folder.remove()
                raise
    except OSError as error:
        on = f"make room, and the same command goes on with the work in {job.folder}"
        raise_if_full(error, on, job.folder, job.out.parent)
        raise
    rows = partition.rows + _rows(description, averaged=True)
    scales, seconds = tuple(partition.scales), time.monotonic() - start
    buckets = 1 << description["bucket_bits"]
    return Summary(rows, output.rows, output.moves, scales, buckets, resumed, seconds)


def _run(
    job: Job, description: dict[str, Any], folder: WorkFolder, listener: Listener, reduce: Reducer
) -> tuple[Partition, Output]:
    """What is left of a job, to its end."""
    rows, buckets = _rows(description, averaged=False), 1 << description["bucket_bits"]
    inputs = [(Path(item["path"]), Kind(item["kind"])) for item in description["inputs"]]
    inputs = [(path, kind) for path, kind in inputs if kind is not Kind.AVERAGES]
    partition = Partition(folder, inputs, description["bucket_bits"], job.hash_bits)
    listener(Stage.READ, partition.rows, rows)
    partition.run(lambda done: listener(Stage.READ, done, rows), evalfix=job.evalfix)
    output = Output(folder, job.out, job.weighing if job.mode.writes_averages else None)
    listener(Stage.REDUCE, output.buckets, buckets)
    left = range(output.buckets, buckets)
    for bucket, reduced in zip(left, reduce(folder.path, left), strict=True):
        output.append(reduced)
        remove_bucket(folder.path, bucket)
        listener(Stage.REDUCE, output.buckets, buckets)
    listener(Stage.WRITE, 0, 1)
    output.finish()
    folder.remove()
    return partition, output


def reduce_in_turn(folder: Path, buckets: range) -> Iterator[Reduced]:
    """Reduce buckets one after the other in this process."""
    # The GNU allocator keeps twice the largest block that was ever freed for the next bucket. Without a large one it
    # gives memory back after each, and the kernel clears it again: a tenth of the time. Nothing touches this one.
    np.empty(_KEPT_BYTES, np.uint8)
    return (reduce_bucket(folder, bucket) for bucket in buckets)


def _describe(job: Job) -> dict[str, Any]:
    """All that two runs must have in common to be the same job; becomes job.json."""
    taken = tuple(Kind) if job.mode.writes_averages else (Kind.RECORDS,)
    kinds = [kind_of(path, taken) for path in job.inputs]
    for path, kind in zip(job.inputs, kinds, strict=True):
        if kind is Kind.AVERAGES and job.evalfix:
            raise JobError(f"{path} is averaged: the scale of its evaluations can no longer be fitted")
        if kind is Kind.AVERAGES and (weighing := read_weighing(path)) is not job.weighing:
            raise JobError(
                f"{path} is weighed {weighing}, and {job.out} is to be weighed {job.weighing}; such sums cannot be "
                f"added: average with --weigh {weighing}, or make {path} again"
            )
        if path.absolute() == job.out.absolute():
            raise JobError(f"{job.out} is read and written; give the output a name of its own")
    size = sum(path.stat().st_size for path in job.inputs)
    bits = max(0, min(MOST_BUCKET_BITS, (size // BUCKET_BYTES).bit_length()))
    return {
        "version": 3,
        "mode": str(job.mode),
        "weighing": str(job.weighing),
        "out": str(job.out.absolute()),
        "inputs": [_stamp(path, kind) for path, kind in zip(job.inputs, kinds, strict=True)],
        "evalfix": job.evalfix,
        "bucket_bits": bits if job.bucket_bits is None else job.bucket_bits,
        "hash_bits": job.hash_bits,
    }


def _stamp(path: Path, kind: Kind) -> dict[str, Any]:
    status = path.stat()
    return {
        "path": str(path.absolute()), "kind": str(kind), "rows": most_rows(path, kind), "bytes": status.st_size,
        "changed_ns": status.st_mtime_ns,
    }  # fmt: skip


def _rows(description: dict[str, Any], *, averaged: bool) -> int:
    """Rows of all averaged inputs, or of all others."""
    return sum(item["rows"] for item in description["inputs"] if (item["kind"] == Kind.AVERAGES) == averaged)


def _claim(folder: WorkFolder, job: Job, description: dict[str, Any]) -> bool:
    """Whether the folder has this job's work already; begins it otherwise.

    Raises:
        JobError: It has another job's.
        DiskError: There is too little room to begin.
    """
    found = folder.read(JOB)
    if found is None:
        try:
            if job.check_space:
                remedy = "choose another disk for the work (--scratch), or --no-check-space if much is there twice"
                room_for(job, description).check(job.folder, job.out.absolute().parent, remedy)
        except DiskError:
            folder.remove()
            raise
        folder.write(JOB, description)
        return False
    if found != description:
        different = ", ".join(key for key in description if found.get(key) != description[key])
        raise JobError(
            f"{folder.path} holds the unfinished work of another job (other: {different}); "
            "finish that, or remove the folder"
        )
    return True


def room_for(job: Job, description: dict[str, Any]) -> Room:
    """What a job writes if nothing is there twice. A bucket's rows are removed when they have been reduced."""
    work = rows = moves = 0
    for item in description["inputs"]:
        rows += item["rows"]
        if item["kind"] == Kind.AVERAGES:
            moves += (item["bytes"] - HEADER.itemsize) // MOVE.itemsize - item["rows"] * 4  # a position is 4 moves long
        else:
            moves += item["rows"]
            work += item["rows"] * (_SEARCHED_BYTES if item["kind"] == Kind.GAMES else HCPE.itemsize)
    if not job.mode.writes_averages:
        return Room(work, work, work)
    moves *= MOVE.itemsize
    out = HEADER.itemsize + rows * POSITION.itemsize + moves
    return Room(max(work, moves), out, max(work, out + moves))  # moves are put behind the positions at the end
