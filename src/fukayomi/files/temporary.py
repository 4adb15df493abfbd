"""Temporary files beside their targets, each locked by its writer.

They are named `.NAME.0.tmp`, with a higher number while other writers of the same target are at work. A lock ends with
its process, however that ends, so the next writer of a target finds what a killed one left, and reuses or removes it.
"""

import contextlib
import errno
import os
import sys
from itertools import count
from pathlib import Path

from fukayomi.files import lock

_SWEPT = 4  # leftover names that are looked for; more writers of one target are hardly ever killed together
_FLAGS = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


def open_temporary(target: Path) -> tuple[Path, int]:
    """Open an empty file beside the target that no other process writes to until it is closed.

    Returns:
        Its path, and its descriptor, open for reading and writing.

    Raises:
        OSError: The file cannot be created.
    """
    if not (folder := target.absolute().parent).is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write to", str(folder))
    for number in count():
        path = _name(target, number)
        if (held := _hold(path)) is not None:
            os.truncate(held, 0)
            _remove_leftovers(target, number)
            return path, held
    raise AssertionError


def _name(target: Path, number: int) -> Path:
    return target.with_name(f".{target.name}.{number}.tmp")


def _hold(path: Path) -> int | None:
    """Open and lock a file, which is created if it does not exist; None if it belongs to another writer."""
    while True:
        is_new = True
        try:
            held = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            is_new = False
            try:
                held = os.open(path, _FLAGS)
            except FileNotFoundError:
                continue  # its writer has just finished
            except OSError:
                return None  # another user's file, or no regular file
        try:
            if not _try_lock(held, otherwise=is_new):
                os.close(held)
                return None
            # Its writer may have moved it into place before it was locked here.
            if os.path.samestat(os.fstat(held), path.stat()):
                return held
        except FileNotFoundError:
            pass
        os.close(held)


def _try_lock(held: int, *, otherwise: bool) -> bool:
    """Lock a file without waiting; on a file system without locks the answer is `otherwise`."""
    try:
        return lock.try_lock(held)
    except OSError:
        return otherwise


def _remove_leftovers(target: Path, mine: int) -> None:
    """Remove temporary files of a target whose writers are gone."""
    for number in range(_SWEPT):
        path = _name(target, number)
        if number == mine or not path.exists():
            continue
        with contextlib.suppress(OSError):  # a file that stays does no harm
            if (held := _hold(path)) is None:
                continue
            if sys.platform == "win32":  # an open file cannot be removed there
                os.close(held)
                path.unlink()
            else:
                path.unlink()
                os.close(held)
