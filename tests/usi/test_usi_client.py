"""The client against engines that stall, die and chatter."""

import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from engine_talk import next_line
from patience import PATIENCE_S, until

from fukayomi.usi.client import (
    BadAnswerError,
    EngineDiedError,
    EngineError,
    EngineFloodError,
    EngineInterruptedError,
    EngineStateError,
    EngineTimeoutError,
    SearchAnswer,
    State,
    UsiClient,
)
from fukayomi.usi.options import OptionError
from fukayomi.usi.text import Go, Info, parse_answer

PRELUDE = """
import sys, time
def say(*lines):
    print(*lines, sep="\\n", flush=True)
def say_hello():
    say("id name Mock 1", "id author nobody", "option name Depth type spin default 1 min 1 max 9", "usiok")
"""


def declaring(body: str) -> UsiClient:
    """An engine that declares what the body says."""
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    code = f"{PRELUDE}\nfor line in sys.stdin:\n    line = line.strip()\n    if line == 'quit': break\n{lines}\n"
    return UsiClient((sys.executable, "-S", "-E", "-c", code), timeout_s=PATIENCE_S)


def mock(body: str, max_lines: int = 100_000) -> UsiClient:
    """An engine whose loop over lines is given."""
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    program = f"{PRELUDE}\nfor line in sys.stdin:\n    line = line.strip()\n    if line == 'usi': say_hello()\n"
    code = f"{program}    if line == 'quit': break\n{lines}\n"
    return UsiClient((sys.executable, "-S", "-E", "-c", code), timeout_s=PATIENCE_S, max_lines=max_lines)


def test_talks_a_game() -> None:
    body = """
if line == 'isready': say('info string loading', 'readyok')
if line.startswith('go'): say('info depth 1 score cp 5 pv 7g7f', 'info string x', 'bestmove 7g7f ponder 3c3d')
"""
    with mock(body) as client:
        client.handshake()
        assert (client.name, client.author) == ("Mock 1", "nobody")
        assert client.options["Depth"].maximum == 9
        assert client.wait_ready() == ["info string loading"]
        client.new_game()
        client.position(None, ("7g7f",))
        answer = client.go(Go(nodes=1), PATIENCE_S)
        assert answer.bestmove is not None
        assert (answer.bestmove.move, answer.bestmove.ponder) == ("7g7f", "3c3d")
        assert answer.best_info is not None
        assert answer.best_info.pv == ("7g7f",)
        assert client.state is State.READY
        assert client.close() == 0
    assert client.close() == 0  # twice is fine


def test_a_stall_is_a_timeout() -> None:
    with mock("if line.startswith('go'): time.sleep(60)") as client:
        client.handshake()
        client.timeout_s = 0.3
        begin = time.monotonic()
        with pytest.raises(EngineTimeoutError, match="Mock 1 did not send bestmove"):
            client.go(Go(nodes=1), 0.3)
        assert time.monotonic() - begin < 30
        with pytest.raises(EngineError, match="no go while the engine is thinking"):
            client.start_go(Go())
    assert client.close() != 0  # it had to be killed


def test_a_death_is_noticed_with_its_last_words() -> None:
    with mock("if line.startswith('go'): sys.exit('out of memory')") as client:
        client.handshake()
        for _ in range(2):
            with pytest.raises(EngineDiedError, match="exit code 1\nout of memory"):
                client.wait_answer(PATIENCE_S) if client.state is State.THINKING else client.go(Go(), PATIENCE_S)
        with pytest.raises(EngineDiedError):
            client.wait_ready()


def test_chatter_on_stderr_does_not_block() -> None:
    with mock("if line == 'isready': sys.stderr.write('noise\\n' * 100_000); say('readyok')") as client:
        client.handshake()
        client.wait_ready(PATIENCE_S)
        assert client.state is State.READY


def test_a_bestmove_that_is_none_is_an_error() -> None:
    with mock("if line.startswith('go'): say('bestmove')") as client:
        client.handshake()
        with pytest.raises(EngineError, match="names no move"):
            client.go(Go(), PATIENCE_S)


def test_chatter_does_not_put_off_the_end_of_the_waiting() -> None:
    with mock("if line.startswith('go'):\n    for _ in range(20000): say('info string tick')") as client:
        client.handshake()
        begin = time.monotonic()
        with pytest.raises(EngineTimeoutError, match="bestmove"):
            client.go(Go(nodes=1), 0.2)
        assert time.monotonic() - begin < 30


