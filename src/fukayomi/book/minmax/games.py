"""Finished games as columns, with what they say of each position: ten bytes a move.

Positions are known by a hash of 64 bits of board, hands and side to move, as moves in another order lead to them too.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.shogi import Move, Position
from fukayomi.shogi.formats.csa.reader import CsaMoves
from fukayomi.shogi.record import RecordedMove, Result, Termination

SAY_NOTHING = frozenset(
    {Termination.TIME_UP, Termination.ILLEGAL_MOVE, Termination.CRASH, Termination.STALL, Termination.PROTOCOL}
)
"""Endings that say nothing about the positions."""


class FinishedGame(Protocol):
    """A game: a `Record`, or one of `fukayomi.arena`."""

    @property
    def initial_sfen(self) -> str:
        """The first position."""
        ...

    @property
    def moves(self) -> Sequence[Move] | Sequence[RecordedMove] | None:
        """The moves; None if they are not known."""
        ...

    @property
    def result(self) -> Result:
        """Who won."""
        ...

    @property
    def termination(self) -> Termination:
        """How the game ended."""
        ...


class GameColumns:
    """Finished games: the key of each position, the move played there and the result.

    Args:
        uniq: Whether games with the same start, moves and result count once.
    """

    def __init__(self, *, uniq: bool = False) -> None:
        self.left_out = 0
        """Games that end without a result or by a forfeit, or have no moves."""
        self.repeated = 0
        """Games with the same start, moves and result as one before, where these count once."""
        self._keys = bytearray()
        self._moves = bytearray()
        self._lengths: list[int] = []
        self._results: list[int] = []
        self._seen: set[bytes] | None = set() if uniq else None

    def __len__(self) -> int:
        """Number of games."""
        return len(self._results)

    def add(self, game: FinishedGame) -> bool:
        """Add a game; False if it does not count.

        Raises:
            ShogiError: The first position is not one, or a move is not legal.
        """
        if game.result is Result.UNKNOWN or game.termination in SAY_NOTHING or not game.moves:
            self.left_out += 1
            return False
        csa = game.moves.game if isinstance(game.moves, CsaMoves) else None
        moves = np.array([_raw(move) for move in game.moves], np.uint16) if csa is None else csa.moves
        if self._seen is not None and not self._is_new(game, moves):
            self.repeated += 1
            return False
        try:
            hcps = _native.encode_game_hcps(_start(game.initial_sfen), moves) if csa is None else csa.hcps()
        except _native.InvalidPackedError:  # a mate problem, with one king
            self.left_out += 1
            return False
        self._keys += _native.hash_keys(hcps).tobytes()
        self._moves += moves.tobytes() + b"\0\0"
        self._lengths.append(len(hcps))
        self._results.append(game.result)
        return True

    def _is_new(self, game: FinishedGame, moves: NDArray[np.uint16]) -> bool:
        assert self._seen is not None
        content = hashlib.blake2b(moves.tobytes(), digest_size=16)
        content.update(f"{game.result} {' '.join(game.initial_sfen.split()[:3])}".encode())
        if content.digest() in self._seen:
            return False
        self._seen.add(content.digest())
        return True

    def tree(self, th: int) -> "GameTree":
        """What the games say of the positions with at least `th` games."""
        keys = np.frombuffer(self._keys, np.uint64)
        moves = np.frombuffer(self._moves, np.uint16)
        lengths = np.array(self._lengths, np.int64)
        outcomes = np.array(self._results, np.int8)
        known, numbers = np.unique(keys, return_inverse=True)
        game_of = np.repeat(np.arange(len(lengths)), lengths)
        here, there = _different(numbers, game_of)  # a game counts once for a position that it repeats
        results = np.zeros((len(known), 3), np.int64)
        results[:, 0] = np.bincount(here, minlength=len(known))
        for column, outcome in ((1, Result.BLACK_WIN), (2, Result.DRAW)):
            results[:, column] = np.bincount(here[outcomes[there] == outcome], minlength=len(known))
        goes_on = results[numbers, 0] >= th
        goes_on[np.cumsum(lengths) - 1] = False
        at = np.flatnonzero(goes_on)
        return GameTree(known, results, *_edges(numbers[at], moves[at], numbers[at + 1], game_of[at]))


@dataclass(frozen=True, slots=True, eq=False)
class GameTree:
    """Positions and moves of games: K positions, and E moves from those of them that have enough games."""

    keys: NDArray[np.uint64]
    """uint64 [K], in order."""
    results: NDArray[np.int64]
    """int64 [K, 3]: games through the position, games that Black won, drawn games."""
    before: NDArray[np.int64]
    """int64 [E]: the position before each move, in order."""
    moves: NDArray[np.uint16]
    """uint16 [E]: as `Move.raw`."""
    after: NDArray[np.int64]
    """int64 [E]: the position after it."""
    counts: NDArray[np.int64]
    """int64 [E]: games with the move."""

    def find(self, hcps: Sequence[bytes]) -> list[int | None]:
        """The numbers of positions that are given packed; None for those that no game has."""
        if not hcps or not len(self.keys):
            return [None] * len(hcps)
        keys = _native.hash_keys(np.frombuffer(b"".join(hcps), np.uint8).reshape(-1, 32))
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return [place if same else None for place, same in zip(places.tolist(), self.keys[places] == keys, strict=True)]

    def moves_of(self, number: int) -> list[tuple[int, int, int]]:
        """The moves of a position: `Move.raw`, the position after it, games."""
        first, last = np.searchsorted(self.before, [number, number + 1]).tolist()
        columns = (self.moves, self.after, self.counts)
        return list(zip(*(column[first:last].tolist() for column in columns), strict=True))

    def results_of(self, number: int | None) -> tuple[int, int, int]:
        """Games through a position, games that Black won, drawn games."""
        if number is None:
            return 0, 0, 0
        games, black, drawn = self.results[number].tolist()
        return games, black, drawn


@lru_cache(maxsize=1024)
def _start(sfen: str) -> Position:
    return Position.from_sfen(sfen, allow_missing_king=True)


def _raw(move: Move | RecordedMove) -> int:
    return move.move.raw if isinstance(move, RecordedMove) else move.raw


def _different(numbers: NDArray[np.int64], games: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different pairs of a position and a game."""
    count = int(games[-1]) + 1 if len(games) else 1
    pairs = np.unique(numbers * count + games)
    return pairs // count, pairs % count


def _edges(
    before: NDArray[np.int64], moves: NDArray[np.uint16], after: NDArray[np.int64], games: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.int64], NDArray[np.int64]]:
    """The different moves, and in how many games each was played."""
    order = np.lexsort((games, moves, before))
    before, moves, after, games = before[order], moves[order], after[order], games[order]
    is_new = np.ones(len(order), bool)
    is_new[1:] = (before[1:] != before[:-1]) | (moves[1:] != moves[:-1])
    is_new_game = is_new.copy()
    is_new_game[1:] |= games[1:] != games[:-1]
    counts = np.bincount(np.cumsum(is_new)[is_new_game] - 1, minlength=int(is_new.sum()))
    return before[is_new], moves[is_new], after[is_new], counts
