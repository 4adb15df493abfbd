"""An opening book (定跡) on the page: its moves for a position, and moves of a record that are added to it."""

import threading
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from fukayomi.book import BookEditor, BookError, BookMove, BookReader
from fukayomi.book.kinds import kind_to_write
from fukayomi.shogi import BLACK, Move, Position, ShogiError
from fukayomi.shogi.formats.notation import english_move, japanese_move
from fukayomi.web.answers import LARGEST_QUESTION, Question, Refused, json_answer, read_json
from fukayomi.web.positions import PositionQuestion, Usi
from fukayomi.web.state import State


class AddQuestion(PositionQuestion):
    """A move to add to the book, at a position."""

    usi: Usi


class TakeBackQuestion(Question):
    """A move of the book to take back."""

    number: Annotated[int, Field(ge=1, le=2**53 - 1)]


class PageBook:
    """The book that the page shows. Any thread may use it.

    Args:
        path: The file; there need not be one yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._reader: BookReader | None = None
        self._version: object = None
        self._editor: BookEditor | None = None

    def look_up(self, position: Position) -> dict[str, Any]:
        """The moves that the book has for a position.

        Returns:
            moves (usi, japanese, english, cp from Black's side or None, depth or None, count, and the expected answer:
            reply, reply_japanese, reply_english, each may be None), and problem (None, or why the book cannot be read).
        """
        with self._lock:
            try:
                moves = self._moves(position)
            except (BookError, OSError) as error:
                return {"moves": [], "problem": self._reason(error)}
        return {"moves": [_described(position, move) for move in moves], "problem": None}

    def add(self, position: Position, move: Move) -> dict[str, Any]:
        """Add a move.

        Returns:
            number (to take it back), count, and is_new.

        Raises:
            Refused: The book cannot be changed, or the move is not legal.
        """
        try:
            added = self._opened().add(position, move)
        except (OSError, ValueError) as error:
            raise Refused(409, self._reason(error)) from error
        return {"number": added.number, "count": added.move.count, "is_new": added.is_new}

    def take_back(self, number: int) -> dict[str, Any]:
        """Take a move back.

        Raises:
            Refused: It cannot be taken back.
        """
        try:
            self._opened().take_back(number)
        except (OSError, ValueError) as error:
            raise Refused(409, self._reason(error)) from error
        return {}

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _reason(self, error: Exception) -> str:
        """What an error says, with the name of the file in place of its path."""
        text = f"{self._path}: {error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)
        return text.replace(str(self._path), self._path.name)

    def _opened(self) -> BookEditor:
        """What changes the book."""
        with self._lock:
            if self._editor is None:
                self._editor = BookEditor(self._path)
            return self._editor

    def _moves(self, position: Position) -> tuple[BookMove, ...]:
        """The moves of a position; the lock is held. A file that was replaced is opened again."""
        version = _version(self._path)
        if version != self._version:
            self._close()
            if version is not None:
                self._reader = BookReader.open(self._path)
            self._version = version
        return () if self._reader is None else self._reader.moves(position)

    def _close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader, self._version = None, None


def check_book(path: Path) -> None:
    """Check that a book can be shown, or made with its first move.

    Raises:
        BookError: It is none.
        OSError: It cannot be read.
    """
    if path.exists():
        BookReader.open(path).close()
    elif not path.absolute().parent.is_dir():
        raise FileNotFoundError(2, "no such folder", str(path.absolute().parent))
    else:
        kind_to_write(path)


def routes(state: State) -> list[BaseRoute]:
    """Routes of this module; none without a book."""
    path = state.settings.book
    if path is None:
        return []
    check_book(path)
    book = PageBook(path)
    state.add_closer(book.close)

    async def look_up(request: Request) -> Response:
        question = await read_json(request, PositionQuestion)
        return json_answer(await run_in_threadpool(book.look_up, question.position()))

    async def add(request: Request) -> Response:
        question = await read_json(request, AddQuestion)
        try:
            move = Move.from_usi(question.usi)
        except ShogiError as error:
            raise Refused(400, str(error)) from error
        return json_answer(await run_in_threadpool(book.add, question.position(), move))

    async def take_back(request: Request) -> Response:
        question = await read_json(request, TakeBackQuestion)
        return json_answer(await run_in_threadpool(book.take_back, question.number))

    return [
        Route("/api/book", look_up, methods=["POST"], max_body_size=LARGEST_QUESTION),
        Route("/api/book/add", add, methods=["POST"], max_body_size=LARGEST_QUESTION),
        Route("/api/book/take-back", take_back, methods=["POST"], max_body_size=LARGEST_QUESTION),
    ]


def _described(position: Position, move: BookMove) -> dict[str, Any]:
    sign = 1 if position.turn == BLACK else -1
    after = position.copy()
    after.push(move.move)
    reply = move.ponder
    return {
        "usi": move.move.usi(),
        "japanese": japanese_move(position, move.move),
        "english": english_move(position, move.move),
        "cp": None if move.score_cp is None else sign * move.score_cp,
        "depth": move.depth,
        "count": move.count,
        "reply": None if reply is None else reply.usi(),
        "reply_japanese": None if reply is None else japanese_move(after, reply),
        "reply_english": None if reply is None else english_move(after, reply),
    }


def _version(path: Path) -> object:
    """What changes when a file is written or replaced; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
