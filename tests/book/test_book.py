"""Books of both formats through `BookReader`: legal moves, positions turned round, the choice, no books."""

import contextlib
import random
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fukayomi import Move, Position
from fukayomi._native import book_key
from fukayomi.book import BookError, BookLimits, BookMove, BookReader
from fukayomi.book.rotation import rotated_move, rotated_position

Write = Callable[[str, list[BookMove]], Path]
START = "startpos"
AFTER = "startpos moves 7g7f"


def moves_of(text: str) -> list[BookMove]:
    """Moves as in a .db: "7g7f 3c3d 50 30 12, ..."."""
    found: list[BookMove] = []
    for line in text.split(","):
        move, ponder, score, depth, count = line.split()
        answer = None if ponder == "none" else Move.from_usi(ponder)
        found.append(BookMove(Move.from_usi(move), answer, int(score), int(depth), int(count)))
    return found


@pytest.fixture(params=["db", "bin"])
def write(tmp_path: Path, request: pytest.FixtureRequest) -> Write:
    """Write a book with the moves of one position."""

    def write_book(position: str, moves: list[BookMove]) -> Path:
        path = tmp_path / f"book.{request.param}"
        at = Position.from_usi(position)
        if request.param == "db":
            lines = [f"{m.move} {m.ponder or 'none'} {m.score_cp} {m.depth} {m.count}" for m in moves]
            path.write_text("\n".join(["#YANEURAOU-DB2016 1.00", f"sfen {at.sfen()}", *lines, ""]))
        else:
            entries = [struct.pack("<QHHi", book_key(at), m.move.raw, m.count, m.score_cp or 0) for m in moves]
            path.write_bytes(b"".join(entries))
        return path

    return write_book


MOVES = moves_of("2g2f 8c8d 10 20 8, 7g7f 3c3d 30 20 8, 2g2f 3c3d 0 0 1, 6i7h none -50 10 4, 1g1f none -200 10 0")


def test_a_position_has_its_moves_in_order(write: Write) -> None:
    with BookReader.open(write(START, MOVES)) as book:
        found = book.moves(Position())
        assert [(move.move.usi(), move.score_cp, move.count) for move in found] == [
            ("2g2f", 10, 8), ("7g7f", 30, 8), ("6i7h", -50, 4), ("1g1f", -200, 0),
        ]  # fmt: skip
        assert book.moves(Position.from_usi(AFTER)) == ()
        assert book.choose(Position.from_usi(AFTER)) is None
        later = Position.from_sfen(Position().sfen().rsplit(" ", 1)[0] + " 77")
        assert book.moves(later) == found


def test_moves_that_are_not_legal_are_ignored_and_named(write: Write) -> None:
    path = write(START, moves_of("7g7e none 1 1 1, 2g2f 2g2f 1 1 1, 8h2b+ none 1 1 1"))
    with BookReader.open(path) as book:
        entry = book.look_up(Position())
    assert [(move.move.usi(), move.ponder) for move in entry.moves] == [("2g2f", None)]
    assert entry.problems == (f"{path}: not legal in {Position().sfen()}: 7g7e 8h2b+",)


def test_the_position_turned_round_is_found(write: Write) -> None:
    position = Position.from_usi(AFTER)
    with BookReader.open(write(AFTER, moves_of("3c3d 2g2f 7 8 9"))) as book:
        assert book.moves(rotated_position(position), flipped=False) == ()
        (move,) = book.moves(rotated_position(position))
        assert (move.move.usi(), move.score_cp, move.count) == ("7g7f", 7, 9)
        assert move.ponder in (None, Move.from_usi("8c8d"))
        assert book.choose(rotated_position(position)) == move
        assert book.choose(rotated_position(position), flipped=False) is None


@given(st.lists(st.integers(0, 10_000), max_size=80))
def test_a_position_turned_round_has_the_same_moves_turned_round(choices: list[int]) -> None:
    position = Position()
    for choice in choices:
        if position.is_mated():
            break
        position.push(position.legal_moves[choice % len(position.legal_moves)])
    other = rotated_position(position)
    assert rotated_position(other).sfen() == position.sfen()
    assert {rotated_move(move) for move in position.legal_moves} == set(other.legal_moves)


