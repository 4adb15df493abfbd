"""Writers of any format: content goes in, and the file appears when it is complete."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.formats.averages import Averages
from fukayomi.data.formats.cache import CachedPositions
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.games import TARGETS, Targets, record_from_game
from fukayomi.data.formats.hcpe import Rows, read_hcpe
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.data.formats.kinds import DataFormat, Encoding, Target
from fukayomi.data.formats.table import FORMATS, Content, as_games, as_positions, as_rows, count_moveless
from fukayomi.files.atomic import AtomicFile
from fukayomi.files.folder import AtomicFolder
from fukayomi.shogi.formats.reader import Format
from fukayomi.shogi.formats.writer import UTF_8_SUFFIXES, encode_record, name_of
from fukayomi.shogi.record import Record
from fukayomi.tabular import counted

_SUFFIXES = (".csa", ".kif", ".kifu", ".ki2", ".ki2u", ".jkf", ".json", ".usi", ".sfen", ".txt")
_COMPRESSED = (".gz", ".bz2", ".xz")
_NUMBER = re.compile(r"#([0-9]+)$")  # of a later game in a file
_LONGEST = 180  # bytes of a part; file systems take 255
_DEEPEST = 16  # folders


class RecordNames:
    """Gives each record a path in the folder; no two have the same, and none leaves the folder.

    The names are those of the files that the records were read from.
    """

    def __init__(self, suffix: str, roots: Sequence[Path] = ()) -> None:
        """Begin a folder.

        Args:
            suffix: Of the files, without the dot.
            roots: Files and folders that the records are read from; subfolders and archives in them are kept.
        """
        self._suffix = suffix
        self._roots = sorted((str(root).rstrip("/") for root in roots), key=len, reverse=True)
        self._taken: set[str] = set()
        self._used: Counter[str] = Counter()

    def __call__(self, name: str, number: int) -> PurePath:
        """The path of a record.

        Args:
            name: Name of the record, as the reader gives it: ``games/2025/a.csa``, ``games.zip/2025/a.csa#2``.
            number: Number of the record, which names it if it has no name.
        """
        later = _NUMBER.search(name)
        parts = self._below_roots(name[: later.start()] if later else name)
        stem = _stem(parts[-1]) if parts else ""
        stem = f"{stem or f'{number:06}'}-{later[1]}" if later else stem or f"{number:06}"
        folder = PurePath(*(self._folder_name(part) for part in parts[:-1])) if len(parts) <= _DEEPEST else PurePath()
        path = str(folder / stem)
        first = path.casefold()  # some file systems do not tell A from a
        while path.casefold() in self._taken:
            self._used[first] += 1
            path = str(folder / f"{stem}-{self._used[first] + 1}")
        self._taken.add(path.casefold())
        return PurePath(f"{path}.{self._suffix}")

    def _below_roots(self, name: str) -> list[str]:
        """The parts of a path below the input that it belongs to."""
        for root in self._roots:
            if name.startswith(f"{root}/"):
                name = name[len(root) + 1 :]
                break
        else:
            name = name.rpartition("/")[2]
        parts = (_safe(part) for part in name.split("/"))
        return [part for part in parts if part.strip(".")]

    def _folder_name(self, part: str) -> str:
        """Not the name of a file: the archive a.kif beside the record a.csa."""
        return f"{part}_" if part.casefold().endswith(f".{self._suffix}") else part


def _stem(name: str) -> str:
    for endings in (_COMPRESSED, _SUFFIXES):
        stem, dot, ending = name.rpartition(".")
        if stem and dot + ending.lower() in endings:
            name = stem
    return name


def _safe(part: str) -> str:
    printable = "".join(letter if letter.isprintable() else "_" for letter in part)
    return printable.encode("utf-8", "replace")[:_LONGEST].decode("utf-8", "ignore")


_NAMED = 5  # characters in a message
_OTHER_SUFFIXES = {"bin": Target.PSV, "kifu": Target.KIF, "ki2u": Target.KI2}  # .bin is YaneuraOu's for psv


def target_of(path: Path) -> Target:
    """The format to write, by the suffix of a file.

    Raises:
        DataFileError: The suffix does not belong to a format.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix in _OTHER_SUFFIXES:
        return _OTHER_SUFFIXES[suffix]
    if suffix not in list(Target):
        raise DataFileError(
            f"{path}: the suffix is not that of a format ({', '.join(Target)}); name the format to write"
        )
    return Target(suffix)


