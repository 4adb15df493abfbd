"""The commands from end to end: hcpe to checkpoint to ONNX, and what they say when something is wrong."""

import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from click.testing import Result
from command_app import app
from learning_samples import metrics_in
from typer.testing import CliRunner

from fukayomi.data.formats.hcpe import HCPE
from fukayomi.learning import export_network
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.nn import ExportError, NetworkConfig, PolicyValueNetwork

TINY = ["--blocks", "1", "--channels", "8", "--value-hidden", "8", "--batch", "16", "--threads", "1", "--amp", "off"]


def fukayomi(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def fukayomi_json(*arguments: object) -> dict[str, Any]:
    result = fukayomi(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def evaluated(network: object, test: object) -> dict[str, float]:
    """The metrics that `fukayomi eval-model` prints."""
    return metrics_in(fukayomi_json("eval-model", network, test))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, train_file: Path, test_file: Path) -> dict[str, Any]:
    """What a short run printed."""
    out = tmp_path_factory.mktemp("run") / "run"
    return fukayomi_json("train", train_file, "--test", test_file, "--out", out, *TINY, "--steps", 4, "--lr", 0.01)


def test_from_positions_to_onnx(trained: dict[str, Any], test_file: Path, tmp_path: Path):
    assert (trained["step"], trained["steps"]) == (4, 4)
    by_checkpoint = evaluated(trained["checkpoint"], test_file)
    assert by_checkpoint == pytest.approx(trained["metrics"])

    safetensors, onnx = tmp_path / "network.safetensors", tmp_path / "network.onnx"
    fukayomi_json("export", trained["checkpoint"], safetensors)
    assert evaluated(safetensors, test_file) == pytest.approx(by_checkpoint)

    report = fukayomi_json("export", safetensors, onnx, "--half")
    assert report["positions"] == 71
    assert report["max_logit_error"] < 0.01
    assert report["top1"] > 0.95
    assert report["bytes"] == onnx.stat().st_size
    assert evaluated(onnx, test_file) == pytest.approx(by_checkpoint, rel=1e-2)

    session = onnxruntime.InferenceSession(str(onnx), providers=["CPUExecutionProvider"])
    assert [(node.name, node.shape[1:]) for node in session.get_inputs()] == [
        ("input1", [62, 9, 9]),
        ("input2", [57, 9, 9]),
    ]


def test_a_network_by_its_name_goes_to_dlshogi_and_back(train_file: Path, test_file: Path, tmp_path: Path):
    options = ["--batch", 16, "--threads", 1, "--amp", "off", "--steps", 1]
    named = ["--network", "senet1x8_fcl8_swish", "--dropout", 0.1, "--value-hidden", 4]
    trained = fukayomi_json("train", train_file, "--out", tmp_path / "run", *options, *named)
    checkpoint, files = (
        trained["checkpoint"],
        [tmp_path / name for name in ("model.npz", "again.pth", "last.safetensors")],
    )
    assert load_checkpoint(Path(checkpoint)).network == NetworkConfig(
        blocks=1, channels=8, activation="silu", value_hidden=4, squeeze=8, dropout=0.1
    )
    assert fukayomi("export", checkpoint, files[0]).exit_code == 0
    refused = fukayomi("eval-model", files[0], test_file)
    assert refused.exit_code == 1
    assert "model.npz: the file does not say whether the network's activation is relu or silu" in refused.stderr
    assert "fukayomi export FILE network.safetensors --activation silu (or relu) writes one" in refused.stderr
    shouted = tmp_path / "MODEL.NPZ"
    shouted.write_bytes(files[0].read_bytes())
    assert fukayomi("export", shouted, tmp_path / "a.safetensors", "--activation", "silu").exit_code == 0
    for before, after in itertools.pairwise(files):
        assert fukayomi("export", before, after, "--activation", "silu").exit_code == 0
    assert evaluated(files[-1], test_file) == pytest.approx(evaluated(checkpoint, test_file))


def test_without_a_terminal_there_are_lines_between_evaluations(
    train_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from fukayomi.cli.learning import train_progress

    options = ["--out", tmp_path / "slow", *TINY, "--steps", 4]
    assert "step 1 of 4" not in fukayomi("train", train_file, *options).stdout, "not before half a minute"
    monkeypatch.setattr(train_progress.TrainingProgress.__init__, "__defaults__", (0.0,))
    lines = fukayomi(
        "train", train_file, "--out", tmp_path / "lines", *TINY, "--steps", 4, "--warmup", 0
    ).stdout.splitlines()
    found = [re.fullmatch(r"step (\d) of 4  [\d,]+ positions/s  loss \d+\.\d{4}", line) for line in lines[:4]]
    assert [match and match[1] for match in found] == ["1", "2", "3", "4"]


def test_games_are_trained_from_as_rows_are(train_file: Path, test_file: Path, tmp_path: Path):
    games = tmp_path / "games.hcpe3"
    fukayomi_json("data", "convert", train_file, "-o", games)
    options = [*TINY, "--steps", 3, "--test", test_file, "--temperature", 0.5, "--eval-scale", "fit"]
    from_games = fukayomi_json("train", games, "--out", tmp_path / "games", *options)
    from_rows = fukayomi_json("train", train_file, "--out", tmp_path / "rows", *options)
    assert from_games["metrics"] == from_rows["metrics"]
    by_games, by_rows = (evaluated(from_games["checkpoint"], file) for file in (games, train_file))
    assert by_games == by_rows
    games.write_bytes(games.read_bytes()[:-1])
    damaged = fukayomi("train", games, train_file, "--out", tmp_path / "damaged", *TINY)
    assert damaged.exit_code == 1
    assert "games.hcpe3, game 95, move 0 (offset 4370): the data end" in damaged.stderr
    assert not (tmp_path / "damaged").exists()


def test_flags_of_results_change_nothing(train_file: Path, test_file: Path, tmp_path: Path):
    flagged = {file: tmp_path / f"{file.stem}.hcpe2" for file in (train_file, test_file)}
    for file, copy in flagged.items():
        records = np.fromfile(file, HCPE)
        records["gameResult"] |= np.array([0, 4, 8, 16, 12, 28], np.uint8)[np.arange(len(records)) % 6]
        records.tofile(copy)
    options = [*TINY, "--steps", 3, "--eval-scale", "fit"]
    plain = fukayomi_json("train", train_file, "--test", test_file, "--out", tmp_path / "plain", *options)
    with_flags = fukayomi_json(
        "train", flagged[train_file], "--test", flagged[test_file], "--out", tmp_path / "f", *options
    )
    assert with_flags["metrics"] == plain["metrics"]
    by_flags = evaluated(plain["checkpoint"], flagged[test_file])
    assert by_flags == evaluated(plain["checkpoint"], test_file)
    records = np.fromfile(flagged[train_file], HCPE)
    for wrong in (3, 7, 32, 33):  # no result, and flags that nobody knows
        records["gameResult"][2] = wrong
        records.tofile(flagged[train_file])
        refused = fukayomi(
            "train", flagged[train_file], "--out", tmp_path / "wrong", *TINY, "--steps", 5, "--batch", 95
        )
        assert refused.exit_code == 1
        assert f"{flagged[train_file].name}, record 2" in refused.stderr


def test_resume_with_more_steps(train_file: Path, tmp_path: Path):
    out = tmp_path / "run"
    first = fukayomi("train", train_file, "--out", out, *TINY, "--epochs", 0.5)
    assert first.exit_code == 0, first.output
    assert "fukayomi export" in first.stdout
    again = fukayomi("train", train_file, "--out", out, *TINY, "--steps", 5)
    assert again.exit_code == 1
    assert "resume the run" in again.stderr
    resumed = fukayomi_json("train", train_file, "--out", out, *TINY, "--steps", 5, "--resume")
    assert (resumed["step"], resumed["metrics"]) == (5, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "none.hcpe", "--out", "run"], "none.hcpe: no such file"),
        (["train", "TRAIN", "--out", "run", "--batch", "97"], "96 positions, fewer than one batch of 97"),
        (["train", "TRAIN", "--out", "run", "--device", "abacus"], "'abacus' is not a device"),
        (["train", "TRAIN", "--out", "run", "--device", "cuda:99"], "there is no device 'cuda:99'"),
        (["train", "TRAIN", "--out", "run", "--lr", "0"], "--lr: Input should be greater than 0, not 0.0"),
        (["train", "TRAIN", "--out", "run", "--steps", "1", "--epochs", "1"], "not both"),
        (["train", "TRAIN", "--out", "run", "--eval-scale", "steep"], "'steep' is neither a number"),
        (["train", "TRAIN"], "--out"),
        (["train", "TRAIN", "--out", "run", "--network", "alexnet"], "unknown network 'alexnet'"),
        (["train", "TRAIN", "--out", "run", "--network", "resnet7"], "give the channels too"),
        (["eval-model", "none.pt", "TRAIN"], "none.pt: no such file"),
        (["eval-model", "none.onnx", "TRAIN"], "none.onnx: no such file"),
        (["eval-model", "TRAIN", "TRAIN"], "not a checkpoint"),
        (["export", "TRAIN", "network.onnx"], "not a checkpoint"),
        (["export", "TRAIN", "network.txt"], "must end in .onnx, .safetensors"),
        (["train", ".", "--out", "run"], ".: this is a folder; give a file"),
        (["train", "TRAIN", "--out", "TRAIN"], "train.hcpe is a file: choose another name for the folder"),
        (["train", "TRAIN*1e9", "--out", "run"], "'1e9' is not a weight from 1e-06 to 1,000,000"),
        (
            ["train", "TRAIN", "--out", "run", "--seed", str(1 << 64)],
            "--seed: Input should be less",
        ),
        (["eval-model", ".", "TRAIN"], ".: this is a folder; give a file"),
        (["export", ".", "network.onnx"], ".: this is a folder; give a file"),
        (["label", "TRAIN", "-o", "l.hcpe3", "--nodes", "1", "--engine", ""], "give an engine (--engine COMMAND)"),
        (["label", "TRAIN", "-o", "l.hcpe3", "--nodes", "1", "--engine", " "], "' ' is not a command: it names no"),
        (["label", "TRAIN", "-o", "l.hcpe3", "--nodes", "1", "--network", "."], "is a folder; name a file"),
    ],
)
def test_errors_are_one_clear_message(
    arguments: list[str], message: str, train_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    result = fukayomi(*(argument.replace("TRAIN", str(train_file)) for argument in arguments))
    assert result.exit_code != 0
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "network.onnx").exists()


