"""Count duplicate rows and games in bounded memory.

They are compared by hashes: 64 bits for a row, 96 for a game. With the largest number of rows, the probability of any
false match is 1 in 2 000.
"""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.formats.rows import position_keys

MOST_ROWS = 1 << 27  # 8 bytes each, twice while they are sorted
MOST_GAMES = 1 << 24  # about 90 bytes each


class Duplicates:
    """Remembers a limited number of rows and games, and counts those equal to an earlier one."""

    def __init__(self, most_rows: int = MOST_ROWS, most_games: int = MOST_GAMES) -> None:
        self._most_rows, self._most_games = most_rows, most_games
        self._rows: list[NDArray[np.uint64]] = []
        self._row_count = 0
        self._games: set[bytes] = set()
        self._game_count = 0
        self._equal_games = 0
        self.passed_over = 0
        """Rows and games not compared, because the limit was reached."""

    @property
    def compared(self) -> int:
        """Rows and games that were compared."""
        return self._row_count + self._game_count

    def add_rows(self, rows: NDArray[Any]) -> None:
        """Remember rows [N] of any type."""
        taken = rows[: self._most_rows - self._row_count]
        if len(taken):
            self._rows.append(_row_keys(taken))
        self._row_count += len(taken)
        self.passed_over += len(rows) - len(taken)

    def is_new_game(self, data: bytes) -> bool:
        """Remember a game; False if it occurred before."""
        key = hashlib.blake2b(data, digest_size=12).digest()
        if key in self._games:
            self._game_count += 1
            self._equal_games += 1
            return False
        if len(self._games) >= self._most_games:
            self.passed_over += 1
        else:
            self._game_count += 1
            self._games.add(key)
        return True

    def count(self) -> int:
        """Number of compared rows and games that are equal to an earlier one."""
        keys = np.concatenate([np.zeros(0, np.uint64), *self._rows])
        keys.sort()
        return self._equal_games + int((keys[1:] == keys[:-1]).sum())


def _row_keys(rows: NDArray[Any]) -> NDArray[np.uint64]:
    padded = np.zeros((len(rows), -(-rows.dtype.itemsize // 8) * 8), np.uint8)
    padded[:, : rows.dtype.itemsize] = rows.view(np.uint8).reshape(len(rows), -1)
    return position_keys(padded)
