"""What is wrong with files of training data, and where: ``fukayomi data check``.

Every game is replayed, every position decoded. What has an error is left out of the good part, which may be written to
another file; remarks and duplicates keep nothing out of it, but for records that give no game for training.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.check.duplicates import Duplicates
from fukayomi.data.check.findings import Finding, Level, Report
from fukayomi.data.check.games import Judgement, judge_games
from fukayomi.data.check.records import level_of_unknown, scan_for_check
from fukayomi.data.convert.averages import iter_averages
from fukayomi.data.convert.detect import DataFormat, UnknownDataError, detect_data
from fukayomi.data.convert.refusals import refusal
from fukayomi.data.formats.averages import AveragesError
from fukayomi.data.formats.cache import CacheError, read_cache
from fukayomi.data.formats.hcpe import EVAL_LIMIT, HCPE, RESULT_BITS
from fukayomi.data.formats.hcpe3 import Games, Hcpe3Error, join_games, scan_hcpe3
from fukayomi.data.formats.psv import PSV
from fukayomi.data.formats.rows import DataFileError
from fukayomi.data.records.sources import find_files
from fukayomi.files.atomic import AtomicFile

_ROWS_AT_ONCE = 1 << 16
_KNOWN_FLAGS = 0x1F
_WHOLE = (DataFormat.CACHE, DataFormat.AVERAGES)  # no part of which is written elsewhere
_CHECKED = (
    DataFormat.HCP, DataFormat.HCPE, DataFormat.HCPE2, DataFormat.HCPE3, DataFormat.PSV, DataFormat.RECORDS, *_WHOLE
)  # fmt: skip
# What the good part of each is written as, where it is not the same.
_GOOD_AS = {DataFormat.HCPE2: DataFormat.HCPE, DataFormat.RECORDS: DataFormat.HCPE3}


def check_data(
    inputs: Sequence[Path],
    good: Path | None = None,
    source: DataFormat | None = None,
    advance: Callable[[int], None] = lambda _: None,
    duplicates: Duplicates | None = None,
) -> Report:
    """Check files of hcp, hcpe, hcpe2, hcpe3, psv, caches, averages and game records.

    Args:
        inputs: Files and folders; of records, also archives.
        good: Where to write what has no error, of records as hcpe3. The inputs must then be of one format, or records
            and hcpe3, and neither caches nor averages.
        source: The format of all inputs, instead of what their content says.
        advance: Called with the number of bytes that were read since the last call.
        duplicates: What remembers the rows and games.

    Raises:
        DataFileError: A file is of another format, or the good parts cannot be one file.
        SourceError: An input is missing, or an empty folder.
        OSError: A file cannot be read or written.
    """
    check = _Check(advance, duplicates or Duplicates())
    files = [(path, _kind_of(path, source, must_be_data=path in inputs)) for path in find_files(inputs)]
    kinds = [(path, kind) for path, kind in files if isinstance(kind, DataFormat)]
    layouts = {_GOOD_AS.get(kind, kind) for _, kind in kinds}
    if good is not None and (len(layouts) > 1 or layouts & set(_WHOLE)):
        names = ", ".join(sorted({str(kind) for _, kind in kinds}))
        raise DataFileError(f"{good}: the good part of {names} files is not written to one file")
    if good is not None and good.absolute() in {path.absolute() for path, _ in kinds}:
        raise DataFileError(f"{good}: the good part needs a file of its own")
    with AtomicFile(good) if good is not None else nullcontext() as out:
        for path, kind in files:
            if isinstance(kind, Finding):
                check.add_one(kind)
            else:
                check.report.files[str(path)] = str(kind)
                check.run(path, kind, out)
    check.count_duplicates()
    return check.report


def _kind_of(path: Path, source: DataFormat | None, *, must_be_data: bool) -> DataFormat | Finding:
    """The format of a file; of what else lies in a folder, a finding."""
    try:
        kind = source or detect_data(path)
        if kind not in _CHECKED:
            raise UnknownDataError(refusal(path, kind, "all formats but books, SFEN lines and plain"))
    except UnknownDataError as error:
        if must_be_data:
            raise
        return Finding(level_of_unknown(path), path, 0, None, None, str(error).removeprefix(f"{path}: "))
    return kind


class _Check:
    """The report as it grows, and what was seen of all files."""

    def __init__(self, advance: Callable[[int], None], duplicates: Duplicates) -> None:
        self.report = Report()
        self._advance = advance
        self._duplicates = duplicates

    def run(self, path: Path, kind: DataFormat, out: AtomicFile | None) -> None:
        if kind is DataFormat.HCPE3:
            self._check_hcpe3(path, out)
        elif kind is DataFormat.RECORDS:
            self._check_records(path, out)
        elif kind is DataFormat.CACHE:
            self._check_cache(path)
        elif kind is DataFormat.AVERAGES:
            self._check_averages(path)
        else:
            self._check_rows(path, kind, out)

    def add_one(self, finding: Finding) -> None:
        """Count a record that is none, and say why."""
        self.report.records += 1
        self.report.add(finding)

    def count_duplicates(self) -> None:
        """What was seen before, of all files."""
        self.report.duplicates = self._duplicates.count()
        self.report.not_compared = self._duplicates.passed_over

    def _check_hcpe3(self, path: Path, out: AtomicFile | None) -> None:
        for found in scan_hcpe3(path, self._advance):
            if isinstance(found, Hcpe3Error):
                reason = f"{found.reason}; {found.size} bytes are no game"
                self.add_one(Finding(Level.ERROR, path, found.game, found.ply, found.offset, reason))
                continue
            judged = self._judge(found, judge_games(found), out)
            for level, index, ply, reason in judged:
                self.report.add(Finding(level, path, found.first + index, ply, int(found.offsets[index]), reason))

    def _check_records(self, path: Path, out: AtomicFile | None) -> None:
        for found in scan_for_check(path, self._advance):
            if isinstance(found, Finding):
                self.add_one(found)
                continue
            games = found.joined()
            for level, index, ply, reason in self._judge(games, judge_games(games, found.terminations), out):
                self.report.add(Finding(level, found.path, found.numbers[index], ply, None, reason))

    def _judge(self, games: Games, judged: list[Judgement], out: AtomicFile | None) -> list[Judgement]:
        """Count games, write the good ones, and add to what is said of them which ones occurred before."""
        data = games.write()
        sizes = [36 + 6 * len(game) + 4 * len(game.candidate_moves) for game in games]
        for index, (end, size) in enumerate(zip(np.cumsum(sizes).tolist(), sizes, strict=True)):
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

    def _check_rows(self, path: Path, kind: DataFormat, out: AtomicFile | None) -> None:
        dtype, find_errors = _ROWS[kind]
        size = path.stat().st_size
        whole = size // dtype.itemsize
        rows = np.memmap(path, dtype, mode="r", shape=(whole,)) if whole else np.empty(0, dtype)
        self.report.records += whole
        for first in range(0, whole, _ROWS_AT_ONCE):
            part = np.array(rows[first : first + _ROWS_AT_ONCE])
            findings = [
                Finding(level, path, first + index, None, (first + index) * dtype.itemsize, reason)
                for level, index, reason in sorted(find_errors(part), key=lambda found: found[1])
            ]
            for finding in findings:
                self.report.add(finding)
            is_good = np.ones(len(part), np.bool_)
            is_good[[found.index - first for found in findings if found.level is Level.ERROR]] = False
            self.report.good += int(is_good.sum())
            self._duplicates.add_rows(part)
            if out is not None:
                out.write(part[is_good].tobytes())
            self._advance(part.nbytes)
        if size % dtype.itemsize:
            reason = f"{size % dtype.itemsize} bytes are left over after the last whole record"
            self.report.add(Finding(Level.ERROR, path, whole, None, whole * dtype.itemsize, reason))

    def _check_cache(self, path: Path) -> None:
        first = 0
        try:
            for batch in read_cache(path):
                hcps = np.ascontiguousarray(batch.positions["hcp"])
                found = _native.find_bad_records(hcps, None)
                for index, reason in found:
                    self.report.add(Finding(Level.ERROR, path, first + index, None, 0, reason))
                first += len(batch)
                self.report.good += len(batch) - len(found)
        except CacheError as error:
            self.report.add(Finding(Level.ERROR, path, first, None, 0, str(error)))
        self.report.records += first
        self._advance(path.stat().st_size)

    def _check_averages(self, path: Path) -> None:
        try:
            for part in iter_averages(path, self._advance):
                self.report.records += len(part)
                self.report.good += len(part)
                self.report.moves += len(part.moves)
        except AveragesError as error:
            self.report.add(Finding(Level.ERROR, path, self.report.records, None, 0, str(error)))


_Found = list[tuple[Level, int, str]]


def _errors_in_hcp(rows: NDArray[Any]) -> _Found:
    found = _native.find_bad_records(rows.view("u1").reshape(-1, 32), None)
    return [(Level.ERROR, index, reason) for index, reason in found]


def _errors_in_hcpe(rows: NDArray[Any]) -> _Found:
    moves = np.ascontiguousarray(rows["bestMove16"])
    bad = _native.find_bad_records(np.ascontiguousarray(rows["hcp"]), moves)
    results = rows["gameResult"]
    is_none = (results & RESULT_BITS == RESULT_BITS) | (results > _KNOWN_FLAGS)
    return [
        *((Level.ERROR, index, reason) for index, reason in bad),
        *((Level.ERROR, int(index), f"result {results[index]} is none") for index in np.flatnonzero(is_none)),
        *_remarks_on(rows["eval"]),
    ]


def _errors_in_psv(rows: NDArray[Any]) -> _Found:
    moves = np.ascontiguousarray(rows["move"])
    bad = _native.find_bad_records(np.ascontiguousarray(rows["sfen"]), moves, psv=True)
    results = rows["game_result"]
    is_none = np.abs(results.astype(np.int16)) > 1
    return [
        *((Level.ERROR, index, reason) for index, reason in bad),
        *((Level.ERROR, int(index), f"result {results[index]} is none") for index in np.flatnonzero(is_none)),
        *_remarks_on(rows["score"]),
    ]


def _remarks_on(evals: NDArray[np.int16]) -> _Found:
    lowest = np.flatnonzero(evals < -EVAL_LIMIT)
    return [(Level.REMARK, int(index), "evaluation -32768 has no opposite") for index in lowest]


_ROWS: dict[DataFormat, tuple[np.dtype[Any], Callable[[NDArray[Any]], _Found]]] = {
    DataFormat.HCP: (np.dtype(("V", 32)), _errors_in_hcp),
    DataFormat.HCPE: (HCPE, _errors_in_hcpe),
    DataFormat.HCPE2: (HCPE, _errors_in_hcpe),
    DataFormat.PSV: (PSV, _errors_in_psv),
}
