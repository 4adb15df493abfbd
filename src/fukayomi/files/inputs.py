"""Files that a user names. Only regular files.

A named pipe would block for ever, a device fill the memory; and a device that is replaced by a file is gone.
"""

import contextlib
import errno
import hashlib
import os
import stat
from pathlib import Path
from typing import BinaryIO

from fukayomi.errors import FukayomiError

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class InputFileError(FukayomiError, OSError):
    """A path is not a regular file, or the file is too large. The message names it and says why."""

    def __init__(self, path: Path | str, reason: str) -> None:
        super().__init__(errno.EINVAL, reason, str(path))

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def open_input(path: Path | str) -> BinaryIO:
    """Open a regular file for reading; links are followed.

    Raises:
        InputFileError: The path is a named pipe, a socket or a device.
        OSError: The file cannot be opened; IsADirectoryError for a folder.
    """
    require_file(path)
    descriptor = os.open(path, _FLAGS)
    try:
        _require_regular(path, os.fstat(descriptor).st_mode)  # the path may have changed since
        return open(descriptor, "rb")  # noqa: PTH123  # a descriptor has no path
    except BaseException:
        os.close(descriptor)
        raise


def read_input(path: Path | str, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes.

    Raises:
        InputFileError: The file is larger, or the path is a named pipe, a socket or a device.
        OSError: The file cannot be read; IsADirectoryError for a folder.
    """
    with open_input(path) as file:
        is_large = os.fstat(file.fileno()).st_size > limit
        data = b"" if is_large else file.read(limit + 1)  # the size is 0 in /proc
    if is_large or len(data) > limit:
        raise InputFileError(path, f"larger than {limit >> 20} MiB")
    return data


def file_sha256(path: Path | str) -> str:
    """The SHA-256 of a regular file, in hexadecimal digits.

    Raises:
        InputFileError: The path is a named pipe, a socket or a device.
        OSError: The file cannot be read.
    """
    require_file(path)
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require_file(path: Path | str) -> None:
    """Do nothing if the path is a regular file, or a link to one; for what opens files by itself, such as NumPy.

    Raises:
        InputFileError: The path is a named pipe, a socket or a device, or no file can have this name.
        OSError: The file does not exist; IsADirectoryError for a folder.
    """
    try:
        mode = Path(path).stat().st_mode
    except ValueError as error:  # a NUL in the name
        raise InputFileError(path, f"no file can have this name ({error})") from error
    _require_regular(path, mode)


def problem_of(path: Path | str) -> str | None:
    """Reason why a path cannot be read as a file, in words for a message that names it; None for a regular file."""
    try:
        require_file(path)
    except FileNotFoundError:
        return "no such file"
    except IsADirectoryError:
        return "this is a folder; give a file"
    except OSError as error:
        return error.strerror or str(error)
    return None


def replaceable(path: Path | str) -> Path:
    """Path at which to write what replaces a file, or makes it; links are followed, and stay.

    Raises:
        InputFileError: The path is a named pipe, a socket or a device.
        IsADirectoryError: It is a folder.
    """
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # who writes there says which folder is missing
        require_file(path)
    return Path(os.path.realpath(path)) if Path(path).is_symlink() else Path(path)


def _require_regular(path: Path | str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "no regular file")
        raise InputFileError(path, f"this is {kind}; give a regular file")
