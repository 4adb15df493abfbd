"""The head of KIF and KI2 records: lines ``先手：羽生``, the handicap or the board, and comments before the moves."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from fukayomi.shogi.formats.clock import kif_time_limit
from fukayomi.shogi.formats.kif.board import (
    board_lines,
    first_position,
    hand_sfen,
    handicap_name,
    handicap_sfen,
    is_row,
    looks_like_row,
    row_sfen,
    why_unknown,
)
from fukayomi.shogi.formats.kif.tokens import is_like_move, is_moves, is_western
from fukayomi.shogi.formats.text import MOST_PLIES
from fukayomi.shogi.position import BLACK, START_SFEN, WHITE, Color
from fukayomi.shogi.record import Record, RecordError

_KEY = re.compile(r"[\s　]*([^：:\s]{1,40})[\s　]*[：:](?!//)(.*)")
"""A header, and no URL."""
_HAND = re.compile(r"[\s　]*(先手|下手|後手|上手)の?持ち?駒[\s　]*[：:](.*)")
_TURN = re.compile(r"[\s　]*(?:手番[\s　]*[：:＝=][\s　]*(?=.)|(?=..番))(先手|下手|後手|上手)番?[\s　]*")
_PLY = re.compile(r"[\s　]*手数[\s　]*[＝=][\s　]*([0-9]{1,5})")
_FRAME = re.compile(r"[\s　]*(?:\+-+\+?|[9９][\s　]+[8８][\s　]+[7７].*)")
_MOVES_BEGIN = re.compile(r"[\s　]*(?:[0-9０-９]{1,6}[\s　]|手数-|まで[、\s　0-9０-９]|[▲△▼▽☗☖⛊⛉])")
_URL = re.compile(r"[\s　]*[A-Za-z][A-Za-z0-9+.-]{0,20}://")
_FIELDS = {
    "先手": "black_name",
    "下手": "black_name",
    "後手": "white_name",
    "上手": "white_name",
    "棋戦": "event",
    "場所": "site",
    "開始日時": "start_time",
    "終了日時": "end_time",
    "持ち時間": "time_limit",
    "戦型": "opening",
}
_PLAYERS = ("先手", "下手", "後手", "上手")
_SEPARATORS = " \t　/／、,|｜・"
_NEXT_KEY = re.compile(rf"[{_SEPARATORS}][▲△▼▽☗☖]?({'|'.join((*_FIELDS, '手合割'))})[\s　]{{0,8}}[：:](?!//)")
"""The key of another header on the same line."""
_VERSUS = re.compile(r"(?<=[\s　])(?:vs\.?|v\.s\.|対|－|―|-)$", re.IGNORECASE)
_MARKED_PLAYER = re.compile(r"[\s　]{0,8}([▲△▼▽☗☖])[\s　]{0,8}(?=(?P<key>先手|下手|後手|上手)?[\s　]{0,8}[：:])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_BLACK = ("先手", "下手")


@dataclass(slots=True)
class Head:
    """The lines before the moves, as they are collected."""

    name: str
    """Of the record, for errors."""
    fields: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The values of each header, in the order of the lines."""
    comments: list[str] = field(default_factory=list[str])
    bookmarks: list[str] = field(default_factory=list[str])
    unknown: tuple[int, str] | None = None
    """The first line that is not understood, with its number."""
    like_move: tuple[int, str] | None = None
    """The first line that is not understood and has something like a move."""
    handicap: str = ""
    handicap_line: int = 0
    rows: list[str] = field(default_factory=list[str])
    rows_line: int = 0
    hands: dict[Color, str] = field(default_factory=dict[Color, str])
    hands_line: int = 0
    turn: Color | None = None
    ply: int = 1

    def read(self, line: str, number: int) -> None:
        """Read a line of the head; one that is not understood is a comment.

        Raises:
            RecordError: The line is damaged.
        """
        if (comment := comment_of(line)) is not None:
            self.comments.append(comment)
        elif line.startswith("&"):
            self.bookmarks.append(line[1:])
        elif not line.strip() or line[0] == "#" or _FRAME.fullmatch(line):
            pass
        elif is_row(line):
            self.rows_line = self.rows_line or number
            self.rows.append(row_sfen(line))
        elif found := _HAND.fullmatch(line):
            self._read_hand(found, number)
        elif found := _TURN.fullmatch(line):
            self.turn = BLACK if found[1] in _BLACK else WHITE
        elif found := _PLY.match(line):
            self.ply = min(int(found[1]), MOST_PLIES) + 1
        elif found := _KEY.fullmatch(line):
            self._read_fields(found[1], found[2].strip(), number)
        elif looks_like_row(line) or 0 < len(self.rows) < 9:
            raise RecordError(self.name, number, f"not a row of a board: {line[:60]!r}")
        else:
            self._skip(line, number)
            self.comments.append(line.strip())

    def is_name(self, line: str) -> bool:
        """True if a line that may be a move (``先手：7g7f``) is the name of a player, who has none yet."""
        found = _KEY.fullmatch(line)
        return (
            found is not None
            and found[1] in _PLAYERS
            and is_western(found[2])
            and not any(_FIELDS[key] == _FIELDS[found[1]] for key in self.fields if key in _PLAYERS)
        )

    def _skip(self, line: str, number: int) -> None:
        self.unknown = self.unknown or (number, line)
        if is_like_move(line):
            self.like_move = self.like_move or (number, line)

    def _read_hand(self, found: re.Match[str], number: int) -> None:
        color = BLACK if found[1] in _BLACK else WHITE
        try:
            self.hands[color] = hand_sfen(found[2], color)
        except ValueError as error:
            raise RecordError(self.name, number, str(error)) from error
        if self.hands[color]:
            self.hands_line = number

    def _read_fields(self, key: str, value: str, number: int) -> None:
        """Read a header, or several on one line if the first is one of those that records always have."""
        at = 0
        others = _NEXT_KEY.finditer(value) if key in _FIELDS or key == "手合割" else ()
        for other in others:
            before = value[at : other.start()].strip().rstrip(_SEPARATORS)
            if key in _PLAYERS and other[1] in _PLAYERS:
                before = _VERSUS.sub("", before).rstrip(_SEPARATORS)
            self._read_field(key, before, number)
            key, at = other[1], other.end()
        self._read_field(key, value[at:].strip(), number)

    def _read_field(self, key: str, value: str, number: int) -> None:
        if key == "手合割":
            self.handicap, self.handicap_line = value, number
        elif key != "変化":
            self.fields.setdefault(key, []).append(value)
            if key not in _FIELDS and is_moves(value):
                self._skip(value, number)

    def record(self) -> Record:
        """The record that the head begins, without moves.

        Raises:
            RecordError: The first position is impossible, or not given as it should be.
        """
        record = Record(name=self.name, initial_sfen=self._initial_sfen(), comment="\n".join(self.comments))
        record.bookmark = "\n".join(self.bookmarks)
        for key, values in self.fields.items():
            set_header(record, key, values[-1] if key in _FIELDS else "\n".join(values))
        return record

    def _initial_sfen(self) -> str:
        handicap = handicap_sfen(self.handicap) if self.handicap else START_SFEN
        if self.rows:
            return self._sfen_of_board(handicap)
        if handicap is None:
            what = f"{why_unknown(self.handicap)}: add the board, or name another handicap"
            raise RecordError(self.name, self.handicap_line, what)
        if self.hands_line:
            raise RecordError(self.name, self.hands_line, "pieces in hand without a board")
        if self.turn is None or self.turn == (BLACK if handicap.split()[1] == "b" else WHITE):
            return handicap
        return handicap.replace(" b ", " w ") if self.turn == WHITE else handicap.replace(" w ", " b ")

    def _sfen_of_board(self, handicap: str | None) -> str:
        if len(self.rows) != 9:
            raise RecordError(self.name, self.rows_line, f"a board of {len(self.rows)} rows instead of 9")
        turn = self.turn
        if turn is None:
            turn = WHITE if handicap is not None and handicap.split()[1] == "w" else BLACK
        try:
            return first_position(self.rows, self.hands, turn, self.ply)
        except ValueError as error:
            raise RecordError(self.name, self.rows_line, str(error)) from error


