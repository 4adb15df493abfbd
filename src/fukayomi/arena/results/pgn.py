"""Reading results from PGN: players, colours and winner. The moves are skipped.

PGN's White moves first and is our Black (先手), as rating tools expect and shogi programs write.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from fukayomi.arena.results.game import Game
from fukayomi.errors import InvalidValueError
from fukayomi.shogi.formats.text import decode_text
from fukayomi.shogi.record import RecordError, Result, Termination

LINE_LIMIT = 1 << 16
"""Bytes read at once; tags are far shorter, and moves may be read in pieces."""
NAME_LIMIT = 200
"""Characters of a player's name."""
_TAG = re.compile(r'\[\s*([A-Za-z0-9_]+)\s*"((?:[^"\\]|\\.)*)"\s*\]')
_DATE = re.compile(r"\d{4}(?:\.\d\d){0,2}", re.ASCII)
_USED = frozenset({
    "event", "date", "white", "black", "result", "whiteelo", "blackelo", "termination", "terminationdetails",
})  # fmt: skip
_ONCE_A_GAME = frozenset({"event", "white", "black", "result"})
_RESULTS = {
    "1-0": Result.BLACK_WIN,
    "0-1": Result.WHITE_WIN,
    "1/2-1/2": Result.DRAW,
    "1/2": Result.DRAW,
    "*": Result.UNKNOWN,
    "": Result.UNKNOWN,
}
_TERMINATIONS = {
    "time forfeit": Termination.TIME_UP,
    "rules infraction": Termination.ILLEGAL_MOVE,
    "abandoned": Termination.INTERRUPTED,
    "unterminated": Termination.INTERRUPTED,
}
_ENDS = {b"1-0", b"0-1", b"1/2-1/2", b"*"}
_HEAD = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|[;%][^\n]*\n)*\[\s*[A-Za-z0-9_]+\s*\"")
_MARK = re.compile(rb"[{};]")


def looks_like_pgn(head: bytes) -> bool:
    """True if a file with this beginning is PGN: its first line is a tag."""
    return _HEAD.match(head) is not None


def scan_pgn(stream: IO[bytes], name: str) -> Iterator[Game | RecordError]:
    """Read every game of a PGN file as a stream; a damaged game yields an error, and reading goes on after it.

    A game without a Result tag has the result at the end of its moves.

    Args:
        stream: The file, opened in binary mode.
        name: Its name in games and errors.
    """
    reader = _Reader(name)
    number = 0
    is_continued = False
    while line := stream.readline(LINE_LIMIT):
        if not is_continued:
            number += 1
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if (finished := reader.feed(line, number, is_continued=is_continued)) is not None:
            yield finished
        is_continued = not line.endswith(b"\n")
    if (finished := reader.finish()) is not None:
        yield finished


@dataclass
class _Draft:
    """A game that is being read."""

    line: int
    number: int
    tags: dict[str, str] = field(default_factory=dict[str, str])
    end: bytes = b""
    """The result after the moves."""
    has_moves: bool = False
    is_spaced: bool = False
    """True if a blank line followed the tags."""
    error: RecordError | None = None


