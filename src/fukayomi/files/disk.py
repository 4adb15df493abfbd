"""Room on disks: checked before work begins, and reported when it runs out."""

import errno
import shutil
from dataclasses import dataclass
from pathlib import Path

from fukayomi.errors import FukayomiError

_SPARE_BYTES = 16 << 20  # for small files, and for what other programs write meanwhile
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file has reached the limit of its file system or of the user",
}


class DiskError(FukayomiError, OSError):
    """A disk has no room. The message says where, how much is free, and what to do."""


@dataclass(frozen=True, slots=True)
class Room:
    """The most bytes that a job writes."""

    work: int
    """In the folder of the work."""
    out: int
    """In the folder of the output."""
    together: int
    """In both at any one time; parts of the work may be removed while the output grows."""

    def check(self, work: Path, out: Path, remedy: str) -> None:
        """Compare the bytes with what is free.

        Args:
            work: Folder of the work, which need not exist yet.
            out: Folder of the output.
            remedy: What helps besides making room, for the message.

        Raises:
            DiskError: There may be too little room.
        """
        work, out = _existing(work), _existing(out)
        if work.stat().st_dev == out.stat().st_dev:
            _check_free(out, self.together, remedy)
        else:
            _check_free(work, self.work, remedy)
            _check_free(out, self.out, remedy)


def raise_if_full(error: OSError, consequence: str, *folders: Path) -> None:
    """Raise a DiskError if an error means that a disk is full; return otherwise.

    Args:
        error: What writing raised.
        consequence: What it means for the work and what to do, for the message.
        folders: Folders that were written to; the disk of one of them is full.

    Raises:
        DiskError: A disk is full.
    """
    if isinstance(error, DiskError) or error.errno not in _REASONS:
        return
    by_disk = {folder.stat().st_dev: folder for folder in map(_existing, folders)}
    free = [f"{size_text(shutil.disk_usage(folder).free)} free at {folder}" for folder in by_disk.values()]
    full = DiskError(f"{_REASONS[error.errno]} ({', '.join(free)}); {consequence}")
    full.errno = error.errno
    raise full from error


def size_text(size: int) -> str:
    """A number of bytes for messages: 1.5 GiB, 20.0 MiB."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.1f} MiB"


def _existing(folder: Path) -> Path:
    """The folder, or its nearest parent that exists."""
    folder = folder.absolute()
    return next(place for place in (folder, *folder.parents) if place.exists())


def _check_free(folder: Path, most: int, remedy: str) -> None:
    usage = shutil.disk_usage(folder)
    # Some network file systems report no size.
    if usage.total and usage.free < most + _SPARE_BYTES:
        raise DiskError(
            f"up to {size_text(most + _SPARE_BYTES)} are needed, and {size_text(usage.free)} are free at {folder}; "
            f"make room, or {remedy}"
        )
