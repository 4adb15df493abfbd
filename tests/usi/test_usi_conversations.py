"""Conversations at random: whatever a GUI sends, and however fast, each go gets one answer, and never too early."""

import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fukayomi.shogi import Position
from fukayomi.usi.client import UsiClient

Start = Callable[..., UsiClient]

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
    "go nodes 9 searchmoves 7g7f 2g2f",
)
OTHERS = (
    "stop",
    "stop",
    "ponderhit",
    "ponderhit btime 0 wtime 0 byoyomi 20",
    "gameover lose",
    "usinewgame",
    "setoption name MultiPV value 3",
    "setoption name C_init value 120",
    "setoption name C_init value 144",
    "setoption name Random_Ply value 300",
    "setoption name USI_Ponder value true",
    "setoption name Stochastic_Ponder value true",
    "setoption name Stochastic_Ponder value false",
    "setoption name USI_Hash value 16",
    "setoption name ReuseSubtree value false",
    "setoption name DNN_Batch_Size value 3",
    "setoption name DNN_Batch_Size value 8",
    "isready",
)


def conversation(client: UsiClient, seed: int, length: int) -> int:
    """Talk nonsense in good form; return how many answers came, after checking that they are as many as asked for."""
    choose = random.Random(seed)
    questions = readies = 0
    for _ in range(length):
        kind = choose.random()
        if kind < 0.4:
            questions += 1
            line = choose.choice(GOES)
        elif kind < 0.6:
            line = f"position {choose.choice(POSITIONS + UNPLAYABLE)}"
        else:
            line = choose.choice(OTHERS)
        readies += line == "isready"
        client.send(line)
    client.send("stop\nisready")
    answers = 0
    while readies >= 0:
        line = client.read_line(20, f"an answer to conversation {seed}").text
        answers += line.startswith(("bestmove ", "checkmate "))
        readies -= line == "readyok"
        assert line.startswith(("bestmove ", "checkmate ", "info ", "readyok")), line
    assert answers == questions, f"conversation {seed}"
    return answers


def check_idle(client: UsiClient) -> None:
    """Nothing of what was asked goes on in secret: not more threads than lanes of the last search, and no work."""
    status = Path(f"/proc/{client.pid}/status")
    if not status.exists():
        return  # only Linux shows it
    time.sleep(0.2)
    threads = re.search(r"Threads:\s*(\d+)", status.read_text())
    assert threads is not None
    assert int(threads[1]) < 10


@pytest.mark.parametrize("odd", [(), ("slow", "0.02")])
def test_each_go_has_one_answer(start: Start, odd: tuple[str, ...]) -> None:
    client = start(*odd, fresh=True)
    assert sum(conversation(client, seed, 25) for seed in range(12)) > 50
    check_idle(client)
    assert client.close() == 0


def test_answers_belong_to_their_positions(start: Start) -> None:
    client = start()
    choose = random.Random(7)
    for _ in range(60):
        text = choose.choice(POSITIONS + UNPLAYABLE)
        client.send(f"position {text}\n{choose.choice(GOES[:-2])}\nstop")
        answer = client.read_until(lambda line: line.startswith("bestmove "), 10)[-1].text.split()[1]
        legal = set() if text in UNPLAYABLE else {move.usi() for move in Position.from_usi(text).legal_moves}
        assert answer in {*legal, "resign"}


@pytest.mark.soak
@pytest.mark.parametrize("odd", [(), ("slow", "0.02"), ("failing", "200")])
def test_each_go_has_one_answer_for_long(
    start: Start, odd: tuple[str, ...], record_property: Callable[[str, object], None]
) -> None:
    client = start(*odd, fresh=True)
    answers = sum(conversation(client, seed, 40) for seed in range(300))
    check_idle(client)
    record_property("go and its one answer", answers)
    assert client.close() == 0
