"""What a deduplication does, and what it needs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fukayomi.data.dedup.inputs import CANDIDATE, SEARCHED, Kind, kind_of, most_rows
from fukayomi.data.dedup.modes import Mode, Weighing
from fukayomi.data.formats.averages import HEADER, MOVE, POSITION, read_weighing
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.jobs.folder import JobError
from fukayomi.files.disk import Room

BUCKET_BYTES = 4 << 20
"""Size of a bucket to aim at: small enough for the processor's cache, large enough for the disk."""
MOST_BUCKET_BITS = 10
REMEDY = "choose another folder for the work (scratch), or skip this check (check space) if there are many duplicates"
_SEARCHED_BYTES = SEARCHED.itemsize + CANDIDATE.itemsize  # an hcpe3 move with one candidate; more take less per byte


@dataclass(frozen=True, slots=True)
class DedupSettings:
    """What a deduplication does."""

    mode: Mode
    inputs: tuple[Path, ...]
    """hcpe files; with Mode.SHARES also hcpe2, hcpe3 and avg."""
    out: Path
    scratch: Path | None = None
    """Folder for the work; None: beside `out`."""
    weighing: Weighing = Weighing.EVENLY
    """How much each search counts for the moves of averages."""
    evalfix: bool = False
    """Rescale the evaluations of each input to dlshogi's scale, fitted to its results."""
    check_space: bool = True
    """Begin only if the disks have room even without duplicates."""
    bucket_bits: int | None = None
    """log2 of the number of buckets; None: chosen by the size of the inputs."""
    hash_bits: int = 64
    """Bits of the hash that count; less than 64 only in tests."""

    @property
    def folder(self) -> Path:
        """The folder of the work, which exists until the job is done."""
        return (self.scratch or self.out.parent).absolute() / f".{self.out.name}.work"

    def options(self) -> dict[str, Any]:
        """The options of the job, with the kind and the number of rows of each input.

        Raises:
            JobError: An average cannot be added to the others.
            ValueError: An input is damaged or has another format.
            OSError: An input cannot be read.
        """
        taken = tuple(Kind) if self.mode.writes_averages else (Kind.RECORDS,)
        kinds = [kind_of(path, taken) for path in self.inputs]
        for path, kind in zip(self.inputs, kinds, strict=True):
            if kind is Kind.AVERAGES:
                self._check_average(path)
        size = sum(path.stat().st_size for path in self.inputs)
        bits = max(0, min(MOST_BUCKET_BITS, (size // BUCKET_BYTES).bit_length()))
        return {
            "mode": str(self.mode),
            "weighing": str(self.weighing),
            "kinds": [str(kind) for kind in kinds],
            "rows": [most_rows(path, kind) for path, kind in zip(self.inputs, kinds, strict=True)],
            "evalfix": self.evalfix,
            "bucket_bits": bits if self.bucket_bits is None else self.bucket_bits,
            "hash_bits": self.hash_bits,
        }

    def _check_average(self, path: Path) -> None:
        if self.evalfix:
            raise JobError(f"{path} is averaged: its evaluations can no longer be rescaled")
        if (weighing := read_weighing(path)) is not self.weighing:
            raise JobError(
                f"{path} was averaged with the weighing {weighing}, and {self.out} has {self.weighing}: their sums "
                f"cannot be added; choose the weighing {weighing}, or average the games of {path} again"
            )

    def room(self, options: dict[str, Any]) -> Room:
        """The disk space that the job takes if there are no duplicates; buckets are removed when they are reduced."""
        work = rows = moves = 0
        for path, kind, count in zip(self.inputs, options["kinds"], options["rows"], strict=True):
            rows += count
            if kind == Kind.AVERAGES:
                size = path.stat().st_size - HEADER.itemsize
                moves += size // MOVE.itemsize - count * (POSITION.itemsize // MOVE.itemsize)
            else:
                moves += count
                work += count * (_SEARCHED_BYTES if kind == Kind.GAMES else HCPE.itemsize)
        if not self.mode.writes_averages:
            return Room(work, work, work)
        moves *= MOVE.itemsize
        out = HEADER.itemsize + rows * POSITION.itemsize + moves
        return Room(max(work, moves), out, max(work, out + moves))  # moves are appended to the positions at the end
