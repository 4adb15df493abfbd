"""The games that `fukayomi analyse` is given, and the names of their folders."""

import hashlib
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fukayomi.cli.common.errors import fail

if TYPE_CHECKING:
    from fukayomi.data.records.copies import SeenGames
    from fukayomi.data.records.reading import Dropped
    from fukayomi.shogi.record import Record

_LONGEST_NAME = 60
"""Characters: in UTF-8 at most 240 bytes, and file systems take 255."""
_NOT_IN_NAMES = re.compile(r"[^\w.()+=~-]+")
_RECORD_SUFFIX = re.compile(r"\.(csa|kifu?|ki2u?|jkf|json|usi|sfen|txt)(?=#|$)", re.IGNORECASE)
_ARCHIVE_SUFFIX = re.compile(r"(\.tar)?\.(zip|gz|bz2|xz|tar|tgz|txz)(?=[-#]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """A game to be analysed."""

    record: "Record"
    name: str
    """Place where it was found, within the argument: ``2025/a.kif``."""
    digest: str
    """Hash of players, first position and moves, in hexadecimal digits."""

    def folder_names(self) -> tuple[str, str]:
        """The name of its folder, and another name if that one is taken by another game."""
        name = _NOT_IN_NAMES.sub("-", _ARCHIVE_SUFFIX.sub("", _RECORD_SUFFIX.sub("", self.name)).replace("#", "-"))
        name = name[:_LONGEST_NAME].strip("-. ") or "game"
        return name, f"{name}-{self.digest[:8]}"


def read_games(sources: "Sequence[Path | Record]") -> "Iterator[Game | Dropped]":
    """The games of all sources in order, each once, and those that cannot be analysed.

    Reports inside folders are left out.

    Args:
        sources: Files, folders and archives; games themselves.

    Raises:
        SourceError: One of them does not exist, or a folder is empty.
        OSError: One of them cannot be reached.
    """
    from fukayomi.data.records.copies import SeenGames
    from fukayomi.data.records.reading import Drop, Dropped
    from fukayomi.data.records.sources import find_files
    from fukayomi.engine.report.files import is_report
    from fukayomi.shogi import InvalidSfenError, Position

    seen = SeenGames()
    for source in sources:
        if isinstance(source, Path):
            files, above = find_files([source]), source.parent
            if source.is_dir():
                files, above = [file for file in files if not is_report(file)], source
            records = _records(files, seen)
        else:
            records, above = [source], Path()
        for found in records:
            if isinstance(found, Dropped):
                if found.reason is not Drop.COPY:
                    yield found
                continue
            try:
                Position.from_sfen(found.initial_sfen)  # a mate problem may lack a king: no network evaluates it
            except InvalidSfenError as error:
                yield Dropped(found.name, Drop.NO_HCP, f"{found.name}: only games can be analysed: {error}")
                continue
            yield Game(found, _within(found.name, above), _digest(found))


def _records(files: "Sequence[Path]", seen: "SeenGames") -> "Iterator[Record | Dropped]":
    """The records of files; a file that cannot be read, as a damaged archive, is `Dropped`."""
    from fukayomi.data.records.reading import Drop, Dropped, iter_records
    from fukayomi.data.records.sources import SourceError, iter_sources

    for file in files:
        try:
            yield from iter_records(iter_sources([file]), seen)
        except SourceError as error:
            yield Dropped(str(file), Drop.UNREADABLE, str(error))


def distinct(games: "Iterable[Game | Dropped]") -> "Iterator[Game | Dropped]":
    """The same without games with the players and moves of one before: one analysis of them is enough."""
    seen: set[str] = set()
    for game in games:
        if isinstance(game, Game):
            if game.digest in seen:
                continue
            seen.add(game.digest)
        yield game


@contextmanager
def reading_errors() -> Generator[None]:
    """Fail with one line if a source cannot be read."""
    from fukayomi.data.records.sources import SourceError

    try:
        yield
    except SourceError as error:
        fail(str(error))
    except OSError as error:
        fail(f"cannot read the games: {error}")


def _within(name: str, folder: Path) -> str:
    """The name of a record without the folder."""
    return name.removeprefix(str(folder)).lstrip("/\\") if folder != Path() else name


def _digest(record: "Record") -> str:
    parts = (record.black_name, record.white_name, record.initial_sfen, *record.usi_moves())
    return hashlib.blake2b("\n".join(parts).encode(errors="replace"), digest_size=16).hexdigest()
