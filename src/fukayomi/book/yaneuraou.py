"""YaneuraOu's text books (`.db`, "#YANEURAOU-DB2016 1.00"): a position a line, and a line for each of its moves.

    sfen BOARD TURN HAND PLY
    MOVE PONDER SCORE DEPTH COUNT

Columns may be missing from the right, be `none`, or be empty (two spaces, ShogiHome). Lines that begin with # or // are
comments. Books of its tera-shock method (テラショック定跡) have the same lines; their scores are those of a minimax
over the whole book.
"""

import io
import re
from bisect import bisect_left
from pathlib import Path

from fukayomi.book.book import STEP, Book, best_first, position_key
from fukayomi.book.moves import BookError, BookMove, StoredMoves
from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import AtomicFile
from fukayomi.listener import Listener
from fukayomi.shogi import InvalidMoveError, InvalidSfenError, Move, Position
from fukayomi.tabular import counted

HEADER = b"#YANEURAOU-DB2016 1.00"
IN_MEMORY_BYTES = 16 << 20
"""Files up to this size get an index of all positions; larger ones are searched on disk if they are sorted."""
LONGEST_LINE = 4096
LONGEST_ENTRY = 1 << 16
"""Bytes of a position with its moves: MAX_MOVES of 50 bytes, and as many again for comments."""
_LARGEST_PLY = 65_535
_SAMPLES = 256
_BOM = b"\xef\xbb\xbf"
_NO_MOVE = ("none", "None", "resign", "win", "")
_COLUMN = re.compile(r"[ \t]")
_REMARK = re.compile(r"\s+((?:#|//).*)")
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}")


class YaneuraouBook:
    """A text book, searched on disk where it is large and sorted; otherwise by an index of the positions in memory.

    Raises:
        BookError: The file has no positions, or is of another version.
        OSError: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb")
        try:
            self._size = path.stat().st_size
            self._start = _start_of_text(path, self._file)
            if self._position_from(self._start) is None:
                raise BookError(f"{path}: no line of the form 'sfen BOARD TURN HAND PLY'")
            on_disk = self._size > IN_MEMORY_BYTES and self._seems_sorted()
            self._index = None if on_disk else self._positions()
        except BaseException:
            self.close()
            raise

    @property
    def is_on_disk(self) -> bool:
        """True if the file is searched on disk."""
        return self._index is None

    def find(self, position: Position) -> StoredMoves:
        """The moves that the file has for a position."""
        key = _key(f"sfen {position.sfen()}".encode())
        offset = self._find_on_disk(key) if self._index is None else self._index.get(hash(key))
        if offset is None:
            return StoredMoves()
        self._file.seek(offset)
        if _key(self._file.readline(LONGEST_LINE)) != key:  # another position with the same hash
            return StoredMoves()
        return self._moves()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _moves(self) -> StoredMoves:
        """Read the moves of the position whose line was just read."""
        found = StoredMoves()
        end = self._file.tell() + LONGEST_ENTRY
        while (offset := self._file.tell()) < end:
            line = self._file.readline(LONGEST_LINE)
            if not line or line.startswith(b"sfen "):
                return found
            text = line.decode("utf-8", "replace").strip()
            if not text or text.startswith(("#", "//")):
                continue
            try:
                move = _book_move(text)
            except ValueError as error:
                found.problems.append(f"{self._path}, offset {offset}: {error}")
            else:
                if move is not None:
                    found.moves.append(move)
        found.problems.append(f"{self._path}, offset {end}: more than {LONGEST_ENTRY} bytes for one position")
        return found

    def _positions(self) -> dict[int, int]:
        """The offset of each position by the hash of its key; the first counts."""
        index: dict[int, int] = {}
        offset = self._start
        self._file.seek(offset)
        while line := self._file.readline(LONGEST_LINE):
            if line.startswith(b"sfen "):
                index.setdefault(hash(_key(line)), offset)
            offset += len(line)
        return index

    def _find_on_disk(self, key: bytes) -> int | None:
        def is_at_or_after(offset: int) -> bool:
            found = self._position_from(offset)
            return found is None or found[1] >= key

        found = self._position_from(bisect_left(range(self._start, self._size), True, key=is_at_or_after) + self._start)
        return found[0] if found is not None and found[1] == key else None

    def _position_from(self, offset: int) -> tuple[int, bytes] | None:
        """Offset and key of the first position whose line begins at the offset or after it."""
        self._file.seek(max(self._start, offset - 1))
        if offset > self._start:
            _skip_line(self._file)
        while line := self._file.readline(LONGEST_LINE):
            if line.startswith(b"sfen "):
                return self._file.tell() - len(line), _key(line)
            if not line.endswith(b"\n"):
                _skip_line(self._file)
        return None

    def _seems_sorted(self) -> bool:
        """True if the positions at many places of the file are in order."""
        found = [self._position_from(self._start + (self._size - self._start) * n // _SAMPLES) for n in range(_SAMPLES)]
        keys = [one[1] for one in found if one is not None]
        return keys == sorted(keys)


def read_db(path: Path, book: Book, listener: Listener) -> None:
    """Read a text book into a book in memory. Of a position that it has twice the first counts.

    Raises:
        BookError: The file has no positions, or is of another version.
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        file.seek(_start_of_text(path, file))
        reading = _Reading(path, book)
        number, size = 0, path.stat().st_size
        while line := file.readline(LONGEST_LINE):
            number += 1
            if number % STEP == 0:
                listener.progress(f"reading {path.name}", file.tell(), size)
            if not line.endswith(b"\n") and len(line) == LONGEST_LINE:
                _skip_line(file)
            is_whole = line.endswith(b"\n") or len(line) == LONGEST_LINE
            reading.read(number, line.decode("utf-8", "replace").strip(), is_whole=is_whole)
        reading.end()
    if not reading.has_positions:
        raise BookError(f"{path}: no line of the form 'sfen BOARD TURN HAND PLY'")


