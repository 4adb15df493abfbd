"""Which format a file of positions or games is in, by its content: names lie.

Of the binary formats only averages have a mark. For the others up to 16 records spread over the file are tried as each
format, and the one that explains most of them is taken, if that is at least a half. A chance record
hardly ever decodes: its 256 bits must give the 40 pieces of a shogi set, and its move must be legal.
"""

from collections.abc import Callable
from enum import StrEnum
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats.averages import MAGIC
from fukayomi.data.formats.book import BOOK_ENTRY
from fukayomi.data.formats.cache import POSITION
from fukayomi.data.formats.hcpe import HCPE, RESULT_BITS
from fukayomi.data.formats.plain import is_plain
from fukayomi.data.formats.psv import PSV
from fukayomi.data.formats.rows import DataFileError
from fukayomi.data.records.sources import FileHead
from fukayomi.shogi import Position, ShogiError
from fukayomi.shogi.formats.detect import detect_format
from fukayomi.shogi.formats.text import decode_text

_SAMPLES = 16
_ARCHIVES = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
_TAR_MAGIC_AT = 257
_KNOWN_FLAGS = 0x1F
# Text has no other bytes; rows and games of the binary formats do, since each has a zero or a small number somewhere.
_TEXT_BYTES = b"\t\n\r\x0c" + bytes(range(0x20, 0x100))


class DataFormat(StrEnum):
    """The formats of positions and games."""

    HCP = "hcp"
    HCPE = "hcpe"
    HCPE2 = "hcpe2"
    HCPE3 = "hcpe3"
    CACHE = "cache"
    AVERAGES = "avg"
    PSV = "psv"
    BOOK = "book"
    SFEN = "sfen"
    """A position a line."""
    PLAIN = "plain"
    """Rows as text, as YaneuraOu's learner writes them."""
    RECORDS = "records"
    """CSA, KIF, KI2, JKF or USI lines, also in archives and folders."""


class UnknownDataError(DataFileError):
    """A file in none of the formats."""


def detect_data(file: Path | FileHead) -> DataFormat:
    """The format of a file or, for a folder, RECORDS.

    Raises:
        UnknownDataError: It is none that we read.
        OSError: The file cannot be read.
    """
    if isinstance(file, Path):
        if file.is_dir():
            return DataFormat.RECORDS
        file = FileHead.of(file)
    path, head = file.path, file.data
    if not head:
        raise UnknownDataError(f"{path}: an empty file may be anything; say which format it is with --from")
    if head.startswith(MAGIC):
        return DataFormat.AVERAGES
    if head.startswith(_ARCHIVES) or head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar":
        return DataFormat.RECORDS
    if not head.translate(None, _TEXT_BYTES) and (found := _detect_text(head)) is not None:
        return found
    scores = {kind: score(path, head) for kind, score in _SCORES.items()}
    best = max(scores, key=lambda kind: scores[kind])
    if scores[best] >= 0.5:
        return _with_flags(path) if best is DataFormat.HCPE else best
    found = _detect_text(head)
    if found is None:
        raise UnknownDataError(
            f"{path}: neither positions or games ({', '.join(_SCORES)}) nor rows as text, SFEN lines or a game record: "
            f"it begins {head[:16].hex(' ')}"
        )
    return found


def _detect_text(head: bytes) -> DataFormat | None:
    try:
        text = decode_text(head.rpartition(b"\n")[0] or head)
    except ValueError:
        return None
    if is_plain(text):
        return DataFormat.PLAIN
    if _are_sfens(text):
        return DataFormat.SFEN
    try:
        detect_format(text)
    except ValueError:
        return None
    return DataFormat.RECORDS


def _are_sfens(text: str) -> bool:
    begin = text.split("\n", _SAMPLES)[:_SAMPLES]
    first = islice((line for part in begin for line in part.splitlines() or [""]), _SAMPLES)
    lines = (line for line in first if line.strip() and not line.startswith("#"))
    line = next(lines, None)
    return line is not None and _is_sfen(line) and all(_is_sfen(line) for line in lines)


def _is_sfen(line: str) -> bool:
    if line.count("/") != 8 or "moves" in line:
        return False
    try:
        Position.from_sfen(line.strip().removeprefix("sfen "))
    except ShogiError:
        return False
    return True


