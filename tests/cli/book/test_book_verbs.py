"""`fukayomi book convert`, `merge`, `prune`, `compare` and `check`: files, figures, exit codes, errors."""

import struct
from pathlib import Path

import pytest
from command_runs import run, run_json

from fukayomi import Move, Position
from fukayomi.book import position_key, read_book

START = Position().sfen()
AFTER = Position.from_usi("startpos moves 7g7f").sfen()


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.db"
    path.write_text(f"sfen {START}\n2g2f none 20 10 3\n7g7f 3c3d 50 30 12\nsfen {AFTER}\n3c3d none -50 25 3\n")
    return path


def test_convert_there_and_back(book: Path, tmp_path: Path) -> None:
    code, printed, said = run("book", "convert", book, "-o", tmp_path / "book.bin")
    assert (code, printed, said) == (0, f"wrote 2 positions with 3 moves to {tmp_path / 'book.bin'}\n", "")
    figures = run_json("book", "convert", tmp_path / "book.bin", "-o", tmp_path / "back.db")
    assert figures == {
        "file": str(tmp_path / "back.db"), "positions": 2, "moves": 3, "unplaced": 0, "problems": [],
    }  # fmt: skip
    assert (tmp_path / "back.db").read_text() == (
        f"#YANEURAOU-DB2016 1.00\nsfen {AFTER}\n3c3d none -50 none 3\n"
        f"sfen {START}\n7g7f none 50 none 12\n2g2f none 20 none 3\n"
    )


def test_convert_from_another_start(tmp_path: Path) -> None:
    sfen = "lr5nl/3g1kg2/2n1ppsp1/p1pps1p1p/1p5P1/P1PPSPP1P/1PS1P1N2/2GK1G3/LN5RL w Bb 38"
    (tmp_path / "a.db").write_text(f"sfen {sfen}\n8e8f none 0 0 1\n")
    run("book", "convert", tmp_path / "a.db", "-o", tmp_path / "a.bin")
    code, _, said = run("book", "convert", tmp_path / "a.bin", "-o", tmp_path / "b.db")
    assert (code, "the positions of 1 key are not known" in said, "--start" in said) == (1, True, True)
    assert not (tmp_path / "b.db").exists()
    figures = run_json("book", "convert", tmp_path / "a.bin", "-o", tmp_path / "b.db", "--start", sfen)
    assert figures["positions"] == 1
    usi = f"sfen {sfen}"
    assert run_json("book", "check", tmp_path / "a.db", "--start", usi)["faults"] == []


def test_merge_into_one_of_the_books(book: Path, tmp_path: Path) -> None:
    (tmp_path / "new.db").write_text(f"sfen {START}\n2g2f none 40 10 1\n1g1f none 0 1 1\n")
    code, printed, _ = run("book", "merge", book, tmp_path / "new.db", "-o", book)
    assert (code, printed) == (0, f"wrote 2 positions with 4 moves to {book}\n")
    moves = [(m.move.usi(), m.score_cp, m.count) for m in read_book(book)[position_key(Position())]]
    assert moves == [("7g7f", 50, 12), ("2g2f", 40, 4), ("1g1f", 0, 1)]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--count", "4"], "7g7f"),
        (["--score", "0"], "7g7f 2g2f"),
        (["--ply", "1"], "7g7f 2g2f"),
        (["--side", "white"], "3c3d"),
        (["--side", "black", "--count", "4"], "7g7f"),
    ],
)
def test_prune(book: Path, tmp_path: Path, options: list[str], left: str) -> None:
    assert run("book", "prune", book, "-o", tmp_path / "small.db", *options)[0] == 0
    small = read_book(tmp_path / "small.db")
    assert " ".join(move.move.usi() for key in small for move in small[key]) == left


def test_compare(book: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.write_text(f"sfen {START}\n2g2f none 30 10 3\n")
    code, printed, _ = run("book", "compare", book, other)
    assert code == 0
    assert printed.splitlines()[:5] == [
        f"{book}: 2 positions, 3 moves",
        f"{other}: 1 position, 1 move",
        "in both: 1 position, 1 move",
        "same best move: 0 positions (0.0%)",
        "scores of 1 move differ by 10.0 cp on average",
    ]
    assert "7g7f" in printed
    figures = run_json("book", "compare", book, other)
    assert (figures["positions"], figures["same_best"]) == ([2, 1], 0)
    assert figures["differences"][0]["second"] == "2g2f"


def test_check(book: Path, tmp_path: Path) -> None:
    code, printed, _ = run("book", "check", book)
    assert (code, printed) == (0, "2 positions, 3 moves\n")
    code, printed, _ = run("book", "check", book, "--tolerance", "0")
    assert code == 0
    book.write_text(book.read_text() + "3c3e none 0 0 1\n4c4d\n")
    code, printed, _ = run("book", "check", book)
    assert code == 1
    assert "illegal: 1" in printed
    assert "3c3e is not legal" in printed
    (tmp_path / "cut.db").write_text(f"sfen {START}\n7g7f\nsfen lnsgkgs")
    code, _, said = run("book", "check", tmp_path / "cut.db")
    assert (code, "cut.db, line 3: " in said) == (1, True), "a part could not be read"
    (tmp_path / "twice.db").write_text(f"sfen {START}\n7g7f\nsfen {START}\n7g7f\n")
    code, _, said = run("book", "check", tmp_path / "twice.db")
    assert (code, "1 position is there twice" in said) == (0, True)


def test_a_book_is_not_replaced_by_nothing(book: Path, tmp_path: Path) -> None:
    """Keys of positions that nobody knows are no book in text."""
    unknown, out = tmp_path / "unknown.bin", tmp_path / "out.db"
    unknown.write_bytes(struct.pack("<QHHi", 12345, Move.from_usi("7g7f").raw, 3, 50))
    out.write_bytes(book.read_bytes())
    for words in (("convert", unknown), ("merge", unknown, unknown)):
        code, _, said = run("book", *words, "-o", out)
        assert (code, "the positions of 1 key are not known" in said) == (1, True), said
    assert out.read_bytes() == book.read_bytes()


def test_errors(book: Path, tmp_path: Path) -> None:
    other, text = tmp_path / "a.db", tmp_path / "text.db"
    text.write_text("this is no book")
    for words, code, message in (
        (("convert", book, "-o", tmp_path / "a.ybb"), 1, "a.ybb: a book to write is named .db"),
        (("convert", tmp_path / "none.db", "-o", other), 1, "none.db: No such file or directory"),
        (("convert", book, "-o", tmp_path / "none" / "a.db"), 2, "cannot be written"),
        (("convert", text, "-o", other), 1, "is neither a book of YaneuraOu"),
        (("convert", book, "-o", other, "--start", "x"), 2, "x"),
        (("prune", book, "-o", other), 2, "give at least one of --count, --score, --ply and --side"),
        (("prune", book, "-o", other, "--count", "1000"), 1, "nothing is left of the book"),
        (("check", tmp_path), 1, "Is a directory"),
    ):
        found, _, said = run("book", *words)
        assert (found, message in " ".join(said.replace("│", " ").split())) == (code, True), said
    assert not other.exists()
