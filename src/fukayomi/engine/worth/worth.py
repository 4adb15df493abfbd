"""Worth of each piece: the value of a position less its value without the piece.

    >>> from fukayomi import Network, Position
    >>> from fukayomi.engine.worth.worth import piece_worth
    >>> with Network() as network:
    ...     worth = piece_worth(Position(), network)
    >>> max(worth.pieces, key=lambda each: each.worth_cp or 0).piece.letter in "BR"
    True

A network gives the value of each reduced position, whose input is computed anew, so that attacks and checks change
too. There is no search. The idea is TadaoYamaoka's.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, Literal

from fukayomi._native import centipawns
from fukayomi.engine.network import Network
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import BLACK, WHITE, Color, InvalidSfenError, Move, PieceType, Position, square_name
from fukayomi.shogi.formats.notation import PIECE_NAMES, SQUARE_NAMES
from fukayomi.tabular import Tabular

_LETTERS = {
    PieceType.ROOK: "R", PieceType.BISHOP: "B", PieceType.GOLD: "G", PieceType.SILVER: "S", PieceType.KNIGHT: "N",
    PieceType.LANCE: "L", PieceType.PAWN: "P",
}  # fmt: skip
"""Kinds of pieces in SFEN, in the order of its hands."""


@dataclass(frozen=True, slots=True)
class PlacedPiece:
    """A piece on the board, or all pieces of a kind that a side has in hand."""

    color: Color
    type: PieceType
    square: int | None
    """0 to 80; None: in hand."""
    count: int = 1
    """Number of pieces; more than one only in hand."""

    @property
    def place(self) -> str:
        """Its place: the square in USI notation, or the piece as USI drops it: ``4h``; ``P*`` in Black's hand, ``p*``
        in White's."""
        if self.square is not None:
            return square_name(self.square)
        letter = _LETTERS[self.type]
        return f"{letter if self.color == BLACK else letter.lower()}*"

    @property
    def letter(self) -> str:
        """The kind of piece in SFEN, as Black's: ``P``, ``+R``."""
        letter = _LETTERS[self.type.unpromoted]
        return f"+{letter}" if self.type.is_promoted else letter

    @property
    def japanese(self) -> str:
        """Its name with side and place: ☗４八金, ☖持駒歩３."""
        mark, name = "☗" if self.color == BLACK else "☖", PIECE_NAMES[self.type]
        if self.square is not None:
            return f"{mark}{SQUARE_NAMES[self.square]}{name}"
        return f"{mark}持駒{name}{self.count if self.count > 1 else ''}"


def pieces_of(position: Position) -> list[PlacedPiece]:
    """The pieces of both sides without the kings: those on the board by square, then the hands."""
    placed = [
        PlacedPiece(piece.color, piece.type, square)
        for square, piece in position.pieces().items()
        if piece.type != PieceType.KING
    ]
    for color in (BLACK, WHITE):
        hand = position.hand(color)
        placed += [PlacedPiece(color, kind, None, hand[kind]) for kind in _LETTERS if kind in hand]
    return placed


def without(position: Position, pieces: Iterable[PlacedPiece]) -> Position | None:
    """The position without some of its pieces, and without its past; None if it is illegal, because the side that is
    not to move would be in check."""
    taken = set(pieces)
    board, turn, _, ply = position.sfen().split()
    squares = {piece.square for piece in taken}
    ranks: list[str] = []
    for rank, text in enumerate(board.split("/")):
        cells = [
            cell
            for token in re.findall(r"\+?[a-zA-Z]|\d", text)
            for cell in ([""] * int(token) if token.isdigit() else [token])
        ]
        kept = ["" if (8 - column) * 9 + rank in squares else cell for column, cell in enumerate(cells)]
        ranks.append(re.sub("1+", lambda empty: str(len(empty[0])), "".join(cell or "1" for cell in kept)))
    hands = "".join(
        f"{piece.count if piece.count > 1 else ''}{piece.place[0]}"
        for piece in pieces_of(position)
        if piece.square is None and piece not in taken
    )
    try:
        return Position.from_sfen(f"{'/'.join(ranks)} {turn} {hands or '-'} {ply}", allow_missing_king=True)
    except InvalidSfenError:
        return None


