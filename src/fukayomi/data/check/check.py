"""Check files of training data: what is wrong, and where.

Every game is replayed and every position decoded. Games and rows without errors may be written to another file; remarks
and duplicates do not exclude them, except for records that give no game for training.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.check.duplicates import Duplicates
from fukayomi.data.check.findings import Finding, Level, Report
from fukayomi.data.check.games import Judgement, judge_games
from fukayomi.data.check.records import level_of_unknown, scan_for_check
from fukayomi.data.formats.averages import AveragesError
from fukayomi.data.formats.cache import CacheError
from fukayomi.data.formats.format import EVAL_LIMIT, Advance, RowFormat
from fukayomi.data.formats.hcpe3 import Games, Hcpe3Error, join_games, scan_hcpe3
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.rows import DataFileError
from fukayomi.data.formats.table import FORMATS, UnknownDataError, detect_data, refusal
from fukayomi.data.records.copies import SeenGames
from fukayomi.data.records.sources import find_files
from fukayomi.files.atomic import AtomicFile
from fukayomi.listener import SILENT, Listener, counter
from fukayomi.tabular import counted

_WHOLE = (DataFormat.CACHE, DataFormat.AVERAGES)  # their good part is not written
_CHECKED = (
    DataFormat.HCP, DataFormat.HCPE, DataFormat.HCPE2, DataFormat.HCPE3, DataFormat.PSV, DataFormat.RECORDS, *_WHOLE
)  # fmt: skip
# The format of the good part, if it differs.
_GOOD_AS = {DataFormat.HCPE2: DataFormat.HCPE, DataFormat.RECORDS: DataFormat.HCPE3}


def check_data(
    inputs: Path | str | Sequence[Path | str],
    *,
    good: Path | str | None = None,
    source: DataFormat | str | None = None,
    listener: Listener = SILENT,
    duplicates: Duplicates | None = None,
) -> Report:
    """Check files of hcp, hcpe, hcpe2, hcpe3, psv, caches, averages and game records.

    Args:
        inputs: Files and folders; for records also archives.
        good: File for everything without an error; records are written as hcpe3. The inputs must then have one format
            (or be records and hcpe3), and not be caches or averages.
        source: Format of all inputs; found by their content if None.
        listener: Follows the bytes of the inputs.
        duplicates: Remembers rows and games; give one to change its limits.

    Raises:
        DataFileError: A file has another format, or the good parts do not fit into one file.
        SourceError: An input is missing, or a folder is empty.
        OSError: A file cannot be read or written.
    """
    paths = [Path(path) for path in ([inputs] if isinstance(inputs, Path | str) else inputs)]
    good = None if good is None else Path(good)
    given = None if source is None else DataFormat(source)
    files = [(path, _kind_of(path, given, must_be_data=path in paths)) for path in find_files(paths)]
    kinds = [(path, kind) for path, kind in files if isinstance(kind, DataFormat)]
    layouts = {_GOOD_AS.get(kind, kind) for _, kind in kinds}
    if good is not None and (len(layouts) > 1 or layouts & set(_WHOLE)):
        names = ", ".join(sorted({str(kind) for _, kind in kinds}))
        raise DataFileError(f"{good}: the good part of {names} files cannot be written to one file")
    if good is not None and good.absolute() in {path.absolute() for path, _ in kinds}:
        raise DataFileError(f"{good} is also an input; give the good part another name")
    total = sum(path.stat().st_size for path, _ in files)
    checked = _Check(counter(listener, "checking", total), duplicates or Duplicates())
    with AtomicFile(good) if good is not None else nullcontext() as out:
        for path, kind in files:
            if isinstance(kind, Finding):
                checked.add_one(kind)
            else:
                checked.report.files[str(path)] = str(kind)
                checked.run(path, kind, out)
    checked.count_duplicates()
    return checked.report


def _kind_of(path: Path, source: DataFormat | None, *, must_be_data: bool) -> DataFormat | Finding:
    """The format of a file, or a finding for another file in a folder."""
    try:
        kind = source or detect_data(path)
        if kind not in _CHECKED:
            raise UnknownDataError(refusal(path, kind, "all formats but books, SFEN lines and plain"))
    except UnknownDataError as error:
        if must_be_data:
            raise
        reason = str(error).removeprefix(f"{path}: ").removeprefix(f"{path} ")
        return Finding(level_of_unknown(path), path, 0, None, None, reason)
    return kind


class _Check:
    """The growing report, and the rows and games seen so far."""

    def __init__(self, advance: Advance, duplicates: Duplicates) -> None:
        self.report = Report()
        self._advance = advance
        self._duplicates = duplicates
        self._seen = SeenGames()

    def run(self, path: Path, kind: DataFormat, out: AtomicFile | None) -> None:
        description = FORMATS[kind]
        if kind is DataFormat.HCPE3:
            self._check_hcpe3(path, out)
        elif kind is DataFormat.RECORDS:
            self._check_records(path, out)
        elif isinstance(description, RowFormat):
            self._check_rows(path, description, out)
        else:
            self._check_averaged(path, kind)

    def add_one(self, finding: Finding) -> None:
        """Count a record that cannot be used, with the reason."""
        self.report.records += 1
        self.report.add(finding)

    def count_duplicates(self) -> None:
        """Count the duplicates among all files."""
        self.report.duplicates = self._duplicates.count() + self._seen.copies
        self.report.not_compared = self._duplicates.passed_over

    def _check_hcpe3(self, path: Path, out: AtomicFile | None) -> None:
        for found in scan_hcpe3(path, self._advance):
            if isinstance(found, Hcpe3Error):
                reason = f"{found.reason}; {counted(found.size, 'byte')} left out"
                self.add_one(Finding(Level.ERROR, path, found.game, found.ply, found.offset, reason))
                continue
            judged = self._judge(found, judge_games(found), out)
            for level, index, ply, reason in judged:
                self.report.add(Finding(level, path, found.first + index, ply, int(found.offsets[index]), reason))

    def _check_records(self, path: Path, out: AtomicFile | None) -> None:
        for found in scan_for_check(path, self._advance, self._seen):
            if isinstance(found, Finding):
                self.add_one(found)
                continue
            games = found.joined()
            for level, index, ply, reason in self._judge(games, judge_games(games, found.terminations), out):
                self.report.add(Finding(level, found.path, found.numbers[index], ply, None, reason))

    def _judge(self, games: Games, judged: list[Judgement], out: AtomicFile | None) -> list[Judgement]:
        """Count games, write the good ones, and add a remark for each duplicate."""
        data = games.write()
        sizes = games.sizes()
        for index, (end, size) in enumerate(zip(np.cumsum(sizes).tolist(), sizes.tolist(), strict=True)):
            if not self._duplicates.is_new_game(data[end - size : end]):
                judged.append(Judgement(Level.REMARK, index, None, "a duplicate of an earlier game"))
        bad = {judgement.game for judgement in judged if judgement.level is Level.ERROR}
        good = [game for index, game in enumerate(games) if index not in bad]
        self.report.records += len(games)
        self.report.moves += len(games.moves)
        self.report.good += len(good)
        if out is not None and good:
            out.write(join_games(good).write())
        return sorted(judged, key=lambda judgement: judgement.game)

    def _check_rows(self, path: Path, rows: RowFormat, out: AtomicFile | None) -> None:
        size = rows.dtype.itemsize
        whole, rest = divmod(path.stat().st_size, size)
        self.report.records += whole
        for first, part in rows.scan(path, advance=self._advance, cut=True):
            faults = rows.faults(part)
            judged = [(Level.ERROR, index, reason) for index, reason in faults]
            judged += [(Level.REMARK, index, _NO_OPPOSITE) for index in _lowest_scores(rows, part)]
            for level, index, reason in sorted(judged, key=lambda found: found[1]):
                self.report.add(Finding(level, path, first + index, None, (first + index) * size, reason))
            is_good = np.ones(len(part), np.bool_)
            is_good[[index for index, _ in faults]] = False
            self.report.good += int(is_good.sum())
            self._duplicates.add_rows(part)
            if out is not None:
                out.write(part[is_good].tobytes())
        if rest:
            reason = f"{counted(rest, 'byte')} left over after the last whole record"
            self.report.add(Finding(Level.ERROR, path, whole, None, whole * size, reason))

    def _check_averaged(self, path: Path, kind: DataFormat) -> None:
        """Check averages or a cache, which are read up to the first damage."""
        first = self.report.records
        try:
            for content, _ in FORMATS[kind].read(path, advance=self._advance):
                faults = FORMATS[kind].faults(content)
                for index, reason in faults:
                    number = self.report.records - first + index
                    self.report.add(Finding(Level.ERROR, path, number, None, 0, reason))
                self.report.records += len(content)
                self.report.good += len(content) - len(faults)
                self.report.moves += len(content.moves) if kind is DataFormat.AVERAGES else 0
        except (AveragesError, CacheError) as error:
            reason = str(error).removeprefix(str(path)).lstrip(",: ")
            self.report.add(Finding(Level.ERROR, path, self.report.records - first, None, 0, reason))


_NO_OPPOSITE = "evaluation -32768 has no opposite"


def _lowest_scores(rows: RowFormat, part: NDArray[np.void]) -> list[int]:
    return np.flatnonzero(part[rows.score] < -EVAL_LIMIT).tolist() if rows.score else []
