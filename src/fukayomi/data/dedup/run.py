"""A whole deduplication: spread the inputs over buckets, then reduce one bucket after the other."""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from fukayomi.data.dedup.inputs import CANDIDATE, SEARCHED, Chunk, Kind, Spread, kind_of, most_rows
from fukayomi.data.dedup.reduce import Output, Reduced, reduce_bucket, remove_bucket
from fukayomi.data.dedup.settings import DedupSettings, Mode, Weighing
from fukayomi.data.formats.averages import HEADER, MOVE, POSITION, check_averages, read_weighing
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.jobs.job import Job, JobError, Summary
from fukayomi.files.disk import Room
from fukayomi.listener import SILENT, Listener, counter
from fukayomi.settings import build

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
