"""`fukayomi serve` as a process: conversations, signals, a broken pipe, and the documented client."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from typing import Any

import pytest
from places import ROOT
from service_schema import checked_answer

PAGE = (ROOT / "docs" / "analysis-service.md").read_text(encoding="utf-8")
COMMAND = [sys.executable, "-m", "fukayomi", "serve"]
STUB = [*COMMAND, "--evaluator", "hash"]
ENDLESS = {"id": "e", "visits": 10**9, "report_every_ms": 10}


@pytest.fixture
def process() -> "Generator[subprocess.Popen[bytes]]":
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(STUB, **pipes) as process:
        yield process
        process.kill()


def ask(process: "subprocess.Popen[bytes]", query: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(query).encode() + b"\n")
    process.stdin.flush()


def answer(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    assert process.stdout is not None
    return checked_answer(process.stdout.readline())


def rest(process: "subprocess.Popen[bytes]") -> tuple[int, list[dict[str, Any]], bytes]:
    """Exit code, further answers, and stderr."""
    printed, said = process.communicate(timeout=600)
    return process.returncode, [checked_answer(line) for line in printed.splitlines()], said


def test_the_end_of_the_input_answers_what_was_asked(process: "subprocess.Popen[bytes]") -> None:
    ask(process, {"id": "v", "action": "version"})
    assert answer(process)["network"] == "hash (hash-0)"
    ask(process, ENDLESS)
    first = answer(process)
    assert (first["is_during_search"], len(first["moves"])) == (True, 3)
    ask(process, {"id": "e", "action": "terminate"})
    for number in range(20):
        ask(process, {"id": number, "moves": ["7g7f", "3c3d"], "turns": [0, 1, 2], "visits": 50})
    code, answers, said = rest(process)
    final = [each for each in answers if each.get("is_during_search") is False]
    assert (code, said, len(final)) == (0, b"", 61)
    assert [each["visits"] for each in final if each["id"] != "e"] == [50] * 60


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize(
    ("number", "code", "says"), [(signal.SIGINT, 130, b"interrupted\n"), (signal.SIGTERM, 143, b"")]
)
def test_signals_end_it(process: "subprocess.Popen[bytes]", number: signal.Signals, code: int, says: bytes) -> None:
    ask(process, ENDLESS)
    answer(process)
    process.send_signal(number)
    ended, _, said = rest(process)
    assert (ended, said) == (code, says)


@pytest.mark.skipif(os.name != "posix", reason="needs SIGPIPE's error")
def test_a_client_that_goes_away_ends_it(process: "subprocess.Popen[bytes]") -> None:
    ask(process, ENDLESS)
    answer(process)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(600) == 141
    assert process.stderr.read() == b""


@pytest.mark.skipif(os.name != "posix", reason="the shell closes the streams")
@pytest.mark.parametrize(("closed", "name"), [("<&-", "input"), (">&-", "output")])
def test_a_closed_stream_is_an_error(closed: str, name: str) -> None:
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *STUB]
    done = subprocess.run(shell, input="", capture_output=True, text=True, check=False)
    reason = f"error: the standard {name} is closed; start the command with an open one\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", reason)


def test_a_network_that_cannot_be_read() -> None:
    done = subprocess.run([*COMMAND, "--model", "no.onnx"], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"error: no file" in done.stderr


def test_the_documented_client_runs(tmp_path: Any) -> None:
    (client,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(client.strip().splitlines()) <= 25
    path = tmp_path / "client.py"
    path.write_text(client.replace('"fukayomi", "serve"', ", ".join(map(repr, STUB))), encoding="utf-8")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 5


def test_the_documented_lines_fit_the_schema() -> None:
    from service_schema import ANSWER, LINE

    lines = re.findall(r"^    ([<>]) (\{.*\})$", PAGE, re.MULTILINE)
    assert len(lines) >= 6
    for direction, text in lines:
        (LINE if direction == ">" else ANSWER).validate(json.loads(text))
