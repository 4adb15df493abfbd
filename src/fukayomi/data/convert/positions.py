"""Records to training positions (hcpe), with filters and a held-out part: ``fukayomi data csa-to-hcpe``.

Which moves become positions is decided in `fukayomi.data.formats.games`, as for every other conversion of records; the
filters only leave out more.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import MATE_CP
from fukayomi.data.conditions import Filters
from fukayomi.data.convert.blocks import game_hash, held_out
from fukayomi.data.convert.writers import DataWriter
from fukayomi.data.formats.format import position_keys
from fukayomi.data.formats.games import PlayedGame, make_games, read_played, useful_ending
from fukayomi.data.formats.hcpe import RESULT_BITS, Rows, without_flags
from fukayomi.data.formats.kinds import Target
from fukayomi.data.formats.table import as_rows
from fukayomi.data.records.copies import NO_SCORE, SeenGames
from fukayomi.data.records.reading import Drop, Dropped, iter_records
from fukayomi.data.records.sources import find_files, iter_sources
from fukayomi.errors import InvalidValueError
from fukayomi.listener import SILENT, Listener, counter
from fukayomi.shogi.record import Record, Result

_AT_ONCE = 1 << 20  # records


@dataclass(frozen=True, slots=True)
class Overlap:
    """Held-out positions that also occur in training.

    Shared positions make a test set too easy. They are found by a 64-bit hash; between two sets of 10 million positions
    the probability of a false match is below 1 in 100 000.
    """

    after_ply: int
    """Only held-out positions after this many moves count."""
    positions: int
    """Held-out positions that count."""
    shared: int
    """Number of them that are in training."""

    @property
    def share(self) -> float:
        """Shared positions among all that count, 0 to 1."""
        return self.shared / self.positions if self.positions else 0.0


def measure_overlap(
    training: NDArray[np.void], held_out: NDArray[np.void], plies: NDArray[np.uint16], after_ply: int
) -> Overlap:
    """Count the held-out positions after `after_ply` moves that also occur in training, at any ply.

    Args:
        training: HCPE [N], read in parts: it may be a memory map larger than memory.
        held_out: HCPE [M].
        plies: uint16 [M], number of moves before each held-out position.
        after_ply: Positions with fewer moves before them do not count.
    """
    late = plies >= after_ply
    keys, counts = np.unique(position_keys(held_out["hcp"][late]), return_counts=True)
    seen = np.zeros(len(keys), np.bool_)
    if len(keys):
        for start in range(0, len(training), _AT_ONCE):
            found = position_keys(training["hcp"][start : start + _AT_ONCE])
            where = np.minimum(np.searchsorted(keys, found), len(keys) - 1)
            seen[where[keys[where] == found]] = True
    return Overlap(after_ply, int(late.sum()), int(counts[seen].sum()))


OVERLAP_AFTER_PLY = 30
"""Earlier positions are openings, which games share on purpose."""
ALL = Filters()
_GAMES_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class HoldOut:
    """Games of a test set: those that `held_out` chooses by their start and moves."""

    one_in: int
    path: Path

    def takes(self, game: PlayedGame) -> bool:
        """True if a game goes to the test set."""
        return bool(held_out([game_hash(game.hcps[0].tobytes(), game.columns.moves)], self.one_in)[0])


@dataclass(slots=True)
class Count:
    """Counts of one output."""

    games: int = 0
    positions: int = 0
    results: Counter[Result] = field(default_factory=Counter[Result])
    """Positions by the result of their game."""


@dataclass(slots=True)
class Summary:
    """Summary of what became of the games."""

    games_read: int = 0
    """Games found, damaged ones included."""
    dropped: Counter[Drop] = field(default_factory=Counter[Drop])
    """Files and games left out, by reason."""
    unscored: int = 0
    """Moves that are not positions in the games that were kept: they have no score."""
    training: Count = field(default_factory=Count)
    held_out: Count = field(default_factory=Count)
    problems: list[Dropped] = field(default_factory=list[Dropped])
    """Files and games that cannot be read."""
    overlap: Overlap | None = None
    """Held-out positions that are also in training; None without a held-out part."""

    def leave_out(self, dropped: Dropped) -> None:
        """Count a file or game that is not used."""
        self.dropped[dropped.reason] += 1
        if dropped.is_problem:
            self.problems.append(dropped)


class NoPositionsError(InvalidValueError):
    """No position is left to write.

    Attributes:
        summary: What became of the games.
    """

    def __init__(self, message: str, summary: Summary) -> None:
        super().__init__(message)
        self.summary = summary


class _Output:
    """A file of positions; games are converted many at a time."""

    def __init__(self, writer: DataWriter, count: Count) -> None:
        self.writer = writer
        self.plies: list[NDArray[np.uint16]] = []
        """Number of moves before each position, [N] in parts."""
        self._count = count
        self._games: list[PlayedGame] = []
        self._kept: list[NDArray[np.bool_]] = []

    def add(self, game: PlayedGame, kept: NDArray[np.bool_]) -> None:
        """Add the chosen moves of a game."""
        self._games.append(game)
        self._kept.append(kept)
        if len(self._games) >= _GAMES_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what was added."""
        if not self._games:
            return
        rows = as_rows(make_games(self._games).with_candidates(np.concatenate(self._kept)))
        self.writer.append(rows)
        self.plies.append(rows.plies - np.uint16(1))
        self._count.games += len(self._games)
        self._count.positions += len(rows)
        for result, number in enumerate(np.bincount(rows.records["gameResult"] & RESULT_BITS).tolist()):
            if number:
                self._count.results[Result(result)] += number
        self._games, self._kept = [], []


