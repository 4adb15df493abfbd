"""Books in memory from files, and files from them."""

from collections.abc import Sequence
from pathlib import Path

from fukayomi.book.apery import read_bin, write_bin
from fukayomi.book.book import Book
from fukayomi.book.kinds import BookKind, kind_of, kind_to_write
from fukayomi.book.yaneuraou import read_db, write_db
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import Position
from fukayomi.tabular import counted


def read_book(path: Path | str, starts: Sequence[Position] = (), *, listener: Listener = SILENT) -> Book:
    """Read a book of any format into memory: YaneuraOu's `.db` and `.ybb`, Apery's `.bin`, ShogiGUI's `.sbk`.

    What cannot be read is left out and named in `Book.problems`. Moves are not checked against the rules.

    Args:
        path: The file; its content decides on the format.
        starts: Apery's book: positions that its lines begin from, besides the start of a game.
        listener: Follows the work.

    Raises:
        BookError: The file is not a book, or one that is cut or damaged.
        OSError: The file cannot be read.
    """
    path = Path(path)
    book = Book()
    match kind_of(path):
        case BookKind.DB:
            read_db(path, book, listener)
        case BookKind.BIN:
            read_bin(path, book, [Position(), *starts], listener)
        case BookKind.YBB:
            from fukayomi.book.ybb import read_ybb

            read_ybb(path, book, listener)
        case BookKind.SBK:
            from fukayomi.book.sbk import read_sbk

            read_sbk(path, book)
    return book


def write_book(book: Book, path: Path | str, *, listener: Listener = SILENT) -> list[str]:
    """Write a book, completely or not at all: a program that has the file open goes on with the old content.

    Args:
        book: The book.
        path: The file: `.db` (YaneuraOu) or `.bin` (Apery).
        listener: Follows the work.

    Returns:
        What the format cannot store. Apery's has neither depths nor answers; that is not said.

    Raises:
        BookError: The name is of another format.
        OSError: The file cannot be written.
    """
    path = Path(path)
    if kind_to_write(path) is BookKind.BIN:
        return write_bin(book, path, listener)
    write_db(book, path, listener)
    if book.unplaced:
        one, more = "key are left out: its position is", "keys are left out: their positions are"
        return [f"{path}: the moves of {counted(len(book.unplaced), one, more)} not known"]
    return []
