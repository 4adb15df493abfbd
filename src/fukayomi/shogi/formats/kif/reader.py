"""Reading KIF: the head, the main line and its end, then variations.

A damaged main line is an error that names the line and the move. A damaged variation ends where the damage is; the game
is not touched by it. An illegal move is the end of a game if a word for a foul follows it.
"""

import re

from fukayomi.shogi.formats.kif.endings import CLOSING, end_of_closing, end_of_word
from fukayomi.shogi.formats.kif.header import is_position_line, read_head, set_header
from fukayomi.shogi.formats.kif.moves import MOVE, illegal_usi, read_move
from fukayomi.shogi.formats.kif.variations import BRANCH, Lines, Play, branch_number, read_variations
from fukayomi.shogi.formats.limits import MOST_PLIES, check_plies
from fukayomi.shogi.position import Position, ShogiError
from fukayomi.shogi.record import (
    IllegalMoveInRecordError,
    Record,
    RecordedMove,
    RecordError,
    Result,
    Termination,
    winner_is,
)

_SPECIAL = re.compile(r"[\s　]*[0-9０-９]{1,6}[\s　]+([^\s　(（]+)")
_TIME = re.compile(r"[(（][\s　]*(?:([0-9]{1,5}):)?([0-9]{1,5}):([0-9]{1,2})(?:\.([0-9]{1,3}))?")
_HEADER = re.compile(r"([^\s：:0-9０-９][^\s：:]{0,39})[\s　]*[：:](.*)")


def read_kif(text: str, name: str) -> Record:
    """Read a KIF record.

    Raises:
        IllegalMoveInRecordError: A move is illegal.
        RecordError: The record is damaged.
    """
    head, lines = read_head(text, name)
    record = head.record()
    game = _Game(record, head.comments)
    branch = game.read(lines)
    if branch is not None:
        read_variations(record, game.play, game.first_number, branch, lines, _play_line)
    return record


def _play_line(play: Play, line: str) -> bool:
    """Play the move of a line of a variation; False if the line has none that can be played."""
    found = MOVE.match(line)  # otherwise a word for the end, the closing line, or damage
    return found is not None and len(play.moves) < MOST_PLIES and _play(play, found) is None


def _play(play: Play, found: re.Match[str]) -> str | None:
    """Play the move of a line; returns why it is illegal."""
    move = read_move(found, play.position, play.last)
    if isinstance(move, str):
        return move
    try:
        play.push(move, _time_ms(found[9]))
    except ShogiError as error:
        return str(error).rpartition("': ")[2]
    return None


class _Game:
    """The main line of a record, as it is read."""

    def __init__(self, record: Record, comments: list[str]) -> None:
        self.record = record
        position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
        self.moves: list[RecordedMove] = []
        self.play = Play(position, self.moves, list(comments))
        record.moves = self.moves
        self.first_number = 1
        """The number that the record gives its first move."""
        self._illegal: IllegalMoveInRecordError | None = None

    def read(self, lines: Lines) -> int | None:
        """Read the game; returns the number of the first move of the first variation."""
        branch = self._read_lines(lines)
        self._add_comments()
        if self._illegal is not None:
            if self.record.termination is not Termination.ILLEGAL_MOVE:
                raise self._illegal
            self.record.result = winner_is(self.play.position.turn.opponent)
        return branch

    def _read_lines(self, lines: Lines) -> int | None:
        for number, line in lines:
            if line.startswith("*"):
                self.play.comments.append(line[1:])
            elif found := MOVE.match(line):
                self._read_move(found, number)
            elif not line.strip() or line[0] in "#&" or line.lstrip().startswith("手数-"):
                continue
            elif found := BRANCH.match(line):
                if self.moves or self.record.termination is not Termination.NONE:
                    return branch_number(found)
            elif found := CLOSING.fullmatch(line):
                self._read_closing(found[1])
            elif is_position_line(line):
                what = f"the first position is given below the moves: {line.strip()[:60]!r}"
                raise RecordError(self.record.name, number, what)
            elif found := _HEADER.fullmatch(line):
                set_header(self.record, found[1], found[2].strip())
            else:
                self._read_word(line, number)
        return None

    def _add_comments(self) -> None:
        if self.moves:
            self.play.add_comments()
        else:
            self.record.comment = "\n".join(self.play.comments)
            self.play.comments = []

    def _read_move(self, found: re.Match[str], number: int) -> None:
        record = self.record
        if self._illegal is not None:
            raise self._illegal
        ply = len(self.moves) + 1
        text = "".join(found[2].split())
        if record.termination is not Termination.NONE:
            raise RecordError(record.name, number, f"ply {ply}: a move after the end of the game: {text!r}")
        check_plies(ply, record.name, number)
        self._add_comments()
        if ply == 1:
            self.first_number = int(found[1])
        last = self.play.last
        why = _play(self.play, found)
        if why is not None:
            self._illegal = IllegalMoveInRecordError(
                record.name, number, f"ply {ply}: illegal move {text!r} ({why}) in {self.play.position.sfen()!r}"
            )
            record.illegal_move = illegal_usi(found, self.play.position, last) or text

    def _read_word(self, line: str, number: int) -> None:
        found = _SPECIAL.match(line)
        end = end_of_word(found[1], self.play.position.turn) if found else None
        if end is None:
            ply = len(self.moves) + 1
            what = f"ply {ply}: neither a move nor the end of the game: {line.strip()[:60]!r}"
            raise RecordError(self.record.name, number, what)
        if self.record.termination is Termination.NONE:
            self.record.termination, self.record.result = end

    def _read_closing(self, text: str) -> None:
        """Read the line below the moves, which counts where no word stands in place of a move."""
        termination, result = end_of_closing(text, self.play.position.turn)
        if self.record.termination is Termination.NONE:
            self.record.termination, self.record.result = termination, result
        elif self.record.result is Result.UNKNOWN:
            self.record.result = result


def _time_ms(text: str) -> int | None:
    found = _TIME.match(text)
    if found is None:
        return None
    hours, minutes, seconds, fraction = found.groups()
    milliseconds = int(fraction.ljust(3, "0")) if fraction else 0
    return 1000 * (3600 * int(hours or 0) + 60 * int(minutes) + int(seconds)) + milliseconds