def convert_records(
    inputs: Path | str | Sequence[Path | str],
    out: Path | str,
    *,
    filters: Filters = ALL,
    hold_out: HoldOut | None = None,
    listener: Listener = SILENT,
) -> Summary:
    """Write the positions of game records to `out` as hcpe, and those of some games to a test set.

    The files appear when they are complete; if anything fails, neither does.

    Args:
        inputs: Files, folders and archives of records in any format.
        out: The hcpe file for training.
        filters: Which games and positions to keep.
        hold_out: Which games go to the test set, and its file.
        listener: Follows the bytes of the inputs.

    Raises:
        NoPositionsError: No position is left for training.
        SourceError: An input cannot be read.
        OSError: A file cannot be written.
    """
    files = find_files([Path(path) for path in ([inputs] if isinstance(inputs, Path | str) else inputs)])
    advance = counter(listener, "converting", sum(file.stat().st_size for file in files))
    summary = Summary()
    with ExitStack() as stack:
        # Left in reverse order: the training file appears last, when everything else is in place.
        training = _Output(stack.enter_context(DataWriter(out, Target.HCPE)), summary.training)
        held_out = None
        if hold_out is not None:
            held_out = _Output(stack.enter_context(DataWriter(hold_out.path, Target.HCPE)), summary.held_out)
        for record in iter_records(iter_sources(files, advance), SeenGames()):
            game = _choose(record, filters, summary)
            if isinstance(game, Dropped):
                summary.leave_out(game)
            elif held_out is not None and hold_out is not None and hold_out.takes(game[0]):
                held_out.add(*game)
            else:
                training.add(*game)
        training.flush()
        if held_out is not None:
            held_out.flush()
        if not training.writer.count:
            raise NoPositionsError("no position is left for training: nothing is written", summary)
        if held_out is not None and held_out.plies:
            plies = np.concatenate(held_out.plies)
            rows = training.writer.rows_so_far(), held_out.writer.rows_so_far()
            summary.overlap = measure_overlap(*rows, plies, OVERLAP_AFTER_PLY)
    return summary


def positions_of(record: Record, filters: Filters = ALL) -> Rows | Dropped:
    """The training positions of one game, or why it gives none."""
    game = _choose(record, filters, Summary())
    if isinstance(game, Dropped):
        return game
    rows = as_rows(make_games([game[0]]).with_candidates(game[1]))
    return Rows(without_flags(rows.records), rows.plies)


def _refusal(filters: Filters, record: Record, result: Result) -> Drop | None:
    """Reason why a game is left out as a whole, or None."""
    if filters.min_rating is not None:
        ratings = (record.black_rating, record.white_rating)
        if any(rating is None or rating < filters.min_rating for rating in ratings):
            return Drop.RATING
    if len(record) < filters.min_plies:
        return Drop.PLIES
    return Drop.DRAW if not filters.draws and result is Result.DRAW else None


def _kept(filters: Filters, scores: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Mask of the moves with these scores to keep: int32 [N], NO_SCORE for those that are no positions, to bool [N]."""
    kept = scores != NO_SCORE
    sizes = np.where(kept, np.abs(scores), 0)
    if filters.max_eval is not None and (beyond := np.flatnonzero(sizes > filters.max_eval)).size:
        kept[beyond[0] :] = False
    return kept if filters.mates else kept & (sizes < MATE_CP)


def _choose(
    record: Record | Dropped, filters: Filters, summary: Summary
) -> tuple[PlayedGame, NDArray[np.bool_]] | Dropped:
    """A game and which of its moves are kept (bool [N])."""
    if isinstance(record, Dropped):
        summary.games_read += record.is_game
        return record
    summary.games_read += 1
    ending = useful_ending(record)
    if isinstance(ending, Dropped):
        return ending
    reason = _refusal(filters, record, ending[1])
    game = read_played(record) if reason is None else _dropped(record, reason)
    if isinstance(game, Dropped):
        return game
    scores = game.scores
    unscored = int((scores == NO_SCORE).sum())
    kept = _kept(filters, scores)
    if not kept.any():
        return _dropped(record, Drop.NO_SCORES if unscored == len(scores) else Drop.FILTERED)
    summary.unscored += unscored
    return game, kept


def _dropped(record: Record, reason: Drop) -> Dropped:
    return Dropped(record.name, reason, f"{record.name}: left out ({reason})")
