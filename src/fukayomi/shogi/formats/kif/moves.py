"""Moves as KIF writes them: ``７六歩(77)``, ``同　銀(31)``, ``５五角打``, ``２二角成(88)``."""

import re
from functools import lru_cache

from fukayomi.shogi.formats.notation import PIECE_NAMES, SQUARE_NAMES
from fukayomi.shogi.position import Move, PieceType, Position, square_from_usi, square_name

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

MOVE = re.compile(
    r"[\s　]*([0-9０-９]{1,6})[\s　]+"  # 1 number
    r"([▲△▼▽☗☖]?(?:([1-9１-９])([1-9１-９一二三四五六七八九])|同)[\s　]*"  # 2 the move; 3 file, 4 rank
    r"(成[香桂銀]|[歩香桂銀金角飛玉王と杏圭全馬龍竜])[右左直上行入引寄]*(不成|成|生|打)?[\s　]*"  # 5 piece, 6 how
    r"(?:[(（]([0-9])([0-9])[)）])?)[\s　]*(.*)"  # 7, 8 origin; 9 the rest
)
"""A line with a move."""
_DROPPED = 80  # raw moves have 80 + piece type as the origin of a drop
_PROMOTION = 1 << 14

move_from_raw = lru_cache(maxsize=1 << 15)(Move.from_raw)  # more than all possible moves


def read_move(found: re.Match[str], position: Position, last: int | None) -> Move | str:
    """The move of a line that `MOVE` matches, legal or not; a text says why there is no such move.

    Args:
        found: The line.
        position: Position before the move.
        last: Target of the move before, for 同.
    """
    _, _, file, rank, name, how, from_file, from_rank, _ = found.groups()
    if file is not None:
        target = FILES[file] * 9 + RANKS[rank]
    elif last is not None:
        target = last
    else:
        return "there is no move before it"
    piece = PIECES[name]
    if how == "打" or from_file is None or from_file == "0":
        if piece > PieceType.GOLD:
            return "a piece in hand is not promoted, and the king is never in hand"
        return move_from_raw(target | (_DROPPED + piece) << 7)
    if from_rank == "0":
        return f"there is no square {from_file}{from_rank}"
    origin = FILES[from_file] * 9 + RANKS[from_rank]
    standing = position.piece_on(origin)
    if standing is None:
        return f"there is no piece on {from_file}{from_rank}"
    if standing.type != piece:
        return f"there is {PIECE_NAMES[standing.type]} on {from_file}{from_rank}"
    if origin == target:
        return "it does not move"
    return move_from_raw(target | origin << 7 | (_PROMOTION if how == "成" else 0))


def illegal_usi(found: re.Match[str], position: Position, last: int | None) -> str:
    """The illegal move of a line in USI; empty if it has no USI form, or if only its piece is wrong."""
    _, _, file, rank, name, how, from_file, from_rank, _ = found.groups()
    target = FILES[file] * 9 + RANKS[rank] if file is not None else last
    piece = PIECES[name]
    if target is None:
        return ""
    if how == "打" or from_file is None or from_file == "0":
        return f"{'?PLNSBRG'[piece]}*{square_name(target)}" if piece <= PieceType.GOLD else ""
    if from_rank == "0":
        return ""
    origin = FILES[from_file] * 9 + RANKS[from_rank]
    usi = f"{square_name(origin)}{square_name(target)}{'+' if how == '成' else ''}"
    is_legal = origin != target and position.is_legal(Move.from_usi(usi))
    return "" if is_legal else usi


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


_USI = re.compile(r"(?:([1-9])([a-i])|([PLNSGBR])\*)([1-9])([a-i])(\+?)")
_CSA = re.compile(r"[+-]?(?:([1-9])([1-9])|00)([1-9])([1-9])([A-Z]{2})")
_CSA_PIECES: dict[str, PieceType] = dict(
    zip(("FU", "KY", "KE", "GI", "KA", "HI", "KI", "OU", "TO", "NY", "NK", "NG", "UM", "RY"), PieceType, strict=True)
)


def illegal_move_text(text: str, position: Position, last: int | None) -> str | None:
    """An illegal move of USI or CSA as KIF writes it; None if KIF cannot express it.

    Args:
        text: The move.
        position: Position before it.
        last: Target of the move before, for 同.
    """
    if found := _USI.fullmatch(text):
        file, rank, dropped, to_file, to_rank, promotion = found.groups()
        origin = square_from_usi(file + rank) if file else None
        target = square_from_usi(to_file + to_rank)
        piece = PieceType("?PLNSBRG".index(dropped)) if dropped else None
        is_promotion = promotion == "+"
    elif found := _CSA.fullmatch(text):
        file, rank, to_file, to_rank, name = found.groups()
        origin = (int(file) - 1) * 9 + int(rank) - 1 if file else None
        target = (int(to_file) - 1) * 9 + int(to_rank) - 1
        piece = _CSA_PIECES.get(name)
        is_promotion = False
    else:
        return None
    square = "同　" if target == last else SQUARE_NAMES[target]
    if origin is None:
        is_known = piece is not None and piece <= PieceType.GOLD
        return f"{square}{PIECE_NAMES[piece]}打" if piece is not None and is_known else None
    standing = position.piece_on(origin)
    if standing is None:
        return None
    if piece is not None and piece != standing.type:
        is_promotion = piece == standing.type + 8
        if not is_promotion:
            return None
    move = f"{square}{PIECE_NAMES[standing.type]}{'成' if is_promotion else ''}({origin // 9 + 1}{origin % 9 + 1})"
    return move
