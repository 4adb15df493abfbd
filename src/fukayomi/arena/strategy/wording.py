"""Definitions in words, for docs/strategies.md and ``fukayomi strategy --list``."""

from collections.abc import Iterable, Sequence

from fukayomi.arena.strategy.definitions import WHITE_PIECE, Definition, Kept, Placed, Played, Shape, Side
from fukayomi.shogi import PieceType, square_name

_DROPS_FROM = 81
_OUTBREAK = "nothing but pawns and bishops captured so far"


def describe(definition: Definition) -> tuple[str, ...]:
    """Each shape in words, from Black's view; the shapes are alternatives."""
    return tuple(_describe(shape, definition.side) for shape in definition.when)


def _describe(shape: Shape, side: Side) -> str:
    parts = [
        *_listed("the move ", [_played(move) for move in shape.moves], " or "),
        *_listed("it captures a ", [_name(kept.piece) for kept in shape.captures], " or "),
        *_listed("", [_placed(one) for one in shape.pieces], ", "),
        *(" or ".join(_placed(one) for one in group) for group in shape.any),
        *_listed("none of ", [_placed(one) for one in shape.none], ", "),
        *_listed("in hand: ", [_kept(kept) for kept in shape.hand], ", "),
        *_listed("not in hand: ", [_kept(kept) for kept in shape.no_hand], ", "),
        *_tags(shape.requires, "Black" if side is Side.GAME else "the side", "has"),
        *_tags(shape.opponent_requires, "White" if side is Side.GAME else "the opponent", "has"),
        *_tags(shape.excludes, "Black" if side is Side.GAME else "the side", "does not have"),
        *_tags(shape.opponent_excludes, "White" if side is Side.GAME else "the opponent", "does not have"),
        *([_OUTBREAK] if shape.before_outbreak else []),
        f"ply {shape.min_ply} to {shape.max_ply}" if shape.min_ply > 1 else f"up to ply {shape.max_ply}",
    ]
    return "; ".join(parts)


def _listed(before: str, words: Sequence[str], between: str) -> list[str]:
    return [before + between.join(words)] if words else []


def _tags(names: Iterable[str], who: str, verb: str) -> list[str]:
    listed = (", " if verb == "has" else " or ").join(names)
    return [f"{who} {verb} {listed}"] if listed else []


def _name(piece: int) -> str:
    return PieceType(piece % WHITE_PIECE).name.lower().replace("_", " ")


def _kept(kept: Kept) -> str:
    return _name(kept.piece) if kept.piece < WHITE_PIECE else f"the opponent's {_name(kept.piece)}"


def _placed(one: Placed) -> str:
    square = square_name(one.square)
    if not one.piece:
        return f"{square} empty"
    return f"{_name(one.piece)} {square}" if one.piece < WHITE_PIECE else f"the opponent's {_name(one.piece)} {square}"


def _played(move: Played) -> str:
    start, to = move.raw >> 7 & 127, square_name(move.raw & 127)
    if start >= _DROPS_FROM:
        return f"{_name(move.piece)} dropped on {to}"
    return f"{_name(move.piece)} {square_name(start)}-{to}{' promoting' if move.raw >> 14 else ''}"
