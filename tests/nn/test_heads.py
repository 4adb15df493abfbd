"""Heads that only training has: what they compute, and that no file for an engine has them."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from naive_network import Naive
from network_samples import HEADS, SHAPES, random_features, shaken
from safetensors import safe_open

from fukayomi.nn.config import NetworkConfig
from fukayomi.nn.dlshogi import save_dlshogi
from fukayomi.nn.export import export_onnx
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.nn.parameters import ParameterFileError, load_parameters, save_parameters

PLAIN = SHAPES["residual"]
WITH_HEADS = PLAIN.changed(heads=HEADS)
SIZES = {"soft-policy": 2187, "short-term-value": 2, "wdl": 3, "plies-left": 1, "reply": 2187}


def pair() -> tuple[PolicyValueNetwork, PolicyValueNetwork]:
    """A network without and with heads, and all other parameters the same."""
    plain, network = shaken(PLAIN), PolicyValueNetwork(WITH_HEADS).eval()
    network.load_state_dict(network.state_dict() | plain.state_dict())
    return plain, network


@pytest.mark.parametrize("name", HEADS)
def test_a_head_computes_what_a_second_implementation_computes(name):
    config = PLAIN.changed(activation="silu", heads=(name,))
    network = shaken(config)
    for bias in (each for key, each in network.named_parameters() if key.startswith("heads.") and key.endswith("bias")):
        torch.nn.init.normal_(bias)
    naive = Naive(config, {key: tensor.double().numpy() for key, tensor in network.state_dict().items()})
    features = random_features(2)
    with torch.inference_mode():
        policy, value, heads = network.all_outputs(*features)
        assert all(torch.equal(mine, other) for mine, other in zip((policy, value), network(*features), strict=True))
    assert {key: (tuple(output.shape), output.dtype) for key, output in heads.items()} == {
        name: ((2, SIZES[name]), torch.float32)
    }
    for row in range(2):
        (expected,) = naive.heads(*(planes[row].double().numpy() for planes in features)).values()
        np.testing.assert_allclose(heads[name][row].numpy(), expected, atol=1e-4)


def test_policy_and_value_start_as_without_heads():
    states = []
    for config in (PLAIN, WITH_HEADS):
        torch.manual_seed(3)
        states.append(PolicyValueNetwork(config).state_dict())
    plain, found = states
    assert {key for key in found if key not in plain} == {key for key in found if key.startswith("heads.")}
    assert all(torch.equal(tensor, found[key]) for key, tensor in plain.items())


def test_onnx_is_to_the_byte_that_of_the_network_without_heads(tmp_path: Path):
    for name, network in zip(("plain", "heads"), pair(), strict=True):
        export_onnx(network, tmp_path / f"{name}.onnx")
    assert (tmp_path / "heads.onnx").read_bytes() == (tmp_path / "plain.onnx").read_bytes()


@pytest.mark.parametrize("suffix", [".npz", ".pth"])
def test_dlshogis_files_are_without_heads(suffix, tmp_path: Path):
    for name, network in zip(("plain", "heads"), pair(), strict=True):
        (tmp_path / name).mkdir()
        save_dlshogi(network, tmp_path / name / f"model{suffix}")
    files = [tmp_path / name / f"model{suffix}" for name in ("plain", "heads")]
    assert files[0].stat().st_size == files[1].stat().st_size


def test_parameter_files_have_heads_and_those_without_say_nothing_of_them(tmp_path: Path):
    plain, network = pair()
    save_parameters(network, tmp_path / "heads.safetensors")
    again = load_parameters(tmp_path / "heads.safetensors")
    assert again.config == WITH_HEADS
    state = again.state_dict()
    assert all(torch.equal(tensor, state[key]) for key, tensor in network.state_dict().items())
    save_parameters(plain, tmp_path / "plain.safetensors")
    with safe_open(tmp_path / "plain.safetensors", framework="pt") as file:
        assert "heads" not in json.loads(file.metadata()["config"])
        assert not any("heads" in key for key in file.keys())  # noqa: SIM118 - not a mapping


def test_heads_that_are_not_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    network = shaken(PLAIN.changed(heads=("wdl",)))
    monkeypatch.setattr(NetworkConfig, "as_dict", lambda self: vars(self) | {"heads": ["wdl", "reply"]})
    save_parameters(network, tmp_path / "network.safetensors")
    with pytest.raises(ParameterFileError, match=r"heads\.reply\.bias is None, not \(2187,\)"):
        load_parameters(tmp_path / "network.safetensors")
