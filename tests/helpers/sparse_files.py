"""Random files of sparse networks."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi.files.sparse_network import HEADER_BYTES, SparseFile, SparseWidths, read_sparse_file, sparse_file_bytes

SMALL = SparseWidths(policy=64, value=64, shared=32, hidden=8)


def write(folder: Path, widths: SparseWidths, seed: int = 0) -> SparseFile:
    """A network whose accumulators reach both ends."""
    source = np.random.default_rng(seed)
    scales = {"scales": [2e-3, 1e-4, 1e-5, 0.1, *[0.0] * 12], "label_scales": 1e-3, "value_scales1": 1e-7}
    arrays: dict[str, NDArray[Any]] = {}
    for name, (kind, shape) in widths.layout().items():
        if name in scales:
            array = np.broadcast_to(scales[name], shape)
        elif name == "tops":
            array = source.integers(64, 1024, shape)
        elif np.dtype(kind).kind == "f":
            array = source.normal(0, 0.2, shape)
        else:
            most = 500 if name == "bias" else 127 if np.dtype(kind).itemsize == 1 else 32767
            array = source.normal(0, 0.3, shape).clip(-1, 1) * most
        arrays[name] = array.astype(kind)
    path = folder / "network.sparse"
    path.write_bytes(sparse_file_bytes(widths, arrays))
    return read_sparse_file(path)


def begins(file: SparseFile) -> dict[str, int]:
    """Where arrays begin."""
    found: dict[str, int] = {}
    at = HEADER_BYTES
    for name, array in file.arrays().items():
        found[name] = at
        at += -(-array.nbytes // 64) * 64
    assert at == len(file.data)
    return found


def signed(data: bytes | bytearray) -> bytes:
    """The bytes with the hash that belongs to them."""
    head, rest = bytes(data[:32]), bytes(data[HEADER_BYTES:])
    return head + hashlib.sha256(head + rest).digest() + rest