def set_header(record: Record, key: str, value: str) -> None:
    """Set the field of a record that a header line or a key of JKF gives; one that has a value keeps it."""
    if key not in _FIELDS:
        record.headers.setdefault(key, value)
    elif not getattr(record, _FIELDS[key]):
        setattr(record, _FIELDS[key], value)


def is_position_line(line: str) -> bool:
    """True if a line tells something about the first position: 手合割, pieces in hand, a row of a board, 後手番."""
    return line.lstrip().startswith("手合割") or any(
        (_HAND.fullmatch(line), _TURN.fullmatch(line), is_row(line), looks_like_row(line))
    )


def comment_of(line: str) -> str | None:
    """The comment of a line, which begins with ``*`` or, as in CSA, ``'``; a URL is one too. None: no comment."""
    if line.startswith("*"):
        return line[1:]
    if line.startswith("'"):
        return line[2:] if line.startswith("'*") else line[1:]
    return line.strip() if _URL.match(line) else None


def without_mark(line: str) -> str:
    """A line for a player without the mark before it: ``▲先手：甲``, ``▲：甲``. Other lines stay as they are."""
    found = _MARKED_PLAYER.match(line)
    if found is None:
        return line
    key = "" if found["key"] else "先手" if found[1] in "▲▼☗" else "後手"
    plain = key + line[found.end() :]
    return line if is_moves(plain) else plain


