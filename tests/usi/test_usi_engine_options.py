"""The USI engine when a GUI starts it: identification, options, network."""

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from engine_talk import Command, Start, moves_of, next_line, strings
from patience import PATIENCE_S, one_of_several

from fukayomi.engine.settings import IGNORED_OPTIONS, usi_options
from fukayomi.usi.client import EngineDiedError, UsiClient
from fukayomi.usi.options import Kind, Option
from fukayomi.usi.text import Go


@pytest.mark.skipif(os.name != "posix", reason="the CPU time of children is POSIX's")
def test_introduces_itself_within_a_second(engine_command: Command) -> None:
    def cpu_seconds() -> float:
        before = os.times()
        with UsiClient(engine_command, timeout_s=PATIENCE_S) as client:
            client.handshake()
        after = os.times()
        assert client.name.startswith("fukayomi ")
        return after.children_user + after.children_system - before.children_user - before.children_system

    # Its own time: others' programs may take as much besides.
    assert one_of_several(cpu_seconds, lambda seconds: seconds < 1.0, 3) < 1.0


def test_declares_its_options(start: Start) -> None:
    options = start(ready=False).options
    wanted = {option.name: option.default for option in usi_options().declared}
    assert {name: option.default for name, option in options.items()} == wanted


def test_the_program_without_arguments_is_the_engine(engine_command: Command) -> None:
    code = "from fukayomi.cli.engine.usi import main; main()"  # what fukayomi-usi runs
    with UsiClient((engine_command[0], "-c", code)) as client:
        client.handshake()
        assert client.close() == 0


def test_loads_nothing_before_isready(start: Start) -> None:
    client = start(ready=False, DNN_Model="/nowhere/net.onnx")
    client.send("usi")
    client.read_until(lambda line: line == "usiok", PATIENCE_S)
    client.set_option("DNN_Model", "<uniform>")
    assert client.wait_ready() == []


def test_a_network_that_is_not_there_ends_the_engine_with_a_reason(start: Start) -> None:
    client = start(ready=False, DNN_Model="/nowhere/net.onnx")
    client.send("isready")
    lines = [next_line(client, PATIENCE_S).text]
    with pytest.raises(EngineDiedError, match="exit code 1"):
        next_line(client, PATIENCE_S)
    assert (
        lines[0] == "info string Error: cannot load the network: DNN_Model /nowhere/net.onnx: no file /nowhere/net.onnx"
    )


def test_a_further_network_that_is_not_there_is_named_by_its_option_before_the_first_is_loaded(start: Start) -> None:
    client = start(ready=False, DNN_Model="<internal>", DNN_Model3="/nowhere/net.onnx")
    client.send("isready")
    reason = "cannot load the network: DNN_Model3 /nowhere/net.onnx: no file /nowhere/net.onnx"
    assert next_line(client, PATIENCE_S).text == f"info string Error: {reason}"


def test_a_network_named_before_go_is_loaded_at_isready(start: Start) -> None:
    client = start(fresh=True, DNN_Model="<uniform>")
    client.set_option("DNN_Model", "/nowhere/net.onnx")
    assert client.go(Go(nodes=10), PATIENCE_S).bestmove is not None, "the network that is loaded plays on"
    client.send("isready")
    assert "no file /nowhere/net.onnx" in next_line(client, PATIENCE_S).text
    with pytest.raises(EngineDiedError, match="exit code 1"):
        next_line(client, PATIENCE_S)


