"""Games to training positions: which games and plies are taken, and a count of what was not and why.

A position is taken at every ply that has a score, with the move that was played there. What the record says after the
move is the evaluation of the position before it; it is turned to the side to move and cut to 16 bits.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.formats.hcpe import EVAL_LIMIT, HCPE, MATE_EVAL, HcpeWriter
from fukayomi.data.formats.overlap import Overlap, measure_overlap
from fukayomi.data.records.columns import NO_SCORE, RecordColumns
from fukayomi.data.records.text import Source, scan_source
from fukayomi.shogi import ShogiError
from fukayomi.shogi.record import IllegalMoveInRecordError, Record, RecordError, Result, Termination, UnknownFormatError

OVERLAP_AFTER_PLY = 30  # before it games share their openings by intention


class Drop(StrEnum):
    """Why a game gives no positions."""

    UNREADABLE = "unreadable"
    """Its file or archive member cannot be read."""
    NO_RECORD = "no_record"
    """The file is in no format that we know."""
    DAMAGED = "damaged"
    ILLEGAL_MOVE = "illegal_move"
    """The record has a move that the rules forbid, and goes on or ends as if it had not."""
    ENDING = "ending"
    """The end says nothing about the play: broken off, a foul, time, or no end at all."""
    RATING = "rating"
    PLIES = "plies"
    DRAW = "draw"
    NO_SCORES = "no_scores"
    FILTERED = "filtered"
    """It has scores, but no position passed the filters of evaluations."""
    NO_HCP = "no_hcp"
    """The start lacks a king: a mate problem."""


USEFUL_ENDINGS = frozenset(
    {
        Termination.RESIGN,
        Termination.DECLARATION,
        Termination.REPETITION,
        Termination.PERPETUAL_CHECK,
        Termination.IMPASSE,
        Termination.DRAW,
        Termination.MAX_PLIES,
        Termination.MATE,
        Termination.ADJUDICATION,
    }
)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which games and positions are taken; the defaults take all that have a score and a meaningful end."""

    min_rating: float | None = None
    """Both players are rated at least so; a player without a rating does not pass."""
    min_plies: int = 0
    max_eval: int | None = None
    """A game is cut at the first position whose evaluation is further from zero; centipawns."""
    draws: bool = True
    mates: bool = True
    """Whether positions that are evaluated as a mate are taken."""


@dataclass(frozen=True, slots=True)
class HoldOut:
    """Which games are kept apart for testing: those whose name's CRC-32 is a multiple of `one_in`.

    The name is that of the file without its folders (with #2 and so on for the later games of a file), so that a game
    falls on the same side whatever else is converted with it.
    """

    one_in: int
    path: Path

    def takes(self, record_name: str) -> bool:
        """Whether this game is kept apart."""
        return zlib.crc32(record_name.rpartition("/")[2].encode()) % self.one_in == 0


@dataclass(frozen=True, slots=True)
class Problem:
    """A game that could not be used because of its data."""

    name: str
    reason: Drop
    message: str


@dataclass(slots=True)
class Count:
    """What one file got."""

    games: int = 0
    positions: int = 0
    results: Counter[Result] = field(default_factory=Counter[Result])
    """Positions by the result of their game."""


@dataclass(slots=True)
class Summary:
    """What became of the games."""

    games_read: int = 0
    """Without the files that are no record or cannot be read, which are among the dropped."""
    dropped: Counter[Drop] = field(default_factory=Counter[Drop])
    unscored: int = 0
    """Plies without a score in the games that were taken."""
    training: Count = field(default_factory=Count)
    held_out: Count = field(default_factory=Count)
    problems: list[Problem] = field(default_factory=list[Problem])
    overlap: Overlap | None = None

    def add_problem(self, name: str, reason: Drop, message: str) -> None:
        """Count a game or a file that cannot be used, and remember its name."""
        if reason not in (Drop.NO_RECORD, Drop.UNREADABLE):
            self.games_read += 1
        self.dropped[reason] += 1
        self.problems.append(Problem(name, reason, message))


class NoPositionsError(ValueError):
    """Nothing passed, so there is nothing to write.

    Attributes:
        summary: What became of the games.
    """

    def __init__(self, message: str, summary: Summary) -> None:
        super().__init__(message)
        self.summary = summary


@dataclass(frozen=True, slots=True)
class GamePositions:
    """The N positions of one game."""

    records: NDArray[np.void]
    """HCPE [N]."""
    plies: NDArray[np.uint16]
    """[N]: the number of moves before each."""
    unscored: int
    """How many moves of the game have no score."""


