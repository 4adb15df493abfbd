"""``fukayomi csa play`` and ``fukayomi csa serve`` as programs: what they print, their exit codes, Ctrl-C, secrets."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import command_runs
import pytest
from patience import PATIENCE_S, until
from places import HELPERS

from fukayomi.files.lock import FolderLock
from fukayomi.shogi.formats import read_record

ENGINE = shlex.join([sys.executable, str(HELPERS / "random_engine.py")])
SLOW = f"{ENGINE} slow=0.3"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts ``fukayomi csa ARGUMENTS``; what still runs at the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def begin(*arguments: object, password: str | None = "moonlight") -> "subprocess.Popen[str]":
        environment = {name: text for name, text in os.environ.items() if name != "FUKAYOMI_CSA_PASSWORD"}
        if password is not None:
            environment["FUKAYOMI_CSA_PASSWORD"] = password
        command = [sys.executable, "-m", "fukayomi", "csa", *map(str, arguments)]
        running.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        )
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(port: int) -> None:
    def answers() -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) == 0

    until(answers)


def client(name: str, port: int, *more: object, engine: str = ENGINE) -> list[object]:
    return ["play", "127.0.0.1", "--port", port, "--name", name, "--game", "x-60-1F", "--engine", engine, *more]


def events(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_match_of_two_programs_on_a_server_ends_with_equal_records(start: Start, port: int, tmp_path: Path) -> None:
    server = start("serve", "--port", port, "--games", 2, "--max-plies", 20, "--out", tmp_path / "server", "--json")
    wait_for(port)
    password = tmp_path / "password"
    password.write_text("sunlight\n", encoding="utf-8")
    password.chmod(0o600)
    log = tmp_path / "one.log"
    one = start(*client("one", port, "--games", 2, "--out", tmp_path / "one", "--log", log, "--json"))
    two = start(
        *client("two", port, "--games", 2, "--out", tmp_path / "two", "--password-file", password), password=None
    )
    said = {process: process.communicate(timeout=PATIENCE_S) for process in (server, one, two)}
    assert [process.returncode for process in (server, one, two)] == [0, 0, 0], said
    for path in (tmp_path / "server").glob("*.csa"):
        server_record = read_record(path.read_bytes(), name="")
        for name in ("one", "two"):
            own = read_record((tmp_path / name / path.name).read_bytes(), name="")
            assert own.usi_moves() == server_record.usi_moves()
            assert (own.result, own.termination) == (server_record.result, server_record.termination)
    found = events(said[one][0])
    assert [event["event"] for event in found if event["event"] != "moved"] == [
        "waiting", "started", "ended", "waiting", "started", "ended", "note",
    ]  # fmt: skip
    assert {"id", "black", "white", "outcome", "result", "termination", "plies", "file"} <= set(found[-2])
    assert "two is waiting for a game (x-60-1F)" in said[two][1]
    assert "2 games: " in said[two][1]
    protocol = log.read_text(encoding="utf-8")
    assert " csa > LOGIN one x-60-1F,*****\n" in protocol
    assert " usi > usinewgame\n" in protocol
    everything = protocol + "".join("".join(texts) for texts in said.values())
    everything += "".join(path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.csa"))
    assert "moonlight" not in everything
    assert "sunlight" not in everything
    code, printed, _ = command_runs.run("rate", tmp_path / "one")
    assert (code, "one" in printed, "two" in printed) == (0, True, True)


def test_the_first_ctrl_c_leaves_after_the_game_and_the_second_resigns(start: Start, port: int) -> None:
    server = start("serve", "--port", port, "--json", "--max-plies", 12)
    wait_for(port)
    one = start(*client("one", port, "--json", engine=SLOW))
    two = start(*client("two", port, "--json", engine=SLOW))
    assert one.stdout is not None
    for line in one.stdout:
        if '"moved"' in line:
            break
    one.send_signal(signal.SIGINT)
    printed, said = one.communicate(timeout=PATIENCE_S)
    assert one.returncode == 0
    assert "leaving as soon as no game is played; Ctrl-C again resigns" in said
    assert events(printed)[-2]["termination"] == "max_plies"
    again = start(*client("one", port, "--json", engine=SLOW))
    assert again.stdout is not None
    for line in again.stdout:
        if '"moved"' in line:
            break
    again.send_signal(signal.SIGINT)
    time.sleep(1.2)  # two signals within a second are one press
    again.send_signal(signal.SIGINT)
    printed, said = again.communicate(timeout=PATIENCE_S)
    assert again.returncode == 130
    ended = [event for event in events(printed) if event["event"] == "ended"]
    assert [(event["termination"], event["outcome"]) for event in ended] == [("resign", "loss")]
    two.send_signal(signal.SIGTERM)
    assert (two.wait(PATIENCE_S), server.poll()) == (0, None)
    server.send_signal(signal.SIGTERM)
    assert server.wait(PATIENCE_S) == 0


def test_errors_are_one_line_and_name_the_remedy(port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, password, said, code in (
        (client("one", port), None, "set FUKAYOMI_CSA_PASSWORD", 1),
        (client("one", port, "--password-file", tmp_path / "none"), None, "none: No such file", 1),
        (client("a b", port), "x", "--name: 'a b' is not 1 to 64 letters, digits, _ @ . and -", 2),
        (["play", "127.0.0.1"], "x", "--name is missing", 2),
        (client("one", port, "--reconnects", 0), "x", f"cannot connect to 127.0.0.1:{port}: ", 1),
        (client("one", port, engine="no-such-engine"), "x", "cannot start no-such-engine", 1),
        (client("one", port, "--option", "USI_Nothing=1"), "x", "USI_Nothing", 1),
        (["serve", "--port", port, "--clock", "nodes=5"], "x", "--clock", 2),
        (["serve", "--host", "203.0.113.1", "--port", port], "x", "cannot listen at 203.0.113.1", 1),
    ):
        monkeypatch.delenv("FUKAYOMI_CSA_PASSWORD", raising=False)
        if password is not None:
            monkeypatch.setenv("FUKAYOMI_CSA_PASSWORD", password)
        found, _, error = command_runs.run("csa", *arguments)
        assert said in error
        assert found == code, error


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_log_on_a_full_disk_ends_and_the_program_goes_on(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUKAYOMI_CSA_PASSWORD", "moonlight")
    code, _, error = command_runs.run("csa", *client("one", port, "--reconnects", 0, "--log", "/dev/full"))
    assert error.count("/dev/full: No space left on device; the log ends here") == 1
    assert f"cannot connect to 127.0.0.1:{port}" in error
    assert code == 1


def test_two_processes_do_not_share_a_folder_of_records(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUKAYOMI_CSA_PASSWORD", "moonlight")
    with FolderLock(tmp_path):
        for command in (client("one", port, "--out", tmp_path), ["serve", "--port", port, "--out", tmp_path]):
            code, _, error = command_runs.run("csa", *command)
            assert "another process is working in" in error
            assert code == 1
