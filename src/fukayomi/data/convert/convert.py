"""Convert any format to any other."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Literal

import numpy as np

from fukayomi.data.convert.reading import ReadCounts, read_checked, read_games
from fukayomi.data.convert.writers import DataWriter, target_of
from fukayomi.data.formats.averages import averages_to_cache, read_averages
from fukayomi.data.formats.cache import write_cache
from fukayomi.data.formats.format import Advance, DataFileError
from fukayomi.data.formats.games import TARGETS, Targets
from fukayomi.data.formats.hcp import HCP
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.data.formats.kinds import DataFormat, Encoding, Target
from fukayomi.data.formats.table import FORMATS, Content, UnknownDataError, as_positions, detect_data, positions_after
from fukayomi.data.records.copies import SeenGames
from fukayomi.data.records.reading import Drop, Dropped, iter_records
from fukayomi.data.records.sources import FileHead, find_files, iter_sources
from fukayomi.errors import InvalidValueError
from fukayomi.listener import SILENT, Listener, counter
from fukayomi.shogi.record import RecordError


@dataclass(slots=True)
class Conversion(ReadCounts):
    """Counts of what a conversion read, left out and wrote."""

    written: int = 0
    """Games, rows or positions written."""
    target: Target | None = None
    """The format written."""
    replaced: Counter[str] = field(default_factory=Counter[str])
    """Characters of records that the encoding lacks, which were replaced: ☗ and ☖ by ▲ and △, others by ``?``."""
    replacements: list[str] = field(default_factory=list[str])
    """A message for each record with such characters."""
    different: int | None = None
    """Different positions among those written, where each game gives one; None where it gives all."""


Plies = int | Literal["all", "last"]
"""Which positions of a game: those before each move, the one after the last, or the one after a number of moves."""


class NothingConvertedError(DataFileError):
    """Nothing was left to write.

    Attributes:
        conversion: What was read and left out.
    """

    __module__ = "fukayomi.data"

    def __init__(self, message: str, conversion: Conversion) -> None:
        super().__init__(message)
        self.conversion = conversion


def convert_data(
    inputs: Path | str | Sequence[Path | str],
    out: Path | str,
    *,
    to: Target | str | None = None,
    source: DataFormat | str | None = None,
    targets: Targets = TARGETS,
    plies: Plies = "all",
    encoding: Encoding | str = Encoding.UTF_8,
    listener: Listener = SILENT,
) -> Conversion:
    """Convert files to one file, or records to a folder of files, which appears when it is complete.

    Args:
        inputs: Files and folders, of any formats; for records also archives.
        out: The file to write. For records, a folder that exists gets a file for each game, named as the file it
            was read from; for KIF, KI2 and JKF a name without a suffix is such a folder too.
        to: Format to write, such as "hcpe3"; by the suffix of `out` if None.
        source: Format of all inputs; found by their content if None.
        targets: How the moves of records become training positions.
        plies: Positions of each game, for hcp and SFEN: "all" before its moves; "last", the one after its last move;
            or the one after this number of moves, which shorter games do not have. A position alone is a game without
            moves.
        encoding: Encoding of KIF and KI2: "utf-8" or "shift_jis". Characters that it lacks are replaced and counted.
        listener: Follows the bytes of the inputs.

    Raises:
        NothingConvertedError: There is nothing to write.
        DataFileError: An input is damaged, in no known format, or cannot be converted to the format.
        InvalidValueError: `plies` is negative, or chooses positions for a format of games or rows.
        SourceError: An input is missing, or a damaged archive.
        RecordError: A game cannot be written as a record of the format.
        OSError: A file cannot be read or written.
    """
    paths = [Path(path) for path in ([inputs] if isinstance(inputs, Path | str) else inputs)]
    target = target_of(Path(out)) if to is None else Target(to)
    given = None if source is None else DataFormat(source)
    if plies != "all":
        _require_positions(plies, target)
    if target in _POSITION_TARGETS:  # positions have no result
        targets = replace(targets, unfinished_as_draws=True)
    files = find_files(paths)
    advance = counter(listener, "converting", sum(file.stat().st_size for file in files))
    found, seen = Conversion(target=target), SeenGames()
    kept: set[bytes] = set()  # the positions of `plies`, a game each
    if target is Target.CACHE:
        _write_cache(paths, Path(out), given, found, advance)
        return found
    with DataWriter(out, target, encoding=Encoding(encoding), inputs=paths) as writer:
        for kind, group in groupby(_known_files(files, set(paths), given, target, plies, found), key=itemgetter(0)):
            members = map(itemgetter(1), group)
            if kind is DataFormat.RECORDS and target.is_record:
                _copy_records(members, writer, found, seen, advance)
                continue
            for content in _read(members, kind, targets, found, seen, advance):
                found.add(content)
                if plies != "all":
                    content = _chosen(content, plies, found, kept)
                writer.append(content)
                if writer.moveless:
                    found.dropped[Drop.NO_MOVE] = writer.moveless
        found.replaced, found.replacements = writer.replaced, writer.replacements
        if writer.count == 0:
            raise NothingConvertedError(f"nothing is left to write{_remedy(found)}", found)
    found.written = writer.count
    found.different = None if plies == "all" else len(kept)
    return found


def _require_positions(plies: Plies, target: Target) -> None:
    """Raise InvalidValueError if `plies` cannot choose positions, or `target` holds more than positions."""
    if plies != "last" and (not isinstance(plies, int) or plies < 0):
        raise InvalidValueError(f"plies must be 0 or more, 'all' or 'last', not {plies!r}")
    if target not in _POSITION_TARGETS:
        raise InvalidValueError(f"a {target} file has all moves of a game: only hcp and sfen have positions by plies")


def _chosen(content: Content, plies: int | Literal["last"], found: Conversion, kept: set[bytes]) -> Content:
    """The positions of games or positions that `plies` chooses: HCP [N]. Counts the games that are too short."""
    if isinstance(content, Games):
        positions = positions_after(content, None if plies == "last" else plies)
    else:  # positions alone, games without moves
        positions = as_positions(content)[: 0 if plies not in ("last", 0) else None]
    if missing := len(content) - len(positions):
        found.dropped[Drop.PLIES] += missing
    kept.update(position.tobytes() for position in positions)
    return np.ascontiguousarray(positions).view(HCP).reshape(-1)


def _remedy(found: Conversion) -> str:
    if found.dropped[Drop.PLIES]:
        return ": no game is that long"
    if found.games and found.positions == 0:
        return ": no move has an evaluation or visits; one-hot targets (--one-hot) take every move without them"
    if found.dropped[Drop.NO_MOVE]:
        return ": no row has a move; psv, plain, hcp and sfen hold positions without one"
    if found.dropped[Drop.ENDING]:
        return ": no game has a useful end; games without an end can be taken as draws (--unfinished-as-draws)"
    return ""


def _known_files(
    files: Iterable[Path],
    named: set[Path],
    source: DataFormat | None,
    target: Target,
    plies: Plies,
    found: Conversion,
) -> Iterator[tuple[DataFormat, Path | FileHead]]:
    """The files with their formats; other files in folders are left out.

    Raises:
        DataFileError: A file that was named is in no known format, holds positions alone and `target` needs more, or
            holds rows and `plies` chooses among the moves of games.
    """
    for path in files:
        if source is not None:
            if plies != "all" and source not in _WITH_PLIES:
                raise DataFileError(_without_plies(path, source))
            yield source, path
            continue
        head = FileHead.of(path)
        try:
            kind = detect_data(head)
        except UnknownDataError as error:
            if path in named:
                raise
            found.leave_out(Dropped(str(path), Drop.NO_RECORD, str(error)))
            continue
        if kind in (DataFormat.BOOK, DataFormat.CACHE) and path not in named:
            found.leave_out(Dropped(str(path), Drop.NO_RECORD, f"{path}: {kind} files are not converted"))
            continue
        if plies != "all" and kind not in _WITH_PLIES:
            if path in named:
                raise DataFileError(_without_plies(path, kind))
            found.leave_out(Dropped(str(path), Drop.NO_RECORD, _without_plies(path, kind)))
            continue
        if kind in _POSITIONS and target not in _POSITION_TARGETS:
            reason = f"{path}: positions alone, without moves, make no {target}"
            if path in named:
                raise DataFileError(f"{reason}; only hcp and sfen are made of them")
            found.leave_out(Dropped(str(path), Drop.NO_RECORD, reason))
            continue
        yield kind, head


_POSITIONS = (DataFormat.HCP, DataFormat.SFEN)
_POSITION_TARGETS = (Target.HCP, Target.SFEN)
_WITH_PLIES = (DataFormat.RECORDS, DataFormat.HCPE3, *_POSITIONS)


def _without_plies(path: Path, kind: DataFormat) -> str:
    return f"{path}: {kind} holds no games, so it has no positions by plies; records and hcpe3 do"


def _read(
    files: Iterable[Path | FileHead],
    kind: DataFormat,
    targets: Targets,
    found: Conversion,
    seen: SeenGames,
    advance: Advance,
) -> Iterator[Content]:
    if kind is DataFormat.RECORDS:
        yield from read_games(files, targets, found, seen, advance)
        return
    for file in files:
        yield from read_checked(file.path if isinstance(file, FileHead) else file, kind, advance)


def _write_cache(
    inputs: Sequence[Path], out: Path, source: DataFormat | None, found: Conversion, advance: Advance
) -> None:
    if len(inputs) != 1 or (source or detect_data(inputs[0])) is not DataFormat.AVERAGES:
        raise DataFileError(f"{out}: a cache is made of one file of averages; fukayomi data average makes one")
    if len(read_averages(inputs[0])) == 0:
        raise NothingConvertedError("nothing is left to write", found)
    parts = FORMATS[DataFormat.AVERAGES].read(inputs[0], advance=advance)
    found.positions = found.written = write_cache(out, (averages_to_cache(part.content) for part in parts))


def _copy_records(
    files: Iterable[Path | FileHead], writer: DataWriter, found: Conversion, seen: SeenGames, advance: Advance
) -> None:
    """From one format of records to another, with everything that both can express."""
    for record in iter_records(iter_sources(files, advance), seen):
        if isinstance(record, Dropped):
            found.leave_out(record)
            continue
        found.add([record])
        try:
            writer.append_record(record)
        except RecordError as error:
            found.leave_out(Dropped(record.name, Drop.NOT_WRITTEN, str(error), error.reason, error.line))
