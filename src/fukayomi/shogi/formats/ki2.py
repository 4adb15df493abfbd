"""Writing KI2, moves in Japanese notation as books and magazines print them (``▲５八金右``); `kif.reader` reads it."""

import re
from collections.abc import Iterable

from fukayomi.shogi.formats.kif.endings import end_of_closing, ending_notes
from fukayomi.shogi.formats.kif.header import head_lines, one_line
from fukayomi.shogi.formats.kif.tokens import BLACK_MARKS, WHITE_MARKS
from fukayomi.shogi.formats.kif.writer import (
    bookmark_lines,
    comment_lines,
    end_comment_lines,
    ending_of,
    noted_word,
    text_comment_lines,
)
from fukayomi.shogi.formats.notation import JAPANESE, MoveError, japanese_foul, last_target, move_name, read_move
from fukayomi.shogi.position import BLACK, IllegalMoveError, InvalidMoveError, Move, Position
from fukayomi.shogi.record import Record, RecordedMove, Termination, winner_is

_MOVE = re.compile(JAPANESE)
_MOVES_A_LINE = 6
_MOVE_WIDTH = 12  # columns


def write_ki2(record: Record) -> str:
    """Write a record as KI2, with its variations; KI2 has no times.

    Raises:
        RecordError: A variation has no place in the record.
    """
    position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
    lines = [*head_lines(record), *text_comment_lines(record.comment), *bookmark_lines(record.bookmark)]
    lines += _move_lines(position, record.moves)
    lines += _end_lines(record, position)
    depth = len(record)
    for _, variation in record.variation_order():
        for _ in range(depth - variation.ply + 1):
            position.pop()
        depth = variation.ply - 1 + len(variation.moves)
        lines += ["", f"変化：{variation.ply}手", *text_comment_lines(variation.comment)]
        lines += bookmark_lines(variation.bookmark)
        lines += _move_lines(position, variation.moves)
    return "\n".join(lines) + "\n"


def _end_lines(record: Record, position: Position) -> list[str]:
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


def _move_lines(position: Position, moves: Iterable[RecordedMove]) -> list[str]:
    """The lines of moves, which are played on the position."""
    lines: list[str] = []
    row: list[str] = []
    for played in moves:
        last = last_target(position)
        name = ("▲" if position.turn == BLACK else "△") + move_name(position, played.move, last)
        position.push(played.move)
        row.append(name + " " * max(1, _MOVE_WIDTH - 2 * len(name)))
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
