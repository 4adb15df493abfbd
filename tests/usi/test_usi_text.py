"""The protocol's text: every form that GUIs and engines send, and whatever else may come."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fukayomi.usi.text import (
    BestMove,
    Checkmate,
    GameOver,
    Go,
    Info,
    Other,
    PonderHit,
    SetOption,
    SetPosition,
    SimpleCommand,
    UsiScore,
    UsiTextError,
    parse_answer,
    parse_command,
)

SFEN = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"

COMMANDS = [
    ("usi", SimpleCommand("usi")),
    ("  isready \r\n", SimpleCommand("isready")),
    ("setoption name MultiPV value 3", SetOption("MultiPV", "3")),
    ("setoption name DNN_Model value C:\\my  nets\\a b.onnx", SetOption("DNN_Model", "C:\\my  nets\\a b.onnx")),
    ("setoption name DNN_Model value <empty>", SetOption("DNN_Model", "")),
    ("setoption name DNN_Model value", SetOption("DNN_Model", "")),
    ("setoption name Clear Hash", SetOption("Clear Hash", None)),
    ("position startpos", SetPosition()),
    ("position startpos moves", SetPosition()),
    ("position startpos moves 7g7f P*5e", SetPosition(None, ("7g7f", "P*5e"))),
    (f"position sfen {SFEN} moves 7g7f", SetPosition(SFEN, ("7g7f",))),
    (f"position sfen {SFEN.removesuffix(' 1')}", SetPosition(SFEN.removesuffix(" 1"))),
    ("go", Go()),
    ("go btime 1000 wtime 2000 byoyomi 500", Go(btime_ms=1000, wtime_ms=2000, byoyomi_ms=500)),
    ("go ponder btime 0 wtime -5 binc 10 winc 20", Go(ponder=True, btime_ms=0, wtime_ms=-5, binc_ms=10, winc_ms=20)),
    ("go infinite searchmoves 7g7f P*5e", Go(infinite=True, searchmoves=("7g7f", "P*5e"))),
    ("go searchmoves 7g7f nodes 5", Go(nodes=5, searchmoves=("7g7f",))),
    ("go movetime 100.5 depth 3", Go(movetime_ms=100, depth=3)),
    ("go mate", Go(mate=True)),
    ("go mate infinite", Go(mate=True)),
    ("go mate 5000", Go(mate=True, mate_ms=5000)),
    ("go rtime 5 nodes 7", Go(nodes=7)),
    ("go byoyomi", Go()),
    ("ponderhit", PonderHit()),
    ("ponderhit btime 1 wtime 2 byoyomi 3", PonderHit(Go(btime_ms=1, wtime_ms=2, byoyomi_ms=3))),
    ("gameover win", GameOver("win")),
    ("", None),
    (" \t ", None),
]


@pytest.mark.parametrize(("line", "command"), COMMANDS)
def test_reads_commands(line: str, command: object) -> None:
    assert parse_command(line) == command


def test_keeps_what_it_skips() -> None:
    go = parse_command("go byoyomi lots nodes 5 rtime 3 searchmoves 7g7f foo")
    assert isinstance(go, Go)
    assert go.ignored == ("byoyomi", "lots", "rtime", "3", "foo")
    assert (go.nodes, go.searchmoves) == (5, ("7g7f",))


@pytest.mark.parametrize(
    "line",
    ["bogus", "setoption", "setoption MultiPV 3", "position", "position sfen", "position fen x y z", "Go nodes 3"],
)
def test_refuses_what_is_no_command(line: str) -> None:
    with pytest.raises(UsiTextError) as error:
        parse_command(line)
    assert line in str(error.value)


MOVES = st.sampled_from(["7g7f", "8h2b+", "P*5e", "1a9i"])
NUMBERS = st.none() | st.integers(0, 10**9)
GOES = st.builds(
    Go,
    ponder=st.booleans(),
    infinite=st.booleans(),
    btime_ms=NUMBERS,
    wtime_ms=NUMBERS,
    byoyomi_ms=NUMBERS,
    binc_ms=NUMBERS,
    winc_ms=NUMBERS,
    movetime_ms=NUMBERS,
    nodes=NUMBERS,
    depth=NUMBERS,
    mate=st.booleans(),
    searchmoves=st.lists(MOVES, max_size=3).map(tuple),
)


@given(GOES)
def test_go_round_trip(go: Go) -> None:
    assert parse_command(go.text()) == go
    assert parse_command(PonderHit(go).text()) == PonderHit(go)


@given(st.text(max_size=100))
def test_any_line_is_a_command_or_an_error(line: str) -> None:
    for prefix in ("", "go ", "position ", "setoption ", "ponderhit ", "position sfen "):
        with contextlib.suppress(UsiTextError):
            assert parse_command(prefix + line) is not None or not prefix


@given(st.text(max_size=100))
def test_any_line_is_an_answer_or_an_error(line: str) -> None:
    for prefix in ("", "info ", "bestmove ", "checkmate ", "info score ", "info pv "):
        with contextlib.suppress(UsiTextError):
            assert parse_answer(prefix + line) is not None or not prefix


ANSWERS = [
    ("bestmove 7g7f ponder 3c3d", BestMove("7g7f", "3c3d")),
    ("bestmove resign", BestMove("resign")),
    ("bestmove win", BestMove("win")),
    ("checkmate nomate", Checkmate(verdict="nomate")),
    ("checkmate G*5b 4a3a", Checkmate(moves=("G*5b", "4a3a"))),
    ("info string hello pv there", Info(string="hello pv there")),
    ("usiok", Other("usiok")),
    ("id name Foo 1", Other("id", "name Foo 1")),
    (
        "info depth 3 seldepth 5 multipv 1 score cp -12 upperbound nodes 9 nps 10 hashfull 1 time 7 pv 7g7f 3c3d",
        Info(3, 5, 1, UsiScore(cp=-12, bound="upperbound"), 9, 10, 1, 7, ("7g7f", "3c3d")),
    ),
    ("info score mate + pv 7g7f", Info(score=UsiScore(mate=1, mate_length_known=False), pv=("7g7f",))),
    ("info score mate -4", Info(score=UsiScore(mate=-4))),
]


@pytest.mark.parametrize(("line", "answer"), ANSWERS)
def test_answers_round_trip(line: str, answer: Info) -> None:
    assert parse_answer(line) == answer
    assert answer.text() == line


@pytest.mark.parametrize("line", ["bestmove", "bestmove 7g", "bestmove none", "checkmate"])
def test_refuses_answers_without_a_move(line: str) -> None:
    with pytest.raises(UsiTextError):
        parse_answer(line)


def test_reads_what_other_engines_add() -> None:
    info = parse_answer("info depth 3 currmove 7g7f wdl 1 2 3 score mate - time 5 pv 7g7f")
    assert info == Info(depth=3, time_ms=5, score=UsiScore(mate=-1, mate_length_known=False), pv=("7g7f",))


def test_a_string_stays_on_its_line() -> None:
    assert Info(string="two\nlines").text() == "info string two lines"


def test_errors_do_not_repeat_a_long_line() -> None:
    with pytest.raises(UsiTextError) as error:
        parse_command("x" * 100_000)
    assert len(str(error.value)) < 200
