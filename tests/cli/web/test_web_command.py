"""``fukayomi web``: the address, options, errors, and the end."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from command_runs import run
from patience import PATIENCE_S
from websockets.sync.client import connect
from websockets.typing import Origin

from fukayomi.shogi import START_SFEN
from fukayomi.web.settings import PORT, WebSettings

PROGRAM = [sys.executable, "-m", "fukayomi", "web"]
SERVED = [*PROGRAM, "--evaluator", "hash", "--port", "0"]


@contextmanager
def running(*words: str | Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    command = [*SERVED, *map(str, words)]
    program = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | environment
    )
    try:
        yield program
    finally:
        program.kill()
        program.communicate()


def fetch(address: str, path: str, cookie: str = "") -> tuple[int, dict[str, str], bytes]:
    where = urlsplit(address)
    connection = HTTPConnection(str(where.hostname), where.port, timeout=PATIENCE_S)
    connection.request("GET", path, headers={"Cookie": cookie})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, body


def failure(*words: str | Path, code: int = 1) -> str:
    found, _, said = run("web", *words)
    assert found == code, said
    return said


def test_address_leads_to_the_page_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    game = tmp_path / "game.usi"
    game.write_text("startpos moves 7g7f")
    with running(game, "--no-browser", "--json") as program:
        assert program.stdout is not None
        told: dict[str, Any] = json.loads(program.stdout.readline())
        where = urlsplit(told["address"])
        assert (where.hostname, where.port) == ("127.0.0.1", told["port"])
        status, headers, _ = fetch(told["address"], f"/?{where.query}")
        assert status == 303
        cookie = headers["set-cookie"].split(";")[0]
        assert fetch(told["address"], "/", cookie)[0] == 200
        state = json.loads(fetch(told["address"], "/api/state", cookie)[2])
        assert [file["name"] for file in state["files"]] == ["game.usi"]
        assert fetch(told["address"], "/")[0] == 403
        program.send_signal(signal.SIGINT)
        output, errors = program.communicate(timeout=PATIENCE_S)
        assert (program.returncode, output, errors) == (0, "", "Stopped.\n")


def test_ctrl_c_pressed_twice_is_no_error() -> None:
    with running("--no-browser") as program:
        assert program.stdout is not None
        address = program.stdout.readline().strip()
        assert fetch(address, "/")[0] in (303, 403)  # it serves
        program.send_signal(signal.SIGINT)
        time.sleep(0.02)  # two signals at once would be one
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=PATIENCE_S)
        assert (program.returncode, errors) == (0, "Stopped.\n")


def test_sigterm_ends_everything_that_searches_first() -> None:
    """A live analysis without limit, a job, and a game in which the engine thinks: they end before the process does."""
    with running("--no-browser", "--json", "--no-token") as program:
        assert program.stdout is not None
        where = urlsplit(json.loads(program.stdout.readline())["address"])
        connection = HTTPConnection(str(where.hostname), where.port, timeout=PATIENCE_S)

        def post(path: str, **question: Any) -> None:
            connection.request("POST", path, json.dumps(question))
            response = connection.getresponse()
            assert response.status < 300, response.read()
            response.read()

        with connect(f"ws://{where.netloc}/ws", origin=Origin(f"http://{where.netloc}"), proxy=None) as live:
            live.send(json.dumps({"type": "analyse", "id": 1, "sfen": START_SFEN, "moves": [], "multipv": 1}))
            while json.loads(live.recv(PATIENCE_S))["type"] != "report":
                pass
            nodes = [{"id": 0}, {"id": 1, "parent": 0, "usi": "7g7f"}]
            post("/api/jobs", kind="analyse-game", record={"nodes": nodes}, limits={"time_ms": 600_000})
            post("/api/play", color="white", sfen=START_SFEN, time_ms=600_000)
            program.send_signal(signal.SIGTERM)
            output, errors = program.communicate(timeout=PATIENCE_S)
        connection.close()
        assert (program.returncode, output, errors) == (143, "", "")


def test_page_is_there_before_the_network() -> None:
    """What takes long, the libraries of networks and of pictures, is not there yet when the page can be asked for."""
    heavy = "{'onnxruntime', 'openvino', 'torch', 'matplotlib', 'scipy', 'ray'}"
    code = f"import sys; from fukayomi.web import *; WebServer(WebSettings(port=0)); print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_browser_gets_the_address(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    script = tmp_path / "browser"
    script.write_text(f"#!/bin/sh\necho \"$1\" > '{opened}'\n")
    script.chmod(0o755)
    with running(BROWSER=f"{script} %s") as program:
        assert program.stdout is not None
        address = program.stdout.readline().strip()
        end = time.monotonic() + PATIENCE_S
        while not (opened.exists() and opened.read_text().strip()) and time.monotonic() < end:
            time.sleep(0.01)
        assert opened.read_text().strip() == address


def test_errors_name_what_is_wrong(tmp_path: Path) -> None:
    assert "missing.kif" in failure(tmp_path / "missing.kif")
    assert "missing.onnx" in failure("--model", tmp_path / "missing.onnx")
    assert "no option 'Hash'" in failure("--option", "Hash=5")
    assert "does not have the form KEY=VALUE" in failure("--option", "Hash")
    assert "without a token" in failure("--host", "0.0.0.0", "--no-token")


def test_without_the_extra_it_says_what_to_install() -> None:
    hide = "import sys; sys.modules['starlette'] = None; sys.argv = ['fukayomi', 'web']; "
    code = hide + "from fukayomi.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=10 * PATIENCE_S)
    assert done.returncode == 1
    assert done.stderr == 'error: this command needs starlette: pip install "fukayomi[web]"\n'


def test_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = failure("--port", str(port), "--no-browser")
        found = re.fullmatch(
            rf"error: port {port} of 127.0.0.1 is in use, perhaps by another fukayomi web: .* with --port (\d+) .*\n",
            message,
        )
        assert found
        with running("--port", found[1], "--no-browser", "--json") as second:  # the remedy works
            assert second.stdout is not None
            assert json.loads(second.stdout.readline())["port"] == int(found[1])


def test_port_is_always_the_same_so_that_the_browser_finds_its_settings() -> None:
    assert WebSettings().port == PORT == 8346


@pytest.mark.parametrize("words", [("--port", "70000"), ("--memory", "1")])
def test_numbers_out_of_range_are_refused(words: tuple[str, str]) -> None:
    assert words[0] in failure(*words, code=2)
