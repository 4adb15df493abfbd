"""Files that users name: what is not a regular file is refused at once, and nothing too large is read."""

import os
import socket
from pathlib import Path

import pytest

from fukayomi.files.atomic import AtomicFile, replace_file
from fukayomi.files.inputs import InputFileError, open_input, problem_of, read_input, replaceable, require_file


def test_a_file_and_a_link_to_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"7g7f")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for name in ("a", "link"):
        with open_input(tmp_path / name) as file:
            assert (file.read(2), file.read(), file.tell()) == (b"7g", b"7f", 4)
        assert read_input(tmp_path / name, 4) == b"7g7f"
        require_file(tmp_path / name)


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (open_input, require_file, lambda path: read_input(path, 4)):
        with pytest.raises(InputFileError, match=r"pipe: this is a named pipe; give a regular file"):
            read(tmp_path / "pipe")


def test_sockets_and_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket may have about 100 bytes
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        with pytest.raises(InputFileError, match="socket: this is a socket"):
            open_input(Path("socket"))
    with pytest.raises(InputFileError, match="/dev/zero: this is a device"):
        open_input("/dev/zero")


def test_folders_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        open_input(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_input(tmp_path / "nowhere")


def test_what_is_wrong_with_a_path_in_words(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"7g7f")
    os.mkfifo(tmp_path / "pipe")
    assert problem_of(tmp_path / "a") is None
    assert problem_of(tmp_path / "nowhere") == "no such file"
    assert problem_of(tmp_path) == "this is a folder; give a file"
    assert problem_of(tmp_path / "pipe") == "this is a named pipe; give a regular file"
    assert problem_of(tmp_path / "a" / "b") == "Not a directory"
    problem = problem_of("a\0b")
    assert problem is not None
    assert problem.startswith("no file can have this name (")
    assert "embedded null" in problem  # Python's own words, which 3.13 changed
    with pytest.raises(InputFileError, match="no file can have this name"):
        read_input("a\0b", 10)


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InputFileError, match="sparse: larger than 64 MiB"):
        read_input(path, 64 << 20)
    path.write_bytes(b"12345")
    with pytest.raises(InputFileError, match="sparse: larger than 0 MiB"):
        read_input(path, 4)


@pytest.mark.skipif(os.name != "posix", reason="devices and pipes have other names on Windows")
def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    for path in (tmp_path / "pipe", tmp_path / "null", Path("/dev/null")):
        mode = path.lstat().st_mode
        for write in (AtomicFile, lambda path: replace_file(path, b"7g7f"), replaceable):
            with pytest.raises(InputFileError, match=rf"{path.name}: this is a (named pipe|device); give a regular"):
                write(path)
        assert path.lstat().st_mode == mode
    with pytest.raises(IsADirectoryError):
        AtomicFile(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["null", "pipe"]


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    for name in ("old", "new"):
        (tmp_path / name).symlink_to(Path("disk") / name)
    (tmp_path / "disk" / "old").write_bytes(b"2g2f")
    for name in ("old", "new"):
        replace_file(tmp_path / name, b"7g7f")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "disk" / name).read_bytes() == b"7g7f"
