"""YaneuraOu's binary books (`.ybb`): an index of positions, sorted by their bytes, and then their moves.

| offset | type | meaning |
|---|---|---|
| 0 | 16 bytes | "YANE-BINBOOK-V1", 0 |
| 16 | uint64 | number of positions |
| 24 | uint64 | bit 0: moves have depths |
| 32 | 44 bytes each | packed sfen (32 bytes), uint64 offset of its moves, uint16 ply, uint16 number of moves |
| then | 4 or 6 bytes each | uint16 move, coded as in psv, int16 score (32767: none), uint16 depth (0: none) |
"""

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import moves_from_psv, position_from_psfen
from fukayomi.book.book import STEP, Book, position_key
from fukayomi.book.kinds import YBB_MAGIC
from fukayomi.book.moves import BookError, BookMove
from fukayomi.listener import Listener
from fukayomi.shogi import InvalidMoveError, InvalidPackedError, Move

_HEAD = struct.Struct("<16sQQ")
_RECORD = struct.Struct("<32sQHH")
_MOVE = np.dtype([("move", "<u2"), ("score", "<i2")])
_DEEP_MOVE = np.dtype([("move", "<u2"), ("score", "<i2"), ("depth", "<u2")])
_NO_SCORE = 0x7FFF


def read_ybb(path: Path, book: Book, listener: Listener) -> None:
    """Read YaneuraOu's binary book into a book in memory. The format has neither counts nor answers.

    Raises:
        BookError: The file is cut or damaged.
        OSError: The file cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as index, path.open("rb") as file:
        head = index.read(_HEAD.size)
        if len(head) < _HEAD.size or not head.startswith(YBB_MAGIC):
            raise BookError(f"{path}: not a binary book of YaneuraOu")
        _, count, flags = _HEAD.unpack(head)
        start = _HEAD.size + count * _RECORD.size
        if start > size:
            raise BookError(f"{path} ({size} bytes) is cut or damaged: an index of {count} positions does not fit")
        dtype = _DEEP_MOVE if flags & 1 else _MOVE
        for n in range(count):
            if n % STEP == 0:
                listener.progress(f"reading {path.name}", n, count)
            at = _HEAD.size + n * _RECORD.size
            psfen, offset, ply, move_count = _RECORD.unpack(index.read(_RECORD.size))
            if start + offset + move_count * dtype.itemsize > size:
                raise BookError(
                    f"{path}, position {n} (offset {at}): the file is cut or damaged: its moves are missing"
                )
            try:
                key = position_key(position_from_psfen(psfen))
            except InvalidPackedError as error:
                book.note(f"{path}, position {n} (offset {at}): {error}")
                continue
            file.seek(start + offset)
            entries = np.frombuffer(file.read(move_count * dtype.itemsize), dtype)
            moves = _moves(path, n, entries, book)
            if moves and key not in book:
                book.put(key, moves, max(1, ply))
    if not len(book):
        raise BookError(f"{path}: no position with moves can be read")


def _moves(path: Path, position: int, entries: "NDArray[np.void]", book: Book) -> list[BookMove]:
    found: list[BookMove] = []
    raw = np.empty(1, np.uint16)
    has_depth = entries.dtype == _DEEP_MOVE
    for n, entry in enumerate(entries.tolist()):
        try:
            moves_from_psv(np.array(entry[:1], np.uint16), raw)
            move = Move.from_raw(int(raw[0]))
        except InvalidMoveError as error:
            book.note(f"{path}, position {position}, move {n}: {error}")
            continue
        score = None if entry[1] == _NO_SCORE else entry[1]
        found.append(BookMove(move, score_cp=score, depth=(entry[2] or None) if has_depth else None))
    return found
