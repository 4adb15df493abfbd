"""The USI engine at the end of a pipe: what a script asks all at once is answered before the end."""

import subprocess
import sys
import time

import pytest
from engine_talk import MATE_IN_ONE, Command
from patience import PATIENCE_S
from places import HELPERS

READY = "usi\nsetoption name DNN_Model value <hash>\nisready\n"
SLOW = (sys.executable, str(HELPERS / "odd_engine.py"), "slow", "0.02")
LASTS = ("quit\n", "", "quit")
"""How the input ends: with `quit`, without it, or with one that no line feed follows."""
LAST = pytest.mark.parametrize("last", LASTS)


def run(command: Command, asked: str) -> list[str]:
    """What an engine writes that gets everything at once."""
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [line for line in done.stdout.splitlines() if not line.startswith(("id ", "option "))]


def answers(lines: list[str]) -> list[str]:
    return [line.split()[0] for line in lines if not line.startswith("info ")]


def nodes(lines: list[str]) -> list[int]:
    """The nodes that were searched when each bestmove came."""
    found, last = list[int](), 0
    for words in map(str.split, lines):
        last = int(words[words.index("nodes") + 1]) if "nodes" in words else last
        found += [last] if words[0] == "bestmove" else []
    return found


def test_the_published_line_works_with_the_embedded_network(engine_command: Command) -> None:
    lines = run(engine_command, "usi\nisready\nposition startpos\ngo nodes 100\n")
    assert answers(lines) == ["usiok", "readyok", "bestmove"]
    assert nodes(lines) == [100]


@LAST
def test_each_search_of_several_is_whole(engine_command: Command, last: str) -> None:
    goes = "position startpos\ngo nodes 700\nposition startpos moves 7g7f\ngo nodes 500\nusinewgame\ngo nodes 2000\n"
    lines = run(engine_command, f"{READY}{goes}{last}")
    assert answers(lines) == ["usiok", "readyok", *["bestmove"] * 3]
    assert nodes(lines) == [700, 500, 2000]


@LAST
def test_what_was_asked_before_the_network_was_ready_is_answered(engine_command: Command, last: str) -> None:
    lines = run(engine_command, f"setoption name DNN_Model value <hash>\nposition startpos\ngo nodes 500\n{last}")
    assert nodes(lines) == [500]
    assert answers(run(engine_command, f"{READY}{last}")) == ["usiok", "readyok"]


@pytest.mark.parametrize(
    ("go", "last"), [("go movetime 200", "quit\n"), ("go movetime 200", "quit"), ("go btime 0 wtime 0 byoyomi 300", "")]
)
def test_the_clock_of_a_script_begins_when_the_network_is_ready(go: str, last: str) -> None:
    """Loading takes longer than the move may."""
    slow = (sys.executable, str(HELPERS / "odd_engine.py"), "slow-start", "1.0")
    lines = run(slow, f"isready\nposition startpos\n{go}\n{last}")
    assert answers(lines) == ["readyok", "bestmove"]
    assert nodes(lines)[0] > 0


@pytest.mark.parametrize(
    ("go", "last"),
    [
        *(("go infinite", last) for last in LASTS),
        ("go ponder", ""),
        ("go", ""),
        ("go ponder btime 0 wtime 0 byoyomi 60000", ""),
    ],
)
def test_a_search_without_an_end_is_stopped_and_answered(engine_command: Command, go: str, last: str) -> None:
    assert answers(run(engine_command, f"{READY}{go}\n{last}")) == ["usiok", "readyok", "bestmove"]


@pytest.mark.parametrize("last", ["quit\n", ""])
def test_a_search_by_the_clock_has_its_time(engine_command: Command, last: str) -> None:
    begin = time.monotonic()
    lines = run(engine_command, f"{READY}position startpos\ngo btime 0 wtime 0 byoyomi 700\n{last}")
    assert answers(lines) == ["usiok", "readyok", "bestmove"]
    assert time.monotonic() - begin > 0.6


@pytest.mark.parametrize(
    ("limits", "last"), [*(("infinite", last) for last in LASTS), ("60000", ""), ("infinite nodes 100000", "")]
)
def test_a_mate_is_found_before_the_end(engine_command: Command, limits: str, last: str) -> None:
    lines = run(engine_command, f"{READY}position sfen {MATE_IN_ONE}\ngo mate {limits}\n{last}")
    assert lines[-1] == "checkmate G*2b"


def test_a_stop_still_stops(engine_command: Command) -> None:
    lines = run((*SLOW,), "isready\nposition startpos\ngo nodes 1000000000\nstop\nquit\n")
    assert answers(lines) == ["readyok", "bestmove"]


@pytest.mark.parametrize(
    ("go", "last"),
    [
        ("go nodes 1000000000", "quit"),
        ("go btime 0 wtime 0 byoyomi 3600000", "gameover lose\nquit"),
        ("go mate infinite", "quit"),
        ("go mate infinite", "gameover lose\nquit"),
    ],
)
def test_a_gui_that_quits_amid_a_search_does_not_wait(go: str, last: str) -> None:
    engine = subprocess.Popen(SLOW, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    assert engine.stdin is not None
    assert engine.stdout is not None
    with engine, engine.stdin as stdin, engine.stdout as stdout:
        print("isready", file=stdin, flush=True)
        while stdout.readline() != "readyok\n":
            pass
        # A mate search that does not end by itself.
        print("position sfen 4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1", file=stdin, flush=True)
        print(go, file=stdin, flush=True)
        time.sleep(0.7)  # longer than a script takes to send its next line
        print(last, file=stdin, flush=True)
        rest = stdout.read()  # up to the end of the process
        assert rest.splitlines()[-1].split()[0] in ("bestmove", "checkmate")
        assert engine.wait(PATIENCE_S) == 0


def test_an_engine_whose_gui_has_died_ends(engine_command: Command) -> None:
    engine = subprocess.Popen(engine_command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert engine.stdin is not None
    assert engine.stdout is not None
    engine.stdin.write(f"{READY}position startpos\ngo nodes 1000000000000\n".encode())
    engine.stdin.flush()
    while engine.stdout.readline() != b"readyok\n":
        pass
    engine.stdin.close()
    engine.stdout.close()
    assert engine.wait(PATIENCE_S) == 0
