"""The positions that the start of a book leads to, and the moves between them that count."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fukayomi._native import encode_hcp
from fukayomi.book.minmax.games import GameTree
from fukayomi.book.minmax.settings import MinmaxSettings
from fukayomi.book.moves import BookError
from fukayomi.listener import Listener
from fukayomi.shogi import Color, Move, Position
from fukayomi.tabular import counted

Judge = Callable[[Sequence[Position]], Sequence[tuple[float, Mapping[Move, float]]]]
"""A network: the win probability of the side to move of each position, and the probabilities of its legal moves."""
_BATCH = 1024


@dataclass(frozen=True, slots=True)
class Edge:
    """A move that counts."""

    raw: int
    """As `Move.raw`."""
    after: int
    """The position after it."""
    games: int
    """Games with the move; 0 if nobody played it."""


@dataclass(frozen=True, slots=True)
class FewGames:
    """A move to a position with few games or none."""

    raw: int
    """As `Move.raw`."""
    results: tuple[int, int, int]
    """Games through the position after it, games that Black won, drawn games."""
    probability: float | None
    """Probability of the move by the network; None without one."""


@dataclass(slots=True)
class Node:
    """A position that the start leads to."""

    sfen: str
    turn: Color
    is_check: bool
    is_mated: bool
    results: tuple[int, int, int]
    """Games through the position, games that Black won, drawn games."""
    parent: int | None = None
    """A position that leads here; None: this is the start."""
    raw: int = 0
    """The move from there, as `Move.raw`."""
    edges: list[Edge] = field(default_factory=list[Edge])
    few: list[FewGames] = field(default_factory=list[FewGames])
    prior: float | None = None
    """Win probability of the side to move, by the network."""

    @classmethod
    def of(cls, position: Position, results: tuple[int, int, int], parent: int | None = None, raw: int = 0) -> "Node":
        """A position that nothing is known of but its results."""
        return cls(
            position.sfen(), position.turn, position.is_check(), position.is_mated(), results, parent, raw
        )  # fmt: skip


class Reach:
    """Follows the moves that count from the start on, breadth first.

    Args:
        tree: The positions and moves of the games.
        settings: Which moves count.
        judge: A network; None: what games say is all there is.
        listener: Hears of the progress.
    """

    def __init__(self, tree: GameTree, settings: MinmaxSettings, judge: Judge | None, listener: Listener) -> None:
        self._tree, self._settings, self._judge, self._listener = tree, settings, judge, listener
        self._nodes: list[Node] = []
        self._index: dict[int | bytes, int] = {}
        """Positions by their number in the tree; those that no game has by their hcp."""
        self._next: list[tuple[int, int, Position]] = []
        """Positions whose moves are still to follow: index, number in the tree, and position."""

    def from_start(self, start: Position) -> list[Node]:
        """The positions that the start leads to; it is the first.

        Raises:
            BookError: Not enough games pass through it.
        """
        start = Position.from_sfen(start.sfen())  # without its past
        (number,) = self._tree.find([encode_hcp(start)])
        games = self._tree.results_of(number)[0]
        if number is None or games < self._settings.th:
            passing = f"{counted(games, 'game')} {'passes' if games == 1 else 'pass'}"
            raise BookError(
                f"{passing} through {start.sfen()}, and a position needs {self._settings.th}: give more games, another "
                "start, or a lower th"
            )
        self._add(number, start)
        while self._next:
            layer, self._next = self._next, []
            for index, number, position in layer:
                self._follow(self._nodes[index], index, number, position)
            if self._judge is not None and self._settings.candidates is not None:
                inner = [one for one in layer if one[0] == 0 or self._nodes[one[0]].edges]
                for at in range(0, len(inner), _BATCH):
                    self._add_candidates(inner[at : at + _BATCH], self._judge, self._settings.candidates)
            self._listener.progress("following moves", len(self._nodes), None)
        if self._judge is not None:
            self._judge_leaves(self._judge)
        self._listener.progress("following moves", len(self._nodes), len(self._nodes))
        return self._nodes

    def _add(self, key: int | bytes, position: Position, parent: int | None = None, raw: int = 0) -> int:
        index = self._index[key] = len(self._nodes)
        number = key if isinstance(key, int) else None
        self._nodes.append(Node.of(position, self._tree.results_of(number), parent, raw))
        if number is not None and self._has_enough(number):
            self._next.append((index, number, position))
        return index

    def _has_enough(self, number: int) -> bool:
        return self._tree.results_of(number)[0] >= self._settings.th

    def _child(self, parent: int, position: Position, raw: int, key: int | bytes) -> int:
        """The position after a move, which is made if it is new."""
        if key in self._index:
            return self._index[key]
        child = position.copy()
        child.push(Move.from_raw(raw))
        return self._add(key, child, parent, raw)

    def _follow(self, node: Node, index: int, number: int, position: Position) -> None:
        """Take the moves of the games, and those to other positions of the games."""
        for raw, after, games in self._tree.moves_of(number):
            if self._has_enough(after):
                node.edges.append(Edge(raw, self._child(index, position, raw, after), games))
            else:
                node.few.append(FewGames(raw, self._tree.results_of(after), None))
        if not self._settings.transpositions:
            return
        played = {edge.raw for edge in node.edges} | {move.raw for move in node.few}
        others = [move.raw for move in position.legal_moves if move.raw not in played]
        for raw, after in zip(others, self._tree.find([_hcp_after(position, raw) for raw in others]), strict=True):
            if after is not None and self._has_enough(after):
                node.edges.append(Edge(raw, self._child(index, position, raw, after), 0))

    def _add_candidates(self, inner: list[tuple[int, int, Position]], judge: Judge, least: float) -> None:
        """Take the moves that the network finds probable."""
        for (index, _, position), (_, policy) in zip(inner, judge([one[2] for one in inner]), strict=True):
            node = self._nodes[index]
            node.few = [FewGames(few.raw, few.results, policy.get(Move.from_raw(few.raw))) for few in node.few]
            played = {edge.raw for edge in node.edges}
            probable = {move.raw: share for move, share in policy.items() if share >= least and move.raw not in played}
            hcps = {raw: _hcp_after(position, raw) for raw in probable}
            known = {few.raw for few in node.few}
            for (raw, hcp), number in zip(hcps.items(), self._tree.find(list(hcps.values())), strict=True):
                child = self._child(index, position, raw, hcp if number is None else number)
                results = self._tree.results_of(number)
                node.edges.append(Edge(raw, child, results[0] if raw in known else 0))
                if raw not in known and results[0] < self._settings.th:
                    node.few.append(FewGames(raw, results, probable[raw]))

    def _judge_leaves(self, judge: Judge) -> None:
        leaves = [node for node in self._nodes if not node.edges and not node.is_mated]
        for at in range(0, len(leaves), _BATCH):
            part = leaves[at : at + _BATCH]
            judged = judge([Position.from_sfen(node.sfen) for node in part])
            for node, (winrate, _) in zip(part, judged, strict=True):
                node.prior = winrate
            self._listener.progress("judging leaves", at + len(part), len(leaves))


def _hcp_after(position: Position, raw: int) -> bytes:
    position.push(Move.from_raw(raw))
    try:
        return encode_hcp(position)
    finally:
        position.pop()
