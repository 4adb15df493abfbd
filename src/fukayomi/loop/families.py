"""Properties of the family of networks in a run: the names of their files, and where they are computed."""

from pathlib import Path

from fukayomi.errors import InvalidValueError
from fukayomi.files.sparse_network import SUFFIX as SPARSE
from fukayomi.nn.sparse_config import AnyConfig, SparseConfig

ONNX = ".onnx"
SPARSE_DEVICES = ("native", "auto")
"""Devices that run sparse networks."""
SPARSE_LEARNERS = ("cpu", "auto")
"""Devices that train them."""
AnyNetwork = AnyConfig | Path | str
"""A network by its shape or its file."""


def is_sparse(network: AnyNetwork) -> bool:
    """True if the network is sparse; a file says so by its name."""
    return str(network).endswith(SPARSE) if isinstance(network, Path | str) else isinstance(network, SparseConfig)


def suffix_of(network: AnyNetwork) -> str:
    """Suffix that the name of its file has, or has to have: readers tell the family by it.

    >>> suffix_of(SparseConfig()), suffix_of("a/b.sparse"), suffix_of("model")
    ('.sparse', '.sparse', '.onnx')
    """
    return SPARSE if is_sparse(network) else ONNX


def precision_of(network: AnyNetwork, precision: str) -> str:
    """Precision of a network where residual networks are in this one: a sparse one is integers of 8 bits."""
    return "int8" if is_sparse(network) else precision


def check_family(network: AnyNetwork, table: str, device: str) -> None:
    """See that the device in a table of the settings can be that of a network of this family.

    >>> check_family(SparseConfig(), "gate", "cuda")
    Traceback (most recent call last):
    fukayomi.errors.InvalidValueError: sparse networks need native or auto, not cuda
    """
    allowed = SPARSE_LEARNERS if table == "learner" else SPARSE_DEVICES
    if is_sparse(network) and device not in allowed:
        raise InvalidValueError(f"sparse networks need {' or '.join(allowed)}, not {device}")
