"""Room on disks: whether there is enough before work begins, and what is said where there is none left."""

import errno
import shutil
from dataclasses import dataclass
from pathlib import Path

_SPARE_BYTES = 16 << 20  # for what is small, and for what other programs write meanwhile
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk's quota is used up",
    errno.EFBIG: "the file is as large as its file system, or a limit, allows",
}


class DiskError(OSError):
    """There is no room on a disk; the message says where, how much, and what to do."""


@dataclass(frozen=True, slots=True)
class Room:
    """What will be written at the most, in bytes."""

    work: int
    """In the folder of the work."""
    out: int
    """Beside the output."""
    together: int
    """Of both at any one time; parts of the work may be gone when parts of the output come."""

    def check(self, work: Path, out: Path, remedy: str) -> None:
        """Compare it with what is free.

        Args:
            work: The folder of the work, which need not be there yet.
            out: That of the output.
            remedy: What helps, beside making room; for the message.

        Raises:
            DiskError: It may be too little.
        """
        work, out = _existing(work), _existing(out)
        if work.stat().st_dev == out.stat().st_dev:
            _check_free(out, self.together, remedy)
        else:
            _check_free(work, self.work, remedy)
            _check_free(out, self.out, remedy)


def raise_if_full(error: OSError, consequence: str, *folders: Path) -> None:
    """Raise a DiskError if that is what the error says; other errors are left to the caller.

    Args:
        error: What writing raised.
        consequence: What it means for the work, and how it goes on; for the message.
        folders: Those that were written to, of one of which the disk is full.

    Raises:
        DiskError: The disk is full.
    """
    if isinstance(error, DiskError) or error.errno not in _REASONS:
        return
    by_disk = {folder.stat().st_dev: folder for folder in map(_existing, folders)}
    free = [f"{size_text(shutil.disk_usage(folder).free)} free at {folder}" for folder in by_disk.values()]
    told = DiskError(f"{_REASONS[error.errno]} ({', '.join(free)}); {consequence}")
    told.errno = error.errno
    raise told from error


def size_text(size: int) -> str:
    """A number of bytes for messages: 1.5 GiB, 20.0 MiB."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.1f} MiB"


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    folder = folder.absolute()
    return next(place for place in (folder, *folder.parents) if place.exists())


def _check_free(folder: Path, most: int, remedy: str) -> None:
    usage = shutil.disk_usage(folder)
    # Some file systems over a network do not tell their size.
    if usage.total and usage.free < most + _SPARE_BYTES:
        raise DiskError(
            f"up to {size_text(most + _SPARE_BYTES)} are needed, and {size_text(usage.free)} are free at {folder}; "
            f"make room, or {remedy}"
        )
