"""Networks with random parameters, for benchmarks: their speed does not depend on them; and one that is grown."""

# pyright: reportUnknownMemberType=false

from pathlib import Path
from typing import TYPE_CHECKING

from fukayomi.engine.evaluators.backends.native_model import SparseModel
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.files.sparse_network import read_sparse_file

if TYPE_CHECKING:
    from fukayomi.nn import PolicyValueNetwork


NEW_SHARE = 0.1
"""Share of its spread by which each parameter of a grown network is moved."""


def random_network(shape: str) -> "PolicyValueNetwork":
    """A network with ReLU in evaluation mode, by its shape and modifiers: 10x192, 40x512_lk_tf."""
    import torch

    from fukayomi.nn import NetworkConfig, PolicyValueNetwork

    torch.manual_seed(1)
    network = PolicyValueNetwork(NetworkConfig.from_name(f"resnet{shape}")).eval()
    for name, parameter in network.named_parameters():
        if name.endswith("weight") and not parameter.any():
            torch.nn.init.constant_(parameter, 0.5)  # at first it is 0, and the block computes nothing
    return network


def grown_network(shape: str) -> "PolicyValueNetwork":
    """The embedded residual network in a larger shape, in evaluation mode. What is new has random parameters, and a
    small share in the outputs: it still plays, and everything counts."""
    import torch

    from fukayomi.learning.models import load_network
    from fukayomi.nn import NetworkConfig, PolicyValueNetwork, grow_network

    torch.manual_seed(1)
    small = load_network("embedded")
    assert isinstance(small, PolicyValueNetwork)
    network = grow_network(small, NetworkConfig.from_name(f"resnet{shape}"))
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.endswith("weight"):
                spread = parameter.std() if parameter.dim() > 1 else 1.0
                parameter.add_(NEW_SHARE * spread * torch.randn_like(parameter))
    return network.eval()


def make_sparse(folder: Path) -> Path:
    """The file of a network of 384 accumulators for the policy and as many for the value."""
    import torch

    from fukayomi.learning.models import export_network
    from fukayomi.nn.sparse import SparseNetwork
    from fukayomi.nn.sparse_config import SparseConfig

    torch.manual_seed(1)
    path = folder / "random-384x384.sparse"
    export_network(SparseNetwork(SparseConfig()), path)
    return path


def sparse_models(path: Path) -> dict[str, SparseModel]:
    """The network with each of the processor's vector instructions, the fastest last."""
    from fukayomi._native import sparse_instructions

    file = read_sparse_file(path)
    return {name: SparseModel(file, instructions=name) for name in sparse_instructions()}


def sparse_file(given: str, folder: Path) -> NetworkFile:
    """The file of this name, or one with random parameters."""
    return NetworkFile(Path(given) if given else make_sparse(folder))
