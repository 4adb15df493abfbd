"""Locks that end with their process, however it ends.

Both kinds are the operating system's locks on open files, which the library filelock takes on every system.
"""

import os
from pathlib import Path
from typing import Self

from fukayomi.errors import FukayomiError

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


class LockedError(FukayomiError, OSError):
    """Another process holds the lock. The message names the folder."""


class FolderLock:
    """Lets one process at a time work in a folder. Use it as a context manager, or call `release`.

    The lock is on a file in the folder, which stays there: removing it could let two processes in.

        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> with FolderLock(folder):
        ...     FolderLock(folder)  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        LockedError: another process is working in ...
    """

    def __init__(self, folder: Path, name: str = "lock", *, wait: bool = False) -> None:
        """Take the lock.

        Args:
            folder: An existing folder.
            name: Name of the lock's file in it.
            wait: Wait until the lock is free; for work that takes milliseconds.

        Raises:
            LockedError: Another process, or another FolderLock of this one, holds the lock.
            OSError: The file cannot be opened, or the file system has no locks.
        """
        self._descriptor: int | None = os.open(folder / name, _FLAGS, 0o666)
        try:
            if not try_lock(self._descriptor, wait=wait):
                raise LockedError(f"another process is working in {folder}")
        except BaseException:
            self.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """End the lock. Calling it again does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_locked(folder: Path, name: str = "lock") -> bool:
    """True if somebody holds the lock of a folder; False where it cannot be tried, as on a disk that is read-only."""
    if not (folder / name).is_file():
        return False
    try:
        FolderLock(folder, name).release()
    except LockedError:
        return True
    except OSError:
        return False
    return False


def try_lock(descriptor: int, *, wait: bool = False) -> bool:
    """Lock an open file; closing its descriptor ends the lock.

    On Windows nobody else can read the first byte of a locked file, except through a memory map.

    Args:
        descriptor: Of a file that is open for writing.
        wait: Wait until the lock is free.

    Returns:
        Whether it is locked now; False if another process or descriptor holds the lock.

    Raises:
        OSError: The file system has no locks.
    """
    from filelock import lock_descriptor  # takes as long to import as all of a command's help

    return lock_descriptor(descriptor, blocking=wait, poll_interval=0.01)
