"""Writers of KIF and KI2.

Scores and expected lines in KIF are as ShogiHome writes them. The end of a game is in such words that every reader
finds the same winner. KI2 has moves in Japanese notation as books and magazines print them (``▲５八金右``).
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from fukayomi.errors import InvalidValueError
from fukayomi.shogi.formats.kif.endings import (
    END_WORDS,
    MOVER_WINS,
    NAMES,
    NOBODY,
    End,
    end_in_place,
    end_of_closing,
    end_of_word,
    ending_notes,
    may_be_word,
)
from fukayomi.shogi.formats.kif.header import head_lines, one_line
from fukayomi.shogi.formats.kif.tokens import BLACK_MARKS, WHITE_MARKS, read_tokens
from fukayomi.shogi.formats.notation import (
    JAPANESE,
    MoveError,
    foul_of,
    japanese_foul,
    last_target,
    move_name,
    read_move,
    write_move,
)
from fukayomi.shogi.formats.remarks import read_remarks
from fukayomi.shogi.position import BLACK, Color, IllegalMoveError, InvalidMoveError, Move, Position
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination, winner_is

# A foul without a word of its own is one against the rules of the game.
_FOULS = (
    Termination.ILLEGAL_MOVE, Termination.PERPETUAL_CHECK, Termination.CRASH, Termination.STALL, Termination.PROTOCOL,
)  # fmt: skip
_INTERRUPTED, _DRAWN = "中断", "引き分け"


class Ending(NamedTuple):
    """The end of a game as KIF and KI2 write it."""

    word: str
    """In place of the next move: 投了."""
    closing: str
    """After まで97手で: 先手の勝ち."""
    said: End
    """Meaning of the word."""

    def told(self, turn: Color, names: tuple[str, str]) -> End:
        """Meaning of the word and the closing line together, to a reader who knows the players' names."""
        if self.said.result is not Result.UNKNOWN:
            return self.said
        return self.said._replace(result=end_of_closing(self.closing, turn, names).result)


def ending_of(record: Record, turn: Color, *, is_illegal_move_shown: bool = False) -> Ending | None:
    """The end of a game in the words of KIF and KI2; None if the record does not have one.

    What has no word there is written as a foul, a resignation, a draw or an interruption with the same winner;
    `endings.ending_notes` has the rest.

    Args:
        record: The record.
        turn: The side to move after the last move of the record.
        is_illegal_move_shown: Whether the illegal move that ended the game stands before the word.
    """
    if record.termination is Termination.NONE and record.result is Result.UNKNOWN:
        return None
    winner = {Result.BLACK_WIN: BLACK, Result.WHITE_WIN: BLACK.opponent}.get(record.result)
    if record.termination in _FOULS and winner is not None:
        said = turn.opponent if is_illegal_move_shown else turn
        word = "反則勝ち" if winner == said else "反則負け"
        return Ending(word, f"{_name(said, record)}の{word}", end_of_word(word, said))
    word = _word(record, turn, winner)
    said = end_of_word(word, turn)
    if said.result is record.result:
        return Ending(word, _closing(word, record, turn), said)
    if winner is not None and said.result is Result.UNKNOWN:  # the closing line tells who won
        cause = f"{word}により" if said.word else ""
        return Ending(word, f"{cause}{_name(winner, record)}の勝ち", said)
    outcome = END_WORDS.get(word, (None, NOBODY))[1]
    if winner is not None and outcome != NOBODY:  # the other side's word
        side = winner if outcome == MOVER_WINS else winner.opponent
        return Ending(f"{_name(side, record)}{word}", _closing(word, record, side), end_of_word(word, side))
    word = _DRAWN if record.result is Result.DRAW else _INTERRUPTED
    closing = word if winner is None else f"{_name(winner, record)}の勝ち"
    return Ending(word, closing, end_of_word(word, turn))


def own_word(record: Record, turn: Color) -> str:
    """The word of the record itself, if a reader takes it for one and for the same end."""
    word = record.ending_word
    if not may_be_word(word) and word not in END_WORDS:
        return ""
    tokens = read_tokens(f"1 {word}")
    end = end_in_place(word, turn, (record.black_name, record.white_name))
    is_read = len(tokens) == 1 and tokens[0].word == word and end.word == word
    return word if is_read and end == end_of_word(word, turn) and end.termination is record.termination else ""


def noted_word(record: Record, turn: Color) -> str:
    """The word of the record itself, if `take_ending_word` takes it for one and for the same end in a comment."""
    word = record.ending_word
    end = end_of_word(word, turn)
    is_same = end.word == word and end.termination is record.termination
    return word if is_same and word == " ".join(word.split()) else ""


