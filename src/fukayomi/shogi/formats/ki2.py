"""KI2 records: moves without their origins, as books and magazines print them (``▲５八金右``).

Read by us and not by rsshogi, whose KI2 reader ends the whole process where a move cannot be made (version 1.7.0: it
panics, and panics abort). The head, which is the same as KIF's, is rsshogi's work here too.

Of the legal moves of the named piece to the named square, the marks of the notation choose one: 打 a drop, 成 and 不成,
上 引 寄 the direction, 右 左 直 the side that it came from, all as its player sees the board.
"""

import re
from typing import NamedTuple

from fukayomi.shogi import BLACK, Color, Move, PieceType, Position
from fukayomi.shogi.formats.detect import Format
from fukayomi.shogi.formats.library import read_library_record
from fukayomi.shogi.formats.remarks import read_remarks
from fukayomi.shogi.record import (
    IllegalMoveInRecordError,
    Record,
    RecordedMove,
    RecordError,
    Result,
    Termination,
    winner_is,
)

_PIECES = {
    "歩": PieceType.PAWN, "香": PieceType.LANCE, "桂": PieceType.KNIGHT, "銀": PieceType.SILVER, "金": PieceType.GOLD,
    "角": PieceType.BISHOP, "飛": PieceType.ROOK, "玉": PieceType.KING, "王": PieceType.KING, "と": PieceType.PRO_PAWN,
    "成香": PieceType.PRO_LANCE, "杏": PieceType.PRO_LANCE, "成桂": PieceType.PRO_KNIGHT, "圭": PieceType.PRO_KNIGHT,
    "成銀": PieceType.PRO_SILVER, "全": PieceType.PRO_SILVER, "馬": PieceType.HORSE, "龍": PieceType.DRAGON,
    "竜": PieceType.DRAGON,
}  # fmt: skip
_FILES = {digit: index for digits in ("123456789", "１２３４５６７８９") for index, digit in enumerate(digits)}
_RANKS = {digit: index for digits in ("123456789", "一二三四五六七八九") for index, digit in enumerate(digits)}
_BLACK_MARKS, _WHITE_MARKS = "▲▼☗", "△▽☖"
_MOVE = re.compile(
    rf"(?P<mark>[{_BLACK_MARKS}{_WHITE_MARKS}])"
    r"(?:(?P<file>[1-9１-９])(?P<rank>[1-9一二三四五六七八九])|同)[\s　]*"
    r"(?P<piece>成[香桂銀]|[歩香桂銀金角飛玉王と杏圭全馬龍竜])"
    r"(?P<marks>[右左直上行入引寄]*)(?P<how>不成|成|打|生)?"
)
_END = re.compile(r"まで[、\s]*[0-9０-９]+手(?:で)?(.*)")
_WINNER = re.compile(r"(先手|下手|後手|上手)の(?:勝ち|反則勝ち|入玉勝ち)")
_FOUL = re.compile(r"(先手|下手|後手|上手)の反則負け")
# The first word that occurs in the last line decides; those that hold another come before it.
_ENDINGS = (
    ("反則", Termination.ILLEGAL_MOVE), ("入玉勝ち", Termination.DECLARATION), ("千日手", Termination.REPETITION),
    ("持将棋", Termination.IMPASSE), ("時間切れ", Termination.TIME_UP), ("切れ負け", Termination.TIME_UP),
    ("最大手数", Termination.MAX_PLIES), ("中断", Termination.INTERRUPTED), ("不詰", Termination.NO_MATE),
    ("詰", Termination.MATE), ("引分", Termination.DRAW), ("引き分け", Termination.DRAW), ("勝ち", Termination.RESIGN),
    ("投了", Termination.RESIGN),
)  # fmt: skip
_DRAWN = (Termination.REPETITION, Termination.IMPASSE, Termination.MAX_PLIES, Termination.DRAW)


