"""Temporary files beside their targets, each held by its writer with a lock.

The names are few: `.NAME.0.tmp`, or a higher number while other writers of the same target are at work. A lock ends
with its process, however that ends, so the next writer of a target finds what a kill has left, and uses or removes it.
"""

import contextlib
import errno
import os
import sys
from itertools import count
from pathlib import Path

_SWEPT = 4  # names that are looked at; more writers of one target at a time hardly ever were killed together
_FLAGS = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)

if sys.platform == "win32":
    import msvcrt

    _LOCKED_AT = 1 << 40  # bytes are locked, which nobody else may read then; this one is never there

    def _lock_now(held: int) -> None:
        os.lseek(held, _LOCKED_AT, os.SEEK_SET)
        msvcrt.locking(held, msvcrt.LK_NBLCK, 1)
        os.lseek(held, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock_now(held: int) -> None:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)


def open_temporary(target: Path) -> tuple[Path, int]:
    """An empty file beside the target that nobody else writes to, until it is closed.

    Returns:
        Its path, and its descriptor, open for reading and writing.

    Raises:
        OSError: It cannot be made.
    """
    if not (folder := target.absolute().parent).is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write to", str(folder))
    for number in count():
        path = _name(target, number)
        if (held := _hold(path)) is not None:
            os.truncate(held, 0)
            _remove_left_over(target, number)
            return path, held
    raise AssertionError


def _name(target: Path, number: int) -> Path:
    return target.with_name(f".{target.name}.{number}.tmp")


def _hold(path: Path) -> int | None:
    """The file, made if it is not there, and locked; None where it belongs to another writer."""
    while True:
        is_new = True
        try:
            held = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            is_new = False
            try:
                held = os.open(path, _FLAGS)
            except FileNotFoundError:
                continue  # its writer was done just now
            except OSError:
                return None  # another user's, or no file
        try:
            if not _lock(held, otherwise=is_new):
                os.close(held)
                return None
            # Before it was locked its writer may have moved it into place.
            if os.path.samestat(os.fstat(held), path.stat()):
                return held
        except FileNotFoundError:
            pass
        os.close(held)


def _lock(held: int, *, otherwise: bool) -> bool:
    """Lock a file without waiting; `otherwise` is the answer of file systems that have no locks."""
    try:
        _lock_now(held)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return otherwise
    return True


def _remove_left_over(target: Path, mine: int) -> None:
    """Remove temporary files of a target whose writers are dead."""
    for number in range(_SWEPT):
        path = _name(target, number)
        if number == mine or not path.exists():
            continue
        with contextlib.suppress(OSError):  # it is in nobody's way
            if (held := _hold(path)) is None:
                continue
            if sys.platform == "win32":  # where a file that is open cannot be removed
                os.close(held)
                path.unlink()
            else:
                path.unlink()
                os.close(held)
