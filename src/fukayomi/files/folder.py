"""Folders whose files appear together, flushed to the disk once and not file by file."""

import contextlib
import ctypes
import os
import shutil
from pathlib import Path, PurePath
from types import TracebackType
from typing import Self

from fukayomi.files.disk import raise_if_full
from fukayomi.files.lock import FolderLock

_LOCK = ".lock"
_FLUSHED_ONE_BY_ONE = 64  # files; flushing the whole file system takes longer for so few


class AtomicFolder:
    """A folder of new files, which appear under its name only when all are complete.

    Use it as a context manager: it writes to a temporary folder beside the target. Leaving the block flushes all files
    to the disk and moves them into place: the whole folder at once if the target does not exist, otherwise file by
    file, and other files in the target stay. Leaving it by an exception (or Ctrl-C) keeps the target as it was. What a
    kill leaves is removed when the same target is written again.

        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "games"
        >>> with AtomicFolder(path) as folder:
        ...     folder.write(PurePath("2026/a.usi"), b"startpos")
        ...     path.exists()
        False
        >>> (path / "2026" / "a.usi").read_bytes()
        b'startpos'
    """

    def __init__(self, path: Path | str) -> None:
        """Create the temporary folder.

        Raises:
            LockedError: Another process is writing to the same target.
            OSError: The folder cannot be created, or the target is not a folder.
        """
        self.path = Path(path).absolute()
        if self.path.exists() and not self.path.is_dir():
            raise NotADirectoryError(f"{path}: this is no folder")
        self._temporary = self.path.with_name(f".{self.path.name}.tmp")
        try:
            self._temporary.mkdir()
        except FileExistsError:
            if self._temporary.is_symlink() or not (self._temporary / _LOCK).is_file():
                raise FileExistsError(f"{self._temporary} is in the way; remove it") from None
        self._lock = FolderLock(self._temporary, _LOCK)
        for left in self._temporary.iterdir():  # by a run that was killed
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)
            elif left.name != _LOCK:
                left.unlink()
        self._folders = {self._temporary: None}
        self._files: list[PurePath] = []

    def write(self, name: PurePath, data: bytes) -> None:
        """Add a file.

        Args:
            name: Path inside the folder, without ``..``.
            data: The content.

        Raises:
            DiskError: The disk is full.
            OSError: The file cannot be written.
        """
        try:
            for folder in reversed(name.parents):
                if (made := self._temporary / folder) not in self._folders:
                    made.mkdir()
                    self._folders[made] = None
            (self._temporary / name).write_bytes(data)
        except OSError as error:
            raise_if_full(error, f"{self.path} was not changed", self.path.parent)
            raise
        self._files.append(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._flush()
                self._publish()
        except OSError as failed:
            raise_if_full(failed, "the folder is incomplete", self.path.parent)
            raise
        finally:
            self._lock.release()
            with contextlib.suppress(OSError):  # what stays is removed by the next run
                if self._temporary.exists():
                    shutil.rmtree(self._temporary)

    def _flush(self) -> None:
        if len(self._files) <= _FLUSHED_ONE_BY_ONE or not _flush_file_system(self._temporary):
            for name in self._files:
                _flush(self._temporary / name)
            for folder in self._folders:
                _flush(folder)

    def _publish(self) -> None:
        if not self.path.exists():
            (self._temporary / _LOCK).unlink()
            self._lock.release()  # Windows moves no folder with an open file
            self._temporary.rename(self.path)
        else:
            for name in self._files:
                target = self.path / name
                target.parent.mkdir(parents=True, exist_ok=True)
                (self._temporary / name).replace(target)
            for folder in self._folders:
                _flush(self.path / folder.relative_to(self._temporary))
        _flush(self.path.parent)


def _flush_file_system(folder: Path) -> bool:
    """Flush everything on the file system of a folder; False where the operating system has no such call."""
    try:
        sync = ctypes.CDLL(None, use_errno=True).syncfs
    except (AttributeError, OSError, TypeError):  # no Linux
        return False
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if sync(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(folder))
    finally:
        os.close(descriptor)
    return True


def _flush(path: Path) -> None:
    """Flush a file or a folder; Windows opens no folders, and flushes only files open for writing."""
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
