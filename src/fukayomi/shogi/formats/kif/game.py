"""The game of a KIF or KI2 record: its moves, comments and end, line by line.

What is not understood is an error that names the line, unless it stands below the last move: then it is a comment on
the end. An illegal move is the end of a game if a word for a foul follows it.
"""

import re
import unicodedata

from fukayomi.shogi.formats.kif.endings import (
    CLOSING,
    End,
    end_in_place,
    end_of_closing,
    is_known_word,
    take_ending_word,
)
from fukayomi.shogi.formats.kif.header import Head, begins_moves, comment_of, is_position_line, read_head, set_header
from fukayomi.shogi.formats.kif.tokens import Token, find_move, has_second_move, is_like_move, read_tokens
from fukayomi.shogi.formats.kif.variations import BRANCH, Branch, Lines, Play, Stop, read_variations
from fukayomi.shogi.formats.notation import MOVE, MoveError, read_move, usi_of
from fukayomi.shogi.formats.text import MOST_PLIES, check_plies
from fukayomi.shogi.position import Move, Position, ShogiError
from fukayomi.shogi.record import (
    IllegalMoveInRecordError,
    Record,
    RecordedMove,
    RecordError,
    Result,
    Termination,
    winner_is,
)

_TIME = re.compile(r"[\s　]*(?:([0-9]{1,5}):)?([0-9]{1,5}):([0-9]{1,2})(?:\.([0-9]{1,3}))?")
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,3})?")
_BRACKET = re.compile(r"[\s　]*[(（\[［]([^()（）\[\]［］]*)([)）\]］]|$)")
_QUOTED = 60  # characters
_MOST_BRACKETS = 4  # behind a move
_LONGEST_TIME_MS = 1000 * 60 * 60 * 1000
_CUT_MOVE = re.compile(r"[^\s　()（）\[\]［］+*'#&]+[(（][0-9０-９]{2}[)）]")
"""Text behind a move that was read in part: of ２二角ヌリ(88)."""
_HEADER = re.compile(r"([^\s：:0-9０-９][^\s：:]{0,39})[\s　]*[：:](?!//)(.*)")
_CSA_TIME = re.compile(r"[\s　]*T([-+0-9.:]{1,20})[\s　]*")
_NUMBERED = re.compile(r"[\s　]*([0-9０-９]{1,6})[\s　]+\S")
_TIMES_ONLY = re.compile(r"[0-9０-９T:：./+\-\s　]*")


