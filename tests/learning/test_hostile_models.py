"""``eval-model`` and ``export`` on files that are no networks, or networks that cannot be used."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import Result
from command_app import app
from learning_samples import metrics_in
from safetensors.torch import save_file
from toy_network import write_network
from typer.testing import CliRunner

from fukayomi.learning.checkpoint import FORMAT
from fukayomi.nn import NetworkConfig, PolicyValueNetwork, save_parameters
from fukayomi.nn.parameters import FORMAT as PARAMETER_FORMAT

TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)


def fukayomi(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def check_refused(result: Result, reason: str) -> None:
    """One line on stderr, and no traceback."""
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert reason in line


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"scale": float("nan")}, "output_policy has a number that is not finite"),
        ({"value_scale": float("nan")}, "win probability"),
        ({"final": "Neg"}, "sigmoid"),
        ({"labels": 1496}, "must be [N, 2187]"),
        ({"value_columns": 3}, "and [N, 1]"),
        ({"types": ("FLOAT", "INT64", "FLOAT")}, "int64"),
        ({"inputs": ("input1", "planes")}, "input1, planes"),
    ],
)
def test_an_onnx_file_that_cannot_be_used_is_refused(
    change: dict[str, Any], reason: str, test_file: Path, tmp_path: Path
) -> None:
    path = write_network(tmp_path / "odd.onnx", **change)
    check_refused(fukayomi("eval-model", path, test_file), reason)


def test_fixed_batches_and_float16_are_evaluated_as_the_plain_network(test_file: Path, tmp_path: Path) -> None:
    plain = fukayomi("eval-model", write_network(tmp_path / "plain.onnx"), test_file, "--json")
    expected = metrics_in(json.loads(plain.stdout))
    for batch in (1, 7):
        path = write_network(tmp_path / f"batch{batch}.onnx", batch=batch)
        found = json.loads(fukayomi("eval-model", path, test_file, "--json").stdout)
        assert metrics_in(found) == pytest.approx(expected)
    half = write_network(tmp_path / "half.onnx", types=("FLOAT16", "FLOAT16", "FLOAT16"))
    found = json.loads(fukayomi("eval-model", half, test_file, "--json").stdout)
    assert metrics_in(found) == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize("parameter", ["policy.bias", "value.fc2.bias"])
def test_a_network_that_is_not_finite_is_refused(parameter: str, test_file: Path, tmp_path: Path) -> None:
    network = PolicyValueNetwork(TINY)
    network.state_dict()[parameter].fill_(float("nan"))
    path = tmp_path / "nan.safetensors"
    metadata = {"format": PARAMETER_FORMAT, "config": json.dumps(network.config.as_dict())}
    save_file({name: tensor.contiguous() for name, tensor in network.state_dict().items()}, path, metadata)
    check_refused(
        fukayomi("eval-model", path, test_file), "nan.safetensors: the network's policy or value is not finite"
    )
    for suffix in ("onnx", "safetensors", "npz", "pth"):
        out = tmp_path / f"out.{suffix}"
        check_refused(fukayomi("export", path, out), "has values that are not finite; nothing is written")
        assert not out.exists()


def checkpoint(**changes: Any) -> dict[str, Any]:
    """The content of a checkpoint with changes."""
    model = PolicyValueNetwork(TINY).state_dict()
    state = {"step": 1, "network": TINY.as_dict(), "settings": {}, "model": model, "optimizer": {}} | {
        "scaler": {}, "averaged": {}, "averages": 0, "guard": {}
    }  # fmt: skip
    return {"format": FORMAT, **state, "rng": torch.get_rng_state(), **changes}


def larger(**changes: Any) -> dict[str, Any]:
    """A network's description with changes."""
    return TINY.as_dict() | changes


