"""The engine as a GUI sees it: a process that is asked and answers."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fukayomi.shogi import Move, Position
from fukayomi.usi.client import EngineDiedError, EngineTimeoutError, UsiClient
from fukayomi.usi.text import Go

Start = Callable[..., UsiClient]
Command = tuple[str, ...]

MATE_IN_ONE = "7k1/9/7P1/9/9/9/9/9/K8 b G 1"  # G*2b
MATED = "7k1/7G1/7P1/9/9/9/9/9/K8 w - 2"
DECLARED = "+P+P+P+P+P+P+P+P+P/K+R+B6/9/9/9/9/9/9/8k b RB 1"  # 29 points
ONE_MOVE = "k8/9/9/9/9/9/9/r8/K8 b - 1"


def moves_of(sfen: str | None = None) -> set[str]:
    return {move.usi() for move in (Position.from_sfen(sfen) if sfen else Position()).legal_moves}


def strings(client: UsiClient) -> list[str]:
    """Lines up to the next readyok, which the engine always answers."""
    return [line for line in client.is_ready() if line.startswith("info string")]


# ---------------------------------------------------------------------------------------------- start and options


def test_introduces_itself_within_a_second(engine_command: Command) -> None:
    seconds: list[float] = []
    for _ in range(3):
        begin = time.monotonic()
        with UsiClient(engine_command) as client:
            client.handshake()
            seconds.append(time.monotonic() - begin)
    assert min(seconds) < 1.0
    assert client.name.startswith("fukayomi ")


def test_declares_dlshogis_options(start: Start) -> None:
    options = start(ready=False).options
    for name in (
        "DNN_Model",
        "DNN_Batch_Size",
        "UCT_Threads",
        "UCT_NodeLimit",
        "Softmax_Temperature",
        "C_init",
        "C_base",
    ):
        assert name in options
    for name in ("C_fpu_reduction", "C_init_root", "C_base_root", "C_fpu_reduction_root", "Draw_Ply", "Eval_Coef"):
        assert name in options
    for name in ("USI_Hash", "USI_Ponder", "Stochastic_Ponder", "MultiPV", "Resign_Threshold", "PV_Interval"):
        assert name in options
    assert options["Softmax_Temperature"].default == "174"
    assert options["DNN_Model"].default == "<internal>"


def test_the_program_without_arguments_is_the_engine(engine_command: Command) -> None:
    code = "from fukayomi.cli.usi import main; main()"  # what fukayomi-usi runs
    with UsiClient((engine_command[0], "-c", code)) as client:
        client.handshake()
        assert client.close() == 0


def test_loads_nothing_before_isready(start: Start) -> None:
    client = start(ready=False, DNN_Model="/nowhere/net.onnx")
    client.send("usi")
    client.read_until(lambda line: line == "usiok", 5)
    client.set_option("DNN_Model", "<uniform>")
    assert client.is_ready() == []


def test_a_network_that_is_not_there_ends_the_engine_with_a_reason(start: Start) -> None:
    client = start(ready=False, DNN_Model="/nowhere/net.onnx")
    client.send("isready")
    lines = [client.read_line(10).text]
    with pytest.raises(EngineDiedError, match="exit code 1"):
        client.read_line(10)
    assert "Error: there is no file /nowhere/net.onnx" in lines[0]
    assert "DNN_Model" in lines[0]


def test_unknown_options_and_values_are_answered_and_harmless(start: Start) -> None:
    client = start()
    client.set_option("No_Such_Option", "1")
    client.set_option("MultiPV", "0")
    client.set_option("MultiPV", "many")
    client.set_option("USI_Hash", "256")
    client.send("setoption")
    client.send("setoption name MultiPV")
    lines = strings(client)
    assert len(lines) == 5
    assert "No_Such_Option" in lines[0]
    assert "1 to 593" in lines[1]
    assert client.go(Go(nodes=10), 5).bestmove is not None


def test_a_file_beside_the_network_suggests_options(start: Start, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from toy_network import write_network

    network = write_network(tmp_path / "toy.onnx")
    network.with_name("toy.onnx.ini").write_text("MultiPV=2\nDNN_Batch_Size=5\nThreads=1\nNonsense=1\n")
    client = start(ready=False, DNN_Model=str(network), Threads="2")
    lines = client.is_ready()
    assert any("Nonsense" in line for line in lines)
    assert any("2 threads, batch 5" in line for line in lines)
    answer = client.go(Go(nodes=50), 10)
    assert {info.multipv for info in answer.infos if info.score} == {1, 2}


# ---------------------------------------------------------------------------------------------- answers


def test_answers_with_a_legal_move_and_a_legal_ponder_move(start: Start) -> None:
    client = start()
    client.position(None, ("7g7f", "3c3d"))
    answer = client.go(Go(nodes=500), 10)
    position = Position.from_usi("startpos moves 7g7f 3c3d")
    assert answer.bestmove is not None
    position.push_usi(answer.bestmove.move)
    assert answer.bestmove.ponder is not None
    position.push_usi(answer.bestmove.ponder)
    info = answer.best_info
    assert info is not None
    assert info.pv[:2] == (answer.bestmove.move, answer.bestmove.ponder)
    assert info.nodes == 500
    assert info.nps is not None
    assert info.hashfull is not None
    assert info.time_ms is not None
    assert info.seldepth is not None
    assert info.depth is not None
    assert info.seldepth >= info.depth


def test_every_pv_is_legal(start: Start) -> None:
    client = start(MultiPV="5", PV_Interval="20")
    client.position()
    for info in client.go(Go(movetime_ms=500), 5).infos:
        position = Position()
        for move in info.pv:
            position.push_usi(move)


def test_multipv_holds_from_the_next_go_without_isready(start: Start) -> None:
    client = start()
    client.position()
    client.go(Go(nodes=200), 5)
    client.set_option("MultiPV", "3")
    answer = client.go(Go(nodes=400), 5)
    last = answer.infos[-3:]
    assert [info.multipv for info in last] == [1, 2, 3]
    assert len({info.pv[0] for info in last}) == 3


def test_searchmoves(start: Start) -> None:
    client = start()
    client.position()
    answer = client.go(Go(nodes=200, searchmoves=("9g9f", "1g1f")), 5)
    assert answer.bestmove is not None
    assert answer.bestmove.move in ("9g9f", "1g1f")
    answer = client.go(Go(nodes=50, searchmoves=("9g9e",)), 5)  # not legal: ignored
    assert answer.bestmove is not None
    assert answer.bestmove.move in moves_of()
    assert any(info.string and "9g9e" in info.string for info in answer.infos)


def test_mate_is_found_and_said(start: Start) -> None:
    client = start()
    client.position(MATE_IN_ONE)
    answer = client.go(Go(btime_ms=60_000, wtime_ms=60_000), 5)
    assert answer.bestmove is not None
    assert answer.bestmove.move == "G*2b"
    assert answer.best_info is not None
    assert answer.best_info.score is not None
    assert answer.best_info.score.mate == 1
    assert answer.seconds < 1.0


def test_resigns_when_mated(start: Start) -> None:
    client = start()
    client.position(MATED)
    answer = client.go(Go(byoyomi_ms=1000), 5)
    assert answer.bestmove is not None
    assert answer.bestmove.move == "resign"


def test_declares_a_win_under_the_rule_that_is_set(start: Start) -> None:
    client = start()
    client.position(DECLARED)
    answer = client.go(Go(byoyomi_ms=1000), 5)
    assert answer.bestmove is not None
    assert answer.bestmove.move == "win"
    assert answer.seconds < 0.5  # there is nothing to think about
    client.start_go(Go(ponder=True))
    client.ponderhit(Go(byoyomi_ms=1000))
    answer = client.wait_answer(5)
    assert answer.bestmove is not None
    assert answer.bestmove.move == "win"
    assert answer.seconds < 0.5
    client.set_option("EnteringKingRule", "NoEnteringKing")
    answer = client.go(Go(byoyomi_ms=500), 5)
    assert answer.bestmove is not None
    assert answer.bestmove.move in moves_of(DECLARED)


def test_go_mate_is_not_implemented_and_says_so(start: Start) -> None:
    client = start()
    client.position(MATE_IN_ONE)
    answer = client.go(Go(mate=True, mate_ms=1000), 1)
    assert answer.checkmate is not None
    assert answer.checkmate.verdict == "notimplemented"


def test_depth_ends_a_search(start: Start) -> None:
    client = start()
    client.position()
    answer = client.go(Go(depth=3), 10)
    assert answer.best_info is not None
    assert (answer.best_info.depth or 0) >= 3


def test_a_broken_position_keeps_the_one_before(start: Start) -> None:
    client = start()
    client.position(MATE_IN_ONE)
    for line in (
        "position",
        "position sfen 9/9 b - 1",
        "position startpos moves 7g7e",
        "position startpos moves 7g7f 7g7f",
        "position sfen k8/9/9/9/9/9/9/9/9 b - 1",
    ):
        client.send(line)
    assert len(strings(client)) == 5
    answer = client.go(Go(nodes=10), 5)
    assert answer.bestmove is not None
    assert answer.bestmove.move == "G*2b"


def test_go_without_isready_and_position_still_answers(start: Start) -> None:
    client = start(ready=False)
    answer = client.go(Go(nodes=20), 10)
    assert answer.bestmove is not None
    assert answer.bestmove.move in moves_of()


def test_an_evaluator_that_fails_ends_the_search_with_a_reason_and_a_move(start: Start) -> None:
    for batches in ("0", "5"):
        client = start("failing", batches)
        client.position()
        answer = client.go(Go(byoyomi_ms=5000), 10)
        assert answer.seconds < 2.0
        assert answer.bestmove is not None
        assert answer.bestmove.move in moves_of()
        assert any(info.string == "Error: the device caught fire" for info in answer.infos)
        client.start_go(Go(infinite=True))
        assert "caught fire" in client.read_line(5).text
        never_answers(client, 0.2)
        client.stop()
        assert client.wait_answer(5).bestmove is not None


def test_plays_with_the_embedded_network(start: Start) -> None:
    client = start(DNN_Model="<internal>")
    client.position()
    answer = client.go(Go(nodes=200), 30)
    assert answer.bestmove is not None
    assert answer.bestmove.move in (
        "7g7f",
        "2g2f",
        "7i6h",
        "7i7h",
        "5g5f",
        "6g6f",
        "3i4h",
        "2h7h",
        "9g9f",
        "1g1f",
        "4i5h",
    )
    assert answer.best_info is not None
    assert abs(answer.best_info.score.cp or 0) < 300


# ---------------------------------------------------------------------------------------------- time


def never_answers(client: UsiClient, seconds: float) -> None:
    """No bestmove for so long."""
    with pytest.raises(EngineTimeoutError):
        client.read_until(lambda line: line.startswith("bestmove"), seconds)


@pytest.mark.parametrize("sfen", [None, MATE_IN_ONE, MATED, ONE_MOVE, DECLARED])
@pytest.mark.parametrize("go", [Go(infinite=True), Go(ponder=True, btime_ms=10, wtime_ms=10, byoyomi_ms=10), Go()])
def test_infinite_and_ponder_wait_for_stop(start: Start, sfen: str | None, go: Go) -> None:
    client = start(PV_Interval="0", USI_Hash="16")
    client.position(sfen)
    client.start_go(go)
    never_answers(client, 0.3)
    client.stop()
    answer = client.wait_answer(1)
    assert answer.bestmove is not None
    assert answer.bestmove.move in moves_of(sfen) | {"resign", "win"}


def test_a_full_memory_does_not_end_infinite(start: Start) -> None:
    client = start(USI_Hash="16", PV_Interval="100")
    client.position()
    client.start_go(Go(infinite=True))
    never_answers(client, 1.5)
    client.stop()
    assert client.wait_answer(1).bestmove is not None


def test_stop_does_not_wait_for_the_batch_in_flight(start: Start) -> None:
    client = start("slow", "2")
    client.position()
    seconds: list[float] = []
    for _ in range(5):
        client.start_go(Go(infinite=True))
        time.sleep(0.1)
        begin = time.monotonic()
        client.stop()
        client.wait_answer(5)
        seconds.append(time.monotonic() - begin)
    assert sorted(seconds)[2] < 0.1, seconds
    begin = time.monotonic()
    assert client.close() == 0
    assert time.monotonic() - begin < 1.0  # nor does quit


def test_the_clock_does_not_wait_for_the_batch_in_flight(start: Start) -> None:
    client = start("slow", "1.5")
    for _ in range(3):
        client.position()
        answer = client.go(Go(byoyomi_ms=400, btime_ms=0, wtime_ms=0), 5)
        assert answer.seconds < 0.4
        assert answer.bestmove is not None
        assert answer.bestmove.move in moves_of()


@pytest.mark.parametrize(
    ("go", "least", "most"),
    [
        (Go(btime_ms=0, wtime_ms=0, byoyomi_ms=600), 0.45, 0.6),
        (Go(movetime_ms=600), 0.45, 0.6),
        (Go(btime_ms=10_000, wtime_ms=0), 0.0, 1.0),
        (Go(btime_ms=2000, wtime_ms=0, binc_ms=100, winc_ms=0), 0.0, 0.5),
        (Go(btime_ms=300, wtime_ms=300, binc_ms=300, winc_ms=300), 0.0, 0.3),
        (Go(wtime_ms=60_000), 0.0, 0.3),  # a clock that is not ours
        (Go(byoyomi_ms=0), 0.0, 0.3),
        (Go(btime_ms=-50, wtime_ms=0, byoyomi_ms=200), 0.0, 0.2),
        (Go(movetime_ms=0), 0.0, 0.2),
    ],
)
def test_keeps_time(start: Start, go: Go, least: float, most: float) -> None:
    client = start()
    client.position()
    answer = client.go(go, 10)
    assert least <= answer.seconds <= most


def test_ponderhit_starts_the_clock(start: Start) -> None:
    client = start()
    client.position(None, ("7g7f", "3c3d"))
    client.start_go(Go(ponder=True, btime_ms=0, wtime_ms=0, byoyomi_ms=500))
    never_answers(client, 0.7)
    client.ponderhit()
    assert 0.3 <= client.wait_answer(5).seconds <= 0.5


def test_ponderhit_with_times(start: Start) -> None:
    client = start()
    client.position(None, ("7g7f", "3c3d"))
    client.start_go(Go(ponder=True))
    never_answers(client, 0.3)
    client.ponderhit(Go(btime_ms=0, wtime_ms=0, byoyomi_ms=400))
    assert 0.2 <= client.wait_answer(5).seconds <= 0.4


def test_ponderhit_that_no_time_was_ever_given_for_answers_at_once(start: Start) -> None:
    client = start()
    client.position()
    client.start_go(Go(ponder=True))
    client.ponderhit()
    assert client.wait_answer(1).bestmove is not None
    client.send("ponderhit")
    assert len(strings(client)) == 1


def test_stochastic_ponder_keeps_the_tree_of_the_answer_and_names_no_move(start: Start) -> None:
    client = start(Stochastic_Ponder="true", fresh=True)
    client.position()
    answer = client.go(Go(btime_ms=0, wtime_ms=0, byoyomi_ms=300), 5)
    assert answer.bestmove is not None
    assert answer.bestmove.ponder is None
    with pytest.raises(EngineTimeoutError):
        client.read_line(0.3)  # it thinks on, but says nothing
    reply = next(iter(Position.from_usi(f"startpos moves {answer.bestmove.move}").legal_moves)).usi()
    client.position(None, (answer.bestmove.move, reply))
    assert client.go(Go(nodes=100), 5).bestmove is not None
    assert client.close() == 0


# ---------------------------------------------------------------------------------------------- races and garbage


def test_two_hundred_quick_stops_get_two_hundred_answers(start: Start) -> None:
    client = start(PV_Interval="1")
    legal = moves_of()
    client.position()
    for i in range(200):
        go = (Go(infinite=True), Go(ponder=True), Go(nodes=5), Go(movetime_ms=1))[i % 4]
        client.send(f"{go.text()}\nstop")  # a stop that crosses the end of the search included
        lines = client.read_until(lambda line: line.startswith("bestmove"), 5)
        assert lines[-1].text.split()[1] in legal
    assert client.is_ready() == []  # not one answer too many


def test_a_go_without_stop_ends_the_one_before(start: Start) -> None:
    client = start(PV_Interval="0")
    client.position()
    client.send("go infinite\ngo ponder\ngo nodes 10")
    for _ in range(3):
        client.read_until(lambda line: line.startswith("bestmove"), 2)
    assert client.is_ready() == []


@pytest.mark.parametrize("last", ["gameover win", "usinewgame", "isready"])
def test_the_end_of_a_game_while_pondering(start: Start, last: str) -> None:
    client = start(PV_Interval="0")
    client.position()
    client.send(f"go ponder\n{last}")
    client.read_until(lambda line: line.startswith("bestmove"), 2)
    client.is_ready()
    client.new_game()
    client.position()
    assert client.go(Go(nodes=10), 5).bestmove is not None


@pytest.mark.parametrize("while_doing", ["", "go infinite", "go ponder", "isready", "isready\ngo infinite"])
def test_quits_at_once(start: Start, while_doing: str) -> None:
    client = start(fresh=True)
    client.send(while_doing)
    begin = time.monotonic()
    assert client.close() == 0
    assert time.monotonic() - begin < 1.0


def test_the_end_of_the_input_is_a_quit_after_what_was_asked(engine_command: Command) -> None:
    asked = "usi\nsetoption name DNN_Model value <hash>\nisready\nposition startpos\ngo infinite\n"
    done = subprocess.run(engine_command, input=asked, capture_output=True, text=True, timeout=10, check=False)
    assert done.returncode == 0
    assert "readyok" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("bestmove ")
    assert done.stderr == ""


def test_a_gui_that_is_gone_is_no_reason_to_shout(engine_command: Command) -> None:
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
    assert process.wait(10) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


VOCABULARY = """position startpos sfen moves 7g7f go ponder nodes -1 10 searchmoves depth setoption name value MultiPV
    ponderhit gameover byoyomi mate stop 棋 btime b"""
WORDS = st.sampled_from([*VOCABULARY.split(), "\x00"])
LINES = st.one_of(
    st.lists(WORDS, max_size=8).map(" ".join),
    st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=60),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES.filter(lambda line: line.split()[:1] not in (["quit"], ["usi"], ["isready"])), max_size=8))
def test_no_line_kills_it(common_engine: UsiClient, lines: list[str]) -> None:
    client = common_engine
    client.set_option("DNN_Model", "<hash>")
    for line in lines:
        client.send(line)
    client.is_ready(10)
    client.position()
    answer = client.go(Go(nodes=3), 5)
    assert answer.bestmove is not None
    assert Move.from_usi(answer.bestmove.move) in Position().legal_moves


def test_bytes_that_are_no_text(start: Start) -> None:
    client = start()
    client.send_bytes(b"\xff\xfe\x80 go\n\x00\n" + b"x" * 100_000 + b"\nposition startpos moves \xe6\x9c\n")
    assert len(strings(client)) == 4
