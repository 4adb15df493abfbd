"""Sets of balanced lines (互角局面集): their collection from games, and the comparison of two sets."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from fukayomi.arena.game.openings import Opening
from fukayomi.arena.positions.balanced import (
    EVEN_OPENINGS,
    BalanceConditions,
    Exclusion,
    evaluations,
    find_line,
    position_key,
)
from fukayomi.arena.results.game import Game
from fukayomi.arena.strategy.counts import StrategyCounts, StrategyRow
from fukayomi.arena.strategy.matcher import Matcher
from fukayomi.data.records.copies import SeenGames
from fukayomi.data.records.reading import Drop, Dropped, scan_source
from fukayomi.data.records.sources import find_files, iter_sources
from fukayomi.data.records.text import Source
from fukayomi.listener import SILENT, Listener, counter
from fukayomi.shogi import Move, Position
from fukayomi.shogi.record import Record, Result
from fukayomi.tabular import Tabular


@dataclass(slots=True)
class BalancedSet(Tabular):
    """The lines found so far, one per position, and what happened to the games. ``len()`` is the number of lines."""

    conditions: BalanceConditions
    """The conditions for a line."""
    games_read: int = 0
    """Games read, each once, without unreadable files and files that are not records."""
    left_out: Counter[Exclusion] = field(default_factory=Counter[Exclusion])
    """Games without a line, by reason; files that could not be read count too."""
    unjudged: Counter[int] = field(default_factory=Counter[int])
    """Games that passed without an evaluation at ply moves1 or moves2, by ply; empty for middle games."""
    problems: list[str] = field(default_factory=list[str])
    """A message for each file or record that could not be read."""
    _lines: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])

    def add(self, record: Record) -> None:
        """Add the line of a game, if the game meets the conditions."""
        self.games_read += 1
        length = find_line(record, self.conditions)
        if isinstance(length, Exclusion):
            self.left_out[length] += 1
            return
        moves = record.usi_moves()[:length]
        line = f"startpos moves {' '.join(moves)}"
        if not self.conditions.middle_game:
            evals = evaluations(record, self.conditions.eval_of)
            for ply in {self.conditions.moves1, self.conditions.moves2}:
                self.unjudged[ply] += evals[ply] is None
        unique = moves if self.conditions.middle_game else moves[: self.conditions.moves1]
        key = position_key(Position.from_usi(f"startpos moves {' '.join(unique)}"))
        other = self._lines.get(key)
        self.left_out[Exclusion.DUPLICATE] += other is not None
        # Independent of the order of the games: keep the shortest line, then the alphabetically first.
        self._lines[key] = min(filter(None, (other, (length, line))))

    def leave_out(self, dropped: Dropped) -> None:
        """Count a file or record that cannot be read, or a copy of a game, and keep the message of the former."""
        self.games_read += dropped.is_game
        reason = Exclusion.DAMAGED if dropped.reason is Drop.ILLEGAL_MOVE else Exclusion(dropped.reason)
        self.left_out[reason] += 1
        if dropped.is_problem:
            self.problems.append(dropped.message)

    def lines(self) -> list[str]:
        """The lines as ``startpos moves ...``, in a pseudo-random order that depends on the lines alone.

        Any first part of them is therefore a fair sample.
        """
        return sorted(
            (line for _, line in self._lines.values()), key=lambda line: hashlib.sha256(line.encode()).digest()
        )

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per line, in the order of `lines`."""
        return [{"plies": len(line.split()) - 2, "line": line} for line in self.lines()]

    def __len__(self) -> int:
        return len(self._lines)


class BalancedListener(Listener):
    """Follows the collection of a set."""

    def counted(self, found: BalancedSet) -> None:
        """Called with the set so far, after each file or record."""


def balanced_positions(
    records: str | PathLike[str] | Iterable[str | PathLike[str] | Record | Source],
    conditions: BalanceConditions = EVEN_OPENINGS,
    *,
    listener: Listener = SILENT,
) -> BalancedSet:
    """Collect balanced lines from games with evaluations. The result does not depend on the order of the games.

        found = arena.balanced_positions("floodgate/2025", EVEN_MIDDLE_GAMES)
        Path("middle.sfen").write_text("\\n".join(found.lines()) + "\\n")

    Args:
        records: Records in any format: a path or several (files, folders, zip, tar), or records in memory.
        conditions: The conditions for a line: `EVEN_OPENINGS`, `EVEN_MIDDLE_GAMES` or others.
        listener: Gets progress in bytes; a `BalancedListener` gets the running set too.

    Raises:
        SourceError: A path does not exist, or an archive is damaged.
    """
    found, seen = BalancedSet(conditions), SeenGames()
    for item in _iterate(records, listener):
        for record in [item] if isinstance(item, Record) else scan_source(item, seen):
            if isinstance(record, Dropped):
                found.leave_out(record)
            else:
                found.add(record)
        if isinstance(listener, BalancedListener):
            listener.counted(found)
    return found


def _iterate(
    records: str | PathLike[str] | Iterable[str | PathLike[str] | Record | Source], listener: Listener
) -> Iterator[Record | Source]:
    paths: list[Path] = []
    for item in [records] if isinstance(records, str | PathLike) else records:
        if isinstance(item, str | PathLike):
            paths.append(Path(item))
        else:
            yield item
    if not paths:
        return
    files = find_files(paths)
    yield from iter_sources(files, counter(listener, "reading", sum(file.stat().st_size for file in files)))


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