def _samples(path: Path, size: int) -> NDArray[np.uint8]:
    """Rows of a file of rows of this size: uint8 [at most 16, size]."""
    rows = path.stat().st_size // size
    if rows == 0:
        return np.empty((0, size), np.uint8)
    data = np.memmap(path, np.uint8, mode="r", shape=(rows, size))
    return np.array(data[np.unique(np.linspace(0, rows - 1, _SAMPLES).astype(np.int64))])


def _share_good(rows: NDArray[np.uint8], moves_at: int | None, fits: NDArray[np.bool_], *, psv: bool = False) -> float:
    """The share of rows that are a position (half a row) with a legal move (the other half) and fit otherwise."""
    if len(rows) == 0:
        return 0.0
    packed = np.ascontiguousarray(rows[:, :32])
    good = fits.copy()
    good[[index for index, _ in _native.find_bad_records(packed, None, psv=psv)]] = False
    if moves_at is None:
        return float(good.mean())
    moves = np.ascontiguousarray(rows[:, moves_at : moves_at + 2]).view("<u2").reshape(-1)
    legal = good.copy()
    legal[[index for index, _ in _native.find_bad_records(packed, moves, psv=psv)]] = False
    return float(good.mean() + legal.mean()) / 2


def _fit_of_size(path: Path, size: int) -> float:
    """1 for whole rows; a little less for others, as a file may be cut: some rows decode as psv and as hcpe."""
    return 1.0 if path.stat().st_size % size == 0 else 0.9


def _score_hcpe(path: Path, _: bytes) -> float:
    rows = _samples(path, HCPE.itemsize)
    results = rows[:, 36]
    fits = (results & RESULT_BITS != RESULT_BITS) & (results <= _KNOWN_FLAGS)
    return _share_good(rows, 34, fits) * _fit_of_size(path, HCPE.itemsize)


def _score_psv(path: Path, _: bytes) -> float:
    rows = _samples(path, PSV.itemsize)
    fits = np.isin(rows[:, 38], (0, 1, 255))
    return _share_good(rows, 34, fits, psv=True) * _fit_of_size(path, PSV.itemsize)


def _score_hcp(path: Path, _: bytes) -> float:
    rows = _samples(path, 32)
    return _share_good(rows, None, np.ones(len(rows), np.bool_)) * _fit_of_size(path, 32)


def _score_hcpe3(path: Path, head: bytes) -> float:
    found = _native.decode_hcpe3(np.frombuffer(head, np.uint8), len(head) == path.stat().st_size)
    if len(found.results) == 0 and not found.damages:
        return 0.5  # the beginning of a game that is longer than the head
    # A good header before a bad move is half a game.
    left_out = sum(size * (1.0 if ply < 0 else 0.5) for _, size, ply, _ in found.damages)
    return 1 - left_out / max(1, found.consumed)


def _score_cache(path: Path, head: bytes) -> float:
    size = path.stat().st_size
    if size < 16 + POSITION.itemsize:
        return 0.0
    count, first = np.frombuffer(head[:16], "<u8").tolist()
    return float(8 + 8 * count == first <= size - POSITION.itemsize)


def _score_book(path: Path, head: bytes) -> float:
    entries = np.frombuffer(head[: len(head) // BOOK_ENTRY.itemsize * BOOK_ENTRY.itemsize], BOOK_ENTRY)
    in_order = entries["key"][1:] >= entries["key"][:-1]
    if path.stat().st_size % BOOK_ENTRY.itemsize or len(np.unique(entries["key"])) < 2:
        return 0.0
    moves = entries["fromToPro"]
    is_move = (moves != 0) & (moves < 1 << 15) & (moves & 127 < 81) & (moves >> 7 & 127 < 88)
    return 0.6 * float(in_order.all() and is_move.all())  # weaker evidence than any position


_SCORES: dict[DataFormat, Callable[[Path, bytes], float]] = {
    DataFormat.HCPE3: _score_hcpe3,
    DataFormat.HCPE: _score_hcpe,
    DataFormat.PSV: _score_psv,
    DataFormat.HCP: _score_hcp,
    DataFormat.CACHE: _score_cache,
    DataFormat.BOOK: _score_book,
}


def _with_flags(path: Path) -> DataFormat:
    results = _samples(path, HCPE.itemsize)[:, 36]
    return DataFormat.HCPE2 if (results > RESULT_BITS).any() else DataFormat.HCPE
