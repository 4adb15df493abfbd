"""Games in any form that users have them: matches, PGN, records, archives of these, tuples, DataFrames.

What cannot be read is reported and skipped: one damaged file does not spoil a league. A game given twice counts once
(`fukayomi.data.records.copies`), and of the folder of a match only the database is read.
"""

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from fukayomi.arena.results import match_db
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.match_db import DATABASE
from fukayomi.arena.results.pgn import looks_like_pgn, scan_pgn
from fukayomi.data.records.copies import SeenGames, copies_text
from fukayomi.data.records.reading import Drop, Dropped, scan_source
from fukayomi.data.records.sources import SourceError, find_files, iter_sources
from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import open_input
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi.record import Record, RecordError, Result

_SQLITE_MAGIC = b"SQLite format 3\0"
_HEAD = 4096  # bytes that identify a file


def read_games(paths: Sequence[Path], *, listener: Listener = SILENT) -> Iterator[Game]:
    """Read every game of the sources, one at a time, in order.

    If a folder has the database of a match, only that is read: the records and the PGN hold the same games.

    Args:
        paths: Databases of matches, PGN files, records in any format, zip and tar archives, folders of these.
        listener: Gets a note for each game, file or archive that cannot be read; it names the place. At the end, one
            with the number of copies of games.

    Raises:
        SourceError: A source does not exist, or no game can be read from any of them.
    """
    games = problems = 0
    first = ""
    files = {file.resolve(): file for path in paths for file in _files_of(path)}  # each file once
    seen = SeenGames()
    for found in _scan(files.values(), seen):
        if isinstance(found, Game):
            games += 1
            yield found
        else:
            problems += 1
            first = first or found
            listener.note(found)
    if seen.copies:
        listener.note(copies_text(seen.copies))
    if games == 0:
        raise SourceError(f"no game can be read: {first}" if problems else "the sources have no games")


def read_game_records(paths: Sequence[Path], *, listener: Listener = SILENT) -> Iterator[Record]:
    """Read the complete record of every game, with its scores: as `read_games`, but not from PGN, which has no moves.

    Args:
        paths: Databases of matches, records in any format, zip and tar archives, folders of these.
        listener: Gets the progress in files, and a note for each game, file or archive that cannot be read.

    Raises:
        SourceError: A source does not exist.
        StoreError: The database of a match is damaged.
    """
    files = list({file.resolve(): file for path in paths for file in _files_of(path)}.values())
    seen = SeenGames()
    for number, path in enumerate(files):
        listener.progress("reading", number, len(files))
        if _is_database(path):
            yield from match_db.read_records(path)
            continue
        for source in iter_sources([path]):
            if looks_like_pgn(source.data[:_HEAD]):
                continue
            for found in scan_source(source, seen):
                if isinstance(found, Record):
                    yield found
                elif found.is_problem:
                    listener.note(found.message)
    listener.progress("reading", len(files), len(files))


def _is_database(path: Path) -> bool:
    with open_input(path) as file:
        return file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC


def _files_of(path: Path) -> list[Path]:
    """The files of a source; only the database in the folder of a match.

    Raises:
        SourceError: The source has no files.
    """
    if not path.is_dir():
        return find_files([path])
    matches = {Path(folder) for folder, _, names in os.walk(path) if DATABASE in names}
    files: list[Path] = []
    for file in find_files([path]):
        match = next((folder for folder in file.parents if folder in matches), None)
        if match is None or file == match / DATABASE:
            files.append(file)
    return files


def _scan(files: Iterable[Path], seen: SeenGames) -> Iterator[Game | str]:
    """Games, and messages about what cannot be read."""
    for path in files:
        try:
            with open_input(path) as file:
                head = file.read(_HEAD)
            if head.startswith(_SQLITE_MAGIC):
                yield from _scan_match(path)
            elif looks_like_pgn(head):
                with open_input(path) as file:  # as a stream: it may be large
                    yield from map(_game_or_message, scan_pgn(file, str(path)))
            else:
                yield from _scan_records(path, seen)
        except OSError as error:
            yield f"{path}: cannot be read: {error.strerror or error}"


