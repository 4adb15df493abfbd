"""Files that are written completely or not at all."""

import contextlib
import os
import shutil
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from fukayomi.files.disk import raise_if_full
from fukayomi.files.inputs import replaceable
from fukayomi.files.temporary import open_temporary


class AtomicFile:
    """A file that appears under its name only when it is complete.

    Use it as a context manager: it writes to a temporary file beside the target. Leaving the block flushes the file to
    the disk and replaces the target; leaving it by an exception (or Ctrl-C) removes the temporary file and keeps the
    target. What a kill leaves is removed when the same target is written again. Links are followed; a device or a pipe
    is never replaced.

        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "moves.txt"
        >>> with AtomicFile(path) as file:
        ...     file.write(b"7g7f")
        ...     path.exists()
        False
        >>> path.read_bytes()
        b'7g7f'
    """

    def __init__(self, path: Path | str) -> None:
        """Create the temporary file.

        Raises:
            DiskError: The disk is full.
            InputFileError: The target is a named pipe, a socket or a device.
            OSError: The file cannot be created.
        """
        self.path = replaceable(path)
        try:
            temporary, held = open_temporary(self.path)
        except OSError as error:
            self._raise_if_full(error)
            raise
        self.temporary = temporary
        """Path of the temporary file."""
        self._file = open(held, "wb", buffering=1 << 20)  # noqa: PTH123, SIM115  # a descriptor has no path
        self._discarded = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes.

        Raises:
            DiskError: The disk is full.
            OSError: The file cannot be written.
        """
        try:
            self._file.write(data)
        except OSError as error:
            self._raise_if_full(error)
            raise

    def flush(self) -> None:
        """Make what was written so far visible to readers of the temporary file.

        Raises:
            DiskError: The disk is full.
            OSError: The file cannot be written.
        """
        try:
            self._file.flush()
        except OSError as error:
            self._raise_if_full(error)
            raise

    def _raise_if_full(self, error: OSError) -> None:
        raise_if_full(error, f"{self.path} was not changed", self.path.parent)

    def discard(self) -> None:
        """Do not replace the target; for files that are needed only while they are written."""
        self._discarded = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        is_complete = False
        try:
            if kind is None and not self._discarded:
                self.flush()
                os.fsync(self._file.fileno())
                is_complete = True
        except OSError as failed:
            self._raise_if_full(failed)
            raise
        finally:
            self._leave(is_complete=is_complete)

    def _leave(self, *, is_complete: bool) -> None:
        """Replace the target or remove the temporary file, while it is still locked."""
        if sys.platform == "win32":  # an open file can be neither moved nor removed there
            self._close()
        in_place = False
        try:
            if is_complete:
                self.temporary.replace(self.path)
                in_place = True
        finally:
            if not in_place:
                self.temporary.unlink(missing_ok=True)
            self._close()

    def _close(self) -> None:
        with contextlib.suppress(OSError):  # the last flush fails on a full disk
            self._file.close()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file, completely or not at all.

    Raises:
        DiskError: The disk is full.
        OSError: The file cannot be written.
    """
    with AtomicFile(path) as file:
        file.write(content)


def copy_or_link(source: Path, target: Path) -> None:
    """Give a file a second name, or copy it where the file system has no links; the target is complete or as before.

    For files that are only ever replaced: what is written into one of two linked files is in both.

    Raises:
        OSError: The source cannot be read, or the target cannot be written.
    """
    temporary = target.with_name(f".{target.name}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        os.link(source, temporary)
    except OSError:
        shutil.copyfile(source, temporary)
    temporary.replace(target)
    temporary.unlink(missing_ok=True)  # it stays where both were links to one file already