def test_a_line_that_came_too_late_is_there_for_the_next_one_who_asks() -> None:
    with mock("if line.startswith('go'): time.sleep(0.3); say('info depth 1', 'bestmove 7g7f')") as client:
        client.handshake()
        with pytest.raises(EngineTimeoutError):
            client.go(Go(nodes=1), 0.05)
        assert client.state is State.THINKING
        answer = client.wait_answer(PATIENCE_S)
        assert answer.bestmove is not None
        assert answer.seconds >= 0.3
        assert len(answer.infos) == 1


def test_what_nobody_asked_for_is_no_answer() -> None:
    body = """
if line == 'usi': say('bestmove 1g1f')
if line == 'isready': say('bestmove 2g2f', 'readyok', 'bestmove 3g3f')
if line == 'again': say('bestmove 4g4f', 'done')
if line.startswith('go'): say('bestmove 7g7f')
"""
    with mock(body) as client:
        client.handshake()
        client.wait_ready(PATIENCE_S)
        client.send("again")
        client.read_until(lambda line: line == "done", PATIENCE_S)
        heard: list[str] = []
        client.listener = heard.append
        client.send("again")
        until(lambda: "< done" in heard)
        answer = client.go(Go(nodes=1), PATIENCE_S)
        assert answer.bestmove is not None
        assert answer.bestmove.move == "7g7f"
        assert client.unexpected_answers == ["bestmove 1g1f", "bestmove 2g2f", "bestmove 4g4f"]


def test_an_exact_score_goes_before_a_bound() -> None:
    lines = "'info score cp 7 pv 7g7f', 'info multipv 2 score cp 9', 'info score cp 50 lowerbound', 'bestmove 7g7f'"
    with mock(f"if line.startswith('go'): say({lines})") as client:
        client.handshake()
        best = client.go(Go(nodes=1), PATIENCE_S).best_info
        assert best is not None
        assert best.score is not None
        assert best.score.cp == 7


def test_the_final_infos_are_the_last_of_each_line() -> None:
    infos = [
        "depth 1 multipv 1 score cp 1 lowerbound pv 7g7f",
        "depth 2 multipv 1 score cp 2 upperbound pv 7g7f",
        "depth 2 multipv 2 score cp 3 pv 2g2f",
        "depth 3 multipv 2 score cp 4 lowerbound pv 2g2f",
        "depth 4 multipv 2 score cp 5",
    ]
    answer = SearchAnswer(
        None, infos=tuple(info for text in infos if isinstance(info := parse_answer(f"info {text}"), Info))
    )
    assert answer.best_info is answer.infos[1], "the last of several bounds"
    assert answer.final_infos() == {1: answer.infos[1], 2: answer.infos[4]}
    assert answer.final_infos(needs_pv=True) == {1: answer.infos[1], 2: answer.infos[2]}


def test_a_flood_is_an_error_and_each_question_counts_anew() -> None:
    talk = "if line.startswith('go'): say(*['info string x'] * int(line.split()[-1]), 'bestmove 7g7f')"
    with mock(talk, max_lines=100) as client:
        client.handshake()
        for _ in range(5):
            client.go(Go(nodes=90), PATIENCE_S)
        with pytest.raises(EngineFloodError, match="more than 100 lines"):
            client.go(Go(nodes=200), PATIENCE_S)
        client.close(0)


def test_waiting_can_be_interrupted() -> None:
    with mock("if line.startswith('go'): time.sleep(60)") as client:
        client.handshake()
        client.interrupt = threading.Event()
        threading.Timer(0.2, client.interrupt.set).start()
        begin = time.monotonic()
        with pytest.raises(EngineInterruptedError):
            client.go(Go(nodes=1), PATIENCE_S)
        assert time.monotonic() - begin < 30
        client.close(0)


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(EngineError, match="cannot start"):
        UsiClient(("/nowhere/engine",))


def test_a_program_that_is_no_engine() -> None:
    with UsiClient((sys.executable, "-c", "print('hello')")) as client, pytest.raises(EngineDiedError):
        client.handshake()


ECHO = """
if line == 'isready': say('readyok')
if line.startswith('setoption'): say('info string ' + line)
if line == 'stop' or line.startswith('go nodes'): say('bestmove 7g7f')
"""


def echoed(client: UsiClient) -> list[str]:
    """What the engine has received of options since the last answer."""
    return [line.removeprefix("info string setoption name ") for line in client.wait_ready()]


