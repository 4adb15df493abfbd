"""A book from the results of games (`minmax_book`)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from statistics import NormalDist

from fukayomi._native import centipawns
from fukayomi.book.book import Book
from fukayomi.book.minmax.games import FinishedGame, GameColumns
from fukayomi.book.minmax.reach import Edge, FewGames, Judge, Node, Reach
from fukayomi.book.minmax.settings import MinmaxSettings
from fukayomi.book.minmax.values import Graph, solve
from fukayomi.book.moves import BookMove
from fukayomi.errors import InvalidValueError
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import BLACK, START_SFEN, Color, Move, Position
from fukayomi.tabular import Tabular, counted

SURE = 1e-6
"""A leaf is not worth less than this, nor more than 1 less this: that its games went one way is no proof."""
_NOT_EXCLUDED = 0.95
_EVERY = 1000


@dataclass(frozen=True, slots=True)
class LineToPlay:
    """A line to play games from: they may change the choice of a move that the book relies on."""

    line: str
    """The position, as arguments of USI's ``position`` command."""
    games: int
    """Games through it so far."""
    gain: float
    """How much better the last move may be for its side than the best one that counts: the win rate that its games do
    not exclude (95 %), less the value of the best."""
    probability: float | None
    """Probability of the last move by the network; None without one."""


@dataclass(frozen=True, slots=True)
class SideValue:
    """What min-max says of the start, for a side whose moves the book has."""

    side: Color
    """The side."""
    win_rate: float
    """Value of the start for it, 0 to 1."""
    score_cp: int
    """The same in centipawns."""
    line: tuple[Move, ...]
    """The best moves of both sides, to a leaf or to where they go round."""
    to_play: tuple[LineToPlay, ...]
    """Lines to play games from; those that may gain most come first."""


@dataclass(frozen=True, slots=True, repr=False)
class MinmaxBook(Tabular):
    """A book by min-max, with what it rests on. As a table it has a row for each move of the start."""

    start_sfen: str
    """The position to which values went back."""
    entries: Mapping[str, tuple[BookMove, ...]]
    """The moves of each position, by its SFEN, the best first. Counts are games, depths are plies to the leaf."""
    sides: tuple[SideValue, ...]
    """The value of the start for each side whose moves the book has."""
    games: int
    """Games that count."""
    left_out: int
    """Games without a result or without moves, or that ended by a forfeit."""
    repeated: int
    """Games that are the same as earlier ones, where such games count once."""
    positions: int
    """Positions that the start leads to."""
    leaves: int
    """Those of them without a move that counts."""
    circles: int
    """Those of them that can lead back to themselves."""

    def __repr__(self) -> str:
        return f"<MinmaxBook of {counted(len(self.entries), 'position')} from {counted(self.games, 'game')}>"

    def book(self) -> Book:
        """The book to play from, and to write.

        Counts are 1: YaneuraOu puts moves with higher counts first and measures BookEvalDiff from the first, which must
        be the one with the best score.
        """
        return book_of(self.entries)

    def rows(self) -> list[dict[str, str | int | None]]:
        """One row for each move of the start that the book has."""
        return [
            {"move": move.move.usi(), "score_cp": move.score_cp, "depth": move.depth, "games": move.count}
            for move in self.entries.get(self.start_sfen, ())
        ]


def minmax_book(
    games: Iterable[FinishedGame],
    start: Position | str = START_SFEN,
    *,
    side: Color | None = None,
    settings: MinmaxSettings | None = None,
    judge: Judge | None = None,
    listener: Listener = SILENT,
) -> MinmaxBook:
    """Make a book from the results of games, in the way of Suisho's book for the third Denryu-sen.

    The positions that enough games passed through are a graph, whatever the order of moves that led to them. Those
    without a move to another one are leaves, whose value is the win rate of the games through them. The values go back
    to the start: the side to move takes the best. Where positions come again, the rules decide: a draw, or the loss of
    a side that gave check all the time.

    Args:
        games: `Record` objects, as `fukayomi.read_records` reads them, or games of `fukayomi.arena`.
        start: The position to which values go back; its past does not matter.
        side: The side whose moves the book has and whose value of a draw counts; None: both, each with its own.
        settings: Which moves count, and what leaves are worth; by default those of `MinmaxSettings`.
        judge: A network, where the settings need one: the win probability of the side to move of each position, and the
            probabilities of its legal moves.
        listener: Hears of the progress.

    Raises:
        BookError: Not enough games pass through the start.
        ValueError: The settings need a network and none is given, or the start lacks a king.
        ShogiError: The first position of a game is not one, or a move is not legal.
    """
    settings = settings or MinmaxSettings()
    if settings.prior_games and judge is None:
        raise InvalidValueError("prior_games mixes the values of a network in, and no judge is given")
    columns = GameColumns(uniq=settings.uniq)
    for number, game in enumerate(games, 1):
        columns.add(game)
        if number % _EVERY == 0:
            listener.progress("reading games", number, None)
    start = Position(start) if isinstance(start, str) else start
    nodes = reached(columns, start, settings, judge, listener)
    entries: dict[str, tuple[BookMove, ...]] = {}
    solved = [Solved(nodes, each, settings) for each in (tuple(Color) if side is None else (side,))]
    for one in solved:
        entries |= one.entries()
    return MinmaxBook(
        start_sfen=nodes[0].sfen,
        entries=entries,
        sides=tuple(one.value() for one in solved),
        games=len(columns),
        left_out=columns.left_out,
        repeated=columns.repeated,
        positions=len(nodes),
        leaves=sum(not node.edges for node in nodes),
        circles=solved[0].circles,
    )


