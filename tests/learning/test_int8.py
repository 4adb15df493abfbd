"""``export --int8``: from any file of a network, with or without positions, to the file that the engine takes."""

import json
import sys
from pathlib import Path

import onnx
import pytest
import torch
from click.testing import Result
from command_app import app
from learning_samples import random_records
from toy_network import write_network
from typer.testing import CliRunner

from fukayomi import Network, Position
from fukayomi.engine.evaluation import Agreement
from fukayomi.learning import export_int8
from fukayomi.nn import NetworkConfig, PolicyValueNetwork, save_parameters


def fukayomi(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def parameters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that is not at its start, as parameters."""
    torch.manual_seed(3)
    network = PolicyValueNetwork(NetworkConfig(blocks=1, channels=16, activation="relu", value_hidden=8)).eval()
    torch.nn.init.ones_(network.residual_blocks()[0].norm2.weight)
    path = tmp_path_factory.mktemp("networks") / "network.safetensors"
    save_parameters(network, path)
    return path


@pytest.fixture(scope="module")
def network(parameters: Path) -> Path:
    """The same network as ONNX file."""
    path = parameters.with_suffix(".onnx")
    assert fukayomi("export", parameters, path).exit_code == 0
    return path


def test_the_engine_takes_the_file_beside_the_network(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fukayomi.learning.int8.COMPARED_POSITIONS", 512)
    quantized = network.with_suffix(".int8.onnx")
    result = fukayomi("export", network, quantized, "--int8", "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert (report["calibration_positions"], report["positions"]) == (512, 512)
    assert report["top1"] > 0.8
    assert 0 < report["kl"] < 0.01
    assert 0 < report["value_error"] <= report["max_value_error"] < 0.05
    assert report["bytes"] == quantized.stat().st_size
    assert report["keeps_best_moves"] == (report["top1"] >= 0.97)
    assert ("another best move" in result.stderr) != report["keeps_best_moves"]
    with Network(network, device="cpu", precision="int8", threads=1, batch_size=4) as int8:
        assert "int8" in int8.identity
        assert 0 < int8.evaluate(Position()).winrates[0] < 1


def test_positions_come_from_several_files(network: Path, parameters: Path, test_file: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.hcpe"
    random_records(60, seed=8).tofile(more)
    first, second = tmp_path / "first.onnx", tmp_path / "second.onnx"
    result = fukayomi("export", network, first, "--int8", "--calibration", test_file, "--calibration", more)
    assert result.exit_code == 0, result.output
    assert "calibrated on 55 positions" in result.stdout
    assert "agreement with float32 on 55 positions: top-1 " in result.stdout
    again = export_int8(network, second, [test_file, more])
    assert first.read_bytes() == second.read_bytes()
    assert again.agreement.positions == 55
    other = export_int8(parameters, second, [test_file, more], positions=20, seed=1)
    assert (other.calibration_positions, other.agreement.positions) == (20, 90)


def test_best_moves_that_are_lost_are_told(network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Agreement(positions=100, top1=0.969, kl=0.1, value_error=0.01, max_value_error=0.1)
    monkeypatch.setattr("fukayomi.learning.int8.compare", lambda *_: found)
    monkeypatch.setattr("fukayomi.learning.int8.COMPARED_POSITIONS", 64)

    result = fukayomi("export", network, tmp_path / "int8.onnx", "--int8", "--json")

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["keeps_best_moves"] is False
    assert "warning: int8 has another best move in 3.1% of the positions (more than 3%); calibrate" in result.stderr


def check_refused(result: Result, reason: str) -> None:
    assert result.exit_code == 1, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert reason in line


def test_what_cannot_be_used_is_refused_and_nothing_is_written(network: Path, test_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    out.write_bytes(b"the file of before")
    few, junk, empty = tmp_path / "few.hcpe", tmp_path / "junk.onnx", tmp_path / "empty.hcpe"
    random_records(20, seed=8).tofile(few)
    junk.write_bytes(b"junk" * 99)
    empty.touch()
    check_refused(fukayomi("export", network, out, "--int8", "--calibration", few), "at least 16 positions, not 10")
    check_refused(fukayomi("export", network, out, "--int8", "--calibration", empty), "empty.hcpe")
    check_refused(fukayomi("export", network, out, "--int8", "--calibration", junk), "junk.onnx")
    check_refused(fukayomi("export", junk, out, "--int8"), "junk.onnx")
    check_refused(fukayomi("export", tmp_path / "none.onnx", out, "--int8"), "none.onnx")
    check_refused(fukayomi("export", few, out, "--int8"), "not a checkpoint")
    toy = write_network(tmp_path / "toy.onnx")
    check_refused(fukayomi("export", toy, out, "--int8", "--calibration", test_file), "no convolutions between")
    assert out.read_bytes() == b"the file of before"


def test_a_network_in_int8_is_not_quantised_again(network: Path, test_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    export_int8(network, path, [test_file])
    check_refused(fukayomi("export", path, path, "--int8", "--calibration", test_file), "quantised already")
    for command in (("export", path, tmp_path / "o.npz"), ("train", test_file, "--out", tmp_path, "--initial", path)):
        check_refused(fukayomi(*command), "this is an int8 file, which has rounded weights")
    onnx.checker.check_model(onnx.load(path))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["network.safetensors", "--int8"], "only ONNX files can be int8"),
        (["network.onnx", "--int8", "--half"], "one of --half and --int8"),
        (["network.onnx", "--calibration", "games.hcpe"], "only --int8 needs positions"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(arguments: list[str], reason: str, parameters: Path) -> None:
    result = fukayomi("export", parameters, *arguments)
    assert result.exit_code == 2
    assert reason in result.output.replace("\n", " ")


def test_a_missing_library_is_named(parameters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("fukayomi.learning.int8", "fukayomi.nn.quantization", "fukayomi.nn.export"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "onnx", None)
    result = fukayomi("export", parameters, tmp_path / "network.onnx", "--int8")
    check_refused(result, 'this command needs onnx: pip install "fukayomi[train]"')
