"""Forked games: games that begin at a position of an earlier one, so that there are more kinds of positions."""

import hashlib
from pathlib import Path

import numpy as np

from fukayomi._native import decode_hcpe3, position_from_hcp
from fukayomi.selfplay.chunk import read_chunk
from fukayomi.shogi import Move, Position

LEAST_PLIES_LEFT = 10
"""Moves of the earlier game that follow the fork, at least."""


def is_fork(share: float, seed: int, number: int) -> bool:
    """True if a game is forked; its number and the seed decide."""
    return _draw("fork", seed, number) < share


def fork(chunk: Path, seed: int, number: int, max_move: int) -> Position | None:
    """A position of a game of a chunk, with the moves that led there; the number and the seed decide which.

    Returns:
        None if the chunk has no game that is long enough, or if `max_move` plies leave the new game no move.

    Raises:
        ChunkError: The chunk is damaged.
        OSError: It cannot be read.
    """
    games = decode_hcpe3(np.frombuffer(read_chunk(chunk).data, np.uint8), True)
    lengths = np.diff(games.plies).astype(int) - LEAST_PLIES_LEFT
    places = np.cumsum(np.maximum(lengths, 0))
    if not len(places) or places[-1] == 0:
        return None
    place = int(_draw("place", seed, number) * places[-1])  # every position has the same chance
    game = int(np.searchsorted(places, place, "right"))
    first = int(games.plies[game])
    plies = place - (int(places[game - 1]) if game else 0) + 1
    if plies >= max_move:
        return None
    position = position_from_hcp(games.starts[game].tobytes())
    for raw in games.moves[first : first + plies]:
        position.push(Move.from_raw(int(raw)))
    return position


def _draw(what: str, seed: int, number: int) -> float:
    """At least 0, and below 1."""
    digest = hashlib.sha256(f"{what} {seed} {number}".encode()).digest()
    return int.from_bytes(digest[:6]) / (1 << 48)
