"""`UsiEngine`: a USI engine for scripts."""

import os
import sys
import threading
from pathlib import Path

import pytest
from places import HELPERS

from fukayomi import Position, UsiEngine
from fukayomi.usi.client import EngineDiedError, EngineError, EngineTimeoutError

RANDOM = [sys.executable, str(HELPERS / "random_engine.py")]
HOSTILE = [sys.executable, "-S", "-E", str(HELPERS / "hostile_engine.py")]


def test_a_search_gives_a_move_and_a_line() -> None:
    position = Position.from_usi("startpos moves 7g7f 3c3d")
    with UsiEngine(RANDOM, options={"Style": "wild"}) as engine:
        assert engine.name == "random"
        assert engine.declared_options["Style"].default == "plain"
        result = engine.search(position, nodes=10)
        assert result.best in position.legal_moves
        (line,) = result.lines
        assert (line.move, line.pv, line.depth, line.mate) == (result.best, (result.best,), 1, None)
        assert line.cp is not None
        assert result.seconds > 0
        assert result.rows()[0]["move"] == result.answer
        assert str(result).startswith("move")
        assert len(position.moves) == 2, "the position is as it was"
        engine.new_game()
        assert engine.search(Position(), depth=1).best in Position().legal_moves


def test_an_option_that_does_not_exist_is_refused() -> None:
    with UsiEngine(RANDOM, options={"Style": "wild"}) as engine:
        assert engine.search(Position(), nodes=1).best in Position().legal_moves
    with pytest.raises(ValueError, match="random: declares no option 'Styl'; did you mean Style"):
        UsiEngine(RANDOM, options={"Styl": "wild"}).search(Position(), nodes=1)
    with UsiEngine(RANDOM, options={"Styl": "wild"}, undeclared_options=True) as engine:
        assert engine.search(Position(), nodes=1).best in Position().legal_moves


def test_several_lines_of_a_real_engine(fairy_stockfish: str) -> None:
    engine = UsiEngine(fairy_stockfish, options={"UCI_Variant": "shogi", "Threads": 1, "Ponder": False})
    with engine:
        result = engine.search(Position(), depth=5, multipv=3)
        assert len(result.lines) == 3
        assert result.lines[0].move == result.best
        assert len({line.move for line in result.lines}) == 3
        assert result.to_polars()["depth"].max() == 5
        assert len(engine.search(Position(), nodes=1000).lines) == 1
        mate = engine.search(Position.from_sfen("4k4/9/4P4/9/9/9/9/9/4K4 b G 1"), depth=5)
        assert mate.lines[0].mate == 1
        assert mate.lines[0].cp is None


LINES = """
import sys
count = 1
for line in sys.stdin:
    words = line.split()
    if words[0] == "usi":
        print("option name MultiPV type spin default 2 min 1 max 9\\nusiok", flush=True)
    elif words[0] == "isready":
        print("readyok", flush=True)
    elif words[0] == "setoption":
        count = int(words[-1])
    elif words[0] == "go":
        for number, move in enumerate(["7g7f", "2g2f", "5g5f", "1g1f"][:count], 1):
            print(f"info multipv {number} score cp 0 pv {move}")
        print("bestmove 7g7f", flush=True)
    elif words[0] == "quit":
        break
"""


@pytest.mark.parametrize("count", [1, 4])
def test_the_number_of_lines_is_that_of_the_search(count: int) -> None:
    with UsiEngine([sys.executable, "-S", "-E", "-c", LINES], options={"MultiPV": 4}) as engine:
        for multipv in (count, 3, count):
            assert len(engine.search(Position(), nodes=1, multipv=multipv).lines) == multipv
    with UsiEngine([sys.executable, "-S", "-E", "-c", LINES.replace("count = 1", "count = 2")]) as engine:
        assert len(engine.search(Position(), nodes=1).lines) == 1, "whatever the engine's default"


