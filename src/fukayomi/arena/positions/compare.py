"""Comparison of two sets of opening lines: common lines and positions, and the strategies (戦型) of each set."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fukayomi.arena.game.openings import Opening
from fukayomi.arena.positions.balanced import position_key
from fukayomi.arena.results.game import Game
from fukayomi.arena.strategy.counts import StrategyCounts, StrategyRow
from fukayomi.arena.strategy.matcher import Matcher
from fukayomi.shogi import Move, Position
from fukayomi.shogi.record import Result


@dataclass(frozen=True, slots=True)
class PositionSet:
    """A set of lines, and how much of it the other set has. All lines are cut at the same ply."""

    lines: int
    """Lines in the set."""
    short: int
    """Lines that end before the ply."""
    distinct_lines: int
    """Different lines after the cut."""
    distinct_positions: int
    """Different positions at their ends."""
    lines_in_other: int
    """Lines that the other set has move by move."""
    lines_with_position_in_other: int
    """Lines whose position the other set has, whatever the order of moves."""
    positions_in_other: int
    """Different positions that the other set has."""
    strategies: tuple[StrategyRow, ...]
    """Strategies of all lines, most frequent first."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """The lines of a set up to the ply, [lines], and the position at the end of each."""

    lines: list[tuple[str, tuple[Move, ...]]]
    positions: list[str]


def compare_positions(
    a: Sequence[Opening], b: Sequence[Opening], ply: int, matcher: Matcher
) -> tuple[PositionSet, PositionSet]:
    """Compare two sets of lines.

    Args:
        a: Lines of the first set.
        b: Lines of the second set.
        ply: Ply at which all lines are cut; shorter lines count as they are. Strategies are those of the cut lines.
        matcher: Finds the strategies.
    """
    cut_a, cut_b = _cut(a, ply), _cut(b, ply)
    return _describe(a, cut_a, cut_b, ply, matcher), _describe(b, cut_b, cut_a, ply, matcher)


def _cut(openings: Iterable[Opening], ply: int) -> _Cut:
    lines = [(opening.initial_sfen, opening.moves[:ply]) for opening in openings]
    positions: list[str] = []
    for initial_sfen, moves in lines:
        position = Position.from_sfen(initial_sfen)
        for move in moves:
            position.push(move)
        positions.append(position_key(position))
    return _Cut(lines, positions)


def _describe(openings: Sequence[Opening], cut: _Cut, other: _Cut, ply: int, matcher: Matcher) -> PositionSet:
    lines, positions = set(other.lines), set(other.positions)
    counts = StrategyCounts()
    for initial_sfen, moves in cut.lines:
        game = Game("", "", Result.UNKNOWN, initial_sfen=initial_sfen, moves=moves)
        counts.add(game, matcher.classify(initial_sfen, moves))
    return PositionSet(
        lines=len(openings),
        short=sum(len(opening.moves) < ply for opening in openings),
        distinct_lines=len(set(cut.lines)),
        distinct_positions=len(set(cut.positions)),
        lines_in_other=sum(line in lines for line in cut.lines),
        lines_with_position_in_other=sum(position in positions for position in cut.positions),
        positions_in_other=len(set(cut.positions) & positions),
        strategies=tuple(row for table in counts.tables() for row in table.combinations),
    )
