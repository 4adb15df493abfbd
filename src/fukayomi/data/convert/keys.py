"""Random numbers without state: 64-bit keys that depend only on a seed and on an item.

A job that resumes in the middle, or reads in larger parts, gets the same keys.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.convert.blocks import Block, Content
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.data.formats.rows import position_keys
from fukayomi.data.records.columns import RecordColumns, start_key
from fukayomi.shogi.record import Record

_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd, so multiplication maps no two 64-bit numbers to one


def seeded_keys(numbers: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """A key for each number: uint64 [N]; distinct numbers have distinct keys.

    Args:
        numbers: uint64 [N].
        seed: Any integer; its lowest 64 bits count.
    """
    start = _mix(np.array([seed & 0xFFFF_FFFF_FFFF_FFFF], np.uint64) + _STEP)
    return _mix(_mix(numbers * _STEP + start) ^ start)


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    # splitmix64's finaliser (Steele, Lea, Flood, 2014); it maps no two numbers to one
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def index_keys(block: Block, seed: int) -> NDArray[np.uint64]:
    """A key for each item of a block, by its number in all inputs: uint64 [N]."""
    return seeded_keys(block.indices, seed)


def packed_positions(content: Content) -> NDArray[np.uint8] | None:
    """The positions of rows, uint8 [N, 32], packed as in their format; None for games and records."""
    if not isinstance(content, np.ndarray):
        return None
    names = content.dtype.names or ()
    return np.ascontiguousarray(content["hcp" if "hcp" in names else "sfen"])


def position_hashes(positions: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """A 64-bit hash of each position: uint8 [N, 32] to uint64 [N]."""
    return position_keys(positions)


def game_hashes(content: Games | list[Record]) -> list[bytes]:
    """A 16-byte hash of the start and the moves of each game; evaluations and comments do not count.

    It is the same for a game in any format.
    """
    if isinstance(content, Games):
        return [game_hash(game.start, game.moves) for game in content]
    return [game_hash(start_key(record.initial_sfen), RecordColumns.of(record).moves) for record in content]


def game_hash(start: bytes, moves: NDArray[np.uint16]) -> bytes:
    """The hash of a game: the hcp of its first position, and its moves as `Move.raw`, uint16 [N]."""
    return hashlib.blake2b(start + moves.astype("<u2").tobytes(), digest_size=16).digest()


def hash_numbers(hashes: list[bytes]) -> NDArray[np.uint64]:
    """Hashes of games as numbers: uint64 [N]."""
    return np.array([int.from_bytes(key[:8], "little") for key in hashes], np.uint64)


def held_out(hashes: list[bytes], one_in: int) -> NDArray[np.bool_]:
    """Mask of the games that are held out: about one in `one_in`, a function of start and moves alone; bool [N]."""
    return hash_numbers(hashes) % np.uint64(one_in) == 0
