"""Networks with random parameters, for benchmarks: their speed does not depend on them."""

# pyright: reportUnknownMemberType=false

from pathlib import Path
from typing import TYPE_CHECKING

from fukayomi.engine.evaluators.backends.native_model import SparseModel
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.files.sparse_network import read_sparse_file

if TYPE_CHECKING:
    from fukayomi.nn import PolicyValueNetwork


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


def make_sparse(folder: Path) -> Path:
    """The file of a network of 384 accumulators for the policy and as many for the value."""
    import torch

    from fukayomi.nn.sparse import SparseNetwork
    from fukayomi.nn.sparse_config import SparseConfig
    from fukayomi.nn.sparse_file import save_sparse

    torch.manual_seed(1)
    path = folder / "random-384x384.sparse"
    save_sparse(SparseNetwork(SparseConfig()), path)
    return path


def sparse_models(path: Path) -> dict[str, SparseModel]:
    """The network with each of the processor's vector instructions, the fastest last."""
    from fukayomi._native import sparse_instructions

    file = read_sparse_file(path)
    return {name: SparseModel(file, instructions=name) for name in sparse_instructions()}


def sparse_file(given: str, folder: Path) -> NetworkFile:
    """The file of this name, or one with random parameters."""
    return NetworkFile(Path(given) if given else make_sparse(folder))
