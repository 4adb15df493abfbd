"""CSA records: floodgate's dialect, versions 1 to 2.2 and 3.0, several games a file.

Read by us and not by rsshogi, which reads CSA but drops the ratings, ``'summary`` and ``'$END_TIME``; cannot represent
a game that ends with an illegal move on the board; takes any text for an empty game; and names no line in its errors.

Comments: ``'** SCORE PV``, ``'* TEXT`` and AobaZero's visits belong to the move above them; other comments are for
people and are left out, but for floodgate's ratings, summary and end time.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from fukayomi.shogi import BLACK, WHITE, Color, Move, Position, ShogiError
from fukayomi.shogi.formats.csa_board import SFEN_LETTER, UNPROMOTED, CsaBoard, square_index
from fukayomi.shogi.record import (
    IllegalMoveInRecordError,
    Record,
    RecordedMove,
    RecordError,
    Result,
    Termination,
    result_of,
    winner_is,
)

ENDINGS = {
    "TORYO": Termination.RESIGN,
    "CHUDAN": Termination.INTERRUPTED,
    "SENNICHITE": Termination.REPETITION,
    "OUTE_SENNICHITE": Termination.PERPETUAL_CHECK,
    "TIME_UP": Termination.TIME_UP,
    "ILLEGAL_MOVE": Termination.ILLEGAL_MOVE,
    "+ILLEGAL_ACTION": Termination.ILLEGAL_MOVE,
    "-ILLEGAL_ACTION": Termination.ILLEGAL_MOVE,
    "JISHOGI": Termination.IMPASSE,
    "KACHI": Termination.DECLARATION,
    "HIKIWAKE": Termination.DRAW,
    "MAX_MOVES": Termination.MAX_PLIES,
    "MATTA": Termination.TAKEN_BACK,
    "TSUMI": Termination.MATE,
    "FUZUMI": Termination.NO_MATE,
    "ERROR": Termination.ERROR,
}
# What CSA's statements cannot say, the summary says: one word is floodgate's, the others are ours.
SUMMARY_WORDS = {
    Termination.PERPETUAL_CHECK: "oute_sennichite",
    Termination.CRASH: "crash",
    Termination.STALL: "stall",
    Termination.PROTOCOL: "protocol",
    Termination.ADJUDICATION: "adjudication",
}
# floodgate's words for an end that its files may show in the summary alone
_SUMMARY_ENDINGS = {
    "toryo": Termination.RESIGN,
    "kachi": Termination.DECLARATION,
    "time up": Termination.TIME_UP,
    "time_up": Termination.TIME_UP,
    "illegal move": Termination.ILLEGAL_MOVE,
    "illegal_move": Termination.ILLEGAL_MOVE,
    "illegal kachi": Termination.ILLEGAL_MOVE,
    "uchifuzume": Termination.ILLEGAL_MOVE,
    "oute_kaihimore": Termination.ILLEGAL_MOVE,
    "sennichite": Termination.REPETITION,
    "jishogi": Termination.IMPASSE,
    "try": Termination.OTHER,
    "max_moves": Termination.MAX_PLIES,
    "chudan": Termination.INTERRUPTED,
    "abnormal": Termination.INTERRUPTED,
    **{word: termination for termination, word in SUMMARY_WORDS.items()},
}
_SCORE = re.compile(r"\s*([+-]?\d{1,9})(?:\s+(.*))?$")
_RATE = re.compile(r"'(black|white)_rate:.*:\s*([+-]?\d+(?:\.\d+)?)\s*$")
_SECONDS = re.compile(r"T(\d{0,9})(?:\.(\d{1,3})\d*)?$")
_VISITS = re.compile(r"'(?:v=|\d{1,9},\d{4}[A-Z]{2},)")  # AobaZero's note on a move, with and without its value
_TURNS = {"+": BLACK, "-": WHITE}
_OTHER_SIGN = {"+": "-", "-": "+"}


def read_csa(text: str, name: str) -> Iterator[Record | RecordError]:
    """Every game of a CSA text, in order; for a damaged one, what is wrong with it."""
    games = 0
    for first_line, lines in _split_games(text):
        game = _Game(name if games == 0 else f"{name}#{games + 1}", first_line)
        try:
            record = game.read(lines)
        except RecordError as error:
            record = error
        if record is not None:
            games += 1
            yield record


def _split_games(text: str) -> Iterator[tuple[int, list[str]]]:
    lines = text.split("\n")
    start = 0
    for index, line in enumerate(lines):
        if line.startswith("/") and line.strip() == "/":
            yield start + 1, lines[start:index]
            start = index + 1
    yield start + 1, lines[start:]


class _CsaMove(NamedTuple):
    origin: int
    """-1 for a drop."""
    target: int
    piece: str
    plain: Move
    promoting: Move | None


@lru_cache(maxsize=1 << 15)  # there are fewer moves
def _decode_move(text: str) -> _CsaMove:
    """A move like ``7776FU``, whatever the position.

    Raises:
        ValueError: The text is no move.
    """
    piece = text[4:6]
    if len(text) != 6 or piece not in SFEN_LETTER:
        raise ValueError("it is no move")
    target = square_index(text[2:4])
    if text[:2] == "00":
        if piece in UNPROMOTED or piece == "OU":
            raise ValueError(f"{piece} cannot be dropped")
        return _CsaMove(-1, target, piece, Move.from_usi(f"{SFEN_LETTER[piece]}*{_usi_square(target)}"), None)
    origin = square_index(text[:2])
    usi = _usi_square(origin) + _usi_square(target)
    promoting = Move.from_usi(usi + "+") if piece in UNPROMOTED else None
    return _CsaMove(origin, target, piece, Move.from_usi(usi), promoting)


def move_from_csa(text: str, position: Position) -> Move:
    """A move without its sign, like ``7776FU``, in a position.

    Raises:
        ValueError: It is no move, or the position says that another piece stands there. It need not be legal.
    """
    csa = _decode_move(text)
    if csa.origin < 0:
        return csa.plain
    piece = position.piece_on(csa.origin)
    if piece is not None and piece.color == position.turn:
        letters = piece.sfen().upper()
        if csa.piece in SFEN_LETTER and letters == SFEN_LETTER[csa.piece].upper():
            return csa.plain
        if csa.promoting is not None and letters == SFEN_LETTER[UNPROMOTED[csa.piece]].upper():
            return csa.promoting
    raise ValueError(f"{text!r}: no such piece stands there")


def _usi_square(index: int) -> str:
    return f"{index // 9 + 1}{'abcdefghi'[index % 9]}"


class _Game:
    """One game as it is read: the record so far, and what its statements need to know."""

    def __init__(self, name: str, first_line: int) -> None:
        self.record = Record(name=name)
        self.line = first_line
        self.board: CsaBoard | None = None
        self.turn = ""  # the sign of the side to move, "" as long as nothing says it
        self.position: Position | None = None  # from the first move on
        self.illegal: IllegalMoveInRecordError | None = None
        self.ended = False
        self.is_empty = True

    def read(self, lines: list[str]) -> Record | None:
        """The record, or None if there is nothing but blank lines and comments.

        Raises:
            RecordError: It is damaged, or has an illegal move that does not end it.
        """
        for number, raw in enumerate(lines, self.line):
            self.line = number
            line = raw.rstrip("\r")
            first = line[:1]
            if first in ("+", "-", "%", "T", "P"):
                if "," in line:
                    self._read_joined(line)
                else:
                    self._read_statement(line)
            elif first == "'":
                self._read_comment(line)
            elif first in ("N", "$", "V"):
                self._read_header(line)
            elif line.strip():
                raise self._error("no CSA statement", line)
        return None if self.is_empty else self._finish()

    def _error(self, what: str, text: str) -> RecordError:
        return RecordError(self.record.name, self.line, f"{what}: {text[:80]!r}")

    def _read_joined(self, line: str) -> None:
        rest = line
        while rest:
            if rest.startswith("'"):  # a comment may have commas
                self._read_comment(rest)
                return
            statement, _, rest = rest.partition(",")
            self._read_statement(statement)

    def _read_statement(self, text: str) -> None:
        self.is_empty = False
        first = text[:1]
        if first in ("+", "-"):
            if len(text.rstrip()) == 1:
                self._read_turn(first)
            else:
                self._read_move(text)
        elif first == "T":
            self._read_time(text)
        elif first == "%":
            self._read_ending(text)
        elif first == "P":
            self._read_setup(text)
        else:
            raise self._error("no CSA statement", text)

    def _read_setup(self, text: str) -> None:
        if self.position is not None:
            raise self._error("the board is set up after the first move", text)
        if self.board is None:
            self.board = CsaBoard()
        try:
            self.board.set_up(text)
        except ValueError as error:
            raise self._error(str(error), text) from error

    def _read_turn(self, sign: str) -> None:
        if self.position is not None:
            raise self._error("a line for the side to move after the first move", sign)
        self.turn = sign

    def _start(self) -> Position:
        """Fix the first position, once all that sets it up was read."""
        self.turn = self.turn or "+"
        if self.board is None:
            self.board = CsaBoard.even()
        sfen = self.board.sfen(self.turn)
        try:
            self.position = Position.from_sfen(sfen, allow_missing_king=True)  # mate problems lack one
        except ShogiError as error:
            raise self._error(f"the start is no possible position ({error})", sfen) from error
        self.record.initial_sfen = sfen
        return self.position

    def _read_move(self, text: str) -> None:
        if self.illegal is not None:
            raise self.illegal
        if self.ended:
            raise self._error("a move after the end of the game", text)
        position = self.position
        if position is None:
            self.turn = self.turn or text[0]
            position = self._start()
        if text[0] != self.turn:
            raise self._error(f"it is the turn of {self.turn!r}, but there is a move of the other side", text)
        try:
            csa = _decode_move(text[1:].rstrip())
        except ValueError as error:
            raise self._error(f"ply {len(self.record) + 1}: {error}", text) from error
        try:
            move = self._choose_promotion(csa)
            position.push(move)
        except ValueError as error:
            self._meet_illegal_move(text, str(error))
            return
        self._move_piece(csa)
        self.record.moves.append(RecordedMove(move))
        self.turn = _OTHER_SIGN[self.turn]

    def _choose_promotion(self, csa: _CsaMove) -> Move:
        """CSA names the piece after the move: only the board tells whether it promotes."""
        assert self.board is not None
        if csa.origin < 0:
            return csa.plain
        standing = self.board.squares[csa.origin]
        if standing == self.turn + csa.piece:
            return csa.plain
        if csa.promoting is not None and standing == self.turn + UNPROMOTED[csa.piece]:
            return csa.promoting
        raise ValueError(f"{standing or 'nothing'} stands there, no {self.turn}{csa.piece}")

    def _move_piece(self, csa: _CsaMove) -> None:
        assert self.board is not None
        if csa.origin >= 0:
            self.board.squares[csa.origin] = ""
        self.board.squares[csa.target] = self.turn + csa.piece

    def _meet_illegal_move(self, text: str, why: str) -> None:
        """Wait for what follows: the game may have ended because of it."""
        reason = f"ply {len(self.record) + 1}: illegal move {text[:80]!r} ({why})"
        self.illegal = IllegalMoveInRecordError(self.record.name, self.line, reason)
        self.record.illegal_move = text

    def _read_time(self, text: str) -> None:
        found = _SECONDS.match(text.rstrip())
        if found is None:
            raise self._error("no time", text)
        if self.record.moves and not self.ended and self.illegal is None:
            milliseconds = int((found[2] or "").ljust(3, "0"))
            self.record.moves[-1].time_ms = int(found[1] or 0) * 1000 + milliseconds

    def _read_ending(self, text: str) -> None:
        record = self.record
        word = text[1:].strip()
        termination = ENDINGS.get(word, Termination.OTHER)
        if self.ended:
            if termination is not record.termination:
                raise self._error(f"a second end of the game after {record.termination}", text)
            return
        self.ended = True
        if self.position is None:
            self._start()
        record.termination = termination
        if self.illegal is not None:
            if termination is not Termination.ILLEGAL_MOVE:
                raise self.illegal
            record.result = winner_is(_TURNS[self.turn].opponent)
        elif word in ("+ILLEGAL_ACTION", "-ILLEGAL_ACTION"):
            record.result = winner_is(_TURNS[word[0]].opponent)
        else:
            record.result = result_of(termination, _TURNS[self.turn])

    def _read_comment(self, line: str) -> None:
        record = self.record
        if line.startswith("'**"):
            scored = _SCORE.match(line, 3)
            if scored is not None and record.moves:
                record.moves[-1].score_cp = int(scored[1])
                record.moves[-1].pv = (scored[2] or "").strip()
            else:
                self._add_comment(line[3:])
        elif line.startswith("'*"):
            self._add_comment(line[2:])
        elif record.moves and not self.ended and _VISITS.match(line):  # after the move on its line
            self._add_comment(line[1:])
        elif rated := _RATE.match(line):
            if rated[1] == "black":
                record.black_rating = float(rated[2])
            else:
                record.white_rating = float(rated[2])
        elif line.startswith("'summary:"):
            record.summary = line[len("'summary:") :].strip()
        elif line.startswith("'$END_TIME:"):
            record.end_time = line[len("'$END_TIME:") :].strip()
        elif line.startswith("'Max_Moves:"):
            record.headers["MAX_MOVES"] = line[len("'Max_Moves:") :].strip()

    def _add_comment(self, text: str) -> None:
        text = text.strip()
        if self.record.moves:
            last = self.record.moves[-1]
            last.comment = f"{last.comment}\n{text}" if last.comment else text
        else:
            self.record.comment = f"{self.record.comment}\n{text}" if self.record.comment else text

    def _read_header(self, line: str) -> None:
        record = self.record
        if line.startswith(("N+", "N-")):
            self.is_empty = False
            if line[1] == "+":
                record.black_name = line[2:].strip()
            else:
                record.white_name = line[2:].strip()
        elif line.startswith("$"):
            self._read_information(line)
        elif not line.startswith("V"):
            raise self._error("no CSA statement", line)

    def _read_information(self, line: str) -> None:
        record = self.record
        key, _, value = line[1:].partition(":")
        value = value.strip()
        if key == "EVENT":
            record.event = value
        elif key == "SITE":
            record.site = value
        elif key == "START_TIME":
            record.start_time = value
        elif key == "END_TIME":
            record.end_time = value
        elif key == "OPENING":
            record.opening = value
        elif key in ("TIME_LIMIT", "TIME"):
            record.time_limit = value
        elif key == "NOTE":
            self._add_comment(value.replace("\\n", "\n"))
        else:
            record.headers[key] = value

    def _finish(self) -> Record:
        if self.position is None:
            self._start()
        if self.illegal is not None and not self.ended:
            raise self.illegal
        if self.record.summary:
            _apply_summary(self.record, _TURNS[self.turn])
        return self.record


def _apply_summary(record: Record, turn: Color) -> None:
    """Take the end from floodgate's summary where no statement says it, or where it knows better (perpetual check)."""
    word, _, rest = record.summary.partition(":")
    results = [part.rpartition(" ")[2] for part in rest.split(":")]
    termination = _SUMMARY_ENDINGS.get(word, Termination.OTHER)
    if record.termination is Termination.NONE:
        record.termination = termination
        record.result = result_of(termination, turn)
    elif record.termination is Termination.REPETITION and "win" in results:
        record.termination = Termination.PERPETUAL_CHECK
    elif termination in SUMMARY_WORDS and termination is not Termination.PERPETUAL_CHECK:
        record.termination = termination
    else:
        return
    if len(results) == 2 and record.termination is not Termination.INTERRUPTED:
        outcomes = {("win", "lose"): Result.BLACK_WIN, ("lose", "win"): Result.WHITE_WIN, ("draw", "draw"): Result.DRAW}
        record.result = outcomes.get((results[0], results[1]), record.result)
