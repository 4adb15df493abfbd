"""Conversations at random: whatever a GUI sends, and however fast, each go gets one answer, and never too early."""

import random
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from engine_talk import Command, Start
from patience import PATIENCE_S, until
from places import SAMPLES

from fukayomi.shogi import Position
from fukayomi.usi.client import UsiClient

POSITIONS = (
    "startpos",
    "startpos moves 7g7f 3c3d",
    "sfen 7k1/9/7P1/9/9/9/9/9/K8 b G 1",
    "sfen k7r/9/9/9/9/9/9/9/K7r b - 1",
)
UNPLAYABLE = (
    "sfen k8/9/9/9/9/9/9/9/9 b 2G 1",  # a mate problem
    "sfen 9/9/9/9/9/9/9/9/9 w - 0",
    "startpos moves 7g7e",
    "sfen",
)
GOES = (
    "go infinite",
    "go ponder",
    "go ponder btime 0 wtime 0 byoyomi 20",
    "go",
    "go nodes 1",
    "go nodes 50",
    "go movetime 5",
    "go btime 50 wtime 50 binc 5 winc 5",
    "go btime 0 wtime 0 byoyomi 20",
    "go depth 2",
    "go mate 100",
    "go mate infinite",
    "go nodes 9 searchmoves 7g7f 2g2f",
)
OTHERS = (
    "stop",
    "stop",
    "usi",
    "ponderhit",
    "ponderhit btime 0 wtime 0 byoyomi 20",
    "gameover lose",
    "usinewgame",
    "setoption name MultiPV value 3",
    "setoption name C_init value 120",
    "setoption name C_init value 144",
    "setoption name Random_Ply value 300",
    "setoption name OwnBook value true",
    "setoption name OwnBook value false",
    "setoption name Best_Book_Move value false",
    f"setoption name Book_File value {SAMPLES / 'book.db'}",
    "setoption name USI_Ponder value true",
    "setoption name Stochastic_Ponder value true",
    "setoption name Stochastic_Ponder value false",
    "setoption name Time_Instability value 100",
    "setoption name KLD_Min_Gain value 100000",
    "setoption name Early_Stop_Nodes value true",
    "setoption name USI_Hash value 16",
    "setoption name ReuseSubtree value false",
    "setoption name DNN_Batch_Size value 3",
    "setoption name DNN_Batch_Size value 8",
    "isready",
)


LENGTH = 40
"""Lines of a conversation."""
PAUSE_S = 0.01
"""The longest pause between two lines, so that some searches end by themselves."""


def lines_at_random(choose: random.Random, length: int) -> list[str]:
    """What a GUI might send, in good form but in no order."""
    lines: list[str] = []
    for _ in range(length):
        kind = choose.random()
        if kind < 0.4:
            lines.append(choose.choice(GOES))
        elif kind < 0.6:
            lines.append(f"position {choose.choice(POSITIONS + UNPLAYABLE)}")
        else:
            lines.append(choose.choice(OTHERS))
    return lines


def questions(lines: Sequence[str]) -> int:
    """How many answers lines ask for."""
    return sum(line.split()[0] == "go" for line in lines)


def is_answer(line: str) -> bool:
    """Whether a line of the engine answers a ``go``; it must be one that it may write."""
    assert line.startswith(("bestmove ", "checkmate ", "info ", "id ", "option ", "readyok", "usiok")), line
    return line.startswith(("bestmove ", "checkmate "))


def conversation(client: UsiClient, seed: int) -> int:
    """Talk nonsense in good form; return how many answers came, after checking that they are as many as asked for."""
    client.wait_ready(PATIENCE_S)
    choose = random.Random(seed)
    lines = lines_at_random(choose, LENGTH)
    for line in lines:
        client.send(line)
        if choose.random() < 0.1:
            time.sleep(PAUSE_S * choose.random())
    client.send("stop\nisready")
    answers, readies = 0, lines.count("isready")
    while readies >= 0:
        line = client.read_line(PATIENCE_S, f"an answer to conversation {seed}").text
        answers += is_answer(line)
        readies -= line == "readyok"
    assert answers == questions(lines), f"conversation {seed}"
    return answers


