"""What is wrong with files of training data, and where: ``fukayomi data check``.

Every game is replayed, every position decoded. What has an error is left out of the good part, which may be written to
another file; remarks and duplicates keep nothing out of it.
"""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.averages import AveragesError
from fukayomi.data.averages_convert import iter_averages
from fukayomi.data.cache import CacheError, read_cache
from fukayomi.data.check_games import judge_games
from fukayomi.data.detect import DataFormat, detect_data
from fukayomi.data.files import AtomicFile, DataFileError
from fukayomi.data.findings import Finding, Level, Report
from fukayomi.data.hcpe import EVAL_LIMIT, HCPE, RESULT_BITS
from fukayomi.data.hcpe3 import Games, Hcpe3Error, join_games, scan_hcpe3
from fukayomi.data.overlap import position_keys
from fukayomi.data.psv import PSV

_ROWS_AT_ONCE = 1 << 16
_KNOWN_FLAGS = 0x1F
_WHOLE = (DataFormat.CACHE, DataFormat.AVERAGES)  # no part of which is written elsewhere
_CHECKED = (DataFormat.HCP, DataFormat.HCPE, DataFormat.HCPE2, DataFormat.HCPE3, DataFormat.PSV, *_WHOLE)


def check_data(
    inputs: Sequence[Path],
    good: Path | None = None,
    source: DataFormat | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Report:
    """Check files of hcp, hcpe, hcpe2, hcpe3, psv, caches and averages.

    Args:
        inputs: The files.
        good: Where to write what has no error; the inputs must then be of one format, and neither caches nor averages.
        source: The format of all inputs, instead of what their content says.
        advance: Called with the number of bytes that were read since the last call.

    Raises:
        DataFileError: A file is of another format, or the good parts cannot be one file.
        OSError: A file cannot be read or written.
    """
    kinds = [(path, source or detect_data(path)) for path in inputs]
    for path, kind in kinds:
        if kind not in _CHECKED:
            raise DataFileError(f"{path}: {kind} are not checked here; convert them to hcpe3")
    layouts = {DataFormat.HCPE if kind is DataFormat.HCPE2 else kind for _, kind in kinds}
    if good is not None and (len(layouts) != 1 or layouts & set(_WHOLE)):
        names = ", ".join(sorted({str(kind) for _, kind in kinds}))
        raise DataFileError(f"{good}: the good part of {names} files is not written to one file")
    check = _Check(advance)
    with AtomicFile(good) if good is not None else nullcontext() as out:
        for path, kind in kinds:
            check.report.files[str(path)] = str(kind)
            check.run(path, kind, out)
    check.count_equal_rows()
    return check.report


class _Check:
    """The report as it grows, and what was seen of all files."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self.report = Report()
        self._advance = advance
        self._seen: set[bytes] = set()  # hashes of games
        self._keys: list[NDArray[np.uint64]] = []  # hashes of rows, in parts

    def run(self, path: Path, kind: DataFormat, out: AtomicFile | None) -> None:
        if kind is DataFormat.HCPE3:
            self._check_games(path, out)
        elif kind is DataFormat.CACHE:
            self._check_cache(path)
        elif kind is DataFormat.AVERAGES:
            self._check_averages(path)
        else:
            self._check_rows(path, kind, out)

    def count_equal_rows(self) -> None:
        """Rows are compared by 64-bit hashes, 8 bytes each in memory."""
        keys = np.concatenate([np.zeros(0, np.uint64), *self._keys])
        keys.sort()
        self.report.duplicates += int((keys[1:] == keys[:-1]).sum())

    def _is_new(self, data: bytes) -> bool:
        key = hashlib.blake2b(data, digest_size=12).digest()
        if key in self._seen:
            self.report.duplicates += 1
            return False
        self._seen.add(key)
        return True

    def _check_games(self, path: Path, out: AtomicFile | None) -> None:
        for found in scan_hcpe3(path, self._advance):
            if isinstance(found, Hcpe3Error):
                self.report.records += 1
                self.report.add(
                    Finding(
                        Level.ERROR, path, found.game, found.ply, found.offset,
                        f"{found.reason}; {found.size} bytes are no game",
                    )
                )  # fmt: skip
                continue
            self.report.records += len(found)
            self.report.moves += len(found.moves)
            bad = self._add_findings(found)
            good = [game for index, game in enumerate(found) if index not in bad]
            self.report.good += len(good)
            if out is not None and good:
                out.write(join_games(good).write())

    def _add_findings(self, games: Games) -> set[int]:
        """Report what is wrong with whole games; returns the bad ones."""
        findings = list(judge_games(games))
        data = games.write()
        sizes = [36 + 6 * len(game) + 4 * len(game.candidate_moves) for game in games]
        for index, (end, size) in enumerate(zip(np.cumsum(sizes).tolist(), sizes, strict=True)):
            if not self._is_new(data[end - size : end]):
                offset = int(games.offsets[index])
                reason = "a duplicate of an earlier game"
                findings.append(Finding(Level.REMARK, games.path, games.first + index, None, offset, reason))
        for finding in sorted(findings, key=lambda found: (found.index, -1 if found.ply is None else found.ply)):
            self.report.add(finding)
        return {finding.index - games.first for finding in findings if finding.level is Level.ERROR}

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
            self._keys.append(_row_keys(part))
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


def _row_keys(rows: NDArray[Any]) -> NDArray[np.uint64]:
    padded = np.zeros((len(rows), -(-rows.dtype.itemsize // 8) * 8), np.uint8)
    padded[:, : rows.dtype.itemsize] = rows.view(np.uint8).reshape(len(rows), -1)
    return position_keys(padded)


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