@pytest.mark.parametrize("ponder", [False, True])
def test_options_set_during_a_search_are_sent_after_its_answer(ponder: bool) -> None:
    sent: list[str] = []
    with mock(ECHO) as client:
        client.handshake()
        client.listener = sent.append
        client.set_option("Before", "1")
        client.start_go(Go(ponder=ponder, infinite=not ponder))
        client.set_option("Depth", "3")
        client.set_option("Clear Hash")
        client.set_option("Depth", "5")
        assert not any("Depth" in line for line in sent)
        client.stop()
        answer = client.wait_answer(PATIENCE_S)
        assert answer.bestmove is not None
        # Its echo may come before the search has begun.
        assert {info.string for info in answer.infos} <= {"setoption name Before value 1"}
        assert echoed(client) == ["Clear Hash", "Depth value 5"]
        client.set_option("Depth", "7")
        assert echoed(client) == ["Depth value 7"]
    searched = next(n for n, line in enumerate(sent) if line.startswith("> go"))
    assert sent.index("> setoption name Before value 1") < searched
    assert sent.index("< bestmove 7g7f") < sent.index("> setoption name Clear Hash")


def test_queued_options_are_sent_after_an_answer_without_a_move_too() -> None:
    with mock(ECHO.replace("bestmove 7g7f", "bestmove")) as client:
        client.handshake()
        client.start_go(Go(infinite=True))
        client.set_option("Depth", "3")
        client.stop()
        with pytest.raises(BadAnswerError):
            client.wait_answer(PATIENCE_S)
        assert echoed(client) == ["Depth value 3"]


def test_an_answer_is_not_lost_if_the_engine_dies_before_the_queued_options() -> None:
    with mock("if line.startswith('go'): say('bestmove 7g7f'); sys.exit(3)") as client:
        client.handshake()
        client.start_go(Go(nodes=1))
        client.set_option("Depth", "3")
        until(lambda: not client.is_alive)
        assert client.wait_answer(PATIENCE_S).bestmove is not None
        with pytest.raises(EngineDiedError, match="exit code 3"):
            client.wait_ready()


DECLARATIONS = """
if line == 'usi':
    say("option name DNN_Model type filename default x",
        "option name Style type combo default Normal var Normal var Risky", "option name Clear Hash type button",
        "option name Own type check default true", "option name Any type combo default x", "id name Mock",
        "option name Depth type spin default 1 min 1 max 9", "usiok")
if line == 'isready': say("readyok")
"""


def test_options_are_set_as_the_engine_spells_them() -> None:
    heard: list[str] = []
    with declaring(DECLARATIONS) as engine:
        engine.handshake()
        engine.listener = heard.append
        given = {
            "dnn_model": "a b.onnx", "STYLE": "risky", "clear hash": "", "Own": "False", "Depth": "+3", "Any": "thing",
            "USI_Hash": "256", "USI_Ponder": "true",
        }  # fmt: skip
        assert engine.set_options(given) == []
    assert [line for line in heard if "setoption" in line] == [
        "> setoption name DNN_Model value a b.onnx", "> setoption name Style value Risky",
        "> setoption name Clear Hash", "> setoption name Own value false", "> setoption name Depth value 3",
        "> setoption name Any value thing", "> setoption name USI_Hash value 256",
        "> setoption name USI_Ponder value true",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("DNN_Modell", "new.onnx", "declares no option 'DNN_Modell'; did you mean DNN_Model?"),
        ("dnnmodel", "new.onnx", "did you mean DNN_Model?"),
        ("Threads", "2", "declares no option 'Threads'; it has DNN_Model, Style, Clear Hash, Own, Any, Depth"),
        ("Style", "Riksy", "Style takes one of Normal, Risky, not 'Riksy'; did you mean Risky?"),
        ("Depth", "10", "Depth takes 1 to 9, not 10"),
        ("Depth", "deep", "Depth takes an integer, not 'deep'"),
        ("Own", "yes", "Own takes true or false, not 'yes'"),
        ("Clear Hash", "now", "Clear Hash is a button, which takes no value; not 'now'"),
        ("DNN_Model", "a\nquit", "one line of text"),
        ("", "x", "one line of text"),
    ],
)
def test_an_option_that_does_not_fit_is_refused(name: str, value: str, said: str) -> None:
    heard: list[str] = []
    with declaring(DECLARATIONS) as engine:
        engine.handshake()
        engine.listener = heard.append
        with pytest.raises(OptionError, match=re.escape(said)):
            engine.set_options({name: value})
        assert not heard
        if "line of text" not in said:
            (warning,) = engine.set_options({name: value}, undeclared=True)
            assert said in warning
            assert [line for line in heard if "setoption" in line]
        else:
            with pytest.raises(OptionError):
                engine.set_options({name: value}, undeclared=True)