def flood(engine_command: Command, seed: int, length: int) -> None:
    """Send everything at once, then the end of the input: all is answered, and the engine ends."""
    lines = lines_at_random(random.Random(seed), length)
    asked = "\n".join(("usi", "setoption name DNN_Model value <hash>", "isready", *lines)) + "\n"
    done = subprocess.run(engine_command, input=asked, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, f"flood {seed}"
    assert done.stderr == ""
    assert sum(map(is_answer, done.stdout.splitlines())) == questions(lines), f"flood {seed}"


def quit_amid(client: UsiClient, seed: int, length: int) -> None:
    """Send lines and quit, whatever the engine is doing: it ends soon and well."""
    for line in lines_at_random(random.Random(seed), length):
        client.send(line)
    assert client.close(PATIENCE_S) == 0, f"quit after {seed}"


def check_idle(client: UsiClient) -> None:
    """Nothing of what was asked goes on in secret: not more threads than lanes of the last search, and no work."""
    status = Path(f"/proc/{client.pid}/status")
    if not status.exists():
        return  # only Linux shows it

    def threads() -> int:
        found = re.search(r"Threads:\s*(\d+)", status.read_text())
        assert found is not None
        return int(found[1])

    until(lambda: threads() < 10)


# 2 000 lines together; the long tests below send 100 000.


@pytest.mark.parametrize(("odd", "conversations"), [((), 25), (("slow", "0.02"), 10)])
def test_each_go_has_one_answer(start: Start, odd: tuple[str, ...], conversations: int) -> None:
    client = start(*odd, fresh=True)
    assert sum(conversation(client, seed) for seed in range(conversations)) > 10 * conversations
    check_idle(client)
    assert client.close() == 0


def test_everything_at_once_is_answered_before_the_end(engine_command: Command) -> None:
    flood(engine_command, 1, 400)


@pytest.mark.parametrize("seed", range(4))
def test_quits_amid_anything(start: Start, seed: int) -> None:
    quit_amid(start(fresh=True), seed, 50)


def test_answers_belong_to_their_positions(start: Start) -> None:
    client = start()
    choose = random.Random(7)
    goes = [go for go in GOES if "mate" not in go and "searchmoves" not in go]
    for _ in range(60):
        text = choose.choice(POSITIONS + UNPLAYABLE)
        client.send(f"position {text}\n{choose.choice(goes)}\nstop")
        answer = client.read_until(lambda line: line.startswith("bestmove "), PATIENCE_S)[-1].text.split()[1]
        legal: set[str] = set() if text in UNPLAYABLE else {move.usi() for move in Position.from_usi(text).legal_moves}
        assert answer in {*legal, "resign"}


@pytest.mark.soak
@pytest.mark.parametrize(("odd", "conversations"), [((), 1500), (("slow", "0.02"), 300), (("failing", "2000"), 300)])
def test_each_go_has_one_answer_for_long(
    start: Start, odd: tuple[str, ...], conversations: int, record_property: Callable[[str, object], None]
) -> None:
    client = start(*odd, fresh=True)
    answers = sum(conversation(client, seed) for seed in range(1000, 1000 + conversations))
    check_idle(client)
    record_property("lines", conversations * LENGTH)
    record_property("go and its one answer", answers)
    assert client.close() == 0


@pytest.mark.soak
def test_everything_at_once_is_answered_before_the_end_for_long(engine_command: Command) -> None:
    for seed in range(1000, 1020):
        flood(engine_command, seed, 500)


@pytest.mark.soak
def test_quits_amid_anything_for_long(start: Start) -> None:
    for seed in range(1000, 1120):
        quit_amid(start(fresh=True), seed, 50)
