"""Apery's books (`book.bin`), which dlshogi plays from: 16 bytes a move, sorted by the key of the position.

| offset | type | field | meaning |
|---|---|---|---|
| 0 | uint64 | key | key of the position |
| 8 | uint16 | fromToPro | move, coded as in hcpe |
| 10 | uint16 | count | times played |
| 12 | int32 | score | centipawns from the side to move |
"""

import struct
from bisect import bisect_left
from pathlib import Path

from fukayomi._native import MAX_MOVES, book_key
from fukayomi.book.moves import BookError, BookMove, StoredMoves
from fukayomi.shogi import InvalidMoveError, Move, Position

_ENTRY = struct.Struct("<QHHi")
_KEY = struct.Struct("<Q")
_SAMPLES = 256


class AperyBook:
    """A book that is searched on disk, by bisection.

    Raises:
        BookError: The entries are not sorted by key.
        OSError: The file cannot be read.
    """

    ENTRY_BYTES = _ENTRY.size

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb")
        self._count = path.stat().st_size // _ENTRY.size
        samples = [self._count * n // _SAMPLES for n in range(_SAMPLES)] + [self._count - 1]
        try:
            keys = [self._key(at) for at in samples]
        except BaseException:
            self.close()
            raise
        for n, at in enumerate(samples[1:], 1):
            if keys[n] < keys[n - 1]:
                self.close()
                raise BookError(
                    f"{path}: not sorted by key before entry {at} (offset {at * _ENTRY.size}): "
                    "not an Apery book, or one that must be written anew"
                )

    def find(self, position: Position) -> StoredMoves:
        """The moves that the file has for a position."""
        key = book_key(position)
        found = StoredMoves()
        first = bisect_left(range(self._count), key, key=self._key)
        for at in range(first, min(self._count, first + MAX_MOVES)):
            entry_key, raw, count, score = _ENTRY.unpack(self._read(at, _ENTRY.size))
            if entry_key != key:
                break
            try:
                found.moves.append(BookMove(Move.from_raw(raw), score_cp=score, count=count))
            except InvalidMoveError as error:
                found.problems.append(f"{self._path}, entry {at} (offset {at * _ENTRY.size}): {error}")
        return found

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _key(self, at: int) -> int:
        return _KEY.unpack(self._read(at, _KEY.size))[0]

    def _read(self, at: int, size: int) -> bytes:
        self._file.seek(at * _ENTRY.size)
        data = self._file.read(size)
        if len(data) < size:
            raise OSError(f"{self._path} has become shorter")
        return data
