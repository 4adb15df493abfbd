"""Writing KIF, with scores and expected lines as ShogiHome writes them."""

import unicodedata
from collections.abc import Iterable

from fukayomi.errors import InvalidValueError
from fukayomi.shogi.formats.fouls import foul_of, japanese_foul
from fukayomi.shogi.formats.kif.end_writer import ending_of, noted_word
from fukayomi.shogi.formats.kif.endings import ending_notes
from fukayomi.shogi.formats.kif.header import head_lines, one_line
from fukayomi.shogi.formats.notation import last_target, write_move
from fukayomi.shogi.formats.remarks import read_remarks
from fukayomi.shogi.position import Position
from fukayomi.shogi.record import Record, RecordedMove, Termination, winner_is

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
