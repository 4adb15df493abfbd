"""A whole job: spread the inputs over buckets, and reduce one after the other."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from fukayomi.data.averages import MOVE, POSITION, read_averages
from fukayomi.data.dedup.folder import JobError, WorkFolder
from fukayomi.data.dedup.inputs import count_rows, is_averages
from fukayomi.data.dedup.modes import Mode
from fukayomi.data.dedup.output import Output, Reduced
from fukayomi.data.dedup.partition import Partition
from fukayomi.data.dedup.reduce import JOB, reduce_bucket, remove_bucket

BUCKET_BYTES = 4 << 20
"""What a bucket should hold: small enough for the processor's cache, large enough for the disk."""
MOST_BUCKET_BITS = 10
_SPARE_BYTES = 64 << 20  # left free on every disk


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
        evalfix: Bring the evaluations of each input to one scale, fitted to its results.
        bucket_bits: There are 2 to the power of so many buckets; by the inputs' size where it is None.
        hash_bits: How much of the hash counts: less than 64 in tests only.
    """

    mode: Mode
    inputs: tuple[Path, ...]
    out: Path
    scratch: Path | None = None
    evalfix: bool = False
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


def run_job(job: Job, listener: Listener = lambda *_: None, reduce: Reducer | None = None) -> Summary:
    """Do a job, or what is left of it. After an error or Ctrl-C the same job goes on where it was.

    Args:
        job: What is to be done.
        listener: Told of the progress.
        reduce: Yields what the given buckets of a job's folder become, in their order; in this process where it is None.

    Raises:
        JobError: Another job is in the folder, another process is at it, a disk is too small, or a file is damaged.
        ValueError: An input is not what it should be.
        OSError: Something cannot be read or written.
    """
    start = time.monotonic()
    description = _describe(job)
    rows, buckets = description["rows"], 1 << description["bucket_bits"]
    with WorkFolder(job.folder) as folder:
        resumed = _claim(folder, job, description)
        partition = Partition(folder, _read_inputs(description), description["bucket_bits"], job.hash_bits)
        listener(Stage.READ, partition.rows, rows)
        partition.run(lambda done: listener(Stage.READ, done, rows), evalfix=job.evalfix)
        output = Output(folder, job.out, averages=job.mode.writes_averages)
        listener(Stage.REDUCE, output.buckets, buckets)
        left = range(output.buckets, buckets)
        for bucket, reduced in zip(left, (reduce or reduce_in_turn)(folder.path, left), strict=True):
            output.append(reduced)
            remove_bucket(folder.path, bucket)
            listener(Stage.REDUCE, output.buckets, buckets)
        listener(Stage.WRITE, 0, 1)
        output.finish()
        folder.remove()
    return Summary(
        rows + description["averaged"], output.rows, output.moves, tuple(partition.scales), buckets, resumed,
        time.monotonic() - start,
    )  # fmt: skip


def reduce_in_turn(folder: Path, buckets: range) -> Iterator[Reduced]:
    """Reduce buckets one after the other in this process."""
    return (reduce_bucket(folder, bucket) for bucket in buckets)


def _describe(job: Job) -> dict[str, Any]:
    """All that two runs must have in common to be the same job; becomes job.json."""
    averages = [path for path in job.inputs if is_averages(path)]
    if averages and not job.mode.writes_averages:
        raise JobError(f"{averages[0]} has averaged positions, of which only averages can be made (.avg)")
    if averages and job.evalfix:
        raise JobError(f"{averages[0]} is averaged: the scale of its evaluations can no longer be fitted")
    if any(path.absolute() == job.out.absolute() for path in job.inputs):
        raise JobError(f"{job.out} is read and written; give the output a name of its own")
    rows = sum(count_rows(path) for path in job.inputs if path not in averages)
    averaged = sum(len(read_averages(path)) for path in averages)
    size = sum(path.stat().st_size for path in job.inputs)
    bits = max(0, min(MOST_BUCKET_BITS, (size // BUCKET_BYTES).bit_length()))
    return {
        "version": 1,
        "mode": str(job.mode),
        "out": str(job.out.absolute()),
        "inputs": [_stamp(path) for path in job.inputs],
        "averages": [str(path.absolute()) for path in averages],
        "rows": rows,
        "averaged": averaged,
        "evalfix": job.evalfix,
        "bucket_bits": bits if job.bucket_bits is None else job.bucket_bits,
        "hash_bits": job.hash_bits,
    }


def _stamp(path: Path) -> list[Any]:
    status = path.stat()
    return [str(path.absolute()), status.st_size, status.st_mtime_ns]


def _read_inputs(description: dict[str, Any]) -> list[Path]:
    return [Path(name) for name, _, _ in description["inputs"] if name not in description["averages"]]


def _claim(folder: WorkFolder, job: Job, description: dict[str, Any]) -> bool:
    """Whether the folder has this job's work already; begins it otherwise.

    Raises:
        JobError: It has another job's, or there is too little space to begin.
    """
    found = folder.read(JOB)
    if found is None:
        try:
            _check_space(job, description)
        except JobError:
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


def _check_space(job: Job, description: dict[str, Any]) -> None:
    # A bucket's rows are removed when they have been reduced: never are there two whole copies.
    scratch = sum(size for name, size, _ in description["inputs"] if name not in description["averages"])
    most_out = scratch
    if job.mode.writes_averages:
        averaged = sum(size for name, size, _ in description["inputs"] if name in description["averages"])
        most_out = description["rows"] * (POSITION.itemsize + MOVE.itemsize) + averaged
    work, out = job.folder, job.out.absolute().parent
    if work.stat().st_dev == out.stat().st_dev:
        _check_free(out, max(scratch, most_out))
    else:
        _check_free(work, max(scratch, most_out))
        _check_free(out, most_out)


def _check_free(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE_BYTES:
        raise JobError(
            f"{folder} has {free / 1e9:.1f} GB free, and up to {(needed + _SPARE_BYTES) / 1e9:.1f} GB are needed; "
            "make room, or choose another disk for the work (--scratch)"
        )