class DataWriter:
    """Writes content as one format. A context manager: the file appears when its block ends without an exception.

    Records can be written to a folder, a file each, with the names of the files that they were read from: the path is
    a folder if it exists as one, or if it has no suffix and the format (KIF, KI2, JKF) holds one game per file. The
    files appear together.
    """

    def __init__(
        self,
        path: Path | str,
        target: Target | None = None,
        *,
        encoding: Encoding = Encoding.UTF_8,
        inputs: Sequence[Path | str] = (),
    ) -> None:
        """Open the file.

        Args:
            path: The file, or a folder.
            target: The format; by the suffix of `path` if None.
            encoding: Encoding of KIF and KI2.
            inputs: Files and folders that the records are read from; a folder keeps the paths below them.

        Raises:
            DataFileError: The suffix does not belong to a format, or the format has no such encoding.
            LockedError: Another process is writing to the folder.
            OSError: The file cannot be created.
        """
        self.path = Path(path)
        self.target = target or target_of(self.path)
        self.encoding = encoding
        self.count = 0
        """Games, rows or positions written so far."""
        self.moveless = 0
        """Rows left out because they have no move and the format needs one."""
        self.replaced: Counter[str] = Counter()
        """Characters that the encoding lacks and that were replaced, in all records."""
        self.replacements: list[str] = []
        """A message for each record with such characters."""
        if encoding is not Encoding.UTF_8 and not self.target.has_encodings:
            raise DataFileError(f"{path}: {self.target} is not written in {encoding.label}; only KIF and KI2 are")
        if encoding is not Encoding.UTF_8 and self.path.suffix.lower() in UTF_8_SUFFIXES:
            raise DataFileError(f"{path}: {self.path.suffix} is always UTF-8; for {encoding.label}, use .{self.target}")
        self._folder = self._file = None
        if (self.target.is_record and self.path.is_dir()) or (self.target.holds_one_game and not self.path.suffix):
            self._folder = AtomicFolder(self.path)
            self._names = RecordNames(self.target, [Path(each) for each in inputs])
        else:
            self._file = AtomicFile(self.path)

    def append(self, content: Content, targets: Targets = TARGETS) -> None:
        """Add content, converted to the format.

        Args:
            content: Rows, games, positions, averages or records. Rows without a move are left out (`moveless`) where
                the format needs one.
            targets: How the moves of records become training positions.

        Raises:
            DataFileError: The content cannot be converted, or a file for one game gets a second one.
            RecordError: A record cannot be written in the format.
        """
        if self.target.is_record:
            is_records = isinstance(content, list)
            records = content if is_records else map(record_from_game, self._items(content, "games", targets))
            for record in records:
                self.append_record(record)
            return
        description = FORMATS[DataFormat(self.target)]
        items = self._items(content, description.stores, targets)
        assert self._file is not None
        self._file.write(description.encode(items))
        self.count += len(items)

    def _items(self, content: Content, stored: str, targets: Targets) -> Any:
        """The content as what the file stores."""
        keeps_moveless = self.target.has_moveless_rows
        if not keeps_moveless:
            self.moveless += count_moveless(content)
        try:
            match stored:
                case "games":
                    return as_games(content, targets)
                case "rows":
                    return as_rows(content, targets, moveless=keeps_moveless)
                case "positions":
                    return as_positions(content)
                case _:
                    raise DataFileError(f"a {self.target} file is made of one file of averages")
        except DataFileError as error:
            raise DataFileError(f"{self.path}: {error}") from error

    def append_record(self, record: Record) -> None:
        """Add a record; for formats of records only.

        Raises:
            DataFileError: A file for one game gets a second one.
            RecordError: The record cannot be written in the format.
        """
        replaced: Counter[str] = Counter()
        data = encode_record(record, Format(self.target), self.encoding, replaced=replaced)
        if replaced:
            self.replaced += replaced
            named = ", ".join(name_of(letter) for letter in list(replaced)[:_NAMED])
            count = counted(replaced.total(), "character")
            self.replacements.append(f"{record.name}: {count} that {self.encoding.label} lacks: {named}")
        self.count += 1
        if self._folder is not None:
            self._folder.write(self._names(record.name, self.count), data)
            return
        assert self._file is not None
        if self.count > 1 and self.target.holds_one_game:
            raise DataFileError(
                f"{self.path}: a {self.target} file holds one game; for more, give a folder and that format"
            )
        separator = b"/\n" if self.target is Target.CSA and self.count > 1 else b""
        self._file.write(separator + data)

    def rows_so_far(self) -> NDArray[np.void]:
        """The rows written so far to an hcpe file, memory-mapped: HCPE [N]."""
        assert self._file is not None
        self._file.flush()
        return read_hcpe(self._file.temporary)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for output in (self._file, self._folder):
            if output is not None:
                output.__exit__(kind, error, traceback)


def write_data(
    path: Path | str,
    parts: Content | Iterable[Content],
    *,
    format: Target | str | None = None,
    encoding: Encoding | str = Encoding.UTF_8,
) -> int:
    """Write content to a file, which appears when it is complete.

    Args:
        path: The file; for KIF, KI2 and JKF a name without a suffix is a folder.
        parts: Arrays of HCP, HCPE or PSV rows, `Games`, `Averages`, lists of `Record`, or several of them, such as
            `read_data` yields. They are converted to the format; rows without a move are left out where it needs one.
        format: The format, such as "hcpe3"; by the suffix of `path` if None.
        encoding: Encoding of KIF and KI2: "utf-8" or "shift_jis".

    Returns:
        Number of games, rows or positions written.

    Raises:
        DataFileError: The content cannot be converted.
        RecordError: A game cannot be written as a record of the format.
        OSError: The file cannot be written.
    """
    is_content = isinstance(parts, np.ndarray | Games | Averages | Rows | CachedPositions)
    is_content = is_content or (isinstance(parts, list) and all(isinstance(part, Record) for part in parts))
    with DataWriter(path, None if format is None else Target(format), encoding=Encoding(encoding)) as writer:
        for part in cast("Iterable[Content]", [parts] if is_content else parts):
            writer.append(part)
    return writer.count