class Game:
    """The game of a record, as it is read."""

    def __init__(self, record: Record, head: Head, *, is_ki2: bool) -> None:
        self.record = record
        self.first_number = 1
        """The number that the record gives its first move."""
        self._head = head
        self._is_ki2 = is_ki2
        self._has_title = False
        self._moves: list[RecordedMove] = []
        position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
        self.play = Play(position, self._moves, list(head.comments))
        self.play.bookmarks = list(head.bookmarks)
        record.moves = self._moves
        self._illegal: IllegalMoveInRecordError | None = None
        self._unknown: tuple[int, str] | None = None
        """The first line below the last move that is not understood, or the word for the end that nobody listed."""

    @property
    def _is_over(self) -> bool:
        return self.record.termination is not Termination.NONE

    def read(self, lines: Lines) -> Branch | None:
        """Read the game; returns the line above the first variation."""
        try:
            return self._read(lines)
        except RecordError as error:
            if self._head.like_move is None or len(self._moves) > 1 or (unknown := self._unknown_of_head()) is None:
                raise
            raise self._no_game(unknown) from error  # the moves had begun there

    def _read(self, lines: Lines) -> Branch | None:
        branch: Branch | None = None
        for number, line in lines:
            if self._read_note(line):
                continue
            found = BRANCH.match(line)
            if found is None:
                self._read_line(line, number)
            elif self._moves or self._is_over or self._is_ki2:
                branch = Branch.of(found, number)
                break
        self._add_comments()
        if self._illegal is not None:
            if self.record.termination is not Termination.ILLEGAL_MOVE:
                raise self._illegal
            self.record.result = winner_is(self.play.position.turn.opponent)
        if self._is_over:
            comments = self.record.ending_comment.split("\n")
            self.record.ending_comment = "\n".join(take_ending_word(self.record, comments, self.play.position.turn))
        if branch is None and not self._moves and not self._is_over:
            self._refuse_nothing()
        return branch

    def _refuse_nothing(self) -> None:
        """Refuse a game without moves that had lines which may be moves."""
        unknown = self._unknown_of_head() or self._unknown
        if unknown is not None:
            raise self._no_game(unknown)

    def _unknown_of_head(self) -> tuple[int, str] | None:
        """The line of the head that may have been meant as moves: with a board or 手数, others are for people."""
        has_all = self._has_title or bool(self._head.rows)
        return self._head.like_move if has_all else self._head.unknown

    def _no_game(self, line: tuple[int, str]) -> RecordError:
        what = f"neither a header nor a move nor the end of the game: {line[1].strip()[:60]!r}"
        return RecordError(self.record.name, line[0], what)

    def _read_note(self, line: str) -> bool:
        """Read a comment, a bookmark or a line without meaning; False if the line is something else."""
        if (comment := comment_of(line)) is not None:
            self.play.comments.append(comment)
        elif line.startswith("&"):
            self.play.bookmarks.append(line[1:])
        elif line.lstrip().startswith("手数-"):
            self._has_title = True
        else:
            return not line.strip() or line[0] == "#"
        return True

    def _read_line(self, line: str, number: int) -> None:
        if (found := MOVE.match(line)) and not has_second_move(found["rest"]):
            self._read_move(found, number)
        elif found := CLOSING.fullmatch(line):
            self._end(self._end_of_closing(found[1]))
        elif (tokens := read_tokens(line)) and not (self._is_over and all(token.found is None for token in tokens)):
            self._read_tokens(tokens, line, number)
        elif (found := _CSA_TIME.fullmatch(line)) and self._moves and self._illegal is None:
            self._moves[-1].time_ms = read_time(found[1])
        elif is_position_line(line):
            if not self._is_over:
                what = f"the first position is given below the moves: {line.strip()[:60]!r}"
                raise RecordError(self.record.name, number, what)
            self.play.comments.append(line.rstrip())
        elif found := _HEADER.fullmatch(line):
            set_header(self.record, found[1], found[2].strip())
        elif not self._is_over and (is_like_move(line) or self._has_next_number(line)):
            raise self._not_understood((number, line))
        else:
            if not self._is_over:
                self._unknown = self._unknown or (number, line)
            self.play.comments.append(line.rstrip())

    def _has_next_number(self, line: str) -> bool:
        """True if a line begins with the number that the next move has in KIF."""
        found = _NUMBERED.match(line)
        return found is not None and int(found[1]) == self.first_number + len(self._moves)

    def _not_understood(self, line: tuple[int, str]) -> RecordError:
        what = f"ply {len(self._moves) + 1}: neither a move nor the end of the game: {line[1].strip()[:60]!r}"
        return RecordError(self.record.name, line[0], what)

    def _read_move(self, found: re.Match[str], number: int) -> None:
        """Read a line of KIF with a move."""
        self._begin_move(number, int(found["number"]), "".join(found["move"].split()))
        time_ms = _time_behind(found)
        text, last = "".join(found["move"].split()), self.play.last
        if _is_cut(found):
            raise self._not_understood((number, found.string))
        try:
            self._push(read_move(found, self.play.position, last), time_ms)
        except MoveError as error:
            self._meet_error(error, text, number, time_ms, usi_of(found, self.play.position, last) or text)

    def _read_tokens(self, tokens: list[Token], line: str, number: int) -> None:
        for token in tokens:
            if token.found is not None:
                self._read_token(token, line, number)
            elif found := CLOSING.fullmatch(token.word):
                self._end(self._end_of_closing(found[1]))
            elif token.word and not self._is_over:
                self._read_word(token, line, number)
            elif token.is_comment:
                self.play.comments.append(token.bracket)
            elif self._is_over and not is_like_move(token.text):
                self.play.comments.append(token.text)
            else:
                ply = len(self._moves) + 1
                raise RecordError(self.record.name, number, f"ply {ply}: not a move: {token.text!r}")

    def _read_token(self, token: Token, line: str, number: int) -> None:
        assert token.found is not None
        self._begin_move(number, token.number or 1, line.strip()[:40])
        last = self.play.last
        if token.found["piece"] and not token.found["file"] and last is None:
            what = f"ply {len(self._moves) + 1}: there is no move before {token.text!r}"
            raise RecordError(self.record.name, number, what)
        time_ms = _time_of(token)
        try:
            self._push(find_move(token, self.play.position, last), time_ms)
        except MoveError as error:
            usi = usi_of(token.found, self.play.position, last) if token.found["piece"] else token.text
            self._meet_error(error, token.text, number, time_ms, usi or token.text)
        self._add_remarks(token)

    def _add_remarks(self, token: Token) -> None:
        """Keep what stands in brackets and is no time as a comment."""
        self.play.comments += [
            text for text in _brackets(token) if not _TIMES_ONLY.fullmatch(text) and read_time(text) is None
        ]

    def _begin_move(self, number: int, move_number: int, text: str) -> None:
        """Check that a move may follow, and give the comments to the one before.

        Args:
            number: Number of the line.
            move_number: The number that the record gives the move.
            text: The move, for errors.
        """
        if self._illegal is not None:
            raise self._illegal
        ply = len(self._moves) + 1
        if self._unknown is not None:
            raise self._not_understood(self._unknown)
        if self._is_over:
            raise RecordError(self.record.name, number, f"ply {ply}: a move after the end of the game: {text!r}")
        check_plies(ply, self.record.name, number)
        self._add_comments()
        if ply == 1 and not (self._is_ki2 and move_number != 1):
            self.first_number = move_number

    def _push(self, move: Move, time_ms: int | None) -> None:
        try:
            self.play.push(move, time_ms)
        except ShogiError as error:
            raise MoveError(str(error).rpartition("': ")[2]) from error

    def _meet_error(self, error: MoveError, text: str, number: int, time_ms: int | None, illegal: str) -> None:
        """Keep an illegal move, which may be the end of the game; raise any other error."""
        ply, name, sfen = len(self._moves) + 1, self.record.name, self.play.position.sfen()
        if not error.is_illegal:
            raise RecordError(name, number, f"ply {ply}: {text!r} {error}") from error
        why = f" ({error})" if str(error) else ": no such move"
        self._illegal = IllegalMoveInRecordError(name, number, f"ply {ply}: illegal move {text!r}{why} in {sfen!r}")
        self.record.illegal_move, self.record.illegal_move_time_ms = illegal, time_ms

    def _read_word(self, token: Token, line: str, number: int) -> None:
        """Read the word that stands in place of a move."""
        turn = self.play.position.turn if token.side is None else token.side
        end = end_in_place(token.word, turn, self._names)
        if end.termination is Termination.REPETITION and any("連続王手" in text for text in _brackets(token)):
            end = End(Termination.PERPETUAL_CHECK, Result.UNKNOWN)
        self._end(end)
        self.record.ending_time_ms = _time_of(token)
        self._add_remarks(token)
        if not is_known_word(token.word) and end.word:
            self._unknown = self._unknown or (number, line)

    def _end(self, end: End) -> None:
        """End the game; where a word stands in place of a move, the line below tells at most the result."""
        record = self.record
        if not self._is_over:
            if self._illegal is None:
                self._add_comments()
            record.termination, record.result, record.ending_word = end
        elif record.result is Result.UNKNOWN:
            record.result = end.result
        elif end.termination is Termination.PERPETUAL_CHECK and record.termination is Termination.REPETITION:
            record.termination, record.result, record.ending_word = end

    def _end_of_closing(self, text: str) -> End:
        return end_of_closing(text, self.play.position.turn, self._names)

    @property
    def _names(self) -> tuple[str, str]:
        return self.record.black_name, self.record.white_name

    def _add_comments(self) -> None:
        """Give the comments that were collected to the end, the last move or the record; bookmarks are of positions."""
        record, play = self.record, self.play
        if self._is_over or self._illegal is not None:
            record.ending_comment, play.comments = "\n".join(play.comments), []
        if self._moves:
            play.add_comments()
        else:
            if play.comments:
                record.comment, play.comments = "\n".join(play.comments), []
            if play.bookmarks:
                record.bookmark, play.bookmarks = "\n".join(play.bookmarks), []