CHECKPOINTS: dict[str, tuple[dict[str, Any], str]] = {
    "a thousand million blocks": (
        checkpoint(network=larger(blocks=10**9)),
        "blocks: Input should be less than or equal to 1000",
    ),
    "huge blocks": (checkpoint(network=larger(blocks=1000, channels=4096)), "parameters; at most 500,000,000"),
    "other blocks": (checkpoint(network=larger(blocks=900, channels=150)), "the parameters are not those of"),
    "no number": (checkpoint(network=larger(blocks="many")), "blocks: Input should be a valid integer"),
    "no description": (checkpoint(network=None), "a network configuration has the fields"),
    "description as list": (checkpoint(network=[1, 2]), "a network configuration has the fields"),
    "activation as list": (
        checkpoint(network=larger(activation=["relu"])),
        "activation: Input should be 'relu' or 'silu'",
    ),
    "no parameters": (checkpoint(model={}), "the parameters are not those of"),
    "parameters as list": (checkpoint(model=[1]), "the checkpoint's model is of the type list"),
    "text as parameter": (checkpoint(model=checkpoint()["model"] | {"policy.bias": "x"}), "policy.bias is None"),
    "further parameter": (checkpoint(model=checkpoint()["model"] | {"x": torch.zeros(1)}), "x is (1,), not None"),
    "number as name": (checkpoint(model={1: torch.zeros(1)}), "the parameters are not those of"),
    "step as text": (checkpoint(step="1"), "the checkpoint's step is of the type str"),
    "another format": ({"format": 5}, "the format is 5"),
}


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_a_checkpoint_that_does_not_fit_is_refused(kind: str, test_file: Path, tmp_path: Path) -> None:
    state, reason = CHECKPOINTS[kind]
    path = tmp_path / "checkpoint.pt"
    torch.save(state, path)
    for arguments in (("export", path, tmp_path / "network.onnx"), ("eval-model", path, test_file)):
        check_refused(fukayomi(*arguments), "checkpoint.pt: ")
        check_refused(fukayomi(*arguments), reason)
    assert not (tmp_path / "network.onnx").exists()


class Runs:
    """Pickles as a call of a function."""

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return Path.touch, (Path("called"),)  # type: ignore[return-value]


@pytest.mark.parametrize(
    "content",
    [b"", b"\x80\x02.", b"\x80\x04K\x01.", b"cos\nsystem\n(S'x'\ntR.", b"PK\x03\x04", b"\xff" * 100, b"(" * 9999],
)
def test_what_is_no_checkpoint_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    path.write_bytes(content)
    check_refused(fukayomi("export", path, tmp_path / "network.onnx"), "checkpoint.pt: not a checkpoint")


def test_reading_a_checkpoint_runs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save(checkpoint(settings={"x": Runs()}), tmp_path / "checkpoint.pt")
    check_refused(fukayomi("export", "checkpoint.pt", "network.onnx"), "checkpoint.pt: not a checkpoint")
    assert not (tmp_path / "called").exists()


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (None, "network.safetensors"),
        ("nonsense", "network.safetensors"),
        ("[]", "a network configuration has the fields"),
        (json.dumps(larger(blocks=10**9)), "blocks: Input should be less"),
        (json.dumps(larger(blocks=2)), "the parameters are not those of"),
    ],
)
def test_a_parameter_file_that_does_not_fit_is_refused(config: str | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "network.safetensors"
    metadata = {"format": PARAMETER_FORMAT} | ({} if config is None else {"config": config})
    save_file({name: each.contiguous() for name, each in PolicyValueNetwork(TINY).state_dict().items()}, path, metadata)
    check_refused(fukayomi("export", path, tmp_path / "network.onnx"), "network.safetensors: ")
    check_refused(fukayomi("export", path, tmp_path / "network.onnx"), reason)


def test_a_file_that_disagrees_with_its_network_takes_no_place(tmp_path: Path) -> None:
    network = PolicyValueNetwork(TINY)
    save_parameters(network, tmp_path / "good.safetensors")
    assert fukayomi("export", tmp_path / "good.safetensors", tmp_path / "out.onnx").exit_code == 0
    good = (tmp_path / "out.onnx").read_bytes()
    with torch.no_grad():
        network.policy.conv.weight *= 1e3
    save_parameters(network, tmp_path / "large.safetensors")

    refused = fukayomi("export", tmp_path / "large.safetensors", tmp_path / "out.onnx", "--half")

    assert refused.exit_code == 1
    assert "does not agree with torch: logits differ by up to" in refused.stderr
    assert (tmp_path / "out.onnx").read_bytes() == good
