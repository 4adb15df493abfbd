"""KI2 records and moves in Japanese notation, as books and magazines print them (``▲５八金右``).

Of the legal moves of a piece to a square, the notation chooses one: 打 a drop, 成 or 不成 a promotion or none, 上 引 寄
the direction, 右 左 直 the side of the origin, all from the player's view.
"""

import re
from typing import NamedTuple

from fukayomi.shogi.formats.kif import read_kif
from fukayomi.shogi.formats.remarks import read_remarks
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
# The first of these words that occurs in the last line decides; a word that contains another comes before it.
_ENDINGS = (
    ("反則", Termination.ILLEGAL_MOVE), ("入玉勝ち", Termination.DECLARATION), ("千日手", Termination.REPETITION),
    ("持将棋", Termination.IMPASSE), ("時間切れ", Termination.TIME_UP), ("切れ負け", Termination.TIME_UP),
    ("最大手数", Termination.MAX_PLIES), ("中断", Termination.INTERRUPTED), ("不詰", Termination.NO_MATE),
    ("詰", Termination.MATE), ("引分", Termination.DRAW), ("引き分け", Termination.DRAW), ("勝ち", Termination.RESIGN),
    ("投了", Termination.RESIGN),
)  # fmt: skip
_DRAWN = (Termination.REPETITION, Termination.IMPASSE, Termination.MAX_PLIES, Termination.DRAW)


def read_ki2(text: str, name: str) -> Record:
    """Read the main line of a KI2 record.

    Raises:
        IllegalMoveInRecordError: No legal move fits.
        RecordError: The record is damaged.
    """
    lines = text.replace("\r", "").split("\n")
    first = next((index for index, line in enumerate(lines) if _MOVE.match(line.strip())), len(lines))
    head = ["" if line.startswith(("*", "まで")) else line for line in lines[:first]]
    record = read_kif("\n".join(head), name)
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
            raise RecordError(record.name, number, f"not a move: {line[at : at + 40]!r}")
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
        raise RecordError(record.name, number, f"ply {ply}: {text!r} is a move of the wrong side")
    if not found["file"] and not record.moves:
        raise RecordError(record.name, number, f"ply {ply}: there is no move before {text!r}")
    candidates = _candidates(position, found)
    if not candidates:
        raise IllegalMoveInRecordError(
            record.name, number, f"ply {ply}: illegal move {text!r}: no such move in {position.sfen()!r}"
        )
    if len(candidates) > 1:
        raise RecordError(record.name, number, f"ply {ply}: {text!r} may mean {', '.join(map(str, candidates))}")
    return candidates[0]


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
    target = _FILES[found["file"]] * 9 + _RANKS[found["rank"]] if found["file"] else position.peek().to_square
    piece = _PIECES[found["piece"]]
    candidates = [move for move in position.legal_moves if move.to_square == target]
    candidates = [move for move in candidates if _piece_of(position, move) == piece]
    candidates = [move for move in candidates if move.is_promotion == (found["how"] == "成")]
    from_board = [move for move in candidates if not move.is_drop]
    if found["how"] == "打" or not from_board:
        return [move for move in candidates if move.is_drop]
    return _narrow([_Origin.of(move, position.turn) for move in from_board], found["marks"], piece)


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
