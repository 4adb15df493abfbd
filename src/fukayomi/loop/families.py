"""What depends on the family of a run's networks: the names of their files, and where they are computed."""

from pathlib import Path

from fukayomi.files.sparse_network import SUFFIX as SPARSE
from fukayomi.nn.sparse_config import AnyConfig, SparseConfig

ONNX = ".onnx"
SPARSE_DEVICES = ("native", "auto")
"""Devices that run sparse networks."""
SPARSE_LEARNERS = ("cpu", "auto")
"""Devices that train them."""


def suffix_of(config: AnyConfig) -> str:
    """How the names of network files end in a run with such networks.

    >>> suffix_of(SparseConfig())
    '.sparse'
    """
    return SPARSE if isinstance(config, SparseConfig) else ONNX


def suffix_like(network: Path | str) -> str:
    """How the name of a copy of a network's file has to end; readers tell a sparse network by it.

    >>> suffix_like("a/b.sparse"), suffix_like("model")
    ('.sparse', '.onnx')
    """
    return SPARSE if str(network).endswith(SPARSE) else ONNX


def precision_of(config: AnyConfig, precision: str) -> str:
    """What such networks are computed in where residual ones are in a precision: sparse ones are integers of 8 bits."""
    return "int8" if isinstance(config, SparseConfig) else precision


def odd_device(config: AnyConfig, table: str, device: str) -> str | None:
    """Why a device cannot be that of a table of the settings; None: the family has no objection.

    >>> odd_device(SparseConfig(), "gate", "cuda")
    'sparse networks need native or auto, not cuda'
    """
    allowed = SPARSE_LEARNERS if table == "learner" else SPARSE_DEVICES
    if not isinstance(config, SparseConfig) or device in allowed:
        return None
    return f"sparse networks need {' or '.join(allowed)}, not {device}"