def play_line(play: Play, line: str) -> Stop | None:
    """Play the moves of a line of a variation; says what else stands there, with which the variation ends."""
    text = line.strip()[:_QUOTED]
    try:
        if (found := MOVE.match(line)) and not has_second_move(found["rest"]):
            if _is_cut(found):
                return Stop(f"not a move: {text!r}", is_end=False)
            _play(play, read_move(found, play.position, play.last), _time_behind(found))
            return None
        if found := CLOSING.fullmatch(line):
            return Stop(found[1].strip() or text, is_end=True)
        tokens = read_tokens(line)
        for token in tokens:
            text = token.text[:_QUOTED]
            if token.is_comment:
                play.comments.append(token.bracket)
            elif token.word:
                return Stop(token.word, is_end=True)
            elif token.found is None:
                return Stop(f"not a move: {text!r}", is_end=False)
            else:
                _play(play, find_move(token, play.position, play.last), _time_of(token))
    except (MoveError, ShogiError):
        return Stop(f"illegal move {text!r}", is_end=False)
    return None if tokens else Stop(f"neither a move nor an end: {text!r}", is_end=False)


def _play(play: Play, move: Move, time_ms: int | None) -> None:
    if len(play.moves) >= MOST_PLIES:
        raise MoveError("too many")
    play.push(move, time_ms)


