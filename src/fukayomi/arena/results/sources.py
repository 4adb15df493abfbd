"""Games out of whatever holds them: a match's folder or database, PGN, records (CSA, KIF, ...), folders, zip, tar.

What cannot be read is reported and passed over: a league is not lost for one damaged file. A game that is written down
twice counts once where that shows: a.csa beside a.kif, and the records and PGN in a match's folder.
"""

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from fukayomi.arena.results import match_db
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.match_db import DATABASE
from fukayomi.arena.results.pgn import looks_like_pgn, scan_pgn
from fukayomi.data.records.sources import SourceError, find_files, iter_sources
from fukayomi.data.records.text import scan_source
from fukayomi.shogi.record import Record, RecordError

_SQLITE_MAGIC = b"SQLite format 3\0"
_HEAD = 4096  # bytes that tell what a file is
_SAME_GAME = frozenset({"csa", "kif"})  # endings of files that hold one game if they agree in all else


def read_games(paths: Sequence[Path], report: Callable[[str], None] = lambda _: None) -> Iterator[Game]:
    """Every game of the sources, one at a time, in the order of the sources and of what they hold.

    In a folder with a match's database the games come from that alone: its records and PGN hold the same ones.

    Args:
        paths: Databases of matches, PGN files, records in any format, zip and tar archives, folders of these.
        report: Called with one line for each game, file or archive that cannot be read. It names the place.

    Raises:
        SourceError: A source does not exist, or there is no game in any of them.
    """
    games = problems = 0
    first = ""
    files = {file.resolve(): file for path in paths for file in _files_of(path)}  # what is named twice counts once
    is_copy = _Copies()
    for found in _scan([file for place, file in files.items() if not is_copy(str(place))]):
        if isinstance(found, Game):
            games += 1
            yield found
        else:
            problems += 1
            first = first or found
            report(found)
    if games == 0:
        raise SourceError(f"there is no game to be read: {first}" if problems else "there is no game in the sources")


def _files_of(path: Path) -> list[Path]:
    """The files under a source; of a match's folder the database alone.

    Raises:
        SourceError: There is none.
    """
    if not path.is_dir():
        return find_files([path])
    matches = {Path(folder) for folder, _, names in os.walk(path) if DATABASE in names}
    files: list[Path] = []
    for file in find_files([path]):
        home = next((folder for folder in file.parents if folder in matches), None)
        if home is None or file == home / DATABASE:
            files.append(file)
    return files


def _scan(files: Iterable[Path]) -> Iterator[Game | str]:
    """Games, and what is wrong with the others."""
    for path in files:
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD)
            if head.startswith(_SQLITE_MAGIC):
                yield from _scan_match(path)
            elif looks_like_pgn(head):
                with path.open("rb") as file:  # as a stream: it may be of any size
                    yield from map(_game_or_message, scan_pgn(file, str(path)))
            else:
                yield from _scan_records(path)
        except OSError as error:
            yield f"{path}: cannot be read: {error.strerror or error}"


def _scan_match(path: Path) -> Iterator[Game | str]:
    try:
        yield from match_db.read_games(path)
    except ValueError as error:
        yield str(error)


class _Copies:
    """Tells of one name after another whether it is that of a game that was there in the other format."""

    def __init__(self) -> None:
        self._endings: dict[str, str] = {}

    def __call__(self, name: str) -> bool:
        stem, _, ending = name.rpartition(".")
        return ending in _SAME_GAME and self._endings.setdefault(stem, ending) != ending


def _scan_records(path: Path) -> Iterator[Game | str]:
    """Games of a file that is a record or holds some: an archive, whose members may be PGN as well."""
    is_copy = _Copies()
    try:
        for source in iter_sources([path]):
            if is_copy(source.name):
                continue
            if source.problem:
                yield f"{source.name}: {source.problem}"
            elif source.data.startswith(_SQLITE_MAGIC):
                yield f"{source.name}: a database inside an archive; unpack it first"
            elif looks_like_pgn(source.data[:_HEAD]):
                yield from map(_game_or_message, scan_pgn(io.BytesIO(source.data), source.name))
            else:
                yield from map(_game_or_message, scan_source(source))
    except SourceError as error:
        yield str(error)


def _game_or_message(found: Game | Record | RecordError) -> Game | str:
    if isinstance(found, RecordError):
        return str(found)
    return Game.from_record(found) if isinstance(found, Record) else found