def convert_game(record: Record, filters: Filters) -> GamePositions | Drop:
    """The training positions of one game, or why there are none."""
    columns = RecordColumns.of(record)
    refusal = _refuse(record, columns, filters)
    if refusal is not None:
        return refusal
    plies = np.flatnonzero(columns.scores != NO_SCORE)
    unscored = len(record) - len(plies)
    evals = columns.scores[plies]
    if filters.max_eval is not None and (beyond := np.flatnonzero(np.abs(evals) > filters.max_eval)).size:
        plies, evals = plies[: beyond[0]], evals[: beyond[0]]
    if not filters.mates:
        no_mate = np.abs(evals) < MATE_EVAL
        plies, evals = plies[no_mate], evals[no_mate]
    if not plies.size:
        return Drop.FILTERED
    try:
        hcps = columns.hcps(record.initial_sfen)
    except ShogiError:
        return Drop.NO_HCP
    records = np.zeros(len(plies), HCPE)
    records["hcp"] = hcps[plies]
    white_moves = (plies % 2 == 1) == columns.black_starts
    records["eval"] = np.clip(np.where(white_moves, -evals, evals), -EVAL_LIMIT, EVAL_LIMIT)
    records["bestMove16"] = columns.moves[plies]
    records["gameResult"] = record.result
    return GamePositions(records, plies.astype(np.uint16), unscored)


def _refuse(record: Record, columns: RecordColumns, filters: Filters) -> Drop | None:
    if record.termination not in USEFUL_ENDINGS or record.result is Result.UNKNOWN:
        return Drop.ENDING
    if filters.min_rating is not None:
        ratings = (record.black_rating, record.white_rating)
        if any(rating is None or rating < filters.min_rating for rating in ratings):
            return Drop.RATING
    if len(record) < filters.min_plies:
        return Drop.PLIES
    if not filters.draws and record.result is Result.DRAW:
        return Drop.DRAW
    return None if (columns.scores != NO_SCORE).any() else Drop.NO_SCORES


def convert_games(
    sources: Iterable[Source],
    out: Path,
    filters: Filters,
    hold_out: HoldOut | None = None,
    report: Callable[[Summary], None] = lambda _: None,
) -> Summary:
    """Write the positions of all games to `out`, and those of the games kept apart to the file of `hold_out`.

    The files appear under their names only at the end, and not at all if anything fails or interrupts.

    Args:
        sources: The records.
        out: The file for training.
        filters: What is taken.
        hold_out: Which games are kept apart, and where.
        report: Called with the running summary after every source.

    Raises:
        NoPositionsError: Nothing passed; no file is written.
        SourceError: An input cannot be read; no file is written.
        OSError: A file cannot be written.
    """
    summary = Summary()
    held_out_plies: list[NDArray[np.uint16]] = []
    with ExitStack() as stack:
        # Left in reverse order: the training file appears last, when all else is in its place.
        training = stack.enter_context(HcpeWriter(out))
        held_out = stack.enter_context(HcpeWriter(hold_out.path)) if hold_out else None
        for source in sources:
            for record in _scan(source, summary):
                found = convert_game(record, filters)
                if isinstance(found, Drop):
                    summary.dropped[found] += 1
                    continue
                if held_out is not None and hold_out is not None and hold_out.takes(record.name):
                    held_out_plies.append(found.plies)
                    _write(found, record, held_out, summary.held_out)
                else:
                    _write(found, record, training, summary.training)
                summary.unscored += found.unscored
            report(summary)
        if not training.count:
            raise NoPositionsError("no position is left for training: nothing is written", summary)
        if held_out is not None and held_out_plies:
            plies = np.concatenate(held_out_plies)
            summary.overlap = measure_overlap(training.records(), held_out.records(), plies, OVERLAP_AFTER_PLY)
    return summary


def _scan(source: Source, summary: Summary) -> Iterator[Record]:
    if source.problem:
        summary.add_problem(source.name, Drop.UNREADABLE, f"{source.name}: {source.problem}")
        return
    for found in scan_source(source):
        if isinstance(found, UnknownFormatError):
            summary.add_problem(found.name, Drop.NO_RECORD, str(found))
        elif isinstance(found, IllegalMoveInRecordError):
            summary.add_problem(found.name, Drop.ILLEGAL_MOVE, str(found))
        elif isinstance(found, RecordError):
            summary.add_problem(found.name, Drop.DAMAGED, str(found))
        else:
            summary.games_read += 1
            yield found


def _write(found: GamePositions, record: Record, writer: HcpeWriter, count: Count) -> None:
    writer.append(found.records)
    count.games += 1
    count.positions += len(found.records)
    count.results[record.result] += len(found.records)
