"""The USI engine when a GUI starts it: identification, options, network."""

import time
from pathlib import Path

import pytest
from engine_talk import Command, Start, strings

from fukayomi.usi.client import EngineDiedError, UsiClient
from fukayomi.usi.text import Go


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
    code = "from fukayomi.cli.engine.usi import main; main()"  # what fukayomi-usi runs
    with UsiClient((engine_command[0], "-c", code)) as client:
        client.handshake()
        assert client.close() == 0


def test_loads_nothing_before_isready(start: Start) -> None:
    client = start(ready=False, DNN_Model="/nowhere/net.onnx")
    client.send("usi")
    client.read_until(lambda line: line == "usiok", 5)
    client.set_option("DNN_Model", "<uniform>")
    assert client.wait_ready() == []


def test_a_network_that_is_not_there_ends_the_engine_with_a_reason(start: Start) -> None:
    client = start(ready=False, DNN_Model="/nowhere/net.onnx")
    client.send("isready")
    lines = [client.read_line(10).text]
    with pytest.raises(EngineDiedError, match="exit code 1"):
        client.read_line(10)
    assert lines[0] == "info string Error: cannot load DNN_Model /nowhere/net.onnx: no file /nowhere/net.onnx"


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
    lines = client.wait_ready()
    assert any("Nonsense" in line for line in lines)
    assert any("2 threads, batch 5" in line for line in lines)
    answer = client.go(Go(nodes=50), 10)
    assert {info.multipv for info in answer.infos if info.score} == {1, 2}