def read_ki2(text: str, name: str) -> Record:
    """The main line of a KI2 record.

    Raises:
        RecordError: It is damaged; IllegalMoveInRecordError if no legal move fits.
    """
    lines = text.replace("\r", "").split("\n")
    first = next((index for index, line in enumerate(lines) if _MOVE.match(line.strip())), len(lines))
    head = ["" if line.startswith(("*", "まで")) else line for line in lines[:first]]
    record = read_library_record("\n".join(head), Format.KIF, name)
    position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if stripped.startswith("変化"):
            break
        if line.startswith("*"):
            _add_comment(record, line[1:])
        elif found := _END.match(stripped):
            _read_end(record, found[1], position.turn)
        elif number > first and stripped and not line.startswith(("#", "&")):
            _read_moves(record, position, stripped, number)
    for played in record.moves:
        if played.comment:
            read_remarks(played.comment, played)
    return record


def _add_comment(record: Record, text: str) -> None:
    if not record.moves:
        record.comment = f"{record.comment}\n{text}" if record.comment else text
    else:
        last = record.moves[-1]
        last.comment = f"{last.comment}\n{text}" if last.comment else text


def _read_moves(record: Record, position: Position, line: str, number: int) -> None:
    at = 0
    while at < len(line):
        found = _MOVE.match(line, at)
        if found is None:
            raise RecordError(record.name, number, f"no move: {line[at : at + 40]!r}")
        move = _find_move(record, position, found, number)
        position.push(move)
        record.moves.append(RecordedMove(move))
        at = found.end()
        while at < len(line) and line[at].isspace():
            at += 1


def _find_move(record: Record, position: Position, found: re.Match[str], number: int) -> Move:
    ply = len(record) + 1
    text = found[0]
    if (found["mark"] in _BLACK_MARKS) != (position.turn == BLACK):
        raise RecordError(record.name, number, f"ply {ply}: a move of the wrong side: {text!r}")
    if found["file"]:
        target = _FILES[found["file"]] * 9 + _RANKS[found["rank"]]
    elif record.moves:
        target = record.moves[-1].move.to_square
    else:
        raise RecordError(record.name, number, f"ply {ply}: there is no move before {text!r}")
    piece = _PIECES[found["piece"]]
    candidates = [move for move in position.legal_moves if move.to_square == target]
    candidates = [move for move in candidates if _piece_of(position, move) == piece]
    candidates = [move for move in candidates if move.is_promotion == (found["how"] == "成")]
    from_board = [move for move in candidates if not move.is_drop]
    if found["how"] == "打" or not from_board:
        candidates = [move for move in candidates if move.is_drop]
    else:
        candidates = _narrow([_Origin.of(move, position.turn) for move in from_board], found["marks"], piece)
    if not candidates:
        raise IllegalMoveInRecordError(
            record.name, number, f"ply {ply}: illegal move {text!r}: no such move in {position.sfen()!r}"
        )
    if len(candidates) > 1:
        raise RecordError(record.name, number, f"ply {ply}: {text!r} may mean {', '.join(map(str, candidates))}")
    return candidates[0]


def _piece_of(position: Position, move: Move) -> PieceType | None:
    if move.from_square is None:
        return move.dropped
    piece = position.piece_on(move.from_square)
    return piece.type if piece is not None else None


class _Origin(NamedTuple):
    """Where a move comes from, as its player sees the board from the target."""

    move: Move
    right: int
    """Files to the right of the target; negative: to the left."""
    below: int
    """Ranks below the target; negative: above."""

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
                # Of two on the same side of the target it is the outer one that the mark means.
                outermost = max(sign * origin.right for origin in origins)
                beside = [origin for origin in origins if sign * origin.right == outermost]
            origins = beside
    return [origin.move for origin in origins]


def _read_end(record: Record, text: str, turn: Color) -> None:
    record.termination = next((ending for word, ending in _ENDINGS if word in text), Termination.OTHER)
    if foul := _FOUL.search(text):
        record.result = winner_is(_side(foul[1]).opponent)
    elif won := _WINNER.search(text):
        record.result = winner_is(_side(won[1]))
    elif record.termination in (Termination.MATE, Termination.RESIGN):
        record.result = winner_is(turn.opponent)
    elif record.termination in _DRAWN:
        record.result = Result.DRAW


def _side(word: str) -> Color:
    return BLACK if word in ("先手", "下手") else BLACK.opponent
