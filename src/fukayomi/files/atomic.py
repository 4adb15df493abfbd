"""Files that are written whole or not at all."""

import contextlib
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from fukayomi.files.disk import raise_if_full
from fukayomi.files.temporary import open_temporary


class AtomicFile:
    """A file that appears under its name only when it is whole.

    Use it as a context manager: what is written goes into a temporary file beside the target; leaving the block
    replaces the target, leaving it by an exception (Ctrl-C too) removes the temporary file and keeps the target as it
    was. What a kill leaves is removed when the same target is written again.
    """

    def __init__(self, path: Path | str) -> None:
        """Begin.

        Raises:
            DiskError: The disk is full.
            OSError: No file can be made there.
        """
        self.path = Path(path)
        try:
            temporary, held = open_temporary(self.path)
        except OSError as error:
            self._raise_if_full(error)
            raise
        self.temporary = temporary
        """Where the bytes are until the end."""
        self._file = open(held, "wb", buffering=1 << 20)  # noqa: PTH123, SIM115  # a descriptor has no path
        self._discarded = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Add bytes.

        Raises:
            DiskError: The disk is full.
            OSError: They cannot be written.
        """
        try:
            self._file.write(data)
        except OSError as error:
            self._raise_if_full(error)
            raise

    def flush(self) -> None:
        """Let readers of the temporary file see what was written so far.

        Raises:
            DiskError: The disk is full.
            OSError: It cannot be written.
        """
        try:
            self._file.flush()
        except OSError as error:
            self._raise_if_full(error)
            raise

    def _raise_if_full(self, error: OSError) -> None:
        raise_if_full(error, f"{self.path} was not written, and what was there before still is", self.path.parent)

    def discard(self) -> None:
        """Let nothing appear under the name after all; for files that are needed only while they are written."""
        self._discarded = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        is_whole = False
        try:
            if kind is None and not self._discarded:
                self.flush()
                os.fsync(self._file.fileno())
                is_whole = True
        except OSError as failed:
            self._raise_if_full(failed)
            raise
        finally:
            self._leave(is_whole=is_whole)

    def _leave(self, *, is_whole: bool) -> None:
        """Put the file into place, or remove it, while nobody else can hold it."""
        if sys.platform == "win32":  # where a file that is open can be neither moved nor removed
            self._close()
        in_place = False
        try:
            if is_whole:
                self.temporary.replace(self.path)
                in_place = True
        finally:
            if not in_place:
                self.temporary.unlink(missing_ok=True)
            self._close()

    def _close(self) -> None:
        with contextlib.suppress(OSError):  # whatever failed, even the last flush on a full disk
            self._file.close()


def replace_file(path: Path, content: bytes) -> None:
    """Put a file into place whole, or leave what is there.

    Raises:
        OSError: It cannot be written.
    """
    with AtomicFile(path) as file:
        file.write(content)