class _Reading:
    """Reads the lines of a text book one after the other."""

    def __init__(self, path: Path, book: Book) -> None:
        self.has_positions = False
        """True if a position was read, or one that is none."""
        self._path = path
        self._book = book
        self._key: str | None = None
        self._ply = 1
        self._moves: list[BookMove] = []
        self._comments: dict[str, list[str]] = {}
        self._twice = 0
        self._columns = 0  # of the last move's line

    def read(self, number: int, text: str, *, is_whole: bool) -> None:
        """Read a line; the last one may lack its end."""
        if text.startswith("sfen "):
            self._begin(number, text)
        elif text.startswith(("#", "//")):
            self._comment(text)
        elif text and self._key is not None:
            text, remark = _split_remark(text)
            columns = len(_COLUMN.split(text))
            try:
                if not is_whole and columns < self._columns:
                    raise InvalidValueError(f"{text[:80]!r}: the file ends within the line")
                move = _book_move(text)
            except ValueError as error:
                self._book.note(f"{self._path}, line {number}: {error}")
            else:
                if move is not None:
                    self._moves.append(move)
                    self._comment(remark)
            self._columns = columns

    def end(self) -> None:
        """Add the last position, and say what was left out."""
        self._add()
        if self._twice:
            twice = f"{counted(self._twice, 'position is', 'positions are')} there twice"
            self._book.note(f"{self._path}: {twice}: the first entry counts", is_damage=False)

    def _comment(self, text: str) -> None:
        """Keep a comment of the position or of its last move."""
        if text and self._key is not None:
            place = self._moves[-1].move.usi() if self._moves else ""
            self._comments.setdefault(place, []).append(text.removeprefix("#" if text[0] == "#" else "//"))

    def _begin(self, number: int, text: str) -> None:
        self._add()
        self.has_positions = True
        words = text.split()
        ply = words[4] if len(words) > 4 else "1"
        try:
            position = Position.from_sfen(" ".join([*words[1:4], "1"]), allow_missing_king=True)
        except InvalidSfenError as error:
            self._book.note(f"{self._path}, line {number}: {error}")
            return
        self._key = position_key(position)
        self._ply = min(max(1, int(ply)), _LARGEST_PLY) if ply.isascii() and ply.isdigit() and len(ply) < 10 else 1

    def _add(self) -> None:
        if self._key is not None and self._moves:
            if self._key in self._book:
                self._twice += 1
                self._book.put(self._key, self._book[self._key], min(self._ply, self._book.ply(self._key)))
            else:
                self._book.put(self._key, self._moves, self._ply)
                for place, lines in self._comments.items():
                    self._book.comments[self._key, place] = "\n".join(lines)
        self._key, self._moves, self._comments = None, [], {}