@pytest.mark.parametrize("wrong", [{"nodes": 0}, {"time_ms": -5}, {"depth": 0}, {"nodes": 1, "multipv": 0}])
def test_limits_below_1_are_refused_before_the_engine_starts(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{[*wrong][-1]} must be at least 1, not {[*wrong.values()][-1]}"):
        UsiEngine("/nowhere/engine").search(Position(), **wrong)


@pytest.mark.parametrize(("answer", "word"), [("resign", "resign"), ("win", "win")])
def test_no_move_is_no_error(answer: str, word: str) -> None:
    with UsiEngine([*HOSTILE, "ok", answer]) as engine:
        result = engine.search(Position(), nodes=1)
    assert (result.answer, result.best, result.lines) == (word, None, ())


def test_an_engine_that_dies_is_started_again() -> None:
    with UsiEngine([*HOSTILE, "crash-go:2", "7g7f,3c3d"]) as engine:
        assert engine.search(Position(), nodes=1).answer == "7g7f"
        with pytest.raises(EngineDiedError, match="exit code 7\nout of memory"):
            engine.search(Position(), nodes=1)
        assert engine.search(Position(), nodes=1).answer == "7g7f"


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("crash-start", ["no model"]),
        ("crash-remark", ["loading", "Error: no model"]),
        ("crash-shouting", [*["?[31mnoise?"] * 18, "x" * 197 + "...", "  no model"]),
    ],
)
def test_the_last_words_of_an_engine_are_quoted(mode: str, words: list[str]) -> None:
    with pytest.raises(EngineDiedError) as caught:
        UsiEngine([*HOSTILE, mode]).search(Position(), nodes=1)
    said = "ended with exit code 3"
    assert str(caught.value).partition(said)[2].splitlines() == ["", *words]


def test_a_name_is_quoted_as_text_of_one_line() -> None:
    with UsiEngine([*HOSTILE, "long-name", "none"]) as engine, pytest.raises(EngineError) as caught:
        engine.search(Position(), nodes=1)
    assert str(caught.value).startswith("?[2J?[2J")
    assert len(str(caught.value)) < 200


def test_our_own_program_need_not_be_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with UsiEngine("fukayomi-usi", options={"DNN_Model": "<hash>"}) as engine:
        assert engine.name.startswith("fukayomi ")
    with UsiEngine("fukayomi usi", options={"DNN_Model": "<hash>"}) as engine:
        assert engine.name.startswith("fukayomi ")
    with pytest.raises(EngineError, match="cannot start sleep"):
        UsiEngine("sleep 1").search(Position(), nodes=1)


def test_a_network_that_is_missing_is_named(tmp_path: Path) -> None:
    engine = UsiEngine("fukayomi-usi", options={"DNN_Model": "none.onnx"}, directory=tmp_path)
    with pytest.raises(EngineDiedError, match=r"exit code 1\n.*none\.onnx"):
        engine.search(Position(), nodes=1)


def test_an_engine_that_is_late_is_ended() -> None:
    with UsiEngine([*HOSTILE, "mute-go", "7g7f"], timeout_s=1.0) as engine, pytest.raises(EngineTimeoutError):
        engine.search(Position(), time_ms=10)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_a_search_without_end() -> None:
    import signal

    with UsiEngine([*HOSTILE, "mute-go", "7g7f"]) as engine:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            engine.search(Position(), nodes=1)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot start /nowhere/engine"):
        UsiEngine("/nowhere/engine").search(Position(), nodes=1)
    engine = UsiEngine(RANDOM, directory=tmp_path)
    assert engine.directory == tmp_path
    with pytest.raises(ValueError, match="needs a limit"):
        engine.search(Position())
    with engine, pytest.raises(ValueError, match="random has no option MultiPV"):
        engine.search(Position(), nodes=1, multipv=2)
    with pytest.raises(ValueError, match="No closing quotation"):
        UsiEngine("'engine")
    for empty in ("", " ", "''", ()):
        with pytest.raises(ValueError, match="is not a command: it names no program"):
            UsiEngine(empty)
    assert repr(UsiEngine("a 'b c'")) == "UsiEngine(\"a 'b c'\")"
