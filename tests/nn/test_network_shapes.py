"""Networks of every kind: names, parameters, and what they compute, beside a second implementation."""

import contextlib

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_network import Naive
from network_samples import HEADS, SHAPES, random_features, shaken

from fukayomi.nn.config import FEATURES2, NetworkConfig, NetworkConfigError
from fukayomi.nn.folding import FoldedNetwork
from fukayomi.nn.network import PolicyValueNetwork


def parameter_count(config: NetworkConfig) -> int:
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in PolicyValueNetwork(config).parameters())


@pytest.mark.parametrize("shape", SHAPES)
def test_a_network_computes_what_a_second_implementation_computes(shape):
    config = SHAPES[shape]
    network = shaken(config)
    naive = Naive(config, {name: tensor.double().numpy() for name, tensor in network.state_dict().items()})
    features = random_features(2, planes2=config.features2)
    with torch.inference_mode():
        policy, logit = network(*features)
    for row in range(2):
        expected_policy, expected_value = naive(*(planes[row].double().numpy() for planes in features))
        np.testing.assert_allclose(policy[row].numpy(), expected_policy, atol=1e-4)
        np.testing.assert_allclose(torch.sigmoid(logit[row]).numpy(), expected_value, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_folding_changes_nothing_but_rounding(shape):
    network = shaken(SHAPES[shape])
    features = random_features(16, planes2=network.config.features2)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with torch.inference_mode():
        policy, logit = network(*features)
        folded_policy, probability = FoldedNetwork(network)(*features)
    torch.testing.assert_close(folded_policy, policy, atol=1e-4, rtol=0)
    torch.testing.assert_close(probability, torch.sigmoid(logit), atol=1e-5, rtol=0)
    assert all(torch.equal(before[name], tensor) for name, tensor in network.state_dict().items())


@pytest.mark.parametrize(
    ("name", "millions"),
    [
        ("wideresnet10", 7.35),
        ("resnet10_swish", 7.35),
        ("resnet15", 14.3),
        ("resnet15x224", 14.3),
        ("resnet20x256_swish", 24.4),
        ("resnet30", 80.5),
        ("resnet40x512", 189.8),
        ("senet10", 7.44),
        ("resnet40x512_swish_lk_tf", 190.0),
    ],
)
def test_parameter_counts_are_those_of_dlshogis_networks(name, millions):
    count = parameter_count(NetworkConfig.from_name(name))
    assert round(count / 1e6, 2 if millions < 10 else 1) == millions


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("resnet10_swish", NetworkConfig()),
        ("resnet10", NetworkConfig(activation="relu")),
        ("resnet5x64_fcl32", NetworkConfig(blocks=5, channels=64, activation="relu", value_hidden=32)),
        ("wideresnet10", NetworkConfig(activation="relu", pre_activation=True)),
        ("senet15_swish_reduction4", NetworkConfig(blocks=15, channels=224, squeeze=4)),
        ("resnet30x384_turn", NetworkConfig(blocks=30, channels=384, activation="relu", colour_plane=True)),
        (
            "resnet40x512_swish_lk_tf",
            NetworkConfig(blocks=40, channels=512, large_kernel_interval=5, transformer_blocks=1, stem="branches"),
        ),
    ],
)
def test_names(name, config):
    assert NetworkConfig.from_name(name) == config


@pytest.mark.parametrize(
    "name", ["", "resnet", "resnet0x64", "resnet5", "resnet10_gelu", "alexnet8", "resnet10_fcl", "senet10_reduction0"]
)
def test_unknown_names_are_refused_with_examples(name):
    with pytest.raises(NetworkConfigError, match=r"x128|_swish|blocks: Input should be"):
        NetworkConfig.from_name(name)


@given(st.text() | st.from_regex(r"(resnet|senet|wideresnet)\d{1,5}(x\d{1,5})?(_[a-z]{2,9}\d*){0,3}", fullmatch=True))
def test_any_name_is_a_network_or_refused(name: str):
    with contextlib.suppress(NetworkConfigError):
        assert NetworkConfig.from_name(name).blocks > 0


def test_the_family_of_2024_has_large_kernels_in_every_fifth_block_and_ends_in_a_transformer():
    kinds = NetworkConfig.from_name("resnet40x512_lk_tf").block_kinds()
    assert [number for number, kind in enumerate(kinds, 1) if kind == "large-kernel"] == [5, 10, 15, 20, 25, 30, 35]
    assert [number for number, kind in enumerate(kinds, 1) if kind == "transformer"] == [40]
    with torch.device("meta"):
        network = PolicyValueNetwork(NetworkConfig.from_name("resnet10x32_lk_tf"))
    shapes = {name: tuple(tensor.shape[2:]) for name, tensor in network.state_dict().items() if tensor.ndim == 4}
    assert {shape for name, shape in shapes.items() if name.startswith("blocks.4.")} == {(1, 9), (9, 1), (1, 1)}
    assert network.state_dict()["blocks.9.fc1.weight"].shape[:2] == (4 * 32, 32)