def test_an_option_that_is_declared_after_another_is_set_fits() -> None:
    """As variants of a file do, which is an option itself."""
    body = (
        DECLARATIONS
        + """
if line.startswith("setoption name DNN_Model"):
    say("option name Late type spin default 1 min 1 max 5",
        "option name Style type combo default Normal var Normal var Odd")
"""
    )
    heard: list[str] = []
    with declaring(body) as engine:
        engine.handshake()
        engine.listener = heard.append
        assert engine.set_options({"Late": "4", "Style": "odd", "DNN_Model": "x"}) == []
        with pytest.raises(OptionError, match="declares no option 'Latest'; did you mean Late"):
            engine.set_options({"Latest": "4", "Depth": "2"})
    assert [line for line in heard if line.startswith("> ") and line != "> quit"] == [
        "> setoption name DNN_Model value x", "> isready",
        "> setoption name Late value 4", "> setoption name Style value Odd",
        "> setoption name Depth value 2", "> isready",
    ]  # fmt: skip


def test_an_engine_that_fails_without_its_option_is_still_told_of_it() -> None:
    body = DECLARATIONS.replace("if line == 'isready': say(\"readyok\")", "if line == 'isready': sys.exit(3)")
    with declaring(body) as engine:
        engine.handshake()
        with pytest.raises(OptionError, match="did you mean DNN_Model"):
            engine.set_options({"DNN_Modell": "x", "Depth": "2"})


def test_many_declared_options_cost_no_time() -> None:
    body = (
        "if line == 'usi': say(*['option name ' + 500 * 'x' + str(n) + ' type string' for n in range(9000)], 'usiok')"
    )
    with declaring(body) as engine:
        engine.handshake()
        begin = time.monotonic()
        with pytest.raises(OptionError, match="declares no option") as error:
            engine.set_options({"x" * 600: "1"})
        assert time.monotonic() - begin < PATIENCE_S / 6
        assert len(str(error.value)) < 3000


def test_each_state_allows_what_the_protocol_does() -> None:
    with mock(ECHO) as client:
        for early in (client.wait_ready, client.new_game, client.position, client.stop, lambda: client.go(Go(), 1)):
            with pytest.raises(EngineStateError, match="before the handshake"):
                early()
        with pytest.raises(EngineStateError, match="no setoption before the handshake"):
            client.set_option("Depth", "3")
        client.handshake()
        assert client.state is State.IDENTIFIED
        for idle in (client.handshake, client.stop, client.ponderhit, lambda: client.wait_answer(1)):
            with pytest.raises(EngineStateError, match="while no search is running"):
                idle()
        client.wait_ready()
        client.start_go(Go(ponder=True))
        assert client.state is State.PONDERING
        for busy in (client.wait_ready, client.new_game, client.position, lambda: client.game_over("win")):
            with pytest.raises(EngineStateError, match="while the engine is pondering"):
                busy()
        client.ponderhit(Go(byoyomi_ms=100))
        assert client.state is State.THINKING
        with pytest.raises(EngineStateError, match="no ponderhit while the engine is thinking"):
            client.ponderhit()
        client.stop()
        assert client.wait_answer(PATIENCE_S).bestmove is not None
        assert client.state is State.READY
        client.game_over("win")
    with pytest.raises(EngineStateError, match="no isready after the engine was closed"):
        client.wait_ready()


def test_an_answer_that_is_read_as_a_line_ends_the_search_as_well() -> None:
    with mock(ECHO) as client:
        client.handshake()
        client.start_go(Go(nodes=1))
        client.set_option("Depth", "3")
        assert next_line(client, PATIENCE_S).text == "bestmove 7g7f"
        assert client.state is State.READY
        assert echoed(client) == ["Depth value 3"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_engine_that_does_not_notice_the_end_of_its_input_ends_with_a_killed_process() -> None:
    """So do its children."""
    engine = "import os, time; os.fork(); os.write(1, f'{os.getpid()}\\n'.encode()); time.sleep(600)"
    program = f"""
import sys, time
from fukayomi.usi.process import EngineProcess
engine = EngineProcess([sys.executable, "-S", "-E", "-c", {engine!r}], None, None, len, 100, 10_000)
for _ in range(2):
    print(engine.read(time.monotonic() + {PATIENCE_S}, "its number").text, flush=True)
time.sleep(600)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    engines = {int(process.stdout.readline()) for _ in range(2)}
    assert len(engines) == 2
    assert all(is_alive(engine) for engine in engines)
    process.kill()
    process.wait()
    until(lambda: not any(is_alive(engine) for engine in engines))
    process.stdout.close()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
