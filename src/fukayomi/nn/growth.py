"""Larger networks that begin as a smaller one: more blocks and channels, the same policy and value.

What is new starts as in a fresh network, except for the weights through which it would change what was there: those
start at 0. (Chen et al. 2016, "Net2Net", arXiv:1511.05641, copy channels instead.) A new block is the identity until
the gamma of its last BatchNorm has left 0. All of it learns from the first steps, for the new channels see the input
through random weights.
"""

import torch

from fukayomi.nn.config import NetworkConfig, NetworkConfigError
from fukayomi.nn.network import PolicyValueNetwork

_SIZES = ("blocks", "channels", "value_hidden")


def grow_network(network: PolicyValueNetwork, config: NetworkConfig) -> PolicyValueNetwork:
    """A network of a larger shape with the outputs of a smaller one, to train on.

    Args:
        network: The smaller network.
        config: The larger shape: at least as many blocks, channels and `value_hidden`; dropout and further heads as
            you like, the rest as it was. There can be more blocks only where a fresh one is the identity: in
            post-activation networks with ReLU and without squeeze-excitation.

    Example:
        >>> small = PolicyValueNetwork(NetworkConfig.from_name("resnet2x16")).eval()
        >>> large = grow_network(small, NetworkConfig.from_name("resnet3x24"))
        >>> planes = torch.rand(4, 62, 9, 9), torch.rand(4, 57, 9, 9)
        >>> torch.allclose(small(*planes)[0], large(*planes)[0], atol=1e-4)
        True

    Raises:
        NetworkConfigError: It cannot grow to this shape; the message says why.
    """
    grown = PolicyValueNetwork(config)
    embed_network(network, grown)
    return grown.train(network.training)


def embed_network(small: PolicyValueNetwork, large: PolicyValueNetwork) -> None:
    """Give a fresh network the outputs of one that is smaller or of the same shape, in place.

    Raises:
        NetworkConfigError: The one cannot grow to the other; the message says why.
    """
    require_growth(small.config, large.config)
    known = small.state_dict()
    with torch.no_grad():
        for name, tensor in large.state_dict().items():
            if name in known:
                _embed(known[name], tensor)


def require_growth(small: NetworkConfig, large: NetworkConfig) -> None:
    """Raise an error unless a network of one shape can grow to the other.

    Raises:
        NetworkConfigError: It cannot; the message says why.
    """
    free = {"heads": (), "dropout": 0.0} | {name: getattr(large, name) for name in _SIZES}
    if small.changed(**free) != large.changed(**free):
        raise NetworkConfigError("only blocks, channels, value_hidden, dropout and heads may differ")
    for name in _SIZES:
        if getattr(small, name) > getattr(large, name):
            raise NetworkConfigError(f"{name} would shrink from {getattr(small, name)} to {getattr(large, name)}")
    if small.transformer_blocks and (small.blocks, small.channels) != (large.blocks, large.channels):
        raise NetworkConfigError("a network with Transformer blocks cannot get more blocks or channels")
    if large.blocks > small.blocks and (large.activation != "relu" or large.pre_activation or large.squeeze):
        raise NetworkConfigError("only resnet with ReLU can get more blocks")


def _embed(small: torch.Tensor, large: torch.Tensor) -> None:
    """Put a tensor into the beginning of a larger one; what was there hears nothing from new inputs."""
    if small.dim() > 1:
        large[: small.shape[0], small.shape[1] :] = 0
    large[tuple(slice(length) for length in small.shape)] = small