configurations = st.builds(
    NetworkConfig,
    blocks=st.integers(1, 6),
    channels=st.sampled_from([8, 16, 24]),
    activation=st.sampled_from(["relu", "silu"]),
    value_hidden=st.integers(1, 40),
    squeeze=st.integers(0, 8),
    large_kernel_interval=st.integers(0, 3),
    transformer_blocks=st.integers(0, 1),
    stem=st.sampled_from(["sum", "branches"]),
    colour_plane=st.booleans(),
    dropout=st.sampled_from([0.0, 0.25]),
    heads=st.lists(st.sampled_from(HEADS), unique=True).map(tuple),
)


@given(configurations)
@settings(max_examples=40)
def test_configurations_survive_as_plain_values_and_know_their_size(config: NetworkConfig):
    assert NetworkConfig.from_dict(config.as_dict()) == config
    small = 20 * config.channels * (config.blocks + 1) + 4000 + 20 * config.blocks * config.channels
    small += 2400 * len(config.heads)
    assert config.parameters() <= parameter_count(config) <= config.parameters() + small


def test_a_file_from_before_a_field_was_added_has_its_default():
    config = NetworkConfig(blocks=3, channels=32, activation="relu", value_hidden=64)
    old = {name: config.as_dict()[name] for name in ("blocks", "channels", "activation", "value_hidden")}
    assert NetworkConfig.from_dict(old) == config
    with pytest.raises(NetworkConfigError, match="colour: unknown setting; did you mean colour_plane"):
        NetworkConfig.from_dict(old | {"colour": True})
    for wrong in ({"blocks": 3}, {3: 4}, None):
        with pytest.raises(NetworkConfigError, match="has the fields"):
            NetworkConfig.from_dict(wrong)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"squeeze": -1}, "squeeze"),
        ({"squeeze": 193}, "squeeze"),
        ({"transformer_blocks": 11}, "transformer_blocks"),
        ({"transformer_blocks": 1, "channels": 100}, "head_width 32"),
        ({"head_width": 0}, "head_width"),
        ({"large_kernel_interval": 2.0}, "large_kernel_interval"),
        ({"stem": "tree"}, "stem"),
        ({"dropout": 1.0}, "dropout"),
        ({"dropout": "half"}, "dropout"),
        ({"colour_plane": 1}, "colour_plane"),
        ({"heads": ("wdl", "wdl")}, "heads must be different names"),
        ({"heads": "wdl"}, "heads: Input should be a valid tuple"),
        ({"heads": ("ownership",)}, "heads.0: Input should be 'soft-policy', 'short-term-value'"),
        ({"pre_activation": True, "squeeze": 8}, "pre_activation cannot be combined"),
    ],
)
def test_impossible_configurations_are_refused(values, reason):
    with pytest.raises(NetworkConfigError, match=reason):
        NetworkConfig(**values)


@pytest.mark.parametrize("shape", ["residual", "large kernels", "Transformer"])
def test_blocks_start_as_the_identity(shape):
    network = PolicyValueNetwork(SHAPES[shape].changed(activation="relu")).eval()
    x = torch.rand(2, 16, 9, 9)
    assert torch.equal(network.blocks(x), x)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_parameter_learns(shape):
    """From the second step on: a gamma of zero hides what is before it in the first. A larger step would kill ReLUs."""
    network = PolicyValueNetwork(SHAPES[shape].changed(dropout=0.0)).train()
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-4)
    features = random_features(8, planes2=network.config.features2)
    for _ in range(2):
        optimizer.zero_grad()
        policy, value, heads = network.all_outputs(*features)
        sum(output.square().sum() for output in (policy, value, *heads.values())).backward()
        optimizer.step()
    assert [name for name, each in network.named_parameters() if each.grad is None or not each.grad.any()] == []


def test_dropout_acts_in_training_alone():
    network = PolicyValueNetwork(NetworkConfig(blocks=1, channels=16, activation="silu", value_hidden=8, dropout=0.5))
    torch.nn.init.ones_(network.get_parameter("blocks.0.norm2.weight"))
    features = random_features(4)
    network.train()
    assert not torch.equal(network(*features)[0], network(*features)[0])
    network.eval()
    assert torch.equal(network(*features)[0], network(*features)[0])


def test_the_colour_plane_is_one_more_constant_plane():
    config = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8, colour_plane=True)
    assert config.features2 == FEATURES2 + 1
    features1, features2 = random_features(1, planes2=58)
    features2[:, 57] = 0
    network = shaken(config)
    black = network(features1, features2)
    features2[:, 57] = 1
    white = network(features1, features2)
    assert all((one - other).abs().max() > 1e-3 for one, other in zip(black, white, strict=True))