def reached(
    columns: GameColumns, start: Position, settings: MinmaxSettings, judge: Judge | None, listener: Listener = SILENT
) -> list[Node]:
    """The positions that the start leads to; it is the first.

    Raises:
        BookError: Not enough games pass through the start.
    """
    judge = judge if settings.prior_games else None
    return Reach(columns.tree(settings.th), settings, judge, listener).from_start(start)


def book_of(entries: Mapping[str, Sequence[BookMove]]) -> Book:
    """A book to play from. Counts become 1 (`MinmaxBook.book` says why)."""
    book = Book()
    for sfen, moves in entries.items():
        key, ply = sfen.rsplit(" ", 1)
        book.put(key, [replace(move, count=1) for move in moves], int(ply))
    return book


class Solved:
    """The positions that the start leads to, with their values for a side.

    Args:
        nodes: The positions; the start is the first.
        side: The side whose moves the book has.
        settings: What leaves are worth.
    """

    def __init__(self, nodes: list[Node], side: Color, settings: MinmaxSettings) -> None:
        self.nodes = nodes
        """The positions."""
        self.side = side
        """The side."""
        self.settings = settings
        """What leaves are worth."""
        self.draw = settings.black_draw_value if side == BLACK else settings.white_draw_value
        graph = Graph(
            maximizes=[node.turn == side for node in nodes],
            is_check=[node.is_check for node in nodes],
            children=[[edge.after for edge in node.edges] for node in nodes],
            values=[0.0 if node.edges else self._leaf(node) for node in nodes],
        )
        self.solution = solve(graph, self.draw)
        self.best = [self._best_edge(index) for index in range(len(nodes))]
        self._plies = _plies_to_end([None if edge is None else edge.after for edge in self.best])

    @property
    def circles(self) -> int:
        """Positions that can lead back to themselves."""
        sizes: dict[int, int] = {}
        for number in self.solution.component:
            sizes[number] = sizes.get(number, 0) + 1
        return sum(size for size in sizes.values() if size > 1)

    def value(self) -> SideValue:
        """What is said of the start."""
        winrate = self.solution.values[0]
        line: list[Move] = []
        index, seen = 0, {0}
        while (edge := self.best[index]) is not None:
            line.append(Move.from_raw(edge.raw))
            index = edge.after
            if index in seen:
                break
            seen.add(index)
        return SideValue(self.side, winrate, self._cp(winrate), tuple(line), tuple(self._lines_to_play()))

    def entries(self) -> dict[str, tuple[BookMove, ...]]:
        """The moves of all positions where the side is to move."""
        return {
            node.sfen: self._book_moves(index)
            for index, node in enumerate(self.nodes)
            if node.turn == self.side and node.edges
        }

    def _book_moves(self, index: int) -> tuple[BookMove, ...]:
        best = self.best[index]
        moves: list[BookMove] = []
        for edge in self.nodes[index].edges:
            score = self._cp(self.solution.values[edge.after])
            if self._goes_round(index, edge):
                score -= 1  # so that a player who takes the best move gets on
            answer = self.best[edge.after]
            moves.append(
                BookMove(
                    Move.from_raw(edge.raw),
                    None if answer is None else Move.from_raw(answer.raw),
                    score,
                    1 + self._plies[edge.after],
                    edge.games,
                )
            )
        return tuple(
            sorted(
                moves, key=lambda move: (-(move.score_cp or 0), best is None or move.move.raw != best.raw, -move.count)
            )
        )

    def _goes_round(self, index: int, edge: Edge) -> bool:
        """True if a move is as good as the best, but leads back where another one makes progress."""
        towards, component, values = self.solution.towards[index], self.solution.component, self.solution.values
        return (
            towards is not None
            and edge.after != towards
            and component[edge.after] == component[index]
            and values[edge.after] == values[towards]
        )

    def _best_edge(self, index: int) -> Edge | None:
        node, values = self.nodes[index], self.solution.values
        sign = 1 if node.turn == self.side else -1
        towards = self.solution.towards[index]
        return max(
            node.edges,
            key=lambda edge: (
                sign * values[edge.after],
                edge.after == towards,
                not self._goes_round(index, edge),
                edge.games,
            ),
            default=None,
        )

    def mate_value(self, node: Node) -> float | None:
        """What a mate is worth to the side; None if the position is none."""
        return float(node.turn != self.side) if node.is_mated else None

    def points_of(
        self, results: tuple[int, int, int], prior: float | None = None, turn: Color | None = None
    ) -> tuple[float, float]:
        """Points of the side, and games.

        Args:
            results: Games, games that Black won, drawn games.
            prior: The network's value for the side to move, which counts as `prior_games` games; None: none.
            turn: The side to move.
        """
        points, games = self._points(results, self.side, self.draw)
        if prior is None:
            return points, games
        weight = self.settings.prior_games
        return points + weight * (prior if turn == self.side else 1 - prior), games + weight

    def _leaf(self, node: Node) -> float:
        """What a leaf is worth to the side."""
        if (mate := self.mate_value(node)) is not None:
            return mate
        points, games = self.points_of(node.results, node.prior, node.turn)
        value = points / games
        if self.settings.confidence is not None:
            value = bound(value, games, -NormalDist().inv_cdf(self.settings.confidence))
        return min(max(value, SURE), 1 - SURE)

    @staticmethod
    def _points(results: tuple[int, int, int], side: Color, draw: float) -> tuple[float, float]:
        """Points of a side, and games."""
        games, black, drawn = results
        wins = black if side == BLACK else games - black - drawn
        return wins + draw * drawn, games

    def _cp(self, value: float) -> int:
        return centipawns(value, self.settings.eval_scale)

    def _lines_to_play(self) -> list[LineToPlay]:
        """Moves with few games at the positions that the book relies on: after its own best moves, and all answers."""
        found: list[LineToPlay] = []
        trunk, seen = [0], {0}
        for index in trunk:  # it grows
            node, best = self.nodes[index], self.best[index]
            if best is None:
                continue
            own = node.turn == self.side
            for edge in [best] if own else node.edges:
                if edge.after not in seen:
                    seen.add(edge.after)
                    trunk.append(edge.after)
            value = self.solution.values[best.after]
            path = self._path(index)
            for few in node.few:
                gain = self._most(few, own) - (value if own else 1 - value)
                if gain > 0:
                    line = f"{path} {Move.from_raw(few.raw).usi()}"
                    found.append(LineToPlay(line, few.results[0], gain, few.probability))
        return sorted(found, key=lambda line: (-line.gain, -(line.probability or 0), line.line))

    def _most(self, few: FewGames, own: bool) -> float:
        """The highest win rate of the side that plays a move which its few games do not exclude."""
        points, games = self._points(few.results, self.side, self.draw)
        if not games:
            return 1.0
        mean = points / games if own else 1 - points / games
        return bound(mean, games, NormalDist().inv_cdf(_NOT_EXCLUDED))

    def _path(self, index: int) -> str:
        """The start with moves that lead to a position."""
        moves: list[str] = []
        node = self.nodes[index]
        while node.parent is not None:
            moves.append(Move.from_raw(node.raw).usi())
            node = self.nodes[node.parent]
        return " ".join([f"sfen {node.sfen} moves", *reversed(moves)])


def bound(mean: float, games: float, z: float) -> float:
    """An end of Wilson's interval, the lower one if z is negative. Draws make it wider than it need be."""
    center = mean + z * z / (2 * games)
    return (center + z * sqrt(mean * (1 - mean) / games + (z / (2 * games)) ** 2)) / (1 + z * z / games)


def _plies_to_end(after: list[int | None]) -> list[int]:
    """Moves from each position to the end of its line, or to where it comes to a position again."""
    plies: list[int | None] = [None] * len(after)
    for index in range(len(after)):
        path: list[int] = []
        at: int | None = index
        on_path: set[int] = set()
        while at is not None and plies[at] is None and at not in on_path:
            path.append(at)
            on_path.add(at)
            at = after[at]
        length = -1 if at is None else plies[at] or 0
        for node in reversed(path):
            length += 1
            plies[node] = length
    return [one or 0 for one in plies]