def _word(record: Record, turn: Color, winner: Color | None) -> str:
    """The word for the termination."""
    match record.termination:
        case Termination.ADJUDICATION | Termination.CRASH | Termination.STALL | Termination.PROTOCOL:
            if record.result is Result.DRAW:
                return _DRAWN
            return NAMES[Termination.RESIGN] if winner == turn.opponent else _INTERRUPTED
        case Termination.OTHER | Termination.INTERRUPTED | Termination.ILLEGAL_MOVE:
            default = (
                NAMES[Termination.ILLEGAL_MOVE] if record.termination is Termination.ILLEGAL_MOVE else _INTERRUPTED
            )
            return own_word(record, turn) or default
        case Termination.NONE:
            return _INTERRUPTED
        case termination:
            return NAMES[termination]


def _closing(word: str, record: Record, turn: Color) -> str:
    match word:
        case "投了":
            return f"{_name(turn.opponent, record)}の勝ち"
        case "切れ負け":
            return f"時間切れにより{_name(turn.opponent, record)}の勝ち"
        case "入玉勝ち":
            return f"{_name(turn, record)}の入玉勝ち"
        case "詰み":
            return "詰" if turn == _turn_of(record) else f"詰みにより{_name(turn.opponent, record)}の勝ち"
        case "不戦勝" | "不戦敗":
            return f"{_name(turn, record)}の{word}"
        case _:
            return word


def _turn_of(record: Record) -> Color:
    first = BLACK if record.initial_sfen.split()[1] == "b" else BLACK.opponent
    return first if len(record.moves) % 2 == 0 else first.opponent


def _name(color: Color, record: Record) -> str:
    return record.side_names[color == BLACK.opponent]


_DECLARED = {"utf-8": "UTF-8", "shift_jis": "Shift_JIS"}
"""The encodings of KIF, and how its first line calls them."""

_MARKS = str.maketrans("☗☖", "▲△")
"""Programs expect these marks in records."""
_MOVE_WIDTH = 12  # columns of a move, before its time


def write_kif(record: Record, *, encoding: str = "utf-8") -> str:
    """Write a record as KIF, with its variations.

    Args:
        record: The record.
        encoding: Encoding that the first line declares: ``utf-8`` or ``shift_jis``.

    Raises:
        RecordError: A variation has no place in the game.
        ValueError: There is no such encoding of KIF.
    """
    if encoding not in _DECLARED:
        raise InvalidValueError(f"encoding {encoding!r} is not one of {', '.join(_DECLARED)}")
    lines = [f"#KIF version=2.0 encoding={_DECLARED[encoding]}", *head_lines(record)]
    lines.append("手数----指手---------消費時間--")
    lines += [*text_comment_lines(record.comment), *bookmark_lines(record.bookmark)]
    position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
    clocks = _Clocks()
    branches = _Branches(record)
    lines += _move_lines(position, clocks, record.moves, 1, branches.of(None))
    lines += _end_lines(record, position, clocks)
    lines += _variation_lines(record, position, clocks, branches)
    return "\n".join(lines) + "\n"


def text_comment_lines(comment: str) -> list[str]:
    """A comment as lines of KIF and KI2."""
    return [f"*{line}" for line in _safe(comment).split("\n")] if comment else []


def bookmark_lines(bookmark: str) -> list[str]:
    """A bookmark as lines of KIF and KI2."""
    return [f"&{line}" for line in _safe(bookmark).split("\n")] if bookmark else []


def end_comment_lines(record: Record) -> list[str]:
    """The comment on the end of the game as lines of KIF and KI2."""
    return text_comment_lines(record.ending_comment)


def comment_lines(played: RecordedMove) -> list[str]:
    """The comment of a move as lines of KIF and KI2; with score, mate and expected line if the comment lacks them."""
    said = RecordedMove(played.move)
    read_remarks(played.comment, said)
    notes: list[str] = []
    if played.mate is not None and said.mate != played.mate:
        notes.append(f"**詰み={'先手' if played.mate > 0 else '後手'}勝ち:{abs(played.mate)}手")
        read_remarks(notes[0][1:], said)
    if played.score_cp is not None and said.score_cp != played.score_cp:
        notes.append(f"**評価値={played.score_cp}")
    pv = _safe(played.pv).translate(_MARKS).replace("\n", " ").strip()
    if pv and said.pv.translate(_MARKS) != pv:
        notes.append(f"**読み筋={pv}")
    return text_comment_lines(played.comment) + notes


