"""Locks of folders: one process at a time, until it ends in whatever way."""

import doctest
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fukayomi.files import lock
from fukayomi.files.lock import FolderLock, LockedError

HOLDER = """
import sys, time
from pathlib import Path
from fukayomi.files.lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
print("locked", flush=True)
time.sleep(60)
"""


def test_the_example_runs() -> None:
    assert doctest.testmod(lock).attempted > 2


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(LockedError, match="another process is working in") as refused:
            FolderLock(tmp_path)
        assert str(tmp_path) in str(refused.value)
        process.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
    with FolderLock(tmp_path):
        pass


def test_a_folder_is_locked_once_and_may_be_locked_again(tmp_path: Path) -> None:
    first = FolderLock(tmp_path)
    with pytest.raises(LockedError):
        FolderLock(tmp_path)
    FolderLock(tmp_path, "other").release()
    first.release()
    first.release()
    FolderLock(tmp_path).release()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing"):
        FolderLock(tmp_path / "missing")
