"""The frontier of a book by min-max: positions to play games from, as their results may change the choice at the start.

Each leaf has an interval for its value, and so has each move with few games. Min-max of the lower ends and of the
upper ends carries the intervals back. Where the best move of the book is not surely better than another one, games are
for one of the two, the one that less is known of: from there the line goes on by the moves that each side hopes most
of, to a leaf. This is best arm identification in trees, as Kaufmann and Koolen have it (2017). Where the choice is
sure, the next one along the trunk counts.

This is a schedule of games, in which lines come again; `SideValue.to_play` is a list to choose from: each move with few
games once, by what it may gain where it is played, whatever that changes at the start.
"""

from dataclasses import dataclass
from statistics import NormalDist

from fukayomi.book.minmax.minmax import Solved, bound
from fukayomi.book.minmax.values import Graph, solve
from fukayomi.shogi import Move

_Z = NormalDist().inv_cdf(0.95)


@dataclass(frozen=True, slots=True)
class FrontierLine:
    """A line to play games from."""

    line: str
    """The position, as arguments of USI's ``position`` command."""
    games: int
    """Games through it so far."""
    low: float
    """Lower end of the interval of its value for the book's side,"""
    high: float
    """and the upper one (95 %, one-sided each)."""


@dataclass(slots=True)
class _Leaf:
    """What games say of a position."""

    points: float
    games: float
    fixed: float | None = None
    """The value of a mate."""

    def end(self, z: float) -> float:
        """An end of the interval: the lower one if z is negative."""
        if self.fixed is not None:
            return self.fixed
        if not self.games:
            return float(z > 0)
        return bound(self.points / self.games, self.games, z)

    def expect(self, games: int) -> None:
        """Count games that are about to be played, as if they went as those before."""
        mean = self.points / self.games if self.games else 0.5
        self.points += games * mean
        self.games += games


def frontier(solved: Solved, count: int) -> list[FrontierLine]:
    """The lines to play two games each from, in order; a line may come several times.

    Args:
        solved: The positions with their values.
        count: Number of lines.
    """
    tree = _Tree(solved)
    found: list[FrontierLine] = []
    for _ in range(count):
        line = tree.next_line()
        if line is None:
            break
        found.append(line)
    return found


class _Tree:
    def __init__(self, solved: Solved) -> None:
        self._solved = solved
        nodes = solved.nodes
        self._leaves: dict[int, _Leaf] = {
            index: _Leaf(*solved.points_of(node.results, node.prior, node.turn), fixed=solved.mate_value(node))
            for index, node in enumerate(nodes)
            if not node.edges
        }
        self._moves: list[list[tuple[int, int]]] = [[(edge.raw, edge.after) for edge in node.edges] for node in nodes]
        for index, node in enumerate(nodes):
            known = {raw for raw, _ in self._moves[index]}
            for few in node.few:
                if node.edges and few.raw not in known:
                    leaf = len(self._moves)
                    self._moves[index].append((few.raw, leaf))
                    self._moves.append([])
                    self._leaves[leaf] = _Leaf(*solved.points_of(few.results))
        extra = len(self._moves) - len(nodes)
        self._own = [node.turn == solved.side for node in nodes] + [False] * extra
        self._is_check = [node.is_check for node in nodes] + [False] * extra

    def next_line(self) -> FrontierLine | None:
        """A line whose result may change a choice; None if nothing is open."""
        low, high = self._ends(-_Z), self._ends(_Z)
        at: int = 0
        path: list[int] = []
        seen = {0}
        is_open = False
        while self._moves[at]:
            raw, after = self._choice(at, low, high) if not is_open else self._hoped(at, low, high)
            best = self._solved.best[at] if at < len(self._solved.best) else None
            is_open = is_open or best is None or raw != best.raw or self._is_contested(at, low, high)
            if after in seen:
                break
            seen.add(after)
            path.append(raw)
            at = after
        leaf = self._leaves.get(at)
        if leaf is None or leaf.fixed is not None:
            return None
        games = round(leaf.games)
        leaf.expect(2)
        moves = " ".join(Move.from_raw(raw).usi() for raw in path)
        line = f"sfen {self._solved.nodes[0].sfen}" + (f" moves {moves}" if moves else "")
        return FrontierLine(line, games, low[at], high[at])

    def _ends(self, z: float) -> list[float]:
        graph = Graph(
            maximizes=self._own,
            is_check=self._is_check,
            children=[[after for _, after in moves] for moves in self._moves],
            values=[self._leaves[index].end(z) if index in self._leaves else 0.0 for index in range(len(self._moves))],
        )
        return solve(graph, self._solved.draw).values

    def _rivals(self, at: int, low: list[float], high: list[float]) -> tuple[tuple[int, int], tuple[int, int] | None]:
        """The book's move, and the other one that its side hopes most of."""
        best = self._solved.best[at]
        assert best is not None, "it has moves that count"
        others = [move for move in self._moves[at] if move[0] != best.raw]
        own = self._own[at]
        rival = max(others, key=lambda move: high[move[1]] if own else -low[move[1]], default=None)
        return (best.raw, best.after), rival

    def _is_contested(self, at: int, low: list[float], high: list[float]) -> bool:
        (_, after), rival = self._rivals(at, low, high)
        if rival is None:
            return False
        return high[rival[1]] > low[after] if self._own[at] else low[rival[1]] < high[after]

    def _choice(self, at: int, low: list[float], high: list[float]) -> tuple[int, int]:
        """Of the book's move and its rival the one that less is known of; the book's where it is surely better."""
        best, rival = self._rivals(at, low, high)
        if rival is None or not self._is_contested(at, low, high):
            return best
        return max((best, rival), key=lambda move: high[move[1]] - low[move[1]])

    def _hoped(self, at: int, low: list[float], high: list[float]) -> tuple[int, int]:
        """The move that the side to move hopes most of."""
        own = self._own[at]
        return max(self._moves[at], key=lambda move: high[move[1]] if own else -low[move[1]])
