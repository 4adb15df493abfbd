"""Game records one after the other, from any number of files, and the reasons why some are passed over."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain, islice
from os import PathLike
from pathlib import Path

from fukayomi.data.records.copies import SeenGames
from fukayomi.data.records.sources import SourceError, find_files, iter_sources
from fukayomi.data.records.text import Source
from fukayomi.listener import Listener
from fukayomi.shogi.formats import scan_records
from fukayomi.shogi.record import IllegalMoveInRecordError, Record, RecordError, UnknownFormatError


class Drop(StrEnum):
    """Reasons why a file or a game gives no training positions."""

    UNREADABLE = "unreadable"
    """The file or archive member cannot be read."""
    NO_RECORD = "no_record"
    """The file is not in a known format."""
    DAMAGED = "damaged"
    ILLEGAL_MOVE = "illegal_move"
    """The record has a move that the rules forbid, and its result ignores that."""
    ENDING = "ending"
    """The end says nothing about the play: broken off, a foul, time, or no end at all."""
    RATING = "rating"
    PLIES = "plies"
    DRAW = "draw"
    NO_SCORES = "no_scores"
    FILTERED = "filtered"
    """The game has scores, but no position passed the filters."""
    NO_HCP = "no_hcp"
    """The start position lacks a king, as in a mate problem."""
    NO_MOVE = "no_move"
    """A row of psv has no move, and the format written needs one."""
    NOT_WRITTEN = "not_written"
    """The format to write cannot express the record."""
    COPY = "copy"
    """The game was given before, in another file."""


_PROBLEMS = frozenset({Drop.UNREADABLE, Drop.NO_RECORD, Drop.DAMAGED, Drop.ILLEGAL_MOVE, Drop.NOT_WRITTEN})


@dataclass(frozen=True, slots=True)
class Dropped:
    """A file, archive member or game that is not used."""

    name: str
    """Path of the file; for a member, path of the archive and of the member; #2 and so on for later games of a file."""
    reason: Drop
    message: str
    """Full message for the user."""
    detail: str = ""
    """The message without the name and the place."""
    line: int | None = None
    """Line of the file, from 1; None if it is not known."""

    @classmethod
    def of(cls, error: RecordError) -> "Dropped":
        """A record that could not be read."""
        reason = Drop.DAMAGED
        if isinstance(error, UnknownFormatError):
            reason = Drop.NO_RECORD
        elif isinstance(error, IllegalMoveInRecordError):
            reason = Drop.ILLEGAL_MOVE
        return cls(error.name, reason, str(error), error.reason, error.line)

    @property
    def is_problem(self) -> bool:
        """True if something is wrong with the data, rather than the game being unsuitable."""
        return self.reason in _PROBLEMS

    @property
    def is_game(self) -> bool:
        """True if a game was found that was not given before, though it may be damaged."""
        return self.reason not in (Drop.UNREADABLE, Drop.NO_RECORD, Drop.COPY)

    def __str__(self) -> str:
        return self.message


def iter_records(sources: Iterable[Source], seen: SeenGames) -> Iterator[Record | Dropped]:
    """Read the games of all sources, in order.

    Args:
        sources: As `fukayomi.data.records.sources.iter_sources` reads them.
        seen: The games of the collection so far; of the records of one game only the first counts.

    Yields:
        A `Record` for each game, a `Dropped` for each copy, and for each game or file that cannot be read.
    """
    for source in sources:
        yield from scan_source(source, seen)


def scan_source(source: Source, seen: SeenGames) -> Iterator[Record | Dropped]:
    """As `iter_records`, for one source; names and lines are those in the whole file."""
    if source.problem:
        yield Dropped(source.name, Drop.UNREADABLE, f"{source.name}: {source.problem}", source.problem)
        return
    for found, in_collection in _games_of(source):
        if isinstance(found, RecordError):
            yield Dropped.of(found)
        elif seen.is_copy(found, in_collection=in_collection):
            reason = "the game was given before"
            yield Dropped(found.name, Drop.COPY, f"{found.name}: {reason}", reason)
        else:
            yield found


def _games_of(source: Source) -> Iterator[tuple[Record | RecordError, bool]]:
    """The games of a source that can be read, and whether its file has several."""
    records = scan_records(source.data, name=source.name, text_format=source.format)
    first = list(islice(records, 2))
    in_collection = len(first) > 1 or source.format is not None
    for index, found in enumerate(chain(first, records), source.games_before):
        if source.games_before:
            found.name = f"{source.name}#{index + 1}"
            if isinstance(found, RecordError):
                line = None if found.line is None else found.line + source.lines_before
                found = type(found)(found.name, line, found.reason)
        yield found, in_collection


def read_records(*sources: str | PathLike[str] | bytes, listener: Listener | None = None) -> Iterator[Record]:
    """Every game of files, folders and archives, one at a time, in order; formats are recognised by the content.

        >>> from fukayomi import read_records
        >>> for record in read_records("games", "archive.zip"):  # doctest: +SKIP
        ...     print(record.name, record.result)
        >>> [record.usi_moves() for record in read_records(b"startpos moves 7g7f\\nstartpos moves 2g2f 8c8d")]
        [['7g7f'], ['2g2f', '8c8d']]

    A game that is there twice comes twice. In folders and archives, files in none of the formats are left out.

    Args:
        sources: Files of any size in CSA, KIF, KI2, JKF or USI, plain or compressed; zip and tar archives; folders of
            these; or the content of a file as bytes.
        listener: Gets a note for each file and game that cannot be read, and the others follow. None: the first one is
            an error.

    Raises:
        RecordError: A game is damaged or has an illegal move, or a file that is named has no game.
        ValueError: A file or folder is missing or empty, or an archive is damaged.
        OSError: A file cannot be read.
    """
    for each in sources:
        if isinstance(each, bytes):
            yield from _told(((found, True) for found in scan_records(each)), listener)
            continue
        path = Path(each)
        for file in find_files([path]):
            try:
                for source in iter_sources([file]):
                    if source.problem:
                        if listener is None:
                            raise SourceError(f"{source.name}: {source.problem}")
                        listener.note(f"{source.name}: {source.problem}")
                        continue
                    is_named = file == path and source.name == str(path)
                    yield from _told(_games_of(source), listener, leaves_out_others=not is_named)
            except SourceError as error:
                if listener is None:
                    raise
                listener.note(str(error))


def _told(
    games: Iterable[tuple[Record | RecordError, bool]], listener: Listener | None, *, leaves_out_others: bool = False
) -> Iterator[Record]:
    """The records among the games; the others are errors or notes."""
    for found, _ in games:
        if isinstance(found, Record):
            yield found
        elif listener is not None:
            listener.note(str(found))
        elif not (leaves_out_others and isinstance(found, UnknownFormatError)):
            raise found


NAMED = 100
"""Records whose problems are kept; the others are only counted."""


@dataclass(slots=True)
class Skipped:
    """Records that cannot be read, and copies of games."""

    count: int = 0
    """Records that cannot be read."""
    messages: list[str] = field(default_factory=list[str])
    """The problems of the first of them."""
    copies: int = 0
    """Records of games that were given before."""

    def add(self, dropped: Dropped) -> None:
        """Count one."""
        if dropped.reason is Drop.COPY:
            self.copies += 1
        else:
            self.add_problem(dropped.message)

    def add_problem(self, message: str) -> None:
        """Count a record that cannot be read."""
        self.count += 1
        if len(self.messages) < NAMED:
            self.messages.append(message)
