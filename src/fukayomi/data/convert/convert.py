"""From any format to any other: ``fukayomi data convert``."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from fukayomi.data.convert.averages import averages_to_cache, iter_averages
from fukayomi.data.convert.detect import DataFormat, UnknownDataError, detect_data
from fukayomi.data.convert.positions import Drop
from fukayomi.data.convert.streams import Batch, Tally, read_data, read_games
from fukayomi.data.convert.writers import DataWriter, Target
from fukayomi.data.formats.averages import read_averages
from fukayomi.data.formats.cache import write_cache
from fukayomi.data.formats.rows import DataFileError
from fukayomi.data.records.games import TARGETS, Targets
from fukayomi.data.records.sources import FileHead, find_files, iter_sources
from fukayomi.data.records.text import scan_source
from fukayomi.shogi.record import RecordError, UnknownFormatError


class NothingConvertedError(DataFileError):
    """Nothing was left to write.

    Attributes:
        tally: What was read.
    """

    def __init__(self, message: str, tally: Tally) -> None:
        super().__init__(message)
        self.tally = tally


def convert_data(
    inputs: Sequence[Path],
    out: Path,
    target: Target,
    source: DataFormat | None = None,
    targets: Targets = TARGETS,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[Tally, int]:
    """Write all inputs to one file, which appears only when it is whole.

    Args:
        inputs: Files and folders; of records, also archives. They may be of different formats.
        out: The file to write; for KIF, KI2 and JKF, a name without a suffix is a folder.
        target: What to write.
        source: The format of all inputs, instead of what their content says.
        targets: What the moves of records become.
        advance: Called with the number of bytes that were read since the last call.

    Returns:
        What was read, and the number of games, rows or positions that were written.

    Raises:
        NothingConvertedError: There is nothing to write.
        DataFileError: An input is damaged or of no known format, or cannot become what was asked for.
        SourceError: An input is missing, or a damaged archive.
        RecordError: A game cannot be written as a record of that format.
        OSError: A file cannot be read or written.
    """
    tally = Tally()
    if target is Target.CACHE:
        return tally, _write_cache(inputs, out, source, tally, advance)
    with DataWriter(out, target) as writer:
        for kind, found in groupby(_known_files(inputs, source, tally), key=itemgetter(0)):
            files = map(itemgetter(1), found)
            if kind is DataFormat.RECORDS and target.is_record:
                _copy_records(files, writer, tally, advance)
                continue
            for batch in _read(files, kind, targets, tally, advance):
                writer.append(batch)
        if writer.count == 0:
            raise NothingConvertedError(f"nothing is left to write{_remedy(tally)}", tally)
    return tally, writer.count


def _remedy(tally: Tally) -> str:
    if tally.games and tally.positions == 0:
        return ": no move has an evaluation or visits; with --one-hot every move counts"
    if tally.dropped[Drop.ENDING]:
        return ": no game has an end that counts; with --unfinished-as-draws games without an end do"
    return ""


def _known_files(
    inputs: Sequence[Path], source: DataFormat | None, tally: Tally
) -> Iterator[tuple[DataFormat, Path | FileHead]]:
    """The files with their formats, without what else lies in a folder."""
    named = set(inputs)
    for path in find_files(inputs):
        if source is not None:
            yield source, path
            continue
        head = FileHead.of(path)
        try:
            kind = detect_data(head)
        except UnknownDataError as error:
            if path in named:
                raise
            tally.leave_out(Drop.NO_RECORD, str(error))
            continue
        if kind in (DataFormat.BOOK, DataFormat.CACHE) and path not in named:
            tally.leave_out(Drop.NO_RECORD, f"{path}: {kind} files are not converted")
            continue
        yield kind, head


def _read(
    files: Iterable[Path | FileHead], kind: DataFormat, targets: Targets, tally: Tally, advance: Callable[[int], None]
) -> Iterator[Batch]:
    if kind is DataFormat.RECORDS:
        yield from read_games(files, targets, tally, advance)
        return
    for file in files:
        yield from read_data(file.path if isinstance(file, FileHead) else file, kind, targets, tally, advance)


def _write_cache(
    inputs: Sequence[Path], out: Path, source: DataFormat | None, tally: Tally, advance: Callable[[int], None]
) -> int:
    if len(inputs) != 1 or (source or detect_data(inputs[0])) is not DataFormat.AVERAGES:
        raise DataFileError(f"{out}: a cache is made of one file of averages; fukayomi data average makes that of all")
    if len(read_averages(inputs[0])) == 0:
        raise NothingConvertedError("nothing is left to write", tally)
    tally.positions = write_cache(out, (averages_to_cache(part) for part in iter_averages(inputs[0], advance)))
    return tally.positions


def _copy_records(
    files: Iterable[Path | FileHead], writer: DataWriter, tally: Tally, advance: Callable[[int], None]
) -> None:
    """From one format of records to another, with all that both can say."""
    for source in iter_sources(files, advance):
        if source.problem:
            tally.leave_out(Drop.UNREADABLE, f"{source.name}: {source.problem}")
            continue
        for record in scan_source(source):
            if isinstance(record, RecordError):
                unknown = isinstance(record, UnknownFormatError)
                tally.leave_out(Drop.NO_RECORD if unknown else Drop.DAMAGED, str(record))
                continue
            tally.games += 1
            tally.positions += len(record)
            writer.append_record(record)
