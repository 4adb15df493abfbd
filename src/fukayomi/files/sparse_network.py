"""Files of sparse networks: arrays of integers, with a hash. docs/formats.md has the layout to the byte."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import (
    MOVE_ROWS,
    SPARSE_FEATURES_VERSION,
    SPARSE_LABELS,
    check_sparse_file,
    sparse_kept_rows,
)
from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import problem_of, read_input

SUFFIX = ".sparse"
MAGIC = b"\x93SPARSE\n"
VERSION = 1
HEADER_BYTES = 64
MAX_BYTES = 64 << 20
LINE = 64
"""Arrays begin at multiples of it."""


class SparseFileError(InvalidValueError):
    """A file does not hold a sparse network, or is damaged. The message names it and says why."""


@dataclass(frozen=True)
class SparseWidths:
    """The widths of a sparse network's file, as in its header."""

    policy: int
    value: int
    shared: int
    hidden: int

    def layout(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        """Types and shapes of the arrays, in their order."""
        columns, kept = self.policy + self.value, len(sparse_kept_rows())
        return {
            "scales": (np.float32, (16,)),
            "tops": (np.uint16, (columns,)),
            "bias": (np.int16, (columns,)),
            "table": (np.int8, (kept, columns)),
            "label_table": (np.int8, (SPARSE_LABELS, self.policy // 2)),
            "label_scales": (np.float32, (SPARSE_LABELS,)),
            "label_bias": (np.int16, (SPARSE_LABELS,)),
            "group_table": (np.int8, (MOVE_ROWS, self.shared)),
            "group_bias": (np.int16, (MOVE_ROWS,)),
            "value_rows": (np.int16, (kept,)),
            "value_layer1": (np.int16, (self.hidden, self.value // 2)),
            "value_scales1": (np.float32, (self.hidden,)),
            "value_bias1": (np.float32, (self.hidden,)),
            "value_layer2": (np.float32, (self.hidden, self.hidden)),
            "value_bias2": (np.float32, (self.hidden,)),
            "value_layer3": (np.float32, (self.hidden,)),
        }


@dataclass(frozen=True)
class SparseFile:
    """A file that was read and checked."""

    path: Path
    widths: SparseWidths
    data: NDArray[np.uint8]
    """All bytes, as `_native.SparseInferenceNetwork` wants them."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, read-only."""
        found: dict[str, NDArray[Any]] = {}
        at = HEADER_BYTES
        for name, (kind, shape) in self.widths.layout().items():
            size = int(np.prod(shape)) * np.dtype(kind).itemsize
            found[name] = self.data[at : at + size].view(kind).reshape(shape)
            at += -(-size // LINE) * LINE
        return found


def read_sparse_file(path: Path | str) -> SparseFile:
    """Read a file whole, and compare its hash.

    Raises:
        SparseFileError: The file is missing, damaged, or something else.
    """
    path = Path(path)
    if (problem := problem_of(path)) is not None:
        raise SparseFileError(f"{path}: {problem}")
    try:
        data = np.frombuffer(read_input(path, MAX_BYTES), np.uint8)
    except OSError as error:
        raise SparseFileError(f"{path}: {error.strerror or error}") from error
    try:
        widths = SparseWidths(*check_sparse_file(data))
    except ValueError as error:
        raise SparseFileError(f"{path}: no sparse network that can be used: {error}") from error
    if _hash(data) != data[32:64].tobytes():
        raise SparseFileError(f"{path}: damaged, its SHA-256 is another; copy or export it again")
    return SparseFile(path, widths, data)


def sparse_file_bytes(widths: SparseWidths, arrays: dict[str, NDArray[Any]]) -> bytearray:
    """The bytes of a file with these arrays."""
    shape = (widths.policy, widths.value, widths.shared, widths.hidden)
    data = bytearray(MAGIC + np.array([VERSION, SPARSE_FEATURES_VERSION, *shape], "<u4").tobytes() + bytes(32))
    for name, (kind, expected) in widths.layout().items():
        array = arrays[name]
        if array.shape != expected or array.dtype != kind:
            raise InvalidValueError(f"{name} is {array.dtype} {array.shape}, not {np.dtype(kind)} {expected}")
        data += array.tobytes()
        data += bytes(-len(data) % LINE)
    data[32:64] = _hash(np.frombuffer(bytes(data), np.uint8))
    return data


def _hash(data: NDArray[np.uint8]) -> bytes:
    """Of everything but the hash itself."""
    found = hashlib.sha256(data[:32].data)
    found.update(data[HEADER_BYTES:].data)
    return found.digest()