View = Literal["worth", "relative", "change"]
VIEWS: Final[tuple[View, ...]] = ("worth", "relative", "change")
MOST_TOGETHER: Final = 6
"""Pieces of a chosen set; a set of six has 57 combinations."""
_SUREST = 1 - 2**-24
"""The highest win rate below 1 that a float32 has: at 1 a difference in centipawns would mean nothing."""


@dataclass(frozen=True, slots=True)
class PieceWorth:
    """Worth of a piece to its owner; all pieces of a kind in hand count together.

    Values are None where the position without the piece is illegal, because the side that is not to move would be in
    check. They are positive where the owner is better off with the piece.
    """

    piece: PlacedPiece
    worth_cp: int | None
    """Centipawns: a difference of logits, so that it means the same in even and in decided positions."""
    worth_winrate: float | None
    """The difference in win rate, -1 to 1."""
    relative_cp: float | None = None
    """For each piece, less the average of its kind in the position, both sides together (働き); None where it is the
    only one."""
    change_cp: int | None = None
    """Less its worth before the last ply; None for a piece that was not there or had no value, and in a hand that
    changed."""

    def cp_of(self, view: View) -> float | None:
        """The centipawns that a picture shows."""
        return {"worth": self.worth_cp, "relative": self.relative_cp, "change": self.change_cp}[view]


@dataclass(frozen=True, slots=True)
class TogetherWorth:
    """Worth of several pieces together; values are None where the position without them is illegal."""

    pieces: tuple[PlacedPiece, ...]
    color: Color
    """The side that the values are for: the owner, or Black if the pieces are not all of one side."""
    worth_cp: int | None
    worth_winrate: float | None
    sum_cp: int | None
    """Sum of what the pieces are worth one by one."""

    @property
    def extra_cp(self) -> int | None:
        """Worth of the pieces together less their worth one by one: below 0 where each can do the other's work."""
        return None if self.worth_cp is None or self.sum_cp is None else self.worth_cp - self.sum_cp


@dataclass(frozen=True, eq=False, repr=False)
class PositionWorth(Tabular):
    """Worth of each piece of a position. As a table it has one row for each piece, the most valuable first."""

    position: Position
    winrate: float
    """Black's, 0 to 1."""
    cp: int
    """Centipawns, from Black's side."""
    pieces: tuple[PieceWorth, ...]
    """On the board by square, then in Black's and in White's hand; no kings."""
    together: tuple[TogetherWorth, ...]
    """The combinations of the chosen pieces, the smaller ones first."""
    network: str
    """The network that gave the values."""

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row for each piece: name, place, and values."""
        known = sorted(self.pieces, key=lambda each: -(each.worth_cp if each.worth_cp is not None else -(10**6)))
        return [
            {
                "piece": each.piece.japanese,
                "place": each.piece.place,
                "worth_cp": each.worth_cp,
                "worth_win_rate": each.worth_winrate,
                "relative_cp": each.relative_cp,
                "change_cp": each.change_cp,
            }
            for each in known
        ]

    def combinations(self) -> "Combinations":
        """The combinations of the chosen pieces as a table."""
        return Combinations(self.together)

    def to_dict(self) -> dict[str, Any]:
        """The document that ``fukayomi worth --json`` prints; the position's score is from Black's side."""
        return {
            "sfen": self.position.sfen(),
            "ply": self.position.ply - 1,
            "network": self.network,
            "win_rate": round(self.winrate, 5),
            "cp": self.cp,
            "pieces": [
                {
                    **_named(each.piece),
                    "worth_cp": each.worth_cp,
                    "worth_win_rate": _rounded(each.worth_winrate),
                    "relative_cp": _rounded(each.relative_cp, 1),
                    "change_cp": each.change_cp,
                }
                for each in self.pieces
            ],
            "together": [
                {
                    "pieces": [piece.place for piece in each.pieces],
                    "japanese": [piece.japanese for piece in each.pieces],
                    "color": _color_name(each.color),
                    "worth_cp": each.worth_cp,
                    "worth_win_rate": _rounded(each.worth_winrate),
                    "sum_cp": each.sum_cp,
                    "extra_cp": each.extra_cp,
                }
                for each in self.together
            ],
        }

    def __repr__(self) -> str:
        return f"<PositionWorth of {self.position.sfen()}>"


@dataclass(frozen=True, eq=False, repr=False)
class Combinations(Tabular):
    """Worth of several pieces together, a row for each combination."""

    together: tuple[TogetherWorth, ...]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row for each combination: the pieces, the value together, one by one added up, and the difference."""
        return [
            {
                "pieces": " ".join(piece.japanese for piece in each.pieces),
                "worth_cp": each.worth_cp,
                "worth_win_rate": each.worth_winrate,
                "sum_cp": each.sum_cp,
                "extra_cp": each.extra_cp,
            }
            for each in self.together
        ]


