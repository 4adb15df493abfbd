"""hcpe3 caches and Apery's books: layouts, and errors that name the place."""

from pathlib import Path

import numpy as np
import pytest

from fukayomi import _native
from fukayomi.data.formats.book import BOOK_ENTRY, read_book
from fukayomi.data.formats.cache import CANDIDATE, POSITION, CachedPositions, CacheError, read_cache, write_cache
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.table import detect_data
from fukayomi.shogi import Move, Position


def some_positions(count: int, seed: int = 1) -> CachedPositions:
    random = np.random.default_rng(seed)
    positions = np.zeros(count, POSITION)
    positions["hcp"] = random.integers(0, 256, (count, 32))
    positions["value"], positions["result"] = random.random(count), random.random(count)
    positions["count"] = random.integers(1, 9, count)
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 6, count))])
    candidates = np.zeros(starts[-1], CANDIDATE)
    candidates["move16"] = random.integers(1, 1 << 15, starts[-1])
    candidates["prob"] = random.random(starts[-1])
    return CachedPositions(positions, starts, candidates)


def test_the_layout_of_a_cache(tmp_path: Path) -> None:
    positions = np.zeros(2, POSITION)
    positions["hcp"][:, 0] = [1, 2]
    positions["value"], positions["result"], positions["count"] = [0.5, 1.0], [1.0, 2.0], [1, 2]
    candidates = np.array([(7, 0, 0.25)], CANDIDATE)
    count = write_cache(tmp_path / "a.cache", [CachedPositions(positions, np.array([0, 0, 1]), candidates)])
    data = (tmp_path / "a.cache").read_bytes()
    assert count == 2
    assert [file.name for file in tmp_path.iterdir()] == ["a.cache"]
    assert np.frombuffer(data[:24], "<u8").tolist() == [2, 24, 68]
    assert len(data) == 24 + 44 + 44 + 8
    assert data[24:68] == bytes([1]) + bytes(31) + np.array([0.5, 1], "<f4").tobytes() + (1).to_bytes(4, "little")
    assert data[112:] == (7).to_bytes(2, "little") + bytes(2) + np.float32(0.25).tobytes()


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_a_cache_is_read_as_it_was_written(tmp_path: Path, at_once: int) -> None:
    first, second = some_positions(50), some_positions(20, seed=2)
    assert write_cache(tmp_path / "a.cache", [first, second]) == 70
    read = list(read_cache(tmp_path / "a.cache", at_once))
    assert np.concatenate([part.positions for part in read]).tobytes() == (
        first.positions.tobytes() + second.positions.tobytes()
    )
    assert np.concatenate([part.candidates for part in read]).tobytes() == (
        first.candidates.tobytes() + second.candidates.tobytes()
    )
    assert [n for part in read for n in np.diff(part.starts)] == [*np.diff(first.starts), *np.diff(second.starts)]


def test_an_empty_cache(tmp_path: Path) -> None:
    assert write_cache(tmp_path / "a.cache", []) == 0
    assert (tmp_path / "a.cache").read_bytes() == bytes(8)
    assert list(read_cache(tmp_path / "a.cache")) == []


def test_a_cache_cut_at_any_byte_is_an_error_or_ends_a_position_early(tmp_path: Path) -> None:
    path = tmp_path / "a.cache"
    write_cache(path, [some_positions(4)])
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        try:
            (part,) = read_cache(path)
        except CacheError:
            continue
        # Whole candidates are missing at the end, which the format cannot tell.
        assert (len(data) - size) % 8 == 0
        assert len(part) == 4


def numbers(*values: int) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in values)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"1234567", "7 bytes, too few for an hcpe3 cache"),
        (numbers(9), "too few for an index of 9 positions"),
        (numbers(1, 17) + bytes(44), r"a\.cache, position 0: offset 17"),
        (numbers(1, 16) + bytes(45), r"position 0 \(offset 16\): it ends at 61"),
        (numbers(1, 16) + bytes(44), r"position 0 \(offset 16\): a count of 0"),
        (bytes(9), "an index of no positions, followed by 1 byte"),
    ],
    ids=["size", "index", "offset", "body", "count", "rest"],
)
def test_what_is_wrong_with_a_cache_is_said(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "a.cache").write_bytes(data)
    with pytest.raises(CacheError, match=reason):
        list(read_cache(tmp_path / "a.cache"))


def test_changed_caches_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.cache"
    write_cache(path, [some_positions(6)])
    data = path.read_bytes()
    random = np.random.default_rng(3)
    for _ in range(200):
        changed = bytearray(data)
        for _ in range(random.integers(1, 4)):
            changed[random.integers(0, min(len(data), 80))] = random.integers(0, 256)
        path.write_bytes(changed)
        try:
            read = sum(len(part) for part in read_cache(path))
        except CacheError:
            continue
        assert read <= 6


def test_a_real_book(shared_data: Path) -> None:
    path = shared_data / "records" / "shogihome" / "book" / "apery-merge.bin"
    assert detect_data(path) is DataFormat.BOOK
    book = read_book(path)
    at = int(np.searchsorted(book["key"], np.uint64(_native.book_key(Position()))))
    assert Move.from_raw(int(book["fromToPro"][at])) in Position().legal_moves


def test_a_damaged_book_is_refused(tmp_path: Path) -> None:
    entries = np.zeros(3, BOOK_ENTRY)
    entries["key"] = [3, 2, 1]
    (tmp_path / "book.bin").write_bytes(entries.tobytes())
    with pytest.raises(DataFileError, match=r"book\.bin, entry 1 \(offset 16\): the keys are not sorted"):
        read_book(tmp_path / "book.bin")
    (tmp_path / "book.bin").write_bytes(bytes(17))
    with pytest.raises(DataFileError, match="17 bytes"):
        read_book(tmp_path / "book.bin")