def one_line(text: str) -> str:
    """Text without line breaks and control characters, which would begin another line of the record."""
    return _CONTROL.sub(" ", text)


def header_pairs(record: Record) -> list[tuple[str, str]]:
    """The keys of KIF, KI2 and JKF that a record has a value for, without the players and the first position."""
    pairs = [
        ("開始日時", record.start_time),
        ("終了日時", record.end_time),
        ("棋戦", record.event),
        ("戦型", record.opening),
        ("場所", record.site),
        ("持ち時間", _time_limit(record.time_limit)),
    ]
    pairs = [(key, value) for key, value in pairs if value]
    return pairs + [(key, value) for key, value in record.headers.items() if key not in _FIELDS]


def head_lines(record: Record) -> list[str]:
    """The head of a record in KIF and KI2, up to the comments before the first move."""
    black, white = record.side_names
    pairs = [(key, value) for key, value in header_pairs(record) if key in _FIELDS or _is_header(key)]
    lines = [f"{key}：{one_line(line)}" for key, value in pairs for line in _lines(key, value)]
    name = handicap_name(record.initial_sfen)
    lines += [f"手合割：{name}"] if name else ["手合割：その他", *board_lines(record.initial_sfen)]
    return [*lines, _player_line(black, record.black_name), _player_line(white, record.white_name)]


def _player_line(side: str, name: str) -> str:
    """The line of a player; a name that would be read as a move is quoted."""
    line = f"{side}：{one_line(name)}"
    is_quoted = is_moves(line) and not Head("").is_name(line)
    return f"{side}：「{one_line(name)}」" if is_quoted else line


def _lines(key: str, value: str) -> list[str]:
    """The lines of a header: a key without a field of its own may have several."""
    return [value] if key in _FIELDS else value.split("\n")


def _time_limit(text: str) -> str:
    """A time limit in KIF's form if it is in CSA's."""
    return kif_time_limit(text) if text.isascii() else text


def _is_header(key: str) -> bool:
    """True if a line with this key is read again as a header."""
    line = f"{key}：x"
    head = Head("")
    try:
        head.read(line, 1)
    except RecordError:
        return False
    return head.fields == {key: ["x"]} and not begins_moves(line)


def read_head(
    text: str, name: str, ends_at: Callable[[str], bool] | None = None
) -> tuple[Head, Iterator[tuple[int, str]]]:
    """The head of a KIF or KI2 record, and the lines from the first move on, with their numbers.

    Args:
        text: The record.
        name: For errors.
        ends_at: Whether a line ends the head; `begins_moves` if missing.

    Raises:
        RecordError: A line of the head is damaged.
    """
    head, ends_at = Head(name), ends_at or begins_moves
    lines = iter(enumerate(text.replace("\r\n", "\n").split("\n"), 1))
    for number, line in lines:
        line = without_mark(line)
        if ends_at(line) and not head.is_name(line):
            return head, chain([(number, line)], lines)
        head.read(line, number)
    return head, lines


def begins_moves(line: str) -> bool:
    """True if the moves begin with this line of a KIF or KI2 record."""
    return (_MOVES_BEGIN.match(line) is not None and _FRAME.fullmatch(line) is None) or is_moves(line)