def test_by_count_by_score_at_random(write: Write) -> None:
    with BookReader.open(write(START, MOVES)) as book:
        by_count, by_score = book.choose(Position()), book.choose(Position(), by="score")
        assert by_count is not None
        assert by_score is not None
        assert (by_count.move.usi(), by_score.move.usi()) == ("7g7f", "7g7f")
        source = random.Random(1)
        shares: dict[str, Counter[str]] = {"random": Counter(), "even": Counter()}
        for by in ("random", "even"):
            for _ in range(2000):
                move = book.choose(Position(), by=by, source=source)
                assert move is not None
                shares[by][move.move.usi()] += 1
    assert {name: round(count / 200) for name, count in shares["random"].items()} == {"2g2f": 4, "7g7f": 4, "6i7h": 2}
    assert {name: round(count / 500) for name, count in shares["even"].items()} == dict.fromkeys(
        ("2g2f", "7g7f", "6i7h", "1g1f"), 1
    )


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({}, "2g2f 7g7f 6i7h 1g1f"),
        ({"last_ply": 1}, "2g2f 7g7f 6i7h 1g1f"),
        ({"last_ply": 0}, ""),
        ({"least_score_black_cp": -50}, "2g2f 7g7f 6i7h"),
        ({"least_score_white_cp": 1000}, "2g2f 7g7f 6i7h 1g1f"),
        ({"most_loss_cp": 20}, "2g2f 7g7f"),
        ({"most_loss_cp": 0}, "7g7f"),
        ({"least_share": 0.3}, "2g2f 7g7f"),
        ({"least_score_black_cp": 31}, ""),
    ],
)
def test_limits(write: Write, limits: dict[str, Any], left: str) -> None:
    with BookReader.open(write(START, MOVES)) as book:
        source = random.Random(1)
        chosen = {book.choose(Position(), BookLimits(**limits), by="even", source=source) for _ in range(80)}
    assert {move.move.usi() for move in chosen if move is not None} == set(left.split())
    assert (None in chosen) == (left == "")


def test_the_depth_of_the_first_move_counts(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    path.write_text(f"sfen {Position().sfen()}\n7g7f none 0 9\n2g2f none 0 30\n")
    with BookReader.open(path) as book:
        assert book.choose(Position(), BookLimits(least_depth=9)) is not None
        assert book.choose(Position(), BookLimits(least_depth=10)) is None


def test_a_move_that_repeats_the_position_has_the_score_of_a_draw(write: Write) -> None:
    cycle = " 5i5h 5a5b 5h5i 5b5a"
    moves = f"startpos moves{3 * cycle}".removesuffix(" 5b5a")  # it brings the start position for the fourth time
    with BookReader.open(write(moves, moves_of("5b5a none 50 1 9, 8c8d none -10 1 1"))) as book:
        here = Position.from_usi(moves)
        chosen = {cp: book.choose(here, by="score", draw_cp=cp) for cp in (None, 0, -11)}
    assert {cp: move.move.usi() for cp, move in chosen.items() if move is not None} == {
        None: "5b5a", 0: "5b5a", -11: "8c8d",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"0123456789", r"\(10 bytes\) is neither a book of YaneuraOu \(\.db, \.ybb\) or"),
        (b"#YANEURAOU-DB2016 2.00\nsfen 9/9 b - 1\n", "line 1: '#YANEURAOU-DB2016 2.00' is not '.* 1.00'"),
        (b"# nothing but comments\n", "no line of the form 'sfen BOARD TURN HAND PLY'"),
        (struct.pack("<QHHiQHHi", 2, 1, 1, 1, 1, 1, 1, 1), r"not sorted by key before entry 1 \(offset 16\)"),
    ],
)  # fmt: skip
def test_files_that_are_no_books(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "book.x"
    path.write_bytes(content)
    with pytest.raises(BookError, match=rf"book\.x.*{reason}"):
        BookReader.open(path)
    with pytest.raises(OSError, match="nothing"):
        BookReader.open(tmp_path / "nothing")
    with pytest.raises(OSError, match=tmp_path.name):
        BookReader.open(tmp_path)


@given(st.binary(max_size=400), st.sampled_from([b"", b"#YANEURAOU-DB2016 1.00\n", b"sfen "]), st.booleans())
def test_any_file_is_a_book_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, head: bytes, at_start: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.book"
    lines = f"sfen {Position().sfen()}\n".encode() if at_start else b""
    path.write_bytes(head + lines + data)
    with contextlib.suppress(BookError), BookReader.open(path) as book:
        entry = book.look_up(Position())
        assert all(Position().is_legal(move.move) for move in entry.moves)
        assert all(str(path) in problem for problem in entry.problems)