@pytest.mark.parametrize("model", ["~nosuchuser/x.onnx", "x" * 300 + ".onnx", "a\x00b.onnx", "/", "y/" * 400_000])
def test_a_name_of_no_file_ends_the_engine_with_a_reason(engine_command: Command, model: str) -> None:
    asked = f"usi\nsetoption name DNN_Model value {model}\nisready\ngo nodes 1\n"
    done = subprocess.run(engine_command, input=asked, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 1
    last = done.stdout.splitlines()[-1]
    assert last.startswith("info string Error: cannot load the network: DNN_Model")
    assert len(last) <= 1100
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: cannot load the network: DNN_Model")


@pytest.mark.parametrize(("change", "reason"), [({"value_columns": 3}, "2187] and [N, 1]"), ({"labels": 1496}, "1496")])
def test_a_network_that_cannot_play_is_refused(
    engine_command: Command, tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    pytest.importorskip("onnx")
    from toy_network import write_network

    network = write_network(tmp_path / "toy.onnx", **change)
    asked = f"setoption name DNN_Model value {network}\nisready\n"
    done = subprocess.run(engine_command, input=asked, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 1
    assert "readyok" not in done.stdout
    assert reason in done.stdout
    assert reason in done.stderr


def test_a_network_in_float16_plays(start: Start, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from toy_network import write_network

    network = write_network(tmp_path / "half.onnx", types=("FLOAT16", "FLOAT16", "FLOAT16"), batch=3)
    client = start(ready=False, DNN_Model=str(network))
    client.wait_ready()
    answer = client.go(Go(nodes=100), PATIENCE_S)
    assert [info.string for info in answer.infos if info.string] == []
    assert answer.best_info is not None
    assert answer.best_info.nodes == 100


OPTIONS = {
    option.name: option
    for option in usi_options().declared
    if option.kind not in (Kind.FILENAME, Kind.STRING)  # they take any text
}


def good_values(option: Option) -> list[str]:
    """Values at the bounds."""
    if option.kind is Kind.CHECK:
        return ["true", "False"]
    return [str(bound) for bound in (option.minimum, option.maximum) if bound is not None] or list(option.choices)


def bad_values(option: Option) -> list[str]:
    """Values beyond the bounds, and what is no value."""
    beyond = [] if option.minimum is None or option.maximum is None else [option.minimum - 1, option.maximum + 1]
    return [*map(str, beyond), "<empty>", "99999999999999999999", "1e3", "1.5", "nan", "棋", "\x00", "x" * 5000]


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_takes_its_bounds_and_refuses_the_rest(start: Start, name: str) -> None:
    client = start(USI_Hash="16", PV_Interval="0", Book_File="no_book", UCT_NodeLimit="100")
    good, bad = good_values(OPTIONS[name]), bad_values(OPTIONS[name])

    def expect_move() -> None:
        client.position()
        answer = client.go(Go(nodes=2), PATIENCE_S)
        assert answer.bestmove is not None
        assert answer.bestmove.move in {*moves_of(), "resign"}  # it resigns at Resign_Threshold 1000
        assert not [info.string for info in answer.infos if info.string and "Error" in info.string]

    for value in good:
        client.set_option(name, value)
        assert strings(client) == [], value
        expect_move()
    for value in bad:
        client.set_option(name, value)
    said = strings(client)
    assert len(said) == len(bad), said
    assert max(map(len, said)) < 300
    expect_move()


@pytest.mark.parametrize(("network", "changes"), [("<5x64>", {"DNN_Batch_Size": "32"}), ("<sparse>", {})])
def test_the_largest_values_do_not_delay_the_network(start: Start, network: str, changes: dict[str, str]) -> None:
    """All that is measured of <5x64> with the largest batch takes ten seconds of CPU time, of which none is a delay."""
    names = ("DNN_Batch_Size", "UCT_Threads", "Threads")
    largest = {name: str(OPTIONS[name].maximum) for name in names} | changes
    begin = time.monotonic()
    client = start(ready=False, DNN_Model=network, **largest)
    to_start = time.monotonic() - begin  # long on a busy machine
    begin = time.monotonic()
    said = client.wait_ready(600)
    assert time.monotonic() - begin < 30 + 10 * to_start, "64 threads on two CPUs took as long"
    assert said[-1].startswith("info string fukayomi")
    assert client.go(Go(nodes=2), PATIENCE_S).bestmove is not None


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
    assert client.go(Go(nodes=10), PATIENCE_S).bestmove is not None


def test_options_of_dlshogi_that_mean_nothing_here_are_taken_in_silence(start: Start) -> None:
    client = start()
    for name in IGNORED_OPTIONS:
        client.set_option(name, "1")
    assert strings(client) == []


def test_the_engine_is_called_as_the_user_says(start: Start) -> None:
    client = start(ready=False)
    assert client.name == client.options["Engine_Name"].default
    client.send("setoption name Engine_Name value 深読み 7")
    client.send("usi")
    assert client.read_until(lambda line: line == "usiok", PATIENCE_S)[0].text == "id name 深読み 7"


def test_a_file_beside_the_network_suggests_options(start: Start, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from toy_network import write_network

    network = write_network(tmp_path / "toy.onnx")
    file = network.with_name("toy.onnx.ini")
    file.write_text("MultiPV=2\nDNN_Batch_Size=5\nThreads=2\nNonsense=1\nC_init=-1\n")
    client = start(ready=False, DNN_Model=str(network), Threads="1")
    lines = client.wait_ready()
    assert lines[:2] == [
        f"info string {file}:4: no option 'Nonsense'",
        f"info string {file}:5: C_init takes 0 to 10000, not -1",
    ]
    assert any("1 thread, batch 5" in line for line in lines)
    answer = client.go(Go(nodes=50), PATIENCE_S)
    assert {info.multipv for info in answer.infos if info.score} == {1, 2}
