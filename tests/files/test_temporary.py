"""Temporary files: what a kill leaves is gone after the next write of the same target; what lives is left alone."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fukayomi.files import lock
from fukayomi.files.atomic import AtomicFile, replace_file

OLD, NEW = b"old" * 1000, b"new"

# Writes the same target again and again, each time all of it in one letter.
WRITER = """
import sys
from pathlib import Path
from fukayomi.files.atomic import AtomicFile
target, letter, times = Path(sys.argv[1]), sys.argv[2].encode(), int(sys.argv[3])
print("ready", flush=True)
for _ in range(times):
    with AtomicFile(target) as file:
        for _ in range(20):
            file.write(letter * 1000)
            file.flush()
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def start(target: Path, letter: str, times: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(target), letter, str(times)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_what_dead_writers_left_is_used_or_removed(tmp_path: Path) -> None:
    target = tmp_path / "out.hcpe"
    for number in (0, 1, 3):
        (tmp_path / f".out.hcpe.{number}.tmp").write_bytes(OLD)
    others = [".other.hcpe.0.tmp", ".out.hcpe.work", ".out.hcpe2.0.tmp"]
    for name in others:
        (tmp_path / name).write_bytes(OLD)
    replace_file(target, NEW)
    assert target.read_bytes() == NEW
    assert names(tmp_path) == sorted([*others, "out.hcpe"])


def test_living_writers_do_not_meet(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with AtomicFile(target) as first:
        first.write(b"first")
        with AtomicFile(target) as second:
            second.write(b"second")
            second.flush()
            assert names(tmp_path) == [".out.0.tmp", ".out.1.tmp"]
            with AtomicFile(target) as third:
                third.discard()
            assert names(tmp_path) == [".out.0.tmp", ".out.1.tmp"]
        assert target.read_bytes() == b"second"
        replace_file(target, NEW)
        assert first.temporary.exists()
    assert target.read_bytes() == b"first"
    assert names(tmp_path) == ["out"]


def test_an_exception_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(OLD)

    def fail() -> None:
        with AtomicFile(target) as file:
            file.write(NEW)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert target.read_bytes() == OLD
    assert names(tmp_path) == ["out"]


def test_a_target_that_cannot_be_replaced_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(OSError, match="out"):
        replace_file(tmp_path / "out", NEW)
    assert names(tmp_path) == ["out"]
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "missing" / "out", NEW)


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
def test_links_are_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(OLD)
    (tmp_path / ".out.0.tmp").symlink_to(victim)
    replace_file(tmp_path / "out", NEW)
    assert victim.read_bytes() == OLD
    assert (tmp_path / "out").read_bytes() == NEW
    assert not (tmp_path / "out").is_symlink()


def test_without_locks_nothing_that_is_there_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_lock(_: int) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock, "try_lock", no_lock)
    target = tmp_path / "out"
    (tmp_path / ".out.0.tmp").write_bytes(OLD)
    with AtomicFile(target) as first:
        first.write(b"first")
        replace_file(target, NEW)
    assert target.read_bytes() == b"first"
    assert names(tmp_path) == [".out.0.tmp", "out"]
    assert (tmp_path / ".out.0.tmp").read_bytes() == OLD


def check_crowd(target: Path, kills: int, seed: int) -> None:
    """Several write one target while some of them are killed: it is always whole, and nothing stays."""
    replace_file(target, b"a" * 20_000)
    moments = random.Random(seed)
    running = [start(target, letter, 100_000) for letter in "bcd"]
    try:
        for number in range(kills):
            time.sleep(moments.uniform(0, 0.05))
            found = target.read_bytes()
            assert len(found) == 20_000
            assert len(set(found)) == 1
            victim = running.pop(0)
            with victim:
                victim.send_signal(signal.SIGKILL)
            running.append(start(target, "efghij"[number % 6], 100_000))
        assert all(process.poll() is None for process in running)
    finally:
        for process in running:
            with process:
                process.kill()
    replace_file(target, NEW)
    assert names(target.parent) == [target.name]


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
def test_writers_in_a_crowd_and_kills(tmp_path: Path) -> None:
    check_crowd(tmp_path / "out", 3, seed=1)


@pytest.mark.soak
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
def test_writers_in_a_crowd_and_many_kills(tmp_path: Path) -> None:
    check_crowd(tmp_path / "out", 60, seed=2)
