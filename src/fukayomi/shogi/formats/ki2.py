"""KI2 records and moves in Japanese notation, as books and magazines print them (``▲５八金右``).

Of the legal moves of a piece to a square, the notation chooses one: 打 a drop, 成 or 不成 a promotion or none, 上 引 寄
the direction, 右 左 直 the side of the origin, all from the player's view.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from fukayomi.shogi.formats.kif.endings import CLOSING, end_of_closing, ending_of
from fukayomi.shogi.formats.kif.header import begins_moves, head_lines, read_head
from fukayomi.shogi.formats.kif.moves import FILES, PIECES, RANKS
from fukayomi.shogi.formats.kif.variations import BRANCH, Lines, Play, branch_number, read_variations
from fukayomi.shogi.formats.kif.writer import comment_lines, text_comment_lines
from fukayomi.shogi.formats.limits import check_plies
from fukayomi.shogi.formats.notation import move_name
from fukayomi.shogi.position import BLACK, Color, IllegalMoveError, InvalidMoveError, Move, PieceType, Position
from fukayomi.shogi.record import (
    IllegalMoveInRecordError,
    Record,
    RecordedMove,
    RecordError,
    Result,
    Termination,
    winner_is,
)

_BLACK_MARKS, _WHITE_MARKS = "▲▼☗", "△▽☖"
_MOVE = re.compile(
    rf"(?P<mark>[{_BLACK_MARKS}{_WHITE_MARKS}])"
    r"(?:(?P<file>[1-9１-９])(?P<rank>[1-9１-９一二三四五六七八九])|同)[\s　]*"
    r"(?P<piece>成[香桂銀]|[歩香桂銀金角飛玉王と杏圭全馬龍竜])"
    r"(?P<marks>[右左直上行入引寄]*)(?P<how>不成|成|打|生)?[\s　]*"
)
_MOVES_A_LINE = 6
_MOVE_WIDTH = 12  # columns


def read_ki2(text: str, name: str) -> Record:
    """Read a KI2 record, with its variations.

    Raises:
        IllegalMoveInRecordError: No legal move fits, and the record does not say that the game ended by a foul.
        RecordError: The record is damaged.
    """
    head, lines = read_head(text, name, _ends_head)
    record = head.record()
    position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
    play = Play(position, list[RecordedMove](), list(head.comments))
    branch = _read_game(record, play, lines)
    record.moves = list(play.moves)
    if branch is not None:
        read_variations(record, play, 1, branch, lines, _plays_on)
    return record


def _ends_head(line: str) -> bool:
    """Whether the game begins with this line; a variation may be all there is, for KI2 has no line above the moves."""
    return begins_moves(line) or BRANCH.match(line) is not None


class _MoveError(ValueError):
    """A move that cannot be played; the message says why."""

    def __init__(self, reason: str, illegal: str = "") -> None:
        super().__init__(reason)
        self.illegal = illegal
        """The move, if it is illegal."""


def _read_game(record: Record, play: Play, lines: Lines) -> int | None:
    """Read the game and its end; returns the number of the first move of the first variation."""
    illegal: IllegalMoveInRecordError | None = None
    branch: int | None = None
    for number, line in lines:
        if line.startswith("*"):
            play.comments.append(line[1:])
        elif found := BRANCH.match(line):
            branch = branch_number(found)
            break
        elif not line.strip() or line[0] in "#&":
            continue
        elif found := CLOSING.fullmatch(line):
            if record.termination is Termination.NONE:
                record.termination, record.result = end_of_closing(found[1], play.position.turn)
        elif illegal is not None:
            raise illegal
        elif record.termination is not Termination.NONE:
            raise RecordError(record.name, number, f"a move after the end of the game: {line.strip()[:40]!r}")
        else:
            _add_comments(record, play)
            illegal = _play_line(record, play, line, number)
    _add_comments(record, play)
    if illegal is not None and record.termination is not Termination.ILLEGAL_MOVE:
        raise illegal
    if illegal is not None and record.result is Result.UNKNOWN:
        record.result = winner_is(play.position.turn.opponent)
    return branch


def _add_comments(record: Record, play: Play) -> None:
    """Give the comments that were collected to the last move, or to the record."""
    if play.moves:
        play.add_comments()
    else:
        record.comment, play.comments = "\n".join(play.comments), []


def _play_line(record: Record, play: Play, line: str, number: int) -> IllegalMoveInRecordError | None:
    """Play the moves of a line; returns the error of a move that is illegal, if it is the last one."""
    moves = _written_moves(line)
    for index, text in enumerate(moves):
        ply = len(play.moves) + 1
        check_plies(ply, record.name, number)
        try:
            play.push(_find_move(play, text))
        except _MoveError as error:
            if not error.illegal:
                raise RecordError(record.name, number, f"ply {ply}: {error}") from error
            record.illegal_move = error.illegal
            illegal = IllegalMoveInRecordError(record.name, number, f"ply {ply}: {error}")
            if index < len(moves) - 1:
                raise illegal from error
            return illegal
    return None


def _plays_on(play: Play, line: str) -> bool:
    """Play the moves of a line of a variation; False if one cannot be played, and the variation ends there."""
    try:
        for text in _written_moves(line):
            play.push(_find_move(play, text))
    except _MoveError:
        return False
    return True


def _written_moves(line: str) -> list[str]:
    """The moves of a line; what is no move is one by itself."""
    moves: list[str] = []
    line, at = line.strip(), 0
    while at < len(line):
        found = _MOVE.match(line, at)
        moves.append(found[0].rstrip() if found else line[at : at + 40])
        at = found.end() if found else len(line)
    return moves


def _find_move(play: Play, text: str) -> Move:
    """The move that a text means.

    Raises:
        _MoveError: There is none, or there are several.
    """
    position = play.position
    found = _MOVE.fullmatch(text)
    if found is None:
        raise _MoveError(f"not a move: {text!r}")
    if (found["mark"] in _BLACK_MARKS) != (position.turn == BLACK):
        raise _MoveError(f"{text!r} is a move of the wrong side")
    if not found["file"] and play.last is None:
        raise _MoveError(f"there is no move before {text!r}")
    candidates = _candidates(position, found)
    if not candidates:
        raise _MoveError(f"illegal move {text!r}: no such move in {position.sfen()!r}", text)
    if len(candidates) > 1:
        raise _MoveError(f"{text!r} may mean {', '.join(map(str, candidates))}")
    return candidates[0]


def write_ki2(record: Record) -> str:
    """Write a record as KI2, with its variations; KI2 has no times.

    Raises:
        RecordError: KI2 cannot express how the game ended, or a variation has no place in the game.
    """
    position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
    lines = [*head_lines(record), *text_comment_lines(record.comment)]
    lines += _move_lines(position, record.moves)
    if (ending := ending_of(record, position.turn)) is not None:
        lines.append(f"まで{len(record)}手で{ending.closing}")
    for variation in sorted(record.variations, key=lambda line: -line.ply):
        if not 1 <= variation.ply <= len(record) + 1:
            what = f"a variation at ply {variation.ply} of a game of {len(record)} plies"
            raise RecordError(record.name, None, what)
        while len(position.moves) >= variation.ply:
            position.pop()
        lines += ["", f"変化：{variation.ply}手", *text_comment_lines(variation.comment)]
        lines += _move_lines(position, variation.moves)
        for _ in variation.moves:
            position.pop()
    return "\n".join(lines) + "\n"


def _move_lines(position: Position, moves: Iterable[RecordedMove]) -> list[str]:
    """The lines of moves, which are played on the position."""
    lines: list[str] = []
    row: list[str] = []
    for played in moves:
        last = position.peek().to_square if position.moves else None
        name = ("▲" if position.turn == BLACK else "△") + move_name(position, played.move, last)
        position.push(played.move)
        row.append(name + " " * max(1, _MOVE_WIDTH - 2 * len(name)))
        comments = comment_lines(played)
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
    marks = _BLACK_MARKS if position.turn == BLACK else _WHITE_MARKS
    word = text.strip()
    found = _MOVE.fullmatch(word if word[:1] in (*_BLACK_MARKS, *_WHITE_MARKS) else marks[0] + word)
    if found is None or found["mark"] not in marks or not (found["file"] or position.moves):
        raise InvalidMoveError(f"invalid move {text!r}")
    candidates = _candidates(position, found)
    if not candidates:
        raise IllegalMoveError(f"illegal move {text!r} in {position.sfen()!r}")
    if len(candidates) > 1:
        raise InvalidMoveError(f"ambiguous move {text!r}: it may be {', '.join(map(str, candidates))}")
    position.push(candidates[0])
    return candidates[0]


def _candidates(position: Position, found: re.Match[str]) -> list[Move]:
    """The legal moves that the notation may mean; 同 is the target of the last move played."""
    target = FILES[found["file"]] * 9 + RANKS[found["rank"]] if found["file"] else position.peek().to_square
    return find_moves(position, target, PIECES[found["piece"]], found["marks"], found["how"])


def find_moves(position: Position, target: int, piece: PieceType, marks: str, how: str | None) -> list[Move]:
    """The legal moves that Japanese notation may mean.

    Args:
        position: Position before the move.
        target: Square it goes to.
        piece: The piece, before it promotes.
        marks: 右 左 直 上 引 寄 in any number.
        how: 打, 成, or something else for neither.
    """
    moves = [move for move in position.legal_moves if move.to_square == target]
    moves = [move for move in moves if _piece_of(position, move) == piece and move.is_promotion == (how == "成")]
    from_board = [move for move in moves if not move.is_drop]
    if how == "打" or not from_board:
        return [move for move in moves if move.is_drop]
    return _narrow([_Origin.of(move, position.turn) for move in from_board], marks, piece)


def _piece_of(position: Position, move: Move) -> PieceType | None:
    if move.from_square is None:
        return move.dropped
    piece = position.piece_on(move.from_square)
    return piece.type if piece is not None else None


class _Origin(NamedTuple):
    """Where a move comes from, seen from its target by the player."""

    move: Move
    right: int
    """Files to the right of the target; negative to the left."""
    below: int
    """Ranks below the target; negative above."""

    @classmethod
    def of(cls, move: Move, turn: Color) -> "_Origin":
        assert move.from_square is not None
        sign = 1 if turn == BLACK else -1
        right = move.to_square // 9 - move.from_square // 9  # files count from Black's right
        below = move.from_square % 9 - move.to_square % 9
        return cls(move, sign * right, sign * below)


def _narrow(origins: list[_Origin], marks: str, piece: PieceType) -> list[Move]:
    for mark in marks:
        if mark in "上行入":
            origins = [origin for origin in origins if origin.below > 0]
        elif mark == "引":
            origins = [origin for origin in origins if origin.below < 0]
        elif mark == "寄":
            origins = [origin for origin in origins if origin.below == 0]
        elif mark == "直":
            origins = [origin for origin in origins if origin.below == 1 and origin.right == 0]
    for mark, sign in (("右", 1), ("左", -1)):
        if mark in marks and origins:
            beside = [origin for origin in origins if sign * origin.right > 0]
            if not beside or piece in (PieceType.HORSE, PieceType.DRAGON):
                # If both are on the same side of the target, the mark means the outer one.
                outermost = max(sign * origin.right for origin in origins)
                beside = [origin for origin in origins if sign * origin.right == outermost]
            origins = beside
    return [origin.move for origin in origins]
