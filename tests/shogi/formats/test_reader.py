"""Reading records from files: what is no regular file or too large is refused before it is read."""

import os
from pathlib import Path

import pytest

from fukayomi.shogi.formats import read_record, scan_records


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "game.kif").open("wb") as file:
        file.truncate(2 << 30)
    for read in (read_record, lambda path: list(scan_records(path))):
        with pytest.raises(OSError, match=r"game\.kif: larger than 64 MiB"):
            read(tmp_path / "game.kif")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "game.kif")
    with pytest.raises(OSError, match=r"game\.kif: this is a named pipe"):
        read_record(tmp_path / "game.kif")
    with pytest.raises(OSError, match="/dev/zero: this is a device"):
        read_record("/dev/zero")
