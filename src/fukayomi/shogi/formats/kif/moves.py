"""Moves as KIF and KI2 write them: ``７六歩(77)``, ``同　銀(31)``, ``５五角打``, ``２二角成(88)``, ``５八金右``."""

import re
from functools import lru_cache

from fukayomi.shogi.formats.notation import PIECE_NAMES, SQUARE_NAMES, MoveError, find_moves
from fukayomi.shogi.position import Move, PieceType, Position

PIECES = {name: piece for piece, name in PIECE_NAMES.items()} | {
    "王": PieceType.KING, "竜": PieceType.DRAGON, "杏": PieceType.PRO_LANCE, "圭": PieceType.PRO_KNIGHT,
    "全": PieceType.PRO_SILVER,
}  # fmt: skip
"""The piece of each name in a move."""
FILES = {digit: index for digits in ("123456789", "１２３４５６７８９") for index, digit in enumerate(digits)}
"""The file of each digit, from 0."""
RANKS = {
    digit: index
    for digits in ("123456789", "１２３４５６７８９", "一二三四五六七八九")
    for index, digit in enumerate(digits)
}
"""The rank of each digit, from 0."""

JAPANESE = (
    r"(?:(?P<file>[1-9１-９])(?P<rank>[1-9１-９一二三四五六七八九])|同)[\s　、]*"
    r"(?P<piece>成[香桂銀]|[歩香桂銀金角飛玉王と杏圭全馬龍竜])"
    r"(?P<marks>[右左直上行入引寄]*)(?:(?P<how>不成|成|生|打|不?ナリ|不?なり|ナラズ|ならず)り?)?[\s　]*"
    r"(?:[(（](?P<from_file>[0-9０-９])(?P<from_rank>[0-9０-９])[)）])?"
)
"""A move without the mark of its side."""
MOVE = re.compile(rf"[\s　]*(?P<number>[0-9０-９]{{1,6}})[\s　]+(?P<move>[▲△▼▽☗☖⛊⛉]?{JAPANESE})[\s　]*(?P<rest>.*)")
"""A line of KIF with a move."""
_DROPPED = 80  # raw moves have 80 + piece type as the origin of a drop
_PROMOTION = 1 << 14

move_from_raw = lru_cache(maxsize=1 << 15)(Move.from_raw)  # more than all possible moves


def target_of(found: re.Match[str], last: int | None) -> int | None:
    """The square that a move goes to.

    Args:
        found: The move.
        last: Target of the move before, for 同.
    """
    return FILES[found["file"]] * 9 + RANKS[found["rank"]] if found["file"] else last


def how_of(found: re.Match[str]) -> str | None:
    """打, 成, or something else for neither."""
    return "成" if found["how"] in ("ナリ", "なり") else found["how"]


def is_drop(found: re.Match[str]) -> bool:
    """True if a move says that it is a drop."""
    return found["how"] == "打" or (found["from_file"] is not None and int(found["from_file"]) == 0)


def origin_of(found: re.Match[str]) -> int | None:
    """The square that a move comes from, if it says so and there is such a square."""
    if found["from_file"] is None or "0" in (str(int(found["from_file"])), str(int(found["from_rank"]))):
        return None
    return (int(found["from_file"]) - 1) * 9 + int(found["from_rank"]) - 1


def read_move(found: re.Match[str], position: Position, last: int | None) -> Move:
    """The move that a text means. It may be illegal if it has an origin or is a drop.

    Args:
        found: The move.
        position: Position before the move.
        last: Target of the move before, for 同.

    Raises:
        MoveError: There is no such move; the message says why.
    """
    target = target_of(found, last)
    if target is None:
        raise MoveError("there is no move before it")
    piece = PIECES[found["piece"]]
    if is_drop(found):
        if piece > PieceType.GOLD:
            raise MoveError("a piece in hand is not promoted, and the king is never in hand")
        return move_from_raw(target | (_DROPPED + piece) << 7)
    if found["from_file"] is None:
        return _only_move(find_moves(position, target, piece, found["marks"], how_of(found)))
    square = f"{int(found['from_file'])}{int(found['from_rank'])}"
    origin = origin_of(found)
    if origin is None:
        raise MoveError(f"there is no square {square}")
    standing = position.piece_on(origin)
    if standing is None:
        raise MoveError(f"there is no piece on {square}")
    if standing.type != piece:
        raise MoveError(f"there is {PIECE_NAMES[standing.type]} on {square}")
    if origin == target:
        raise MoveError("it does not move")
    return move_from_raw(target | origin << 7 | (_PROMOTION if how_of(found) == "成" else 0))


def _only_move(moves: list[Move]) -> Move:
    if not moves:
        raise MoveError("")
    if len(moves) > 1:
        raise MoveError(f"may mean {', '.join(map(str, moves))}", is_illegal=False)
    return moves[0]


def write_move(move: Move, piece: PieceType, last: int | None) -> str:
    """A move as KIF writes it.

    Args:
        move: The move.
        piece: The piece that moves or is dropped.
        last: Target of the move before, for 同.
    """
    square = "同　" if move.to_square == last else SQUARE_NAMES[move.to_square]
    name = f"{square}{PIECE_NAMES[piece]}"
    if move.from_square is None:
        return f"{name}打"
    file, rank = divmod(move.from_square, 9)
    return f"{name}{'成' if move.is_promotion else ''}({file + 1}{rank + 1})"
