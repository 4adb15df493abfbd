"""Self-play on a disk that becomes full: it says so, and goes on when there is room."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fukayomi.selfplay import SelfplaySettings, find_chunks, generate

SETTINGS = SelfplaySettings(playouts=4, max_move=60, out_max_move=True, chunk_games=8)
GAMES = 40
SCRIPT = """
mount -t tmpfs -o size=40k none "$1" || exit 9
shift
"$@"; echo "code $?" >&2
mount -o remount,size=4m "$4"
"$@"
cp "$4"/games/* "$4"/../found
"""
"""The disk is seen by this script alone. Its arguments: where it is, and a command with that as its fourth word."""
PROGRAM = """
import sys
from pathlib import Path
from fukayomi.selfplay import SelfplaySettings, generate
settings = SelfplaySettings.model_validate_json(sys.argv[2])
print(generate(settings, "<hash>", Path(sys.argv[1], "games"), games=int(sys.argv[3]), seed=4, parallel=6).finished)
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no disks of its own")
def test_a_full_disk_loses_no_game_that_is_over(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this user may not mount disks of its own")
    disk, found = tmp_path / "disk", tmp_path / "found"
    disk.mkdir()
    found.mkdir()
    command = [sys.executable, "-c", PROGRAM, str(disk), SETTINGS.model_dump_json(), str(GAMES)]
    run = subprocess.run(
        ["unshare", "-rm", "sh", "-c", SCRIPT, "sh", str(disk), *command], check=True, capture_output=True, text=True
    )
    assert "code 1" in run.stderr
    assert "DiskError: the disk is full (0.0 MiB free at" in run.stderr
    assert run.stdout == "True\n"
    generate(SETTINGS, "<hash>", tmp_path / "whole", games=GAMES, seed=4)
    for path in find_chunks(tmp_path / "whole"):
        assert (found / path.name).read_bytes() == path.read_bytes()
    assert len(find_chunks(found)) == GAMES // 8
