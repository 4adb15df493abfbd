"""Commands that start again after a kill.

Until they are done their target does not change; then it is as ever, and nothing else is left.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from places import RECORDS

OLD = b"what was there before"
COMMANDS = {
    "csa-to-hcpe": ("data", "csa-to-hcpe", str(RECORDS), "-o", "out.hcpe"),
    "convert": ("data", "convert", str(RECORDS), "-o", "out.hcpe3"),
    "positions": ("positions", "balanced", str(RECORDS), "-o", "out.sfen", "--filter-rating", "0", "--eval", "30000",
                  "--eval2", "30000"),
}  # fmt: skip


def start(command: tuple[str, ...], folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "fukayomi", *command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def check_kills(name: str, folder: Path, kills: int, seed: int) -> None:
    """Kill the command at so many moments, spread over the time that it takes."""
    command = COMMANDS[name]
    target = folder / next(word for word in command if word.startswith("out."))
    began = time.monotonic()
    assert start(command, folder).wait() == 0
    seconds, expected = time.monotonic() - began, target.read_bytes()
    assert expected
    moments = random.Random(seed)
    for _ in range(kills):
        target.write_bytes(OLD)
        with start(command, folder) as process:
            time.sleep(moments.uniform(0, seconds))
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert target.read_bytes() in (OLD, expected)
    assert start(command, folder).wait() == 0
    assert target.read_bytes() == expected
    assert [path.name for path in folder.iterdir()] == [target.name]


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
@pytest.mark.parametrize("name", ["convert", "positions"])
def test_a_kill_leaves_the_target_whole(tmp_path: Path, name: str) -> None:
    check_kills(name, tmp_path, 2, seed=1)


@pytest.mark.soak
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
@pytest.mark.parametrize("name", COMMANDS)
def test_twenty_kills_leave_the_target_whole(tmp_path: Path, name: str) -> None:
    check_kills(name, tmp_path, 20, seed=2)
