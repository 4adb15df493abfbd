"""Larger networks that begin as a smaller one."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fukayomi.nn import NetworkConfig, NetworkConfigError, PolicyValueNetwork, grow_network

SMALL = NetworkConfig(blocks=2, channels=12, activation="relu", value_hidden=8)
WAYS = {
    "relu": {},
    "branches with large kernels": {"large_kernel_interval": 2, "stem": "branches"},
}


def random_network(config: NetworkConfig) -> PolicyValueNetwork:
    """A network in evaluation mode, none of whose parameters and statistics is 0 or 1."""
    torch.manual_seed(1)
    network = PolicyValueNetwork(config).eval()
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if tensor.is_floating_point():
                tensor.copy_(torch.rand_like(tensor) * 0.4 + (0.8 if name.endswith("var") else -0.2))
    return network


def outputs(network: PolicyValueNetwork) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    planes = (torch.rand(6, count, 9, 9, generator=generator) for count in (62, network.features2))
    with torch.inference_mode():
        return network(*planes)


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(list(WAYS.values())),
    st.integers(0, 3),
    st.integers(0, 9),
    st.integers(0, 5),
    st.booleans(),
)
def test_a_grown_network_has_the_same_outputs(way: dict, blocks: int, channels: int, hidden: int, colour: bool):
    small = random_network(SMALL.changed(**way, colour_plane=colour))
    config = small.config.changed(
        blocks=2 + blocks,
        channels=12 + channels,
        value_hidden=8 + hidden,
        dropout=0.1,
        heads=("reply",),
    )
    grown = grow_network(small, config)
    assert grown.config == config
    assert not grown.training
    for before, after in zip(outputs(small), outputs(grown), strict=True):
        torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("way", [{"squeeze": 4}, {"activation": "silu"}, {"pre_activation": True}])
def test_networks_that_only_get_wider(way: dict):
    small = random_network(SMALL.changed(**way))
    grown = grow_network(small, small.config.changed(channels=20))
    for before, after in zip(outputs(small), outputs(grown), strict=True):
        torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-4)
    with pytest.raises(NetworkConfigError, match="only resnet with ReLU"):
        grow_network(small, small.config.changed(blocks=3))


def test_everything_new_learns():
    grown = grow_network(random_network(SMALL).train(), SMALL.changed(blocks=3, channels=20))
    before = {name: tensor.clone() for name, tensor in grown.named_parameters()}
    optimizer = torch.optim.SGD(grown.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        policy, value = grown(torch.rand(8, 62, 9, 9), torch.rand(8, 57, 9, 9))
        (policy.square().mean() + (value - 1).square().mean()).backward()
        optimizer.step()
    for name, tensor in grown.named_parameters():
        if name.endswith("conv1.weight") or name.endswith("conv2.weight"):
            moved = (tensor != before[name]).any(dim=(1, 2, 3))
            assert moved[12:].any(), name
        elif name.startswith("blocks.2"):
            assert (tensor != before[name]).any(), name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"blocks": 1}, "blocks would shrink from 2 to 1"),
        ({"channels": 8}, "channels would shrink from 12 to 8"),
        ({"value_hidden": 4}, "value_hidden would shrink from 8 to 4"),
        ({"activation": "silu"}, "may differ"),
        ({"stem": "branches"}, "may differ"),
    ],
)
def test_shapes_to_which_it_cannot_grow(change: dict, message: str):
    with pytest.raises(NetworkConfigError, match=message):
        grow_network(PolicyValueNetwork(SMALL), SMALL.changed(**change))


def test_transformer_blocks_stay_the_last():
    config = SMALL.changed(transformer_blocks=1, head_width=4)
    small = random_network(config)
    assert torch.equal(outputs(grow_network(small, config))[0], outputs(small)[0])
    for change in ({"blocks": 3}, {"channels": 16}):
        with pytest.raises(NetworkConfigError, match="with Transformer blocks cannot get more"):
            grow_network(small, config.changed(**change))
