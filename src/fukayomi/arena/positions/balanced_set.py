"""Sets of balanced lines (互角局面集): the lines that games give, each position once, and what became of the others."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from fukayomi.arena.positions.balanced import BalanceConditions, Exclusion, evaluations, find_line, position_key
from fukayomi.data.records.text import Source, scan_source
from fukayomi.shogi import Position
from fukayomi.shogi.record import Record, RecordError, UnknownFormatError


@dataclass(slots=True)
class BalancedSet:
    """The lines found so far, one for each position, and what became of the games.

    Attributes:
        conditions: What the games must be like.
        games_read: Without the files that are no record or cannot be read.
        left_out: How many gave no line, and why; files included.
        unjudged: How many games passed without an evaluation at ply moves1 and at ply moves2 (the middle-game kind
            has no such plies).
        problems: A line for each file or record that cannot be read.
    """

    conditions: BalanceConditions
    games_read: int = 0
    left_out: Counter[Exclusion] = field(default_factory=Counter[Exclusion])
    unjudged: Counter[int] = field(default_factory=Counter[int])
    problems: list[str] = field(default_factory=list[str])
    _lines: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])

    def add(self, record: Record) -> None:
        """Take a game's line if the game passes."""
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
        # The one to keep must not depend on the order of the games: the shortest, then the first of the alphabet.
        self._lines[key] = min(filter(None, (other, (length, line))))

    def lines(self) -> list[str]:
        """The lines as ``startpos moves ...``, in an order that is like a shuffled one but depends on them alone.

        So the first hundred are a fair sample, whoever plays them in order.
        """
        return sorted(
            (line for _, line in self._lines.values()), key=lambda line: hashlib.sha256(line.encode()).digest()
        )

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self._lines)


def collect(
    sources: Iterable[Source], conditions: BalanceConditions, report: Callable[[BalancedSet], None] = lambda _: None
) -> BalancedSet:
    """The set that the games of all sources give; it does not depend on their order.

    Args:
        sources: Records in any format, as `fukayomi.data.records.sources.iter_sources` streams them.
        conditions: What the games must be like.
        report: Called with the running set after every source.

    Raises:
        SourceError: A source cannot be read at all.
    """
    found = BalancedSet(conditions)
    for source in sources:
        for record in _scan(source, found):
            found.add(record)
        report(found)
    return found


def _scan(source: Source, found: BalancedSet) -> Iterator[Record]:
    """The records of a source; what cannot be read is counted and named."""
    if source.problem:
        found.left_out[Exclusion.UNREADABLE] += 1
        found.problems.append(f"{source.name}: {source.problem}")
        return
    for record in scan_source(source):
        if not isinstance(record, RecordError):
            yield record
            continue
        is_record = not isinstance(record, UnknownFormatError)
        found.games_read += is_record
        found.left_out[Exclusion.DAMAGED if is_record else Exclusion.NO_RECORD] += 1
        found.problems.append(str(record))
