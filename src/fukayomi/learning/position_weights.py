"""Weights of positions: how much each position of an hcpe3 file counts in the loss.

They are in a file beside the games, ``games.weights.npy`` of ``games.hcpe3``: float32 [N], one for each move with
candidates in the order of the file, also for those that training leaves out because they lead into a repetition. Each
is 0 or more. Without the file all are 1.
"""

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from fukayomi.data.formats.format import DataFileError
from fukayomi.files.inputs import read_input
from fukayomi.tabular import counted

SUFFIX = ".weights.npy"
LARGEST_HEADER = 1 << 16
"""Bytes of a .npy file before its numbers, at most."""


def weights_of(games: Path) -> Path:
    """Path of the weights of a file's positions; the file need not exist.

    >>> weights_of(Path("w1-000001.hcpe3")).name
    'w1-000001.weights.npy'
    """
    return games.with_name(games.name.removesuffix(".hcpe3") + SUFFIX)


def encode_weights(weights: NDArray[np.floating[Any]]) -> bytes:
    """Weights as the content of their file."""
    file = io.BytesIO()
    np.save(file, weights.astype("<f4"), allow_pickle=False)
    return file.getvalue()


def read_weights(path: Path, positions: int) -> NDArray[np.float32]:
    """Read the weights of a file's positions.

    Args:
        path: The file of the weights.
        positions: Moves with candidates in the games.

    Returns:
        float32 [positions].

    Raises:
        DataFileError: It is not an array of one weight for each position, or a weight is negative or not finite.
        OSError: The file cannot be read.
    """
    limit = 4 * positions + LARGEST_HEADER
    if (size := path.stat().st_size) > limit:
        raise DataFileError(f"{path}: {counted(size, 'byte')}, too many for {positions} positions with targets")
    return decode_weights(path, read_input(path, limit), positions)


def decode_weights(path: Path, data: bytes, positions: int) -> NDArray[np.float32]:
    """The weights in the content of their file; arguments and errors as in `read_weights`."""
    stream = io.BytesIO(data)
    try:
        version = npy.read_magic(stream)
        header = npy.read_array_header_1_0(stream) if version == (1, 0) else npy.read_array_header_2_0(stream)
    except ValueError as error:
        raise DataFileError(f"{path}: not an array of NumPy: {error}") from error
    shape, _, dtype = header
    if dtype != np.dtype("<f4"):
        raise DataFileError(f"{path}: not an array of float32, but of {dtype}")
    if (size := len(data) - stream.tell()) != 4 * math.prod(shape):
        raise DataFileError(f"{path}: {counted(size, 'byte')} for weights of shape {shape}; the file is damaged")
    weights = np.frombuffer(data, "<f4", offset=stream.tell()).reshape(shape)
    require_weights(path, weights, positions)
    return weights


def require_weights(path: Path, weights: NDArray[np.float32], positions: int) -> None:
    """Raise DataFileError unless there is a weight for each position, and none is negative or not finite."""
    if weights.shape != (positions,):
        raise DataFileError(f"{path}: weights of shape {weights.shape} for {positions} positions with targets")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise DataFileError(f"{path}: weight {wrong[0]} is {weights[wrong[0]]}, which is negative or not a number")
