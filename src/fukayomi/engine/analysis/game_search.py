"""Searching the positions of a game in one tree, and comparing the moves that were played with the best ones.

Scores from different searches differ by more than an inaccuracy is worth, so a loss is never the difference of two of
them. Both moves are compared in the tree of the position before them, with the same number of visits; and where the
move played seems to lose something, the search goes on, each time twice as far, until the class of the mistake stays
the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from fukayomi.engine.analysis.game_analysis import Mistake, SearchLimits
from fukayomi.engine.search import has_score

if TYPE_CHECKING:
    from fukayomi._native import SearchLine
    from fukayomi.engine.search import SearchResult
    from fukayomi.shogi import Move, Position

# Shares of the limits of one position. What the first look leaves is for suspicious moves later in the game.
FREE = 0.35
"""For a search of all moves. Where no move was played, all that is left, up to the whole limits."""
COMPARISON = 0.15
"""For visits of the best move and the one that was played."""
LARGEST = 8.0
"""The most for one position."""
SUSPICION = 0.025
"""From this loss on a move is searched deeper; the class of the smallest mistakes begins at 0.05."""
ALL_MOVES = 1_000


class Search(Protocol):
    """`Engine.search`, or what answers in its place. The result has at least one line."""

    def __call__(
        self,
        position: "Position",
        *,
        nodes: int | None = None,
        time_ms: int | None = None,
        multipv: int = 1,
        compare: Sequence["Move"] = (),
    ) -> "SearchResult":
        """Search a position that has legal moves."""
        ...


@dataclass(frozen=True, slots=True)
class Examination:
    """Result of the search of a position."""

    lines: "tuple[SearchLine, ...]"
    """All moves, the best first."""
    played: "SearchLine | None"
    """The move that was played; None if there was none, or the search has not visited it."""
    nodes: int
    """Positions that were evaluated."""
    is_certain: bool
    """True if the class of the move played stayed the same when the search went on, or it seems to lose nothing."""


class GameSearch:
    """Searches the positions of a game, in order, and on all of them spends no more than the limits allow.

    Args:
        search: Searches one position; the tree must stay from call to call.
        limits: Limits of one position. In a game they are the most that a position gets on average.
        positions: Number of positions that will be examined.
    """

    def __init__(self, search: Search, limits: SearchLimits, positions: int) -> None:
        self._search = search
        self._limits = limits
        self._left = positions
        self._budget = float(positions)  # in limits of one position

    def examine(self, position: "Position", played: "Move | None") -> Examination:
        """Search a position with legal moves.

        Args:
            position: The position with the moves that led to it.
            played: The move that was played in it; None at the end of the game.
        """
        self._left -= 1
        look = self._look(position, played, 1.0, None)
        is_certain = look.loss < SUSPICION or look.is_decided
        scale, spent = 1.0, FREE + COMPARISON
        while not is_certain:
            share = scale * (FREE + COMPARISON)
            spent += share
            if spent > LARGEST or share > self._budget - self._left * (FREE + COMPARISON):
                break
            deeper = self._look(position, played, scale, look)
            is_certain = deeper.is_decided or Mistake.from_loss(deeper.loss) is Mistake.from_loss(look.loss)
            look = deeper
            scale *= 2
        return Examination(look.lines, look.played, look.nodes, is_certain)

    def _look(self, position: "Position", played: "Move | None", scale: float, before: "_Look | None") -> "_Look":
        """Search all moves, then the best one and the one played."""
        share = scale * FREE if played is not None else min(1.0, self._budget)
        result = self._run(position, share)
        nodes = result.progress.nodes + (before.nodes if before else 0)
        given = before.given if before else 0
        look = _Look(result.lines, played, given, nodes)
        if played is None or look.lines[0].move == played or look.is_decided:
            return look
        result = self._run(position, scale * COMPARISON, (look.lines[0].move, played))
        nodes += result.progress.nodes
        given += _visits(result.lines, played) - _visits(look.lines, played)
        return _Look(result.lines, played, given, nodes)

    def _run(self, position: "Position", share: float, compare: Sequence["Move"] = ()) -> "SearchResult":
        self._budget -= share
        limits = self._limits
        return self._search(
            position,
            nodes=None if limits.nodes is None else max(1, round(share * limits.nodes)),
            time_ms=None if limits.time_ms is None else max(1, round(share * limits.time_ms)),
            multipv=ALL_MOVES,
            compare=compare,
        )


class _Look:
    """The tree of a position at some time.

    Args:
        lines: All moves of the root.
        played: The move that was played.
        given: The visits that it owes to comparisons alone; they do not count when moves are ranked.
        nodes: Positions evaluated so far.
    """

    def __init__(self, lines: "Sequence[SearchLine]", played: "Move | None", given: int, nodes: int) -> None:
        def rank(line: "SearchLine") -> tuple[int, int]:
            if line.winrate in (0.0, 1.0):  # proven; the search has put these in order
                return (1 if line.winrate == 1.0 else -1), 0
            return 0, line.visits - (given if line.move == played else 0)

        self.lines = tuple(sorted(lines, key=rank, reverse=True))
        self.given = given
        self.nodes = nodes
        self.played = next((line for line in lines if line.move == played and has_score(line)), None)

    @property
    def is_decided(self) -> bool:
        """True if the position is proven won or lost."""
        return self.lines[0].winrate in (0.0, 1.0)

    @property
    def loss(self) -> float:
        """Win rate that the move played loses; 0 if it was not searched."""
        return max(0.0, self.lines[0].winrate - self.played.winrate) if self.played else 0.0


def _visits(lines: "Sequence[SearchLine]", move: "Move") -> int:
    return next((line.visits for line in lines if line.move == move), 0)
