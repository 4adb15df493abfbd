"""Conversations at random: whatever a GUI sends, and however fast, each go gets one answer, and never too early.

A sequence is one search: perhaps a `position`, a `go`, and up to three commands that may arrive before its answer. One
of them may end the search; otherwise it ends by itself, or with the next sequence, whose `go` comes without a `stop`.
A conversation is some sequences in a row.

Too early is the answer to `go infinite`, `go ponder` or a `go` without limits before what ends that search: `stop`,
`gameover`, `usinewgame`, `isready`, another `go`, or after `go ponder` also `ponderhit`. All other commands leave it
running.
"""

import random
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from engine_talk import MATE_IN_ONE, MATED, Command, Start, next_line
from patience import PATIENCE_S, until
from places import SAMPLES
from toy_network import write_network

from fukayomi.engine.evaluators.backends.backend import get_backend
from fukayomi.shogi import Position
from fukayomi.usi.client import EngineLine, UsiClient

POSITIONS = (
    "startpos",
    "startpos moves 7g7f 3c3d",
    f"sfen {MATE_IN_ONE}",
    f"sfen {MATED}",
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
ENDINGS = (
    "stop",
    "stop",
    "ponderhit",
    "ponderhit btime 0 wtime 0 byoyomi 20",
    "gameover lose",
    "usinewgame",
)
OTHERS = (
    "usi",
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
    *(f"position {position}" for position in POSITIONS + UNPLAYABLE),
)
ENDS_ANY = ("stop", "gameover", "usinewgame", "isready", "go")
ENDED_BY = {"go": ENDS_ANY, "go infinite": ENDS_ANY, "go ponder": ("ponderhit", *ENDS_ANY)}
"""What ends the searches that do not end by themselves."""


SEQUENCES = 20
"""Sequences of a conversation."""
PAUSE_S = 0.01
"""The longest pause between two lines, so that some searches end by themselves."""


def sequence(choose: random.Random) -> list[str]:
    """What a GUI might send for one search, in good form but in no order."""
    lines = [choose.choice(GOES)]
    if choose.random() < 0.5:
        lines.insert(0, f"position {choose.choice(POSITIONS + UNPLAYABLE)}")
    for _ in range(choose.randrange(4)):
        lines.append(choose.choice(ENDINGS if choose.random() < 0.5 else OTHERS))
    return lines


def lines_at_random(choose: random.Random, sequences: int) -> list[str]:
    """Sequences in a row."""
    return [line for _ in range(sequences) for line in sequence(choose)]


def is_answer(line: str) -> bool:
    """Whether a line of the engine answers a ``go``; it must be one that it may write."""
    assert line.startswith(("bestmove ", "checkmate ", "info ", "id ", "option ", "readyok", "usiok")), line
    return line.startswith(("bestmove ", "checkmate "))


@dataclass
class Asked:
    """A ``go`` that was sent."""

    line: str
    """The command."""
    not_before_s: float
    """No answer may come before this (`time.monotonic`)."""
    ends_by: tuple[str, ...]
    """The commands that end the search; none once one of them was sent, or if it ends by itself."""

    def is_answered_by(self, line: str) -> bool:
        """Whether an answer is of the right kind."""
        return line.startswith("checkmate " if "mate" in self.line.split() else "bestmove ")


def send(client: UsiClient, line: str, asked: list[Asked]) -> None:
    """Send a line; note the ``go`` that it is, and the search that it ends."""
    now_s, name = time.monotonic(), line.split()[0]
    if asked and name in asked[-1].ends_by:
        asked[-1].not_before_s, asked[-1].ends_by = now_s, ()
    if name == "go":
        asked.append(Asked(line, now_s, ENDED_BY.get(" ".join(line.split()[:2]), ())))
    client.send(line)


def conversation(client: UsiClient, seed: int) -> None:
    """Talk nonsense in good form. Check that each ``go`` has one answer, and none too early."""
    client.wait_ready(PATIENCE_S)
    choose = random.Random(seed)
    lines, asked = lines_at_random(choose, SEQUENCES), list[Asked]()
    for line in lines:
        send(client, line, asked)
        if choose.random() < 0.1:
            time.sleep(PAUSE_S * choose.random())
    send(client, "stop", asked)
    send(client, "isready", asked)
    answers, readies = list[EngineLine](), lines.count("isready")
    while readies >= 0:
        line = next_line(client, PATIENCE_S, f"an answer to conversation {seed}")
        answers += [line] if is_answer(line.text) else []
        readies -= line.text == "readyok"
    assert len(answers) == len(asked) == SEQUENCES, f"conversation {seed}"
    for answer, go in zip(answers, asked, strict=True):
        assert go.is_answered_by(answer.text), f"conversation {seed}: {go.line}: {answer.text}"
        assert answer.time_s >= go.not_before_s, f"conversation {seed}: {go.line}: too early"


def flood(engine_command: Command, seed: int, sequences: int) -> None:
    """Send everything at once, then the end of the input: all is answered, and the engine ends."""
    lines = lines_at_random(random.Random(seed), sequences)
    asked = "\n".join(("usi", "setoption name DNN_Model value <hash>", "isready", *lines)) + "\n"
    done = subprocess.run(engine_command, input=asked, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, f"flood {seed}"
    assert done.stderr == ""
    assert sum(map(is_answer, done.stdout.splitlines())) == sequences, f"flood {seed}"


def quit_amid(client: UsiClient, seed: int) -> None:
    """Send sequences and quit, whatever the engine is doing: it ends soon and well."""
    for line in lines_at_random(random.Random(seed), SEQUENCES):
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


# 1 000 sequences together, about 4 ms each; the long tests below have 100 000, which take about ten minutes. Those that
# `quit` ends are not counted.


@pytest.mark.parametrize(("odd", "conversations"), [((), 30), (("slow", "0.02"), 3), (("failing", "100"), 3)])
def test_each_go_has_one_answer(start: Start, odd: tuple[str, ...], conversations: int) -> None:
    client = start(*odd, fresh=True)
    for seed in range(conversations):
        conversation(client, seed)
    check_idle(client)
    assert client.close() == 0


@pytest.mark.parametrize("conversations", [1, pytest.param(50, marks=pytest.mark.soak)])
def test_each_go_has_one_answer_by_opencl(start: Start, conversations: int, tmp_path: Path) -> None:
    if problem := get_backend("opencl").problem():
        pytest.skip(problem)
    network = write_network(tmp_path / "toy.onnx")
    client = start(fresh=True, DNN_Model=str(network), DNN_Provider="opencl", DNN_Precision="fp32", UCT_Threads="2")
    for seed in range(conversations):
        conversation(client, seed)
    assert client.close() == 0


def test_everything_at_once_is_answered_before_the_end(engine_command: Command) -> None:
    flood(engine_command, 1, 200)


@pytest.mark.parametrize("seed", range(2))
def test_quits_amid_anything(start: Start, seed: int) -> None:
    quit_amid(start(fresh=True), seed)


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
@pytest.mark.parametrize(("odd", "conversations"), [((), 4000), (("slow", "0.02"), 250), (("failing", "2000"), 250)])
def test_each_go_has_one_answer_for_long(
    start: Start, odd: tuple[str, ...], conversations: int, record_property: Callable[[str, object], None]
) -> None:
    client = start(*odd, fresh=True)
    for seed in range(1000, 1000 + conversations):
        conversation(client, seed)
    check_idle(client)
    record_property("sequences, each go with its one answer", conversations * SEQUENCES)
    assert client.close() == 0


@pytest.mark.soak
def test_everything_at_once_is_answered_before_the_end_for_long(
    engine_command: Command, record_property: Callable[[str, object], None]
) -> None:
    for seed in range(1000, 1025):
        flood(engine_command, seed, 400)
    record_property("sequences, each go with its one answer", 25 * 400)


@pytest.mark.soak
def test_quits_amid_anything_for_long(start: Start) -> None:
    for seed in range(1000, 1120):
        quit_amid(start(fresh=True), seed)