def _scan_match(path: Path) -> Iterator[Game | str]:
    try:
        yield from match_db.read_games(path)
    except ValueError as error:
        yield str(error)


def _scan_records(path: Path, seen: SeenGames) -> Iterator[Game | str]:
    """Games of a record, or of an archive, whose members may be records or PGN."""
    try:
        for source in iter_sources([path]):
            if source.data.startswith(_SQLITE_MAGIC):
                yield f"{source.name}: a database inside an archive; unpack it first"
            elif looks_like_pgn(source.data[:_HEAD]):
                yield from map(_game_or_message, scan_pgn(io.BytesIO(source.data), source.name))
            else:
                for found in scan_source(source, seen):
                    if not (isinstance(found, Dropped) and found.reason is Drop.COPY):
                        yield _game_or_message(found)
    except SourceError as error:
        yield str(error)


def _game_or_message(found: Game | Record | RecordError | Dropped) -> Game | str:
    if isinstance(found, RecordError | Dropped):
        return str(found)
    return Game.from_record(found) if isinstance(found, Record) else found


Games = Any
"""Games as the functions of `fukayomi.arena` accept them: the result of a match, or several; a path or several (match
folders, match.db, PGN, records, folders, zip, tar); `Game` or `Record` objects; tuples (black, white, result); or a
DataFrame with the columns black, white and result.

A result is a `Result`; Black's points 1, 0.5 or 0; or "1-0", "1/2-1/2", "0-1", "*" from Black's view.
"""


@runtime_checkable
class HasGames(Protocol):
    """The result of a match (`fukayomi.arena.MatchResult`)."""

    @property
    def games(self) -> Sequence[Game]:
        """All games."""
        ...


_RESULTS: dict[Any, Result] = {
    1: Result.BLACK_WIN, 0.5: Result.DRAW, 0: Result.WHITE_WIN, None: Result.UNKNOWN,
    "1-0": Result.BLACK_WIN, "1/2-1/2": Result.DRAW, "0-1": Result.WHITE_WIN, "*": Result.UNKNOWN,
    **{result.name.lower(): result for result in Result},
}  # fmt: skip


def iterate_games(games: Games, *, listener: Listener = SILENT) -> Iterator[Game]:
    """All games, one at a time.

    Args:
        games: See `Games`.
        listener: Gets a note for each file or game that cannot be read.

    Raises:
        SourceError: A path does not exist, or no game could be read from the paths.
        ValueError: An item is not a game, or has an invalid result.
    """
    if isinstance(games, str | PathLike | Record | Game):
        games = [games]
    elif hasattr(games, "columns"):  # a DataFrame of pandas or polars
        games = zip(games["black"], games["white"], games["result"], strict=True)
    elif isinstance(games, HasGames):
        games = games.games
    paths: list[Path] = []
    for item in games:
        if isinstance(item, str | PathLike):
            paths.append(Path(item))  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(item, HasGames):
            yield from item.games
        else:
            yield _game(item)
    if paths:
        yield from read_games(paths, listener=listener)


def _game(item: Any) -> Game:
    if isinstance(item, Game):
        return item
    if isinstance(item, Record):
        return Game.from_record(item)
    try:
        black, white, result = item
    except (TypeError, ValueError):
        raise InvalidValueError(
            f"{item!r} is not a game: expected a path, a match, a record or (black, white, result)"
        ) from None
    if not isinstance(result, Result):
        if result not in _RESULTS:
            raise InvalidValueError(
                f"invalid result {result!r} (expected 1, 0.5 or 0 points of Black, or 1-0, 1/2-1/2, 0-1)"
            )
        result = _RESULTS[result]
    return Game(str(black), str(white), result)