def _safe(text: str) -> str:
    """Text without characters that a reader could take for the end of a line or of the file."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


class _Clocks:
    """The time that each side has used after each ply, as KIF writes it behind a move."""

    def __init__(self) -> None:
        self._used_ms = [(0, 0)]

    def play(self, time_ms: int | None) -> str:
        """The time of the next move, ``( 0:03/00:00:04)``; nothing if it is not known."""
        waiting_ms, used_ms = self._used_ms[-1]  # the side that moved last, and the one to move
        used_ms += time_ms or 0
        self._used_ms.append((used_ms, waiting_ms))
        if time_ms is None:
            return ""
        minutes, seconds = divmod(time_ms // 1000, 60)
        total_minutes, total_seconds = divmod(used_ms // 1000, 60)
        hours, total_minutes = divmod(total_minutes, 60)
        return f"({minutes:2}:{seconds:02}/{hours:02}:{total_minutes:02}:{total_seconds:02})"

    def take_back(self, plies: int) -> None:
        """Return to the time before the last moves."""
        del self._used_ms[len(self._used_ms) - plies :]


def _line(number: int, text: str, time: str = "", *, is_branch: bool = False) -> str:
    columns = sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text)
    padded = f"{text}{' ' * (_MOVE_WIDTH - columns)} {time}" if time else text
    return f"{number:>4} {padded}{'+' if is_branch else ''}"


def _move_lines(
    position: Position, clocks: _Clocks, moves: Iterable[RecordedMove], number: int, branches: set[int]
) -> list[str]:
    """The lines of moves that are played on the position.

    Args:
        position: Position before the first move; the moves are played on it.
        clocks: The time used before the first move; that of the moves is added.
        moves: The moves.
        number: Number of the first move.
        branches: Numbers of the moves that have a variation below.
    """
    lines: list[str] = []
    last = position.peek().to_square if number > 1 else None
    for ply, played in enumerate(moves, number):
        move = played.move
        piece = move.dropped
        if move.from_square is not None:
            standing = position.piece_on(move.from_square)
            piece = standing.type if standing else None
        position.push(move)
        assert piece is not None  # the move was legal
        text = write_move(move, piece, last)
        lines.append(_line(ply, text, clocks.play(played.time_ms), is_branch=ply in branches))
        lines += [*comment_lines(played), *bookmark_lines(played.bookmark)]
        last = move.to_square
    return lines


def _end_lines(record: Record, position: Position, clocks: _Clocks) -> list[str]:
    """The illegal move that ended the game, the word for the end, comments on it, and the line below."""
    lines: list[str] = []
    number, plies = len(record.moves) + 1, 0
    shown = ""
    if record.illegal_move and record.termination is Termination.ILLEGAL_MOVE:
        last = last_target(position)
        if record.result is winner_is(position.turn.opponent):
            foul = foul_of(record.illegal_move, position, last)
            shown = foul.kif(last) if foul else japanese_foul(record.illegal_move, position, last)
        if shown:
            lines.append(_line(number, shown, clocks.play(record.illegal_move_time_ms)))
            number, plies = number + 1, 1
        else:
            lines += text_comment_lines(f"反則手：{one_line(record.illegal_move[:120])}")
    ending = ending_of(record, position.turn, is_illegal_move_shown=bool(shown))
    if ending is not None:
        lines.append(_line(number, ending.word, clocks.play(record.ending_time_ms)))
        plies += 1
        told = ending.told(position.turn, (record.black_name, record.white_name))
        notes = ending_notes(record, told, noted_word(record, position.turn))
        lines += text_comment_lines("\n".join(notes))
        lines += [*end_comment_lines(record), f"まで{number - 1}手で{ending.closing}"]
    else:
        lines += end_comment_lines(record)
    clocks.take_back(plies)
    return lines


class _Branches:
    """The plies at which variations begin, by the line that they leave."""

    def __init__(self, record: Record) -> None:
        self._plies: dict[int | None, set[int]] = {}
        self._last: dict[tuple[int | None, int], int] = {}
        for index, variation in enumerate(record.variations):
            self._plies.setdefault(variation.parent, set()).add(variation.ply)
            self._last[variation.parent, variation.ply] = index
        self._record = record

    def of(self, index: int | None) -> set[int]:
        """The moves of a line that have a variation below: of the game, or of the variation with this index."""
        plies = self._plies.get(index, set())
        if index is not None:
            variation = self._record.variations[index]
            if self._last[variation.parent, variation.ply] != index:  # another one follows that begins here
                plies = plies | {variation.ply}
        return plies


def _variation_lines(record: Record, position: Position, clocks: _Clocks, branches: _Branches) -> list[str]:
    """The lines of all variations, as other programs write them: from the end of a line to its beginning.

    Args:
        record: The record.
        position: Position after the last move of the game; it changes.
        clocks: The time used in the game; it changes.
        branches: Where variations begin.
    """
    lines: list[str] = []
    depth = len(record.moves)
    for index, variation in record.variation_order():
        ply = variation.ply
        for _ in range(depth - ply + 1):
            position.pop()
        clocks.take_back(depth - ply + 1)
        depth = ply - 1 + len(variation.moves)
        lines += ["", f"変化：{ply}手", *text_comment_lines(variation.comment), *bookmark_lines(variation.bookmark)]
        lines += _move_lines(position, clocks, variation.moves, ply, branches.of(index))
    return lines


_MOVE = re.compile(JAPANESE)
_MOVES_A_LINE = 6
_KI2_WIDTH = 12  # columns


def write_ki2(record: Record) -> str:
    """Write a record as KI2, with its variations; KI2 has no times.

    Raises:
        RecordError: A variation has no place in the record.
    """
    position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
    lines = [*head_lines(record), *text_comment_lines(record.comment), *bookmark_lines(record.bookmark)]
    lines += _ki2_move_lines(position, record.moves)
    lines += _ki2_end_lines(record, position)
    depth = len(record)
    for _, variation in record.variation_order():
        for _ in range(depth - variation.ply + 1):
            position.pop()
        depth = variation.ply - 1 + len(variation.moves)
        lines += ["", f"変化：{variation.ply}手", *text_comment_lines(variation.comment)]
        lines += bookmark_lines(variation.bookmark)
        lines += _ki2_move_lines(position, variation.moves)
    return "\n".join(lines) + "\n"


def _ki2_end_lines(record: Record, position: Position) -> list[str]:
    """The illegal move that ended the game, the line まで…手で, and the comment on the end."""
    lines: list[str] = []
    if record.illegal_move and record.termination is Termination.ILLEGAL_MOVE:
        last = last_target(position)
        is_told = record.result is winner_is(position.turn.opponent)
        name = japanese_foul(record.illegal_move, position, last) if is_told else ""
        mark = "▲" if position.turn == BLACK else "△"
        lines.append(f"{mark}{name}" if name else f"*反則手：{one_line(record.illegal_move[:120])}")
    if (ending := ending_of(record, position.turn)) is not None:
        lines.append(f"まで{len(record)}手で{ending.closing}")
        said = end_of_closing(ending.closing, position.turn, (record.black_name, record.white_name))
        lines += text_comment_lines("\n".join(ending_notes(record, said, noted_word(record, position.turn))))
    return lines + end_comment_lines(record)


def _ki2_move_lines(position: Position, moves: Iterable[RecordedMove]) -> list[str]:
    """The lines of moves, which are played on the position."""
    lines: list[str] = []
    row: list[str] = []
    for played in moves:
        last = last_target(position)
        name = ("▲" if position.turn == BLACK else "△") + move_name(position, played.move, last)
        position.push(played.move)
        row.append(name + " " * max(1, _KI2_WIDTH - 2 * len(name)))
        comments = [*comment_lines(played), *bookmark_lines(played.bookmark)]
        if comments or len(row) == _MOVES_A_LINE:
            lines += ["".join(row).rstrip(), *comments]
            row = []
    return [*lines, "".join(row).rstrip()] if row else lines


def push_ki2(position: Position, text: str) -> Move:
    """Play a move in Japanese notation; the mark of the side may be left out. `Position.push_japanese` calls this.

    Raises:
        InvalidMoveError: The text is not a move, or fits several.
        IllegalMoveError: No legal move fits.
    """
    marks = BLACK_MARKS if position.turn == BLACK else WHITE_MARKS
    word = text.strip()
    found = _MOVE.fullmatch(word[1:] if word[:1] in tuple(marks) else word)
    last = last_target(position)
    if found is None or not (found["file"] or last is not None):
        raise InvalidMoveError(f"invalid move {text!r}")
    try:
        move = read_move(found, position, last)
    except MoveError as error:
        if error.is_illegal:
            raise IllegalMoveError(f"illegal move {text!r} in {position.sfen()!r}") from error
        reason = str(error).replace("may mean", "it may be")
        raise InvalidMoveError(f"ambiguous move {text!r}: {reason}") from error
    position.push(move)
    return move
