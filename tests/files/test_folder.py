"""Folders whose files appear together."""

import os
import subprocess
import sys
from pathlib import Path, PurePath

import pytest

from fukayomi.files import folder as folders
from fukayomi.files.folder import AtomicFolder
from fukayomi.files.lock import LockedError


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize("count", [3, 200])
def test_all_files_appear_at_the_end(tmp_path: Path, count: int) -> None:
    expected = {f"sub{number % 3}/{number}.kif": b"%d" % number for number in range(count)}
    with AtomicFolder(tmp_path / "out") as folder:
        for name, data in expected.items():
            folder.write(PurePath(name), data)
        assert not (tmp_path / "out").exists()
    assert contents(tmp_path) == {f"out/{name}": data for name, data in expected.items()}


def test_files_are_flushed_without_the_call_of_linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[Path] = []
    monkeypatch.setattr(folders, "_flush_file_system", lambda _: False)
    monkeypatch.setattr(folders, "_flush", flushed.append)
    with AtomicFolder(tmp_path / "out") as folder:
        for number in range(100):
            folder.write(PurePath(f"{number}"), b"")
    assert len({path.name for path in flushed} & {str(number) for number in range(100)}) == 100


def test_other_files_of_the_target_stay(tmp_path: Path) -> None:
    (tmp_path / "out" / "a").mkdir(parents=True)
    (tmp_path / "out" / "a" / "old").write_bytes(b"old")
    (tmp_path / "out" / "a" / "same").write_bytes(b"old")
    with AtomicFolder(tmp_path / "out") as folder:
        folder.write(PurePath("a/same"), b"new")
        folder.write(PurePath("b/c/new"), b"new")
    assert contents(tmp_path) == {"out/a/old": b"old", "out/a/same": b"new", "out/b/c/new": b"new"}


def test_an_exception_leaves_nothing(tmp_path: Path) -> None:
    folder = AtomicFolder(tmp_path / "out")
    folder.write(PurePath("a"), b"x")
    with pytest.raises(FileNotFoundError), folder:
        (tmp_path / "nowhere").read_bytes()
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, sys
from pathlib import PurePath
from fukayomi.files.folder import AtomicFolder
folder = AtomicFolder(sys.argv[1])
folder.write(PurePath("left/over"), b"half")
os.kill(os.getpid(), 9)
"""


def test_what_a_kill_leaves_is_removed_by_the_next_run(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, tmp_path / "out"], check=False)
    assert [path.name for path in tmp_path.iterdir()] == [".out.tmp"]
    with AtomicFolder(tmp_path / "out") as folder:
        folder.write(PurePath("a"), b"x")
    assert contents(tmp_path) == {"out/a": b"x"}


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with AtomicFolder(tmp_path / "out"), pytest.raises(LockedError):
        AtomicFolder(tmp_path / "out")


def test_what_is_in_the_way_stays(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_bytes(b"x")
    (tmp_path / ".out.tmp").symlink_to(tmp_path / "precious")
    (tmp_path / ".two.tmp").mkdir()
    (tmp_path / "three").write_bytes(b"x")
    for name in ("out", "two"):
        with pytest.raises(FileExistsError, match="is in the way"):
            AtomicFolder(tmp_path / name)
    with pytest.raises(NotADirectoryError):
        AtomicFolder(tmp_path / "three")
    assert os.listdir(tmp_path / "precious") == ["file"]  # noqa: PTH208