@dataclass(frozen=True, eq=False, repr=False)
class WorthComparison(Tabular):
    """Two positions: a row for each piece that stands on the same square in both, the greatest difference first."""

    first: PositionWorth
    second: PositionWorth

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row for each piece: its worth in both positions, and the second less the first (centipawns)."""
        later = {each.piece: each.worth_cp for each in self.second.pieces}
        both = [(each, later[each.piece]) for each in self.first.pieces if each.piece in later]
        differences = [
            (each.piece, each.worth_cp, cp, None if cp is None or each.worth_cp is None else cp - each.worth_cp)
            for each, cp in both
        ]
        return [
            {
                "piece": piece.japanese,
                "place": piece.place,
                "first_cp": before,
                "second_cp": after,
                "difference_cp": difference,
            }
            for piece, before, after, difference in sorted(differences, key=lambda each: -abs(each[3] or 0))
        ]


def piece_worth(position: Position, network: Network, *, together: Iterable[str] = ()) -> PositionWorth:
    """Compute what each piece of a position is worth to a network.

    All positions are evaluated at once: without each piece, without each combination of the chosen ones, and the same
    before the last ply, if `position` knows it.

    Args:
        position: The position, which may lack a king, as mate problems do; its moves give the change since the last
            ply.
        network: What gives the values.
        together: Places of pieces whose combinations of two and more count too, at most 6: squares (``4h``), or pieces
            in hand (``P*`` Black's, ``p*`` White's).

    Raises:
        ValueError: There is no such piece, a piece is named twice, or there are too many.
        EvaluatorError: The network failed.
    """
    pieces = pieces_of(position)
    chosen = _chosen(pieces, together)
    sets = [(piece,) for piece in pieces]
    sets += [each for size in range(2, len(chosen) + 1) for each in combinations(chosen, size)]
    before = position.copy()
    last = before.pop() if position.moves else None
    earlier = [] if last is None else pieces_of(before)
    asked = [position, *(without(position, each) for each in sets)]
    if earlier:
        asked += [before, *(without(before, (piece,)) for piece in earlier)]
    rates = _winrates(network, asked)
    values = _values(rates[: 1 + len(sets)], sets)
    cps = {piece: cp for piece, (cp, _) in zip(pieces, values, strict=False)}
    was = _values(rates[1 + len(sets) :], [(piece,) for piece in earlier]) if earlier else []
    known = {_after(piece, last): cp for piece, (cp, _) in zip(earlier, was, strict=True)}
    found = [
        PieceWorth(piece, *value, change_cp=_less(value[0], known.get(_after(piece, None))))
        for piece, value in zip(pieces, values, strict=False)
    ]
    winrate = rates[0]
    assert winrate is not None
    return PositionWorth(
        position=position.copy(),
        winrate=winrate,
        cp=centipawns(winrate),
        pieces=tuple(_with_averages(found)),
        together=tuple(
            TogetherWorth(each, _side(each), *value, _sum(each, cps))
            for each, value in zip(sets[len(pieces) :], values[len(pieces) :], strict=True)
        ),
        network=str(network),
    )


def _chosen(pieces: Sequence[PlacedPiece], places: Iterable[str]) -> list[PlacedPiece]:
    """The pieces at places.

    Raises:
        ValueError: There is no such piece, a piece is named twice, or there are too many.
    """
    by_place = {piece.place: piece for piece in pieces}
    chosen: list[PlacedPiece] = []
    for place in places:
        if place not in by_place:
            raise InvalidValueError(
                f"no piece at {place!r}: name a square with a piece that is no king (4h), or a piece in hand (P* is "
                "Black's, p* White's)"
            )
        if by_place[place] in chosen:
            raise InvalidValueError(f"{place} is named twice")
        chosen.append(by_place[place])
    if len(chosen) > MOST_TOGETHER:
        raise InvalidValueError(f"{len(chosen)} pieces have {2 ** len(chosen)} combinations: at most {MOST_TOGETHER}")
    return chosen


def _winrates(network: Network, positions: Sequence[Position | None]) -> list[float | None]:
    """Black's win rate in each position, never quite 0 or 1; None for None."""
    legal = [position for position in positions if position is not None]
    rates = iter(network.evaluate(legal).winrates)

    def rate(position: Position | None) -> float | None:
        if position is None:
            return None
        mover = min(max(float(next(rates)), 1 - _SUREST), _SUREST)
        return mover if position.turn == BLACK else 1 - mover

    return [rate(position) for position in positions]


