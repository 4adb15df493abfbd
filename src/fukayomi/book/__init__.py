"""Opening books (定跡): what a book says of a position, and the move to play.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from fukayomi import Position
    >>> from fukayomi.book import BookReader
    >>> path = Path(tempfile.mkdtemp()) / "book.db"
    >>> _ = path.write_text('''#YANEURAOU-DB2016 1.00
    ... sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1
    ... 7g7f 3c3d 50 30 12
    ... 2g2f 8c8d 60 30 8
    ... ''')
    >>> with BookReader.open(path) as book:
    ...     for move in book.moves(Position()):
    ...         print(move.move, move.ponder, move.score_cp, move.depth, move.count)
    ...     print(book.choose(Position(), by="score").move)
    7g7f 3c3d 50 30 12
    2g2f 8c8d 60 30 8
    2g2f

Books of YaneuraOu (`.db`, `.ybb`), of Apery (`book.bin`, which dlshogi plays from) and of ShogiGUI (`.sbk`) are read;
the content decides which it is. `BookReader` plays from a file; `Book` is one in memory, to be changed and written.
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.book.book import Book, position_key
    from fukayomi.book.changes import merge_books, prune_book
    from fukayomi.book.checking import BookCheck, BookFault, BookFaultKind, check_book
    from fukayomi.book.choice import BookLimits
    from fukayomi.book.comparison import BookComparison, BookDifference, compare_books
    from fukayomi.book.editing import AddedMove, BookEditor
    from fukayomi.book.minmax.minmax import LineToPlay, MinmaxBook, SideValue, minmax_book
    from fukayomi.book.minmax.settings import MinmaxSettings
    from fukayomi.book.moves import BookError, BookMove
    from fukayomi.book.reader import BookEntry, BookReader
    from fukayomi.book.search.search import BookSearcher, SearchedBook, search_book
    from fukayomi.book.search.settings import BookSearchSettings
    from fukayomi.book.stored import read_book, write_book

__all__ = [
    "AddedMove",
    "Book",
    "BookCheck",
    "BookComparison",
    "BookDifference",
    "BookEditor",
    "BookEntry",
    "BookError",
    "BookFault",
    "BookFaultKind",
    "BookLimits",
    "BookMove",
    "BookReader",
    "BookSearchSettings",
    "BookSearcher",
    "LineToPlay",
    "MinmaxBook",
    "MinmaxSettings",
    "SearchedBook",
    "SideValue",
    "check_book",
    "compare_books",
    "merge_books",
    "minmax_book",
    "position_key",
    "prune_book",
    "read_book",
    "search_book",
    "write_book",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".book": ("Book", "position_key"),
        ".changes": ("merge_books", "prune_book"),
        ".checking": ("BookCheck", "BookFault", "BookFaultKind", "check_book"),
        ".choice": ("BookLimits",),
        ".comparison": ("BookComparison", "BookDifference", "compare_books"),
        ".editing": ("AddedMove", "BookEditor"),
        ".minmax.minmax": ("LineToPlay", "MinmaxBook", "SideValue", "minmax_book"),
        ".minmax.settings": ("MinmaxSettings",),
        ".moves": ("BookError", "BookMove"),
        ".reader": ("BookEntry", "BookReader"),
        ".search.search": ("BookSearcher", "SearchedBook", "search_book"),
        ".search.settings": ("BookSearchSettings",),
        ".stored": ("read_book", "write_book"),
    },
)
