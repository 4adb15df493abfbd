"""Apery's opening book (book.bin), which dlshogi plays from: 16 bytes a move, sorted by the position's key."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats.rows import DataFileError, map_rows
from fukayomi.shogi import Move, Position

BOOK_ENTRY = np.dtype([("key", "<u8"), ("fromToPro", "<u2"), ("count", "<u2"), ("score", "<i4")])


class BookError(DataFileError):
    """A file that is no book; the message names the file, the entry and the offset."""


@dataclass(frozen=True, slots=True)
class BookMove:
    """A move of the book."""

    move: Move
    count: int
    """How often it was played, or how good it is thought to be: books differ."""
    score_cp: int
    """From the side to move."""


def read_book(path: Path | str) -> NDArray[np.void]:
    """The entries of a book, memory-mapped and read-only: BOOK_ENTRY [N].

    Raises:
        BookError: The size is no whole number of entries, or they are not sorted.
        OSError: The file cannot be read.
    """
    entries = map_rows(path, BOOK_ENTRY, BookError)
    falls = entries["key"][1:] < entries["key"][:-1]
    if falls.any():
        at = int(np.argmax(falls)) + 1
        raise BookError(f"{path}, entry {at} (offset {at * BOOK_ENTRY.itemsize}): the keys are not sorted")
    return entries


def moves_in_book(entries: NDArray[np.void], position: Position) -> list[BookMove]:
    """The book's moves in a position, in the book's order; those that are not legal there are left out.

    The key of a position is that of its board, the side to move and its hand: `book_key` and `book_keys` of the core.
    """
    key = np.uint64(_native.book_key(position))
    first, last = np.searchsorted(entries["key"], key, "left"), np.searchsorted(entries["key"], key, "right")
    legal = {move.raw: move for move in position.legal_moves}
    return [
        BookMove(legal[int(entry["fromToPro"])], int(entry["count"]), int(entry["score"]))
        for entry in entries[first:last]
        if int(entry["fromToPro"]) in legal
    ]