def _is_cut(found: re.Match[str]) -> bool:
    """True if a line of KIF has a move of which only the beginning was understood."""
    begin = found.start("rest")
    return (
        found["from_file"] is None
        and found.string[begin - 1] not in " \t　"
        and _CUT_MOVE.match(found["rest"]) is not None
    )


def _time_behind(found: re.Match[str]) -> int | None:
    """The time behind a move of KIF: the first bracket that has one. One that was cut off has at most a whole part."""
    rest, at = found["rest"], 0
    for _ in range(_MOST_BRACKETS):
        bracket = _BRACKET.match(rest, at)
        if bracket is None:
            return None
        if (bracket[2] or "/" in bracket[1]) and (time_ms := read_time(bracket[1])) is not None:
            return time_ms
        at = bracket.end()
    return None


def _brackets(token: Token) -> tuple[str, ...]:
    return token.bracket, *token.remarks


def _time_of(token: Token) -> int | None:
    """The time behind a move or a word: the first bracket that has one."""
    return next(filter(lambda time: time is not None, map(read_time, _brackets(token))), None)


def read_time(text: str) -> int | None:
    """The time of a move in milliseconds: ``0:03/00:00:04``, seconds as ``3`` behind CSA's T; None if it is none."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    if _SECONDS.fullmatch(plain):
        time_ms = round(1000 * float(plain))
        return time_ms if time_ms <= _LONGEST_TIME_MS else None
    found = _TIME.match(plain)
    if found is None or int(found[3]) > 59 or (found[1] and int(found[2]) > 59):
        return None
    hours, minutes, seconds, fraction = found.groups()
    milliseconds = int(fraction.ljust(3, "0")) if fraction else 0
    time_ms = 1000 * (3600 * int(hours or 0) + 60 * int(minutes) + int(seconds)) + milliseconds
    return time_ms if time_ms <= _LONGEST_TIME_MS else None


def read_kif(text: str, name: str) -> Record:
    """Read a KIF record, with its variations.

    Raises:
        IllegalMoveInRecordError: A move is illegal, and the record does not say that the game ended by a foul.
        RecordError: The record is damaged.
    """
    return _read(text, name, is_ki2=False)


def read_ki2(text: str, name: str) -> Record:
    """Read a KI2 record, with its variations, or moves of any notation below a head of KIF.

    Raises:
        IllegalMoveInRecordError: No legal move fits, and the record does not say that the game ended by a foul.
        RecordError: The record is damaged.
    """
    return _read(text, name, is_ki2=True)


def _read(text: str, name: str, *, is_ki2: bool) -> Record:
    head, lines = read_head(text, name, _ends_head if is_ki2 else begins_moves)
    game = Game(head.record(), head, is_ki2=is_ki2)
    branch = game.read(lines)
    if branch is not None:
        read_variations(game.record, game.play.position, game.first_number, branch, lines, play_line)
    return game.record


def _ends_head(line: str) -> bool:
    """True if the game begins with this line; a variation may be all there is, for KI2 has no line above the moves."""
    return begins_moves(line) or BRANCH.match(line) is not None
