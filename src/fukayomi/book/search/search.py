"""A book from our own search (`search_book`)."""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fukayomi.book.book import Book, best_first, position_key
from fukayomi.book.kinds import BookKind, kind_to_write
from fukayomi.book.moves import BookError, BookMove
from fukayomi.book.reader import BookEntry
from fukayomi.book.search.growth import Growth
from fukayomi.book.search.settings import BookSearchSettings
from fukayomi.book.stored import read_book, write_book
from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import replaceable
from fukayomi.files.lock import FolderLock, LockedError
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import Position
from fukayomi.tabular import Tabular, counted

ROUND = 64
"""Positions that a growing book takes at once."""
SAVE_S = 30.0
"""Seconds between two writings of a book that is being made, at least."""
SAVE_SHARE = 0.05
"""Most of the time that is spent on them."""
_MARK = re.compile(r"fukayomi: (\d{1,10}) nodes by (.+)")
_CHUNK = 1024
"""Positions of a list that are handed over at once."""


class BookSearcher(Protocol):
    """Searches positions, several at once: `fukayomi.engine.ServiceBookSearcher`, or what answers in its place."""

    @property
    def identity(self) -> str:
        """The network, in one line: what it names another way is searched again by `refresh`."""
        ...

    def search(
        self, positions: Sequence[Position], nodes: int, moves: int
    ) -> Iterator[tuple[Position, Sequence[BookMove]]]:
        """Search positions with legal moves.

        Args:
            positions: The positions.
            nodes: Nodes of each.
            moves: Moves to report of each.

        Yields:
            Each position with its moves, in any order: the best move first, scores from the side to move, visits as
            count, plies of the expected line as depth. No moves where the side to move may declare a win.
        """
        ...


@dataclass(frozen=True, slots=True)
class SearchMark:
    """What a book says of the search of a position, in a comment: ``fukayomi: 800 nodes by NETWORK``."""

    nodes: int
    """Nodes of the search."""
    network: str
    """Identity of the network."""

    @classmethod
    def of(cls, book: Book, key: str) -> "SearchMark | None":
        """The mark of a position; None if its moves are not from a search."""
        found = [match for line in book.comments.get((key, ""), "").splitlines() if (match := _MARK.fullmatch(line))]
        return cls(int(found[-1][1]), found[-1][2]) if found else None

    def put(self, book: Book, key: str) -> None:
        """Mark a position; its other comments stay."""
        lines = [line for line in book.comments.get((key, ""), "").splitlines() if not _MARK.fullmatch(line)]
        book.comments[key, ""] = "\n".join([*lines, f"fukayomi: {self.nodes} nodes by {self.network}"])


@dataclass(frozen=True, slots=True, repr=False)
class SearchedBook(Tabular):
    """A book from a search, and what was done for it. As a table it has a row for each move of the first position."""

    book: Book
    """The book, as it is in the file."""
    wanted: int
    """Positions that the book was to have: those of the list, or those that it has grown to."""
    searched: int
    """Positions that were searched now."""
    kept: int
    """Those of the wanted ones that the book had before."""
    older: int
    """Positions of the book that an older network, or a search with fewer nodes, has found."""
    first: str
    """Key of the first position."""

    def __repr__(self) -> str:
        return f"<SearchedBook of {counted(len(self.book), 'position')}, {self.searched} searched now>"

    def rows(self) -> list[dict[str, str | int | None]]:
        """One row per move, as of a `BookEntry`: counts are visits."""
        return BookEntry(self.book.get(self.first, ())).rows()


def search_book(
    path: Path | str,
    positions: Iterable[Position],
    searcher: BookSearcher,
    *,
    settings: BookSearchSettings | None = None,
    listener: Listener = SILENT,
) -> SearchedBook:
    """Make a book by searching positions, or go on with one; it is written now and then, and at the end.

    Counts are visits, scores the search's, depths the plies of the expected lines. A comment of each position says
    which network has searched it with how many nodes, so the file itself is the checkpoint: the same call goes on with
    it after an interruption, and where searches are the same each time, to the same book. Positions of the book without
    such a comment, from games or by hand, stay as they are; lines lead through them. The lock that keeps a second call
    out of the file is a file beside it, `.NAME.lock`, which stays.

    Args:
        path: The book, a `.db`; a new one if there is no file.
        positions: The positions to search, or those to grow from.
        searcher: Searches them.
        settings: How; by default as `BookSearchSettings` says.
        listener: Hears of the progress.

    Raises:
        BookError: The file is not a `.db`, or is damaged, or another call is at work on it.
        ValueError: There is no position, or one lacks a king.
        OSError: The file cannot be read or written.
    """
    path, settings = Path(path), settings or BookSearchSettings()
    if kind_to_write(path) is not BookKind.DB:
        raise BookError(f"{path}: a book from a search is a .db; fukayomi book convert makes a .bin of it")
    starts = list({position_key(each): Position.from_sfen(each.sfen()) for each in positions}.values())
    if not starts:
        raise InvalidValueError("there is no position to search")
    with _lock(path):
        book = read_book(path, listener=listener) if path.exists() else Book()
        if book.is_damaged:
            raise BookError(
                f"{book.problems[0]}; a book to go on with must be whole: fukayomi book convert leaves such parts out"
            )
        work = _Work(path, book, searcher, settings, listener)
        try:
            if settings.refresh:
                work.refresh()
            wanted = work.search_list(starts) if settings.positions is None else work.grow(starts, settings.positions)
        finally:
            work.save()
    return SearchedBook(book, wanted, work.searched, wanted - work.new, work.older(), position_key(starts[0]))


