"""hcp files: 32 bytes a position, nothing else (start positions for self-play, for example)."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats.rows import DataFileError, RowWriter, map_rows
from fukayomi.shogi import Position

HCP_BYTES = 32


def read_hcp(path: Path | str) -> NDArray[np.uint8]:
    """The positions of a file, memory-mapped and read-only: uint8 [N, 32]. Only the size is checked.

    Raises:
        DataFileError: The size is no whole number of positions.
        OSError: The file cannot be read.
    """
    return map_rows(path, np.dtype(("V", HCP_BYTES))).view("u1").reshape(-1, HCP_BYTES)


def hcps_from_sfens(sfens: Iterable[str]) -> NDArray[np.uint8]:
    """Positions as hcp: uint8 [N, 32].

    Raises:
        ShogiError: A text is no SFEN, or its position has no hcp.
    """
    packed = [_native.encode_hcp(Position.from_sfen(sfen)) for sfen in sfens]
    return np.frombuffer(b"".join(packed), np.uint8).reshape(-1, HCP_BYTES)


def sfens_from_hcps(hcps: NDArray[np.uint8]) -> list[str]:
    """The SFEN of each position (uint8 [N, 32]); the ply number is 1, as hcp has none.

    Raises:
        DataFileError: A row is no position; the message names its index.
    """
    sfens: list[str] = []
    for index, hcp in enumerate(hcps):
        try:
            sfens.append(_native.position_from_hcp(hcp.tobytes()).sfen())
        except _native.InvalidPackedError as error:
            raise DataFileError(f"record {index}: {error}") from error
    return sfens


class HcpWriter(RowWriter):
    """Writes an hcp file; rows are uint8 [N, 32]."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path, np.dtype(np.uint8))


def white_to_move(packed: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whose turn it is in each position, hcp or packed sfen: uint8 [N, 32] to bool [N]."""
    return (packed[:, 0] & 1).astype(np.bool_)
