"""The USI engine under quick stops, sudden ends and invalid lines."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from engine_talk import Command, Start, moves_of, next_line, strings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patience import PATIENCE_S

from fukayomi.shogi import Move, Position
from fukayomi.usi.client import UsiClient
from fukayomi.usi.text import Go


def test_two_hundred_quick_stops_get_two_hundred_answers(start: Start) -> None:
    client = start(PV_Interval="1")
    legal = moves_of()
    client.position()
    for i in range(200):
        go = (Go(infinite=True), Go(ponder=True), Go(nodes=5), Go(movetime_ms=1))[i % 4]
        client.send(f"{go.text()}\nstop")  # a stop that crosses the end of the search included
        lines = client.read_until(lambda line: line.startswith("bestmove"), PATIENCE_S)
        assert lines[-1].text.split()[1] in legal
    assert client.wait_ready() == []  # not one answer too many


def test_a_go_without_stop_ends_the_one_before(start: Start) -> None:
    client = start(PV_Interval="0")
    client.position()
    client.send("go infinite\ngo ponder\ngo nodes 10")
    for _ in range(3):
        client.read_until(lambda line: line.startswith("bestmove"), PATIENCE_S)
    assert client.wait_ready() == []


@pytest.mark.parametrize("last", ["gameover win", "usinewgame", "isready"])
def test_the_end_of_a_game_while_pondering(start: Start, last: str) -> None:
    client = start(PV_Interval="0")
    client.position()
    client.send(f"go ponder\n{last}")
    client.read_until(lambda line: line.startswith("bestmove"), PATIENCE_S)
    client.wait_ready()
    client.new_game()
    client.position()
    assert client.go(Go(nodes=10), PATIENCE_S).bestmove is not None


@pytest.mark.parametrize("while_doing", ["", "go infinite", "go ponder", "isready", "isready\ngo infinite"])
def test_quits_at_once(start: Start, while_doing: str) -> None:
    begin = time.monotonic()
    client = start(fresh=True)
    to_start = time.monotonic() - begin  # long on a busy machine
    client.send(while_doing)
    begin = time.monotonic()
    assert client.close(PATIENCE_S) == 0
    assert time.monotonic() - begin < 1.0 + 3 * to_start


def test_a_gui_that_has_closed_its_end_is_not_an_error(engine_command: Command) -> None:
    process = subprocess.Popen(engine_command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(b"usi\n")
    process.stdin.flush()
    process.stdout.readline()
    process.stdout.close()
    process.stdin.write(b"setoption name DNN_Model value <hash>\nisready\ngo movetime 100\n")
    process.stdin.close()
    assert process.wait(PATIENCE_S) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_an_output_that_cannot_be_written_is_an_error(engine_command: Command) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            engine_command, input=b"usi\nquit\n", stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"error: cannot write the output: No space left on device\n")


@pytest.mark.skipif(os.name != "posix", reason="the shell closes the streams")
@pytest.mark.parametrize(("closed", "name"), [("<&-", "input"), (">&-", "output")])
def test_a_closed_stream_is_an_error(engine_command: Command, closed: str, name: str) -> None:
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *engine_command]
    done = subprocess.run(shell, input="", capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    reason = f"error: the standard {name} is closed; start the command with an open one\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", reason)


VOCABULARY = """position startpos sfen moves 7g7f go ponder nodes -1 10 searchmoves depth setoption name value MultiPV
    ponderhit gameover byoyomi mate stop 棋 btime b"""
WORDS = st.sampled_from([*VOCABULARY.split(), "\x00"])
LINES = st.one_of(
    st.lists(WORDS, max_size=8).map(" ".join),
    st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=60),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(LINES.filter(lambda line: line.split()[:1] not in (["quit"], ["usi"], ["isready"])), max_size=8))
def test_no_line_ends_the_engine(common_engine: UsiClient, lines: list[str]) -> None:
    client = common_engine
    client.set_option("DNN_Model", "<hash>")
    for line in lines:
        client.send(line)
    client.wait_ready(PATIENCE_S)
    client.position()
    answer = client.go(Go(nodes=3), PATIENCE_S)
    assert answer.bestmove is not None
    assert Move.from_usi(answer.bestmove.move) in Position().legal_moves


def test_bytes_that_are_not_text(start: Start) -> None:
    client = start()
    client.send_bytes(b"\xff\xfe\x80 go\n\x00\n" + b"x" * 100_000 + b"\nposition startpos moves \xe6\x9c\n")
    said = strings(client)
    assert len(said) == 4
    assert max(map(len, said)) < 400


def test_a_byte_order_mark_and_other_line_ends(engine_command: Command) -> None:
    asked = "\ufeffusi\r\nsetoption name DNN_Model value <hash>\r\nisready\r\ngo nodes 5\r\n\r\n"
    done = subprocess.run(engine_command, input=asked.encode(), capture_output=True, timeout=PATIENCE_S, check=False)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0
    assert {"usiok", "readyok"} <= set(lines)
    assert not [line for line in lines if "unknown" in line]


def test_echoes_are_short_and_without_control_characters(start: Start) -> None:
    client = start()
    client.send(f"go nodes 1 {'x' * 900_000} \x00\x1b[2J")
    lines = [line.text for line in client.read_until(lambda line: line.startswith("bestmove"), PATIENCE_S)]
    assert lines[0].startswith("info string go: ignored xxxx")
    assert max(len(line) for line in lines) < 400
    client.send("go nodes 1 \x00\x1b[2J")
    assert next_line(client, PATIENCE_S).text == "info string go: ignored ??[2J"
    client.read_until(lambda line: line.startswith("bestmove"), PATIENCE_S)
    client.send("x" * 5_000_000)
    client.send(f"setoption name {'é' * 100_000} value 1")
    client.send(f"setoption name MultiPV value {'9' * 100_000}")
    said = strings(client)
    assert len(said) == 3
    assert max(map(len, said)) < 400