def _lock(path: Path) -> FolderLock:
    """The right to make a book, whatever links lead to it."""
    target = replaceable(path)
    try:
        return FolderLock(target.parent, f".{target.name}.lock")
    except LockedError as error:
        raise BookError(f"{path}: another process is making this book: wait for it, or choose another file") from error


class _Work:
    """The book that is being made."""

    def __init__(
        self, path: Path, book: Book, searcher: BookSearcher, settings: BookSearchSettings, listener: Listener
    ) -> None:
        self.searched = 0
        """Positions that were searched."""
        self.new = 0
        """Those of them that were wanted, and not only to be refreshed."""
        self._path, self._book, self._searcher = path, book, searcher
        self._settings, self._listener = settings, listener
        self._mark = SearchMark(settings.nodes, searcher.identity)
        self._without: set[str] = set()
        """Positions that a search has no moves of: a win may be declared."""
        self._is_saved = True
        self._save_at = time.monotonic() + SAVE_S

    def older(self) -> int:
        """Number of the positions that an older network or a smaller search has found."""
        return sum(self._is_older(key) for key in self._book)

    def refresh(self) -> None:
        """Search those again."""
        keys = [key for key in self._book if self._is_older(key)]
        for done in range(0, len(keys), _CHUNK):
            part = keys[done : done + _CHUNK]
            self._search([self._book.position(key) for key in part], "refreshing", done, len(keys))
        self.new = 0

    def search_list(self, positions: Sequence[Position]) -> int:
        """Search the positions of a list; returns their number."""
        for begin in range(0, len(positions), _CHUNK):
            part = positions[begin : begin + _CHUNK]
            missing = self._missing(part)
            self._search(missing, "searching", begin + len(part) - len(missing), len(positions))
        return len(positions)

    def grow(self, starts: Sequence[Position], most: int) -> int:
        """Grow the book to so many positions; returns how many good moves lead to, if there are no more."""
        growth = Growth(starts, self._settings)
        while (done := len(growth)) < most and (taken := growth.take(min(ROUND, most - done))):
            missing = self._missing(taken)
            self._search(missing, "growing", done + len(taken) - len(missing), most)
            growth.add({key: self._book.get(key, ()) for key in map(position_key, taken)})
        return len(growth)

    def save(self) -> None:
        """Write the book, if it has changed."""
        if self._is_saved:
            return
        began_s = time.monotonic()
        write_book(self._book, self._path)
        self._is_saved = True
        now_s = time.monotonic()
        self._save_at = now_s + max(SAVE_S, (now_s - began_s) / SAVE_SHARE)

    def _missing(self, positions: Sequence[Position]) -> list[Position]:
        """Those of the positions that are to be searched."""

        def is_missing(position: Position) -> bool:
            key = position_key(position)
            if key in self._without or position.is_mated():
                return False
            mark = SearchMark.of(self._book, key)
            return key not in self._book or (
                mark is not None and mark.network == self._mark.network and mark.nodes < self._mark.nodes
            )

        return [position for position in positions if is_missing(position)]

    def _is_older(self, key: str) -> bool:
        mark = SearchMark.of(self._book, key)
        return mark is not None and (mark.network != self._mark.network or mark.nodes < self._mark.nodes)

    def _search(self, positions: Sequence[Position], stage: str, done: int, total: int) -> None:
        """Search positions, and put them into the book."""
        self._listener.progress(stage, done, total)
        settings = self._settings
        for number, (position, moves) in enumerate(self._searcher.search(positions, settings.nodes, settings.moves), 1):
            self._put(position, moves)
            self.searched += 1
            self.new += 1
            self._listener.progress(stage, done + number, total)
            if time.monotonic() >= self._save_at:
                self.save()

    def _put(self, position: Position, moves: Sequence[BookMove]) -> None:
        key = position_key(position)
        if not moves:
            self._without.add(key)
            return
        least = self._settings.least_visits * sum(move.count for move in moves)
        kept = [move for n, move in enumerate(moves) if n == 0 or move.count >= least]
        ply = min(position.ply, self._book.ply(key)) if key in self._book else min(position.ply, 65_535)
        self._book.put(key, best_first(kept), ply)
        self._mark.put(self._book, key)
        self._is_saved = False
