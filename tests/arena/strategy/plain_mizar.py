"""Mizar's definitions, read and checked without the package's reader and matcher: every entry after every ply.

It follows what the program they were written for does with them (sylwi-kifu-vue, src/modules/castle.ts), but that a
captured promoted piece counts as the piece in hand that it becomes. An entry is found once. One that a tag excludes is
found as well, and not shown.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from fukayomi.shogi import Color, Move, Piece, PieceType, Position

LETTERS = dict(zip("PLNSGBRK", ("FU", "KY", "KE", "GI", "KI", "KA", "HI", "OU"), strict=True))
TYPES = {
    "FU": PieceType.PAWN, "KY": PieceType.LANCE, "KE": PieceType.KNIGHT, "GI": PieceType.SILVER,
    "KI": PieceType.GOLD, "KA": PieceType.BISHOP, "HI": PieceType.ROOK, "OU": PieceType.KING,
}  # fmt: skip


def expanded(entries: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """An entry per side, White's turned around the centre; with noturn the entry itself."""
    for entry in entries:
        name = entry["name"]["ja_JP"]
        if entry.get("noturn"):
            yield entry | {"name": name}
            continue
        for prefix, side in (("SENTE_", "先手"), ("GOTE_", "後手")):
            own = entry | {"id": prefix + entry["id"], "name": side + name}
            for key in ("tags_required", "tags_exclude", "tags_disable"):
                own[key] = [prefix + tag for tag in entry.get(key, ())]
            for key in ("pieces", "moves", "capture", "hand", "hand_exclude"):
                own[key] = [turned(text) if side == "後手" else text for text in entry.get(key, ())]
            yield own


def turned(text: str) -> str:
    piece, star, squares = text.partition("*")
    for letter in squares.rstrip("+"):
        star += "abcdefghi"[::-1]["abcdefghi".index(letter)] if letter.isalpha() else str(10 - int(letter))
    return piece.swapcase() + star + "+" * squares.endswith("+")


def same(piece: Piece | None, letters: str) -> bool:
    """Whether a piece of the board is the one that letters such as +R, k or _ name."""
    if piece is None or letters == "_":
        return piece is None and letters == "_"
    is_black, kind = letters.isupper(), TYPES[LETTERS[letters[-1].upper()]]
    side = Color.BLACK if is_black else Color.WHITE
    return piece.color is side and piece.type.unpromoted is kind and piece.type.is_promoted is letters.startswith("+")


def in_hand(position: Position, letter: str) -> bool:
    owner = Color.BLACK if letter.isupper() else Color.WHITE
    return TYPES[LETTERS[letter.upper()]] in position.hand(owner)


def square(name: str) -> int:
    return Move.from_usi(f"P*{name}").to_square


def holds(entry: dict[str, Any], position: Position, last: tuple[str, PieceType | None], ply: int, found: Any) -> bool:
    move, captured = last
    kinds = [TYPES[LETTERS[letter[-1].upper()]] for letter in entry.get("capture", ())]
    return (
        "special" not in entry
        and entry.get("tesuu_min", 0) <= ply <= entry["tesuu_max"]
        and entry["id"] not in found
        and all(tag in found for tag in entry.get("tags_required", ()))
        and all(same(position.piece_on(square(t[-2:])), t.split("*")[0]) for t in entry.get("pieces", ()))
        and all(in_hand(position, letter) for letter in entry.get("hand", ()))
        and not any(in_hand(position, letter) for letter in entry.get("hand_exclude", ()))
        and (not entry.get("moves") or move in entry["moves"])
        and (not kinds or captured in kinds)
    )


def shown(entries: Sequence[dict[str, Any]], moves: Sequence[Move]) -> dict[str, int]:
    """The names of the strategies of a game from the start position with their plies."""
    known, position = list(expanded(entries)), Position()
    found: dict[str, int] = {}
    hidden: set[str] = set()
    names = {entry["id"]: entry["name"] for entry in known}
    last: tuple[str, PieceType | None] = ("", None)
    for ply in range(len(moves) + 1):
        if ply:
            last = play(position, moves[ply - 1])
        for entry in known:
            if holds(entry, position, last, ply, found):
                hidden |= {tag for tag in entry.get("tags_disable", ()) if tag in found}
                if entry.get("hide") or any(tag in found for tag in entry.get("tags_exclude", ())):
                    hidden.add(entry["id"])
                found[entry["id"]] = ply
    return {names[tag]: ply for tag, ply in found.items() if tag not in hidden}


def play(position: Position, move: Move) -> tuple[str, PieceType | None]:
    """The move as the file writes it, and the captured piece."""
    start, taken = move.from_square, position.piece_on(move.to_square)
    piece = None if start is None else position.piece_on(start)
    position.push(move)
    if piece is None:
        return "", None
    letter = next(letter for letter, csa in LETTERS.items() if TYPES[csa] is piece.type.unpromoted)
    text = "+" * piece.type.is_promoted + (letter if piece.color is Color.BLACK else letter.lower())
    return f"{text}*{move.usi()}", None if taken is None else taken.type.unpromoted