def test_a_file_of_no_known_kind_is_not_written(tmp_path: Path):
    with pytest.raises(ExportError, match=r"network\.bin: the name must end in \.onnx, \.safetensors, \.npz or \.pth"):
        export_network(PolicyValueNetwork(NetworkConfig(blocks=1, channels=8)), tmp_path / "network.bin")
    assert not (tmp_path / "network.bin").exists()


def test_a_file_that_is_no_onnx_is_named(train_file: Path, tmp_path: Path):
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"nonsense")
    result = fukayomi("eval-model", path, train_file)
    assert result.exit_code == 1
    assert "broken.onnx: no ONNX file, or a damaged one" in result.stderr


def test_without_torch_the_extra_is_named(train_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    result = fukayomi("train", train_file, "--out", tmp_path / "run")
    assert result.exit_code == 1
    assert 'pip install "fukayomi[train]"' in result.stderr


def test_help_tells_the_defaults(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    text = fukayomi("train", "--help").stdout
    for expected in ("--val-lambda", "[default: (0.333)]", "--resume", "[default: (1024)]"):
        assert expected in text


def test_training_goes_on_from_an_exported_network(
    trained: dict[str, Any], train_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("fukayomi.learning.models.NORMALISED_POSITIONS", 64)
    fukayomi_json("export", trained["checkpoint"], tmp_path / "network.onnx")
    run = ["--batch", "16", "--threads", "1", "--amp", "off", "--steps", "2", "--out"]
    again = fukayomi_json("train", train_file, "--initial", tmp_path / "network.onnx", *run, tmp_path / "again")
    assert load_checkpoint(Path(again["checkpoint"])).network == load_checkpoint(Path(trained["checkpoint"])).network
    other = fukayomi(
        "train", train_file, "--initial", tmp_path / "network.onnx", "--network", "resnet2x8", *run, tmp_path / "other"
    )
    assert other.exit_code == 1
    assert "the network to train is" in " ".join(other.output.split())
