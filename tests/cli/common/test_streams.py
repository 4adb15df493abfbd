"""Output that cannot be written ends every command without a traceback, and not with exit code 0."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import HELPERS, RECORDS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")

ENGINE = f"{sys.executable} {HELPERS / 'random_engine.py'}"
MATCH = ["match", "--engine", f"a={ENGINE}", "--engine", f"b={ENGINE}", "--clock", "nodes=1", "--max-plies", "8"]


def run(*arguments: object, stdout: int | None = None, stderr: int | None = None) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "fukayomi", *map(str, arguments)]
    return subprocess.run(command, stdout=stdout, stderr=stderr, text=True, check=False)


def closed_pipe() -> int:
    """The writing end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["perft", "2"],
        ["data", "print", RECORDS / "resign.csa"],
        ["strategy", RECORDS / "resign.csa"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_closed_pipe_ends_a_command_quietly(arguments: list[object]) -> None:
    done = run(*arguments, stdout=closed_pipe(), stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_name_that_is_not_utf_8_is_printed_as_an_escape(tmp_path: Path) -> None:
    odd = tmp_path / "\udcff.csa"
    odd.write_bytes((RECORDS / "resign.csa").read_bytes())
    command = [sys.executable, "-m", "fukayomi", "data", "convert", str(odd), "-o", str(tmp_path / "\udcff.hcpe")]
    environment = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\udcff.hcpe" in done.stdout


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_signs_that_the_encoding_lacks_are_printed_as_escapes(errors: str) -> None:
    program = "from fukayomi.cli.common.streams import guarded_output\nwith guarded_output(): print(chr(0x2617))"
    environment = os.environ | {"PYTHONIOENCODING": f"cp1252:{errors}"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.stdout, done.stderr) == ("\\u2617\n", "")


def test_a_match_is_whole_when_its_table_is_not_read(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(*MATCH, "--games", 2, "--out", out, stdout=closed_pipe(), stderr=subprocess.PIPE)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr
    assert "2 of 2 games" in done.stderr
    assert (out / "games.pgn").read_text().count("[Event") == 2


def test_a_match_whose_progress_is_not_read_stops_and_is_resumed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(*MATCH, "--games", 6, "--out", out, stdout=subprocess.PIPE, stderr=closed_pipe())
    assert (done.returncode, done.stdout) == (141, "")
    stored = len(list((out / "games").glob("*.csa")))
    assert stored < 6
    done = run(*MATCH, "--games", 6, "--out", out, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0
    assert "6 of 6 games" in done.stderr
    assert len(list((out / "games").glob("*.csa"))) == 6
    if stored:
        assert re.search(rf"^{stored} games? (has|have) been played, {6 - stored} (is|are) left$", done.stderr, re.M)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        done = run("perft", "2", stdout=full.fileno(), stderr=subprocess.PIPE)
        assert (done.returncode, done.stderr) == (1, "error: cannot write the output: No space left on device\n")
        assert run("data", "check", "nothing", stderr=full.fileno()).returncode == 1


def test_without_an_output_nothing_is_printed() -> None:
    command = f"{sys.executable} -m fukayomi perft 2 >&-"
    assert subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, check=False).returncode == 0
