"""History of the root of a search as the search goes on, and what follows from it: whether the choice is settled.

Nothing here reads a clock or a tree. The rules follow two papers: Baier and Winands, "Time Management for Monte-Carlo
Tree Search in Go" (ACG 13, 2011), has the stop when no other move can catch up (EARLY) and more time for close or
changing choices (CLOSE, UNST); lc0 ends a search by the Kullback-Leibler divergence between successive visit counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from fukayomi._native import MAX_MOVES, Search, SearchLine
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import Move

UNCLEAR_RATIO = 1.5
"""Below this ratio of the visits of the best move to those of the second the choice is unclear."""
LEAST_FACTOR = 0.5
"""Share of the planned time for a choice that is settled."""
MOST_FACTOR = 2.0
"""The same for one that is contested."""
FALL = 0.1
"""A fall of the win rate by this much counts as a choice that is contested."""
POINT_RATIO = 1.02
"""A point of the history is kept when the visits have grown by this factor, or the best move has changed."""
KLD_INTERVAL = 100
"""Visits between two looks whose divergence is measured, as in lc0 (kldgain-average-interval)."""


@dataclass(frozen=True, slots=True)
class Look:
    """The root at some moment."""

    visits: int
    """Visits of the root, those of a kept tree included."""
    lines: tuple[SearchLine, ...]
    """All its moves, best first."""

    @classmethod
    def at(cls, tree: Search) -> Self:
        """Look at a tree."""
        return cls(tree.root_visits, tuple(tree.lines(MAX_MOVES)))

    @property
    def best(self) -> SearchLine:
        """The best move."""
        return self.lines[0]

    @property
    def rival(self) -> SearchLine | None:
        """The most visited of the other moves; None if all of them are proven lost, or there is no other."""
        open_lines = (line for line in self.lines[1:] if line.mate is None or line.mate > 0)
        return max(open_lines, key=lambda line: line.visits, default=None)

    def is_clear(self, coming: float) -> bool:
        """True if so many visits more cannot lift another move above the best.

        A proof that the best move loses could: that is not foreseen.
        """
        rival = self.rival
        return rival is None or self.best.visits - rival.visits > coming

    def is_unclear(self) -> bool:
        """True if another move has nearly as many visits, or a higher win rate: dlshogi's rule for more time."""
        rival = self.rival
        if rival is None:
            return False
        return self.best.visits < UNCLEAR_RATIO * rival.visits or rival.winrate > self.best.winrate


@dataclass(frozen=True, slots=True)
class Point:
    """Part of a look that is kept: enough to see how the choice has changed."""

    visits: int
    best: Move
    winrate: float


class RootHistory:
    """The looks at the root since a search began."""

    def __init__(self) -> None:
        self._points: list[Point] = []
        self._reference: Look | None = None
        self._factor = 1.0
        self._kld_gain: float | None = None

    @property
    def factor(self) -> float:
        """Multiple of the planned time that the choice needs, `LEAST_FACTOR` to `MOST_FACTOR`: see `instability`."""
        return self._factor

    @property
    def kld_gain(self) -> float | None:
        """Gain of a visit in the last `KLD_INTERVAL` visits (`kld_gain`); None before there were as many."""
        return self._kld_gain

    def add(self, look: Look) -> None:
        """Remember a look at a root with visits."""
        best = look.best
        last = self._points[-1] if self._points else None
        if last is None or last.best != best.move or look.visits >= POINT_RATIO * last.visits:
            self._points.append(Point(look.visits, best.move, best.winrate))
        self._factor = LEAST_FACTOR + (MOST_FACTOR - LEAST_FACTOR) * instability(self._points, look)
        if self._reference is None:
            self._reference = look
        elif look.visits - self._reference.visits >= KLD_INTERVAL:
            self._kld_gain = kld_gain(self._reference, look)
            self._reference = look


def instability(points: Sequence[Point], now: Look) -> float:
    """Instability of the choice of the best move: 0 (settled) to 1.

    It is the greatest of three numbers:

    - the share of the visits that the strongest rival has of those of the best move; 1 if its win rate is higher;
    - the sum over all changes of the best move of the share of today's visits that the root had then: a change long ago
      counts little;
    - how far the win rate has fallen below its highest since the root had half of its visits, in units of `FALL`.

    Args:
        points: The history, oldest first.
        now: The latest look.
    """
    rival = now.rival
    if rival is None or now.visits == 0:
        return 0.0
    contest = 1.0 if rival.winrate > now.best.winrate else rival.visits / max(1, now.best.visits)
    changes = sum(after.visits / now.visits for before, after in pairwise(points) if before.best != after.best)
    highest = max((point.winrate for point in points if 2 * point.visits >= now.visits), default=now.best.winrate)
    return max(0.0, min(1.0, max(contest, changes, (highest - now.best.winrate) / FALL)))


def kld_gain(before: Look, now: Look) -> float:
    """The Kullback-Leibler divergence of the visits now from those before, per new visit, in nats.

    Over the moves that had visits before: sum of p ln(p / q), where p is a move's share of the visits before and q its
    share now. Small: more visits change nothing.

    Raises:
        ValueError: There are no new visits.
    """
    new = now.visits - before.visits
    if new <= 0:
        raise InvalidValueError("there are no new visits")
    counts = {line.move: line.visits for line in now.lines}
    total_before = sum(line.visits for line in before.lines)
    total_now = sum(counts.values())
    if total_before == 0 or total_now == 0:
        return math.inf
    divergence = 0.0
    for line in before.lines:
        if line.visits > 0 and (visits := counts.get(line.move, 0)) > 0:
            p = line.visits / total_before
            divergence += p * math.log(p * total_now / visits)
    return max(0.0, divergence) / new