def write_db(book: Book, path: Path, listener: Listener) -> None:
    """Write a text book as YaneuraOu does: positions in the order of their text, which a search on disk needs, and the
    moves of each as `best_first` has them. Positions without moves are left out; what is not known is `none`.

    Raises:
        OSError: The file cannot be written.
    """
    with AtomicFile(path) as file:
        file.write(HEADER + b"\n")
        for n, key in enumerate(sorted(book, key=lambda key: f"{key} ")):
            if n % STEP == 0:
                listener.progress(f"writing {path.name}", n, len(book))
            if moves := best_first(book[key]):
                lines = [f"sfen {key} {book.ply(key)}", *_comment_lines(book, key, "")]
                for move in moves:
                    lines += [_line(move), *_comment_lines(book, key, move.move.usi())]
                file.write("\n".join([*lines, ""]).encode("utf-8", "replace"))


def _comment_lines(book: Book, key: str, move: str) -> list[str]:
    return [f"#{line}" for line in book.comments.get((key, move), "").splitlines()]


def _line(move: BookMove) -> str:
    columns = (move.ponder, move.score_cp, move.depth)
    return " ".join([move.move.usi(), *("none" if one is None else str(one) for one in columns), str(move.count)])


def _start_of_text(path: Path, file: io.BufferedReader) -> int:
    """The offset behind a byte order mark; refuses other versions.

    Raises:
        BookError: The file is of another version.
    """
    head = file.readline(len(_BOM) + len(HEADER))
    start = len(_BOM) if head.startswith(_BOM) else 0
    head = head[start:].rstrip()
    if head.startswith(HEADER[:17]) and not head.startswith(HEADER):
        raise BookError(f"{path}, line 1: {_text(head)!r} is not {_text(HEADER)!r}")
    return start


def _skip_line(file: io.BufferedReader) -> None:
    while (part := file.readline(LONGEST_LINE)) and not part.endswith(b"\n"):
        pass


def _key(line: bytes) -> bytes:
    """Board, turn and hand of a position's line, ended by a space: keys are ordered as the lines are."""
    return b" ".join(line.split(None, 4)[1:4]) + b" "


def _book_move(text: str) -> BookMove | None:
    """Read the line of a move; None if it says that there is none.

    Raises:
        ValueError: It cannot be read.
    """
    words = [*_COLUMN.split(_split_remark(text)[0], 5), "none", "none", "none", "none"]
    if words[0] in _NO_MOVE:
        return None
    try:
        move = Move.from_usi(words[0])
        ponder = None if words[1] in _NO_MOVE else Move.from_usi(words[1])
    except InvalidMoveError as error:
        raise InvalidValueError(f"{text[:80]!r}: {error}") from error
    score, depth, count = (_number(word, text) for word in words[2:5])
    return BookMove(move, ponder, score, depth, 1 if count is None else count)


def _split_remark(text: str) -> tuple[str, str]:
    """The line of a move without the comment at its end, and this comment, or nothing."""
    found = _REMARK.search(text)
    return (text, "") if found is None else (text[: found.start()], found[1])


def _number(word: str, text: str) -> int | None:
    if word in ("none", ""):
        return None
    if _NUMBER.fullmatch(word) is None:
        raise InvalidValueError(f"{text[:80]!r}: {word[:20]!r} is not a number")
    return int(word)


def _text(data: bytes) -> str:
    return data.decode("ascii", "replace")
