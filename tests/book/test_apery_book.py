"""Apery's books: real ones, the same keys as cshogi's, and damage."""

import random
import struct
from pathlib import Path

import numpy as np
import pytest

from fukayomi import Move, Position
from fukayomi.book import BookReader
from fukayomi.data import BOOK_ENTRY


@pytest.mark.parametrize("name", ["apery.bin", "apery-merge.bin"])
def test_real_books(shared_data: Path, name: str) -> None:
    path = shared_data / "records" / "shogihome" / "book" / name
    entries = np.fromfile(path, BOOK_ENTRY)
    with BookReader.open(path) as book:
        found = book.moves(Position(), flipped=False)
    expected = entries[entries["key"] == np.uint64(17203344753176706581)]
    assert [(m.move.raw, m.count, m.score_cp) for m in found] == expected[["fromToPro", "count", "score"]].tolist()
    assert found


def test_positions_are_found_by_cshogis_keys(tmp_path: Path) -> None:
    cshogi = pytest.importorskip("cshogi")
    source = random.Random(1)
    wanted: dict[str, tuple[int, int, int]] = {}
    entries: list[tuple[int, int, int, int]] = []
    for game in range(20):
        position = Position()
        for ply in range(30):
            move = source.choice(position.legal_moves)
            sfen = position.sfen()
            if sfen.rsplit(" ", 1)[0] not in wanted:
                wanted[sfen.rsplit(" ", 1)[0]] = (move.raw, ply, game)
                entries.append((cshogi.Board(sfen).book_key(), move.raw, ply, game))
            position.push(move)
    path = tmp_path / "book.bin"
    path.write_bytes(b"".join(struct.pack("<QHHi", *entry) for entry in sorted(entries)))
    with BookReader.open(path) as book:
        for sfen, (raw, count, score) in wanted.items():
            (move,) = book.moves(Position.from_sfen(f"{sfen} 1"), flipped=False)
            assert (move.move.raw, move.count, move.score_cp) == (raw, count, score)


def test_what_is_no_move_is_named(tmp_path: Path) -> None:
    key = 17203344753176706581
    path = tmp_path / "book.bin"
    legal = Move.from_usi("7g7f").raw
    path.write_bytes(b"".join(struct.pack("<QHHi", key, raw, 1, 0) for raw in (0, legal, 0xFFFF)))
    with BookReader.open(path) as book:
        entry = book.look_up(Position())
    assert [move.move.usi() for move in entry.moves] == ["7g7f"]
    assert [problem.split(": ")[0] for problem in entry.problems] == [
        f"{path}, entry 0 (offset 0)", f"{path}, entry 2 (offset 32)",
    ]  # fmt: skip


def test_a_book_that_shrinks_while_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "book.bin"
    path.write_bytes(b"".join(struct.pack("<QHHi", key, 1, 1, 0) for key in range(4096)))
    with BookReader.open(path) as book:
        path.write_bytes(b"")
        with pytest.raises(OSError, match="has become shorter"):
            book.moves(Position())