class _Reader:
    """Turns lines into games: a game is complete when the first line of the next one arrives."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._games = 0
        self._draft: _Draft | None = None
        self._in_tags = False
        self._in_comment = False
        self._comment_line = 0

    def feed(self, line: bytes, number: int, *, is_continued: bool) -> Game | RecordError | None:
        """Read a line; returns the game before it if the line begins another one."""
        if is_continued and self._in_tags:
            return None  # the rest of a line that was too long for a tag and has been reported
        self._in_tags = False
        if not is_continued and line.lstrip().startswith(b"["):
            if self._in_comment and line.startswith(b"[Event "):  # or one missing bracket would cost all later games
                self._close_comment(number)
            if not self._in_comment:
                self._in_tags = True
                return self._read_tags(line, number)
        self._read_moves(line, number)
        return None

    def finish(self) -> Game | RecordError | None:
        """Return the last game."""
        self._close_comment(self._comment_line)
        draft, self._draft = self._draft, None
        if draft is None:
            return None
        if draft.error is not None:
            return draft.error
        try:
            return _build_game(draft, self._label(draft))
        except ValueError as error:
            return RecordError(self._label(draft), draft.line, str(error))

    def _close_comment(self, line: int) -> None:
        if self._in_comment:
            self._fail(self._open_draft(line), self._comment_line, "unclosed comment")
            self._in_comment = False

    def _label(self, draft: _Draft) -> str:
        return self._name if draft.number == 1 else f"{self._name}#{draft.number}"

    def _open_draft(self, number: int) -> _Draft:
        if self._draft is None:
            self._games += 1
            self._draft = _Draft(number, self._games)
        return self._draft

    def _read_tags(self, line: bytes, number: int) -> Game | RecordError | None:
        finished = None
        problem = ""
        try:
            found = [(tag.lower(), value) for tag, value in _TAG.findall(decode_text(line))]
        except ValueError as error:
            found, problem = [], str(error)
        if (draft := self._draft) is not None:
            repeats = any(tag in draft.tags and tag in _ONCE_A_GAME for tag, _ in found)
            if draft.has_moves or (draft.is_spaced and repeats):
                finished = self.finish()
        draft = self._open_draft(number)
        if not found:
            self._fail(draft, number, problem or f"not a tag: {_quote(line)}")
        for tag, value in found:
            if tag not in _USED:
                continue
            if tag in draft.tags and tag in _ONCE_A_GAME:
                self._fail(draft, number, f"second {tag.capitalize()} tag in one game")
            draft.tags[tag] = re.sub(r"\\(.)", r"\1", value).strip()
        return finished

    def _read_moves(self, line: bytes, number: int) -> None:
        if not line.strip():
            if self._draft is not None:
                self._draft.is_spaced = True
            return
        if not self._in_comment and line.startswith(b"%"):
            return
        tokens = self._without_comments(line, number).split()
        if not tokens:
            return
        draft = self._open_draft(number)
        draft.has_moves = True
        if tokens[-1] in _ENDS:
            draft.end = tokens[-1]

    def _without_comments(self, line: bytes, number: int) -> bytes:
        """The line without {comments}, which may span lines, and ; comments, which end with it."""
        kept: list[bytes] = []
        at = 0
        for mark in _MARK.finditer(line):
            if self._in_comment:
                if mark[0] == b"}":
                    self._in_comment = False
                    at = mark.end()
            elif mark[0] == b"{":
                kept.append(line[at : mark.start()])
                self._in_comment = True
                self._comment_line = number
            elif mark[0] == b";":
                return b" ".join([*kept, line[at : mark.start()]])
        if not self._in_comment:
            kept.append(line[at:])
        return b" ".join(kept)

    def _fail(self, draft: _Draft, line: int, reason: str) -> None:
        if draft.error is None:
            draft.error = RecordError(self._label(draft), line, reason)


def _build_game(draft: _Draft, name: str) -> Game:
    tags = draft.tags
    if not draft.tags:
        raise InvalidValueError("moves without tags: the players are unknown")
    text = tags.get("result", draft.end.decode("ascii"))
    if text not in _RESULTS:
        raise InvalidValueError(f"invalid result {text[:40]!r}; it must be 1-0, 0-1, 1/2-1/2 or *")
    return Game(
        black=_player(tags, "white"),
        white=_player(tags, "black"),
        result=_RESULTS[text],
        termination=_termination(tags),
        name=name,
        black_rating=_rating(tags.get("whiteelo", "")),
        white_rating=_rating(tags.get("blackelo", "")),
        date=date[0].replace(".", "-") if (date := _DATE.match(tags.get("date", ""))) else "",
    )


def _player(tags: dict[str, str], tag: str) -> str:
    name = tags.get(tag, "")
    if len(name) > NAME_LIMIT:
        raise InvalidValueError(f"a {tag.capitalize()} tag of {len(name)} characters: {name[:40]!r}...")
    return "" if name == "?" else name


def _termination(tags: dict[str, str]) -> Termination:
    """From the detailed tag that our matches write, or from PGN's own words."""
    try:
        return Termination(tags.get("terminationdetails", ""))
    except ValueError:
        return _TERMINATIONS.get(tags.get("termination", "").lower(), Termination.NONE)


def _rating(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[0-9]{1,5}(\.[0-9]+)?", text, re.ASCII) else None


def _quote(line: bytes) -> str:
    text = line[:60].decode("utf-8", "replace").rstrip()
    return repr(text) + ("..." if len(line) > 60 else "")
