"""A matcher without an index: every shape is checked after every move.

It plays the moves with `Position` and shares no code with the matcher of the package.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fukayomi.arena.strategy.definitions import EMPTY, WHITE_PIECE, Definition, Kept, Placed, Played, Shape, Side
from fukayomi.shogi import START_SFEN, Color, Move, Piece, PieceType, Position

Label = tuple[str, Color | None]
T = TypeVar("T", Placed, Played, Kept)


@dataclass
class Step:
    """What a move did."""

    ply: int
    played: Played | None
    arrived: Placed | None
    left: Placed | None
    captured: int


def number(piece: Piece | None) -> int:
    return EMPTY if piece is None else piece.type + (WHITE_PIECE if piece.color is Color.WHITE else 0)


def classify_plainly(definitions: Sequence[Definition], initial_sfen: str, moves: Sequence[Move]) -> dict[Label, int]:
    """The tags of a game with their plies, helpers and hidden ones included."""
    position = Position.from_sfen(initial_sfen)
    known = {definition.name: definition for definition in definitions}
    fired: dict[Label, int] = {}
    quiet = all(kind in (PieceType.PAWN, PieceType.BISHOP) for color in Color for kind in position.hand(color))
    step = Step(position.ply - 1, None, None, None, 0)
    if position.sfen() != START_SFEN:
        fire(definitions, known, position, step, quiet, fired)
    for move in moves:
        step = play(position, move)
        quiet = quiet and step.captured % WHITE_PIECE in (0, PieceType.PAWN, PieceType.BISHOP)
        fire(definitions, known, position, step, quiet, fired)
    return fired


def play(position: Position, move: Move) -> Step:
    ply, turn = position.ply, position.turn
    side = WHITE_PIECE if turn is Color.WHITE else 0
    start, taken = move.from_square, position.piece_on(move.to_square)
    moved = move.dropped + side if move.dropped is not None else number(position.piece_on(start or 0))
    position.push(move)
    return Step(
        ply,
        Played(moved, move.raw),
        Placed(number(position.piece_on(move.to_square)), move.to_square),
        None if start is None else Placed(EMPTY, start),
        0 if taken is None else taken.type.unpromoted + side,
    )


def fire(
    definitions: Sequence[Definition],
    known: dict[str, Definition],
    position: Position,
    step: Step,
    quiet: bool,
    fired: dict[Label, int],
) -> None:
    """Look at all shapes; then, as long as there are new tags, at those that ask for one of the new."""
    new: set[Label] | None = None
    while new is None or new:
        last, new = new, set[Label]()
        for definition in definitions:
            for shape in definition.when:
                for color in Color:
                    label = (definition.name, None if definition.side is Side.GAME else color)
                    wanted = set(tags(known, shape.requires, color))
                    wanted |= set(tags(known, shape.opponent_requires, color.opponent))
                    is_woken = wakes(shape, color, step) if last is None else bool(wanted & last) and waits(shape)
                    if label in fired or not is_woken or not wanted <= fired.keys():
                        continue
                    ruled_out = [*tags(known, shape.excludes, color)]
                    ruled_out += tags(known, shape.opponent_excludes, color.opponent)
                    if any(tag in fired for tag in ruled_out):
                        continue
                    if stands(shape, color, position, step, quiet):
                        fired[label] = step.ply
                        new.add(label)


def tags(known: dict[str, Definition], names: Sequence[str], color: Color) -> Iterator[Label]:
    for name in names:
        yield name, None if known[name].side is Side.GAME else color


def waits(shape: Shape) -> bool:
    return not shape.moves and not shape.captures


def seen(items: Sequence[T], color: Color) -> list[T]:
    return [item if color is Color.BLACK else item.mirrored() for item in items]


def wakes(shape: Shape, color: Color, step: Step) -> bool:
    if step.played is None:
        return waits(shape)
    if shape.moves:
        return step.played in seen(shape.moves, color)
    taken = [kept.piece for kept in seen(shape.captures or shape.hand, color)]
    if shape.captures:
        return step.captured in taken
    placed = [*shape.pieces, *(one for group in shape.any for one in group)]
    return any(one in (step.arrived, step.left) for one in seen(placed, color)) or step.captured in taken


def stands(shape: Shape, color: Color, position: Position, step: Step, quiet: bool) -> bool:
    """Whether all holds that can be seen on the board and in the hands."""
    captures = [kept.piece for kept in seen(shape.captures, color)]
    return (not captures or step.captured in captures) and not unmet(shape, color, position, step.ply, quiet)


def unmet(shape: Shape, color: Color, position: Position, ply: int, quiet: bool) -> int:
    """How many of a shape's conditions about the position do not hold."""

    def has(one: Placed) -> bool:
        return number(position.piece_on(one.square)) == one.piece

    def holds(kept: Kept) -> bool:
        owner = Color.WHITE if kept.piece >= WHITE_PIECE else Color.BLACK
        return PieceType(kept.piece % WHITE_PIECE) in position.hand(owner)

    return sum(
        (
            not shape.min_ply <= ply <= shape.max_ply,
            shape.before_outbreak and not quiet,
            *(not has(one) for one in seen(shape.pieces, color)),
            *(not any(has(one) for one in seen(group, color)) for group in shape.any),
            *(has(one) for one in seen(shape.none, color)),
            *(not holds(kept) for kept in seen(shape.hand, color)),
            *(holds(kept) for kept in seen(shape.no_hand, color)),
        )
    )


def nearest_miss(definition: Definition, definitions: Sequence[Definition], moves: Sequence[Move]) -> int:
    """How many conditions of a definition are unmet, for Black, after the move of a game that comes nearest to it.

    A move or capture that it asks for, and that was not just made, counts as two unless its piece stands ready.
    """
    known = {one.name: one for one in definitions}
    fired = classify_plainly(definitions, START_SFEN, moves)
    position, quiet, best = Position(), True, 99
    for move in moves:
        step = play(position, move)
        quiet = quiet and step.captured % WHITE_PIECE in (0, PieceType.PAWN, PieceType.BISHOP)
        so_far = {label for label, ply in fired.items() if ply <= step.ply}
        for shape in definition.when:
            wanted = set(tags(known, shape.requires, Color.BLACK))
            wanted |= set(tags(known, shape.opponent_requires, Color.WHITE))
            ruled_out = set(tags(known, shape.excludes, Color.BLACK))
            ruled_out |= set(tags(known, shape.opponent_excludes, Color.WHITE))
            missing = unmet(shape, Color.BLACK, position, step.ply, quiet)
            missing += len(wanted - so_far) + len(ruled_out & so_far)
            if shape.moves and step.played not in shape.moves:
                missing += 1 if any(stands_ready(position, one) for one in shape.moves) else 2
            elif shape.captures and step.captured not in [kept.piece for kept in shape.captures]:
                missing += 1
            best = min(best, missing)
    return best


def stands_ready(position: Position, move: Played) -> bool:
    """Whether the piece of a move stands where it begins or, come otherwise, where it ends."""
    start, to = move.raw >> 7 & 127, move.raw & 127
    if start >= 81:
        return PieceType(move.piece) in position.hand(Color.BLACK)
    return any(number(position.piece_on(square)) == move.piece for square in (start, to))
