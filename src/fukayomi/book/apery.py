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
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from fukayomi._native import MAX_MOVES, book_key
from fukayomi.book.book import STEP, Book, position_key
from fukayomi.book.kinds import APERY_ENTRY_BYTES
from fukayomi.book.moves import BookError, BookMove, StoredMoves
from fukayomi.book.walk import walk
from fukayomi.files.atomic import AtomicFile
from fukayomi.listener import Listener
from fukayomi.shogi import InvalidMoveError, Move, Position
from fukayomi.tabular import counted

_ENTRY = struct.Struct("<QHHi")
_KEY = struct.Struct("<Q")
_SAMPLES = 256
_BLOCK = 4096 * APERY_ENTRY_BYTES
_MOST_COUNT = (1 << 16) - 1


class AperyBook:
    """A book that is searched on disk, by bisection.

    Raises:
        BookError: The entries are not sorted by key.
        OSError: The file cannot be read.
    """

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


def read_bin(path: Path, book: Book, starts: Sequence[Position], listener: Listener) -> None:
    """Read Apery's book into a book in memory.

    The file has keys in place of positions: those that lines of the book lead to, from the starts, are found. The moves
    of the others are `Book.unplaced`.

    Raises:
        BookError: The entries are not sorted by key, or the file ends inside one.
        OSError: The file cannot be read.
    """
    last = at = 0
    moves: list[BookMove] = []
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            listener.progress(f"reading {path.name}", file.tell(), path.stat().st_size)
            if len(block) % _ENTRY.size:
                raise BookError(f"{path}, entry {at + len(block) // _ENTRY.size}: the file ends inside it")
            for key, raw, count, score in _ENTRY.iter_unpack(block):
                if key < last:
                    raise BookError(f"{path}: not sorted by key before entry {at} (offset {at * _ENTRY.size})")
                if key != last and moves:
                    book.unplaced[last], moves = tuple(moves), []
                try:
                    moves.append(BookMove(Move.from_raw(raw), score_cp=score, count=count))
                except InvalidMoveError as error:
                    book.note(f"{path}, entry {at} (offset {at * _ENTRY.size}): {error}")
                last, at = key, at + 1
    if moves:
        book.unplaced[last] = tuple(moves)
    place(book, starts, listener)


def place(book: Book, starts: Sequence[Position], listener: Listener) -> None:
    """Find the positions of a book's `unplaced` moves: those that its lines lead to from the starts."""
    if not book.unplaced:
        return

    def moves_of(position: Position) -> Sequence[Move] | None:
        key = position_key(position)
        entry = book.unplaced.get(book_key(position)) if key not in book else book[key]
        return None if entry is None else [move.move for move in entry]

    for position in walk(starts, moves_of):
        moves = book.unplaced.get(book_key(position))
        if moves is not None and (key := position_key(position)) not in book:
            if len(book) % STEP == 0:
                listener.progress("finding positions", len(book), len(book.unplaced))
            book.put(key, moves, min(max(1, position.ply), _MOST_COUNT))
    for _ in place_by_key(book):
        pass


def place_by_key(book: Book) -> Iterator[tuple[str, tuple[BookMove, ...]]]:
    """Remove the `unplaced` moves of positions that the book has, and yield them with the positions' keys."""
    if not book.unplaced:
        return
    for key in list(book):
        moves = book.unplaced.pop(book_key(book.position(key)), None)
        if moves is not None:
            yield key, moves


def write_bin(book: Book, path: Path, listener: Listener) -> list[str]:
    """Write Apery's book. Moves keep their order.

    Returns:
        What the format cannot store.

    Raises:
        OSError: The file cannot be written.
    """
    cut = lost = 0
    entries = [(book_key(book.position(key)), key) for key in book]
    entries += [(key, "") for key in book.unplaced]
    entries.sort()
    with AtomicFile(path) as file:
        for n, (number, same) in enumerate(groupby(entries, key=lambda entry: entry[0])):
            if n % STEP == 0:
                listener.progress(f"writing {path.name}", n, len(entries))
            key, *others = sorted((key for _, key in same), reverse=True)
            moves = book[key] if key else book.unplaced[number]
            lost += len(others)
            cut += sum(not 0 <= move.count <= _MOST_COUNT for move in moves)
            counts = [max(0, min(_MOST_COUNT, move.count)) for move in moves]
            file.write(
                b"".join(
                    _ENTRY.pack(number, move.move.raw, count, move.score_cp or 0)
                    for move, count in zip(moves, counts, strict=True)
                )
            )
    problems: list[str] = []
    if book.comments:
        problems.append(f"{path}: {counted(len(book.comments), 'comment is', 'comments are')} left out")
    if cut:
        problems.append(
            f"{path}: {counted(cut, 'count is', 'counts are')} cut to {_MOST_COUNT}, the largest that the format has"
        )
    if lost:
        one, more = "position is left out: its key is", "positions are left out: their keys are"
        problems.append(f"{path}: {counted(lost, one, more)} also that of another")
    return problems
