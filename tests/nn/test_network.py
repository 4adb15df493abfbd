"""The network's shape, and its parameter files."""

from pathlib import Path

import pytest
import torch
from network_samples import random_features, shaken_network

from fukayomi.nn.config import NetworkConfig, NetworkConfigError
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.nn.parameters import ParameterFileError, load_parameters, save_parameters


def test_outputs_are_float32_logits():
    network = PolicyValueNetwork(NetworkConfig(blocks=1, channels=8, activation="silu", value_hidden=8))
    policy, value = network(*random_features(3))
    assert (policy.shape, policy.dtype) == ((3, 2187), torch.float32)
    assert (value.shape, value.dtype) == ((3, 1), torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        policy, value = network(*random_features(3))
    assert (policy.dtype, value.dtype) == (torch.float32, torch.float32)


@pytest.mark.parametrize(
    "values", [{"blocks": 0}, {"channels": 1.5}, {"value_hidden": -1}, {"activation": "tanh"}, {"blocks": "ten"}]
)
def test_impossible_configurations_are_refused(values: dict[str, object]):
    with pytest.raises(NetworkConfigError, match=next(iter(values))):
        NetworkConfig(**values)  # type: ignore[arg-type]


def test_parameter_files_give_the_network_back(tmp_path: Path):
    network = shaken_network("silu")
    path = tmp_path / "network.safetensors"
    save_parameters(network, path)
    again = load_parameters(path)
    assert again.config == network.config
    features = random_features(4)
    with torch.inference_mode():
        for expected, found in zip(network(*features), again(*features), strict=True):
            assert torch.equal(expected, found)
    assert [file.name for file in tmp_path.iterdir()] == ["network.safetensors"]


def test_damaged_parameter_files_are_named(tmp_path: Path):
    path = tmp_path / "network.safetensors"
    with pytest.raises(ParameterFileError, match="no such file"):
        load_parameters(path)
    save_parameters(shaken_network("relu"), path)
    data = path.read_bytes()
    for damaged in (b"", data[:7], data[: len(data) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(ParameterFileError, match=r"network\.safetensors: not a safetensors file, or damaged"):
            load_parameters(path)
