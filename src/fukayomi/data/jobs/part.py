"""Files that grow from run to run of a job."""

import os
from pathlib import Path

from fukayomi.data.jobs.folder import WorkFolder

# Bytes. Small enough for the memory pages that a removed bucket file has freed: writing more at once takes pages that
# are not in use yet, which costs ten times as much on a virtual machine.
_WRITTEN_AT_ONCE = 1 << 18


def part_of(out: Path) -> Path:
    """Path of an output until it is complete."""
    return out.with_name(f".{out.name}.part")


class PartFile:
    """A file that grows; after a kill it is cut to its size at the last checkpoint."""

    def __init__(self, folder: WorkFolder, path: Path, size: int, items: int) -> None:
        """Open the file as it was at a checkpoint.

        Args:
            folder: The job's folder.
            path: Path of the file; it is created if it does not exist.
            size: Its bytes at the checkpoint.
            items: Its items at the checkpoint.

        Raises:
            JobError: The file is shorter than it was.
            OSError: It cannot be opened.
        """
        self.path, self.size, self.items = path, size, items
        found = path.stat().st_size if path.exists() else 0
        if found < size:
            raise folder.damaged(path)
        # Without a buffer nothing is left to write when the file is closed, which a full disk would refuse.
        self._file = path.open("r+b" if path.exists() else "xb", buffering=0)
        if found > size:
            self._file.truncate(size)
        self._file.seek(size)

    def append(self, data: bytes | memoryview, items: int) -> None:
        """Add bytes at the end, which hold `items` items."""
        rest = memoryview(data)
        while len(rest):
            written = self._file.write(rest[:_WRITTEN_AT_ONCE])
            rest, self.size = rest[written:], self.size + written
        self.items += items

    def overwrite(self, offset: int, data: bytes) -> None:
        """Replace bytes that were written before."""
        self._file.seek(offset)
        self._file.write(data)
        self._file.seek(self.size)

    def sync(self) -> None:
        """Wait until the disk has everything."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
