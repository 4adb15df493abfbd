"""Read any file of training data: its content in parts, or as rows of hcpe."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.formats.format import Advance, DataFileError, RowFormat, ignore
from fukayomi.data.formats.games import TARGETS, PlayedGame, Targets, make_games, read_played
from fukayomi.data.formats.hcpe import HCPE, read_hcpe, without_flags
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.table import FORMATS, Content, as_rows, detect_data, refusal, split_dropped
from fukayomi.data.records.copies import SeenGames
from fukayomi.data.records.reading import Drop, Dropped, iter_records
from fukayomi.data.records.sources import FileHead, iter_sources
from fukayomi.listener import SILENT, Listener, counter
from fukayomi.shogi.record import Record

_GAMES_AT_ONCE = 256


@dataclass(slots=True)
class ReadCounts:
    """Counts of what was read, and of what was left out."""

    games: int = 0
    """Games read."""
    positions: int = 0
    """Rows, positions, and moves with candidates."""
    dropped: Counter[Drop] = field(default_factory=Counter[Drop])
    """Files and games left out, by reason."""
    problems: list[str] = field(default_factory=list[str])
    """A message for each file or game that cannot be read."""

    def leave_out(self, dropped: Dropped) -> None:
        """Count a file or game that is not used."""
        self.dropped[dropped.reason] += 1
        if dropped.is_problem:
            self.problems.append(dropped.message)

    def add(self, content: Content) -> None:
        """Count content that was read."""
        match content:
            case Games():
                self.games += len(content)
                self.positions += int((content.candidate_counts() > 0).sum())
            case list():
                self.games += len(content)
                self.positions += sum(map(len, content))
            case _:
                self.positions += len(content)


def read_checked(path: Path, kind: DataFormat, advance: Advance = ignore) -> Iterator[Content]:
    """Read a file of any format but records, in parts, and check every position and move.

    Raises:
        DataFileError: The file is damaged, or is a book or a cache; the message says where.
        OSError: The file cannot be read.
    """
    if kind in (DataFormat.BOOK, DataFormat.CACHE):
        raise DataFileError(refusal(path, kind, "all formats but books and caches"))
    description = FORMATS[kind]
    for content, after in description.read(path, advance=advance):
        if isinstance(description, RowFormat):
            description.raise_first_fault(path, after.outer - len(content), description.faults(content))
        yield content


def read_games(
    files: Iterable[Path | FileHead],
    targets: Targets,
    tally: ReadCounts,
    seen: SeenGames,
    advance: Advance = ignore,
) -> Iterator[Games]:
    """Read the records of many files, archives too, as games in common batches.

    Args:
        files: The files, or their heads.
        targets: How the moves of records become training positions.
        tally: Counts what is left out.
        seen: The games of the collection so far.
        advance: Called with the number of bytes read since the last call.

    Raises:
        SourceError: A file or an archive cannot be read.
    """
    played: list[PlayedGame] = []
    for record in iter_records(iter_sources(files, advance), seen):
        game = read_played(record, targets) if isinstance(record, Record) else record
        if isinstance(game, Dropped):
            tally.leave_out(game)
            continue
        played.append(game)
        if len(played) >= _GAMES_AT_ONCE:
            yield make_games(played, targets)
            played = []
    if played:
        yield make_games(played, targets)


def read_data(
    path: Path | str, *, format: DataFormat | str | None = None, listener: Listener = SILENT
) -> Iterator[Content]:
    """Read a file in parts, in the form of its format; memory stays bounded.

    Args:
        path: A file; for records also an archive.
        format: The format, such as "hcpe"; found by the content if None.
        listener: Follows the bytes, and hears of records that cannot be read.

    Yields:
        hcp, SFEN lines: array of HCP [N]. hcpe, hcpe2: HCPE [N]. psv, plain: PSV [N]. book: BOOK_ENTRY [N].
        hcpe3: `Games`. avg: `Averages`. cache: `CachedPositions`. Records: a list of `Record`.

    Raises:
        DataFileError: The file is damaged, or in no known format; the message says where.
        SourceError: An archive is damaged.
        OSError: The file cannot be read.
    """
    path = Path(path)
    kind = detect_data(path) if format is None else DataFormat(format)
    for content, _ in FORMATS[kind].read(path, advance=counter(listener, "reading", path.stat().st_size)):
        if kind is DataFormat.RECORDS:
            content, dropped = split_dropped(content)
            for problem in dropped:
                if problem.is_problem:
                    listener.note(problem.message)
        if len(content):
            yield content


def read_rows(
    path: Path | str,
    *,
    format: DataFormat | str | None = None,
    targets: Targets = TARGETS,
    listener: Listener = SILENT,
) -> Iterator[NDArray[np.void]]:
    """Read the training positions of a file in parts, as rows of hcpe without flags. Every row is checked.

    Args:
        path: hcpe, hcpe2, psv, plain, avg, hcpe3 or records.
        format: The format, such as "hcpe"; found by the content if None.
        targets: How the moves of records become training positions.
        listener: Follows the bytes, and hears of records that cannot be read.

    Yields:
        HCPE [N] with the fields hcp, eval, bestMove16 (0: a row of psv without a move) and gameResult.

    Raises:
        DataFileError: The file is damaged, or has no such positions; the message says where.
        SourceError: An archive is damaged.
        OSError: The file cannot be read.
    """
    path = Path(path)
    kind = detect_data(path) if format is None else DataFormat(format)
    advance = counter(listener, "reading", path.stat().st_size)
    tally = ReadCounts()
    is_records = kind is DataFormat.RECORDS
    contents = (
        read_games([path], targets, tally, SeenGames(), advance) if is_records else read_checked(path, kind, advance)
    )
    noted = 0
    for content in contents:
        yield without_flags(as_rows(content, moveless=True).records)
        for message in tally.problems[noted:]:
            listener.note(message)
        noted = len(tally.problems)
    for message in tally.problems[noted:]:
        listener.note(message)


def load_rows(path: Path | str, *, format: DataFormat | str | None = None) -> NDArray[np.void]:
    """The training positions of a file as one array; arguments as for `read_rows`.

    hcpe is memory-mapped, read-only and not checked; anything else is read and checked.

    Returns:
        HCPE [N].
    """
    path = Path(path)
    kind = detect_data(path) if format is None else DataFormat(format)
    if kind is DataFormat.HCPE:
        return read_hcpe(path)
    return np.concatenate([np.zeros(0, HCPE), *read_rows(path, format=kind)])
