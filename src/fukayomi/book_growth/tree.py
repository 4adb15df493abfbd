"""A picture of what a book rests on: the trunk, and the moves beside it with the most games."""

from dataclasses import dataclass, field
from heapq import heappop, heappush

from fukayomi.book.minmax.minmax import Solved
from fukayomi.book.minmax.reach import Edge
from fukayomi.shogi import Move
from fukayomi.shogi.formats.notation import english_moves, japanese_moves

MOST_BRANCHES = 60
"""Moves beside the trunk that are drawn."""
MOST_OF_A_POSITION = 5
"""Moves of a position that are drawn."""


@dataclass(slots=True)
class DrawnMove:
    """A move of the picture, with the position after it; the first is the start, without a move."""

    node: int
    """The position, by its number in `Solved`."""
    usi: str
    japanese: str
    english: str
    column: int
    """Plies from the start."""
    win_rate: float
    """Value for the side of the book, 0 to 1."""
    games: int
    """Games through the position."""
    is_trunk: bool
    is_open: bool
    """True if it has moves that are not drawn."""
    parent: int | None = None
    """The move before, by its place in the list."""
    row: int = 0
    children: list[int] = field(default_factory=list[int])


@dataclass(frozen=True, slots=True)
class BookPicture:
    """Moves with their places."""

    moves: list[DrawnMove]
    columns: int
    rows: int


def draw_tree(solved: Solved, most: int = MOST_BRANCHES) -> BookPicture:
    """Choose the moves to draw, and give them places: the trunk is the first row.

    Args:
        solved: The positions with their values.
        most: Moves beside the trunk at most; those with most games are drawn.
    """
    drawing = _Drawing(solved)
    drawing.add_trunk()
    drawing.add_branches(most)
    return drawing.placed()


class _Drawing:
    def __init__(self, solved: Solved) -> None:
        self._solved = solved
        self._moves = [self._drawn(0, None, None, is_trunk=True)]
        self._seen = {0}
        self._is_stub: set[int] = set()
        """Positions that the picture has elsewhere."""

    def _drawn(self, node: int, edge: Edge | None, parent: int | None, *, is_trunk: bool) -> DrawnMove:
        solved = self._solved
        before = None if parent is None else self._moves[parent]
        usi = japanese = english = ""
        if edge is not None and before is not None:
            usi = Move.from_raw(edge.raw).usi()
            sfen = solved.nodes[before.node].sfen
            (japanese,), (english,) = japanese_moves(sfen, [usi]), english_moves(sfen, [usi])
        return DrawnMove(
            node, usi, japanese, english, 0 if before is None else before.column + 1, solved.solution.values[node],
            solved.nodes[node].results[0], is_trunk, bool(solved.nodes[node].edges), parent,
        )  # fmt: skip

    def _add(self, edge: Edge, parent: int, *, is_trunk: bool) -> int:
        place = len(self._moves)
        self._moves.append(self._drawn(edge.after, edge, parent, is_trunk=is_trunk))
        self._moves[parent].children.append(place)
        if edge.after in self._seen:
            self._is_stub.add(place)
        self._seen.add(edge.after)
        return place

    def add_trunk(self) -> None:
        place, best = 0, self._solved.best
        while (edge := best[self._moves[place].node]) is not None and place not in self._is_stub:
            place = self._add(edge, place, is_trunk=True)

    def add_branches(self, most: int) -> None:
        waiting: list[tuple[int, int, int]] = []

        def wait(place: int) -> None:
            node, move = self._solved.nodes[self._moves[place].node], self._moves[place]
            drawn = {self._moves[child].node for child in move.children}
            edges = [(-edge.games, number) for number, edge in enumerate(node.edges) if edge.after not in drawn]
            for games, number in sorted(edges)[: MOST_OF_A_POSITION - len(drawn)]:
                heappush(waiting, (games, place, number))

        for place in range(len(self._moves)):
            if place not in self._is_stub:
                wait(place)
        for _ in range(most):
            if not waiting:
                break
            _, parent, number = heappop(waiting)
            place = self._add(self._solved.nodes[self._moves[parent].node].edges[number], parent, is_trunk=False)
            if place not in self._is_stub:
                wait(place)

    def placed(self) -> BookPicture:
        """Give each move its row: that of its first child, or the next free one."""
        rows = 0
        for place in self._in_order():
            move = self._moves[place]
            move.is_open = len(move.children) < len(self._solved.nodes[move.node].edges)
            if not move.children:
                move.row = rows
                rows += 1
        for move in reversed(self._moves):  # children come after their parents
            if move.children:
                move.row = min(self._moves[child].row for child in move.children)
        return BookPicture(self._moves, max(move.column for move in self._moves) + 1, rows)

    def _in_order(self) -> list[int]:
        """Places depth first, the trunk before its branches."""
        found: list[int] = []
        waiting = [0]
        while waiting:
            place = waiting.pop()
            found.append(place)
            waiting += reversed(self._moves[place].children)
        return found