def _values(
    rates: Sequence[float | None], sets: Sequence[tuple[PlacedPiece, ...]]
) -> list[tuple[int | None, float | None]]:
    """Centipawns and win rate that each set of pieces is worth to its side.

    Args:
        rates: Black's win rate with all pieces, then without each set.
        sets: The sets.
    """
    whole, *reduced = rates
    assert whole is not None
    values: list[tuple[int | None, float | None]] = []
    for pieces, rate in zip(sets, reduced, strict=True):
        sign = 1 if _side(pieces) == BLACK else -1
        both = None if rate is None else (sign * (centipawns(whole) - centipawns(rate)), sign * (whole - rate))
        values.append(both or (None, None))
    return values


def _side(pieces: Sequence[PlacedPiece]) -> Color:
    colors = {piece.color for piece in pieces}
    return colors.pop() if len(colors) == 1 else BLACK


def _sum(pieces: Sequence[PlacedPiece], cps: Mapping[PlacedPiece, int | None]) -> int | None:
    """Sum of what pieces are worth one by one to the side that their combination counts for."""
    side = _side(pieces)
    total = 0
    for piece in pieces:
        cp = cps[piece]
        if cp is None:
            return None
        total += cp if piece.color == side else -cp
    return total


def _after(piece: PlacedPiece, move: Move | None) -> PlacedPiece:
    """A piece where it is after a move, promoted or not: so that it is known again."""
    has_moved = move is not None and move.from_square is not None and piece.square == move.from_square
    return replace(piece, type=piece.type.unpromoted, square=move.to_square if move and has_moved else piece.square)


def _less(value: int | None, other: int | None) -> int | None:
    return None if value is None or other is None else value - other


def _with_averages(pieces: Sequence[PieceWorth]) -> list[PieceWorth]:
    """The same with each piece against the average of its kind, of which there must be at least two."""
    totals: dict[PieceType, tuple[int, int]] = {}
    for each in pieces:
        if each.worth_cp is not None:
            cp, count = totals.get(each.piece.type, (0, 0))
            totals[each.piece.type] = cp + each.worth_cp, count + each.piece.count

    def relative(each: PieceWorth) -> float | None:
        cp, count = totals.get(each.piece.type, (0, 0))
        if each.worth_cp is None or count == each.piece.count:
            return None
        return each.worth_cp / each.piece.count - cp / count

    return [replace(each, relative_cp=relative(each)) for each in pieces]


def _named(piece: PlacedPiece) -> dict[str, Any]:
    return {
        "place": piece.place,
        "color": _color_name(piece.color),
        "piece": piece.letter,
        "count": piece.count,
        "japanese": piece.japanese,
    }


def _color_name(color: Color) -> str:
    return "black" if color == BLACK else "white"


def _rounded(value: float | None, digits: int = 5) -> float | None:
    return None if value is None else round(value, digits)
