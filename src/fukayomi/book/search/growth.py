"""The order in which a book grows: from its starts along good moves, those that lose least first.

A line costs the win rate that its moves lose beside the best ones, and `PLY_LOSS` for each move; a position costs what
the cheapest line to it does. Positions are taken in rounds: the cheapest that are known, a fixed number at once. What
is taken depends on the searches of earlier rounds alone, so that a book which was interrupted grows on as it would
have.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp

from fukayomi._native import EVAL_SCALE
from fukayomi.book.book import best_first, position_key
from fukayomi.book.moves import BookMove
from fukayomi.book.search.settings import BookSearchSettings
from fukayomi.shogi import Move, Position

PLY_LOSS = 0.01
"""Win rate that a ply more costs: a line grows longer before moves are tried that lose more than this."""


def win_rate(score_cp: int) -> float:
    """Win rate of the side that a score is for."""
    return 1 / (1 + exp(-max(-30_000, min(30_000, score_cp)) / EVAL_SCALE))


@dataclass(slots=True)
class _Place:
    """A position that lines lead to."""

    sfen: str
    cost: float
    number: int
    """Of the order in which positions are found."""
    is_taken: bool = False


class Growth:
    """Chooses the positions that a book takes next.

    Args:
        starts: The positions that it grows from; they come first.
        settings: Which moves are good.
    """

    def __init__(self, starts: Sequence[Position], settings: BookSearchSettings) -> None:
        self._settings = settings
        self._places: dict[str, _Place] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._moves: dict[str, Sequence[BookMove]] = {}
        for start in starts:
            self._reach(position_key(start), start, 0.0)

    def __len__(self) -> int:
        """Number of positions that were taken."""
        return len(self._moves)

    def take(self, most: int) -> list[Position]:
        """The cheapest positions that are known and not taken yet; none if no good move leads on."""
        found: list[Position] = []
        while self._heap and len(found) < most:
            cost, _, key = heapq.heappop(self._heap)
            place = self._places[key]
            if place.is_taken or cost > place.cost:
                continue
            place.is_taken = True
            found.append(Position.from_sfen(place.sfen))
        return found

    def add(self, found: Mapping[str, Sequence[BookMove]]) -> None:
        """Go on from positions that were taken, by their keys, with the moves that the book has of them."""
        self._moves |= found
        for key, moves in found.items():
            self._follow(key, moves)

    def _follow(self, key: str, moves: Sequence[BookMove]) -> None:
        """Reach what good moves of a position lead to, and what follows where a line to it has become cheaper."""
        cheaper = [(key, moves)]
        while cheaper:
            key, moves = cheaper.pop()
            place = self._places[key]
            position = Position.from_sfen(place.sfen)
            for move, lost in self._good(moves):
                if not position.is_legal(move):
                    continue
                position.push(move)
                after = position_key(position)
                if self._reach(after, position, place.cost + lost + PLY_LOSS) and after in self._moves:
                    cheaper.append((after, self._moves[after]))
                position.pop()

    def _good(self, moves: Sequence[BookMove]) -> list[tuple[Move, float]]:
        """The moves to grow along, with the win rate that each loses beside the first one."""
        rates = [(move.move, win_rate(move.score_cp)) for move in best_first(moves) if move.score_cp is not None]
        if not rates:
            return []
        best = rates[0][1]
        if not 1 - self._settings.decided <= best <= self._settings.decided:
            return []
        lost = [(move, max(0.0, best - rate)) for move, rate in rates]
        return [(move, each) for move, each in lost if each <= self._settings.loss]

    def _reach(self, key: str, position: Position, cost: float) -> bool:
        """Note a line to a position; False if it is no cheaper than those that are known."""
        place = self._places.get(key)
        if place is None:
            if position.is_mated():
                return False
            place = self._places[key] = _Place(position.sfen(), cost, len(self._places))
        elif cost >= place.cost:
            return False
        place.cost = cost
        if not place.is_taken:
            heapq.heappush(self._heap, (cost, place.number, key))
        return True
