"""The client against engines that stall, die and chatter."""

import sys
import time

import pytest

from fukayomi.usi.client import EngineDiedError, EngineError, EngineTimeoutError, State, UsiClient
from fukayomi.usi.text import Go

PRELUDE = """
import sys, time
def say(*lines):
    print(*lines, sep="\\n", flush=True)
def say_hello():
    say("id name Mock 1", "id author nobody", "option name Depth type spin default 1 min 1 max 9", "usiok")
"""


def mock(body: str) -> UsiClient:
    """An engine whose loop over lines is given."""
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    program = f"{PRELUDE}\nfor line in sys.stdin:\n    line = line.strip()\n    if line == 'usi': say_hello()\n"
    return UsiClient((sys.executable, "-c", f"{program}    if line == 'quit': break\n{lines}\n"), timeout_s=3)


def test_talks_a_game() -> None:
    body = """
if line == 'isready': say('info string loading', 'readyok')
if line.startswith('go'): say('info depth 1 score cp 5 pv 7g7f', 'info string x', 'bestmove 7g7f ponder 3c3d')
"""
    with mock(body) as client:
        client.handshake()
        assert (client.name, client.author) == ("Mock 1", "nobody")
        assert client.options["Depth"].maximum == 9
        assert client.is_ready() == ["info string loading"]
        client.new_game()
        client.position(None, ("7g7f",))
        answer = client.go(Go(nodes=1), 3)
        assert answer.bestmove is not None
        assert (answer.bestmove.move, answer.bestmove.ponder) == ("7g7f", "3c3d")
        assert answer.best_info is not None
        assert answer.best_info.pv == ("7g7f",)
        assert client.state is State.READY
        assert client.close() == 0
    assert client.close() == 0  # twice is fine


def test_a_stall_is_a_timeout() -> None:
    with mock("if line.startswith('go'): time.sleep(60)") as client:
        client.timeout_s = 0.3
        client.handshake()
        begin = time.monotonic()
        with pytest.raises(EngineTimeoutError, match="Mock 1 did not send bestmove"):
            client.go(Go(nodes=1), 0.3)
        assert time.monotonic() - begin < 2
        with pytest.raises(EngineError, match="still thinking"):
            client.start_go(Go())
    assert client.close() != 0  # it had to be killed


def test_a_death_is_noticed_with_its_last_words() -> None:
    with mock("if line.startswith('go'): sys.exit('out of memory')") as client:
        client.handshake()
        for _ in range(2):
            with pytest.raises(EngineDiedError, match="exit code 1\nout of memory"):
                client.wait_answer(3) if client.state is State.THINKING else client.go(Go(), 3)
        with pytest.raises(EngineDiedError):
            client.is_ready()


def test_chatter_on_stderr_does_not_block() -> None:
    with mock("if line == 'isready': sys.stderr.write('noise\\n' * 100_000); say('readyok')") as client:
        client.handshake()
        client.is_ready(5)


def test_a_bestmove_that_is_none_is_an_error() -> None:
    with mock("if line.startswith('go'): say('bestmove')") as client:
        client.handshake()
        with pytest.raises(EngineError, match="names no move"):
            client.go(Go(), 3)


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(EngineError, match="cannot start"):
        UsiClient(("/nowhere/engine",))


def test_a_program_that_is_no_engine() -> None:
    with UsiClient((sys.executable, "-c", "print('hello')")) as client, pytest.raises(EngineDiedError):
        client.handshake()
