"""`fukayomi data print`: every binary format, from any place on; what is damaged has a name."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from command_app import app
from format_files import write_all_formats
from typer.testing import CliRunner

from fukayomi import _native
from fukayomi.data.formats.averages import HEADER, MOVE, POSITION, header_bytes, read_averages
from fukayomi.data.formats.book import BOOK_ENTRY, read_book
from fukayomi.data.formats.cache import CacheError, read_cache
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.psv import psv_record
from fukayomi.data.printing import describe
from fukayomi.shogi import START_SFEN, Move


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[DataFormat, Path]:
    return write_all_formats(tmp_path_factory.mktemp("formats"))


def usi(move: int) -> str:
    return Move.from_raw(int(move)).usi()


def printed(path: Path, *options: str) -> list[str]:
    found = CliRunner().invoke(app, ["data", "print", str(path), *options])
    assert found.exit_code == 0, found.stderr
    return found.stdout.splitlines()


BINARY = [
    DataFormat.HCP, DataFormat.HCPE, DataFormat.HCPE2, DataFormat.PSV, DataFormat.AVERAGES, DataFormat.CACHE,
    DataFormat.BOOK,
]  # fmt: skip


@pytest.mark.parametrize("kind", BINARY)
def test_an_entry_is_a_line_from_any_place_on(kind: DataFormat, files: dict[DataFormat, Path]) -> None:
    everything = list(describe(files[kind], 0, 10**9))
    assert len(everything) > 200
    assert [item["index"] for item in everything] == list(range(len(everything)))
    for start, end in ((0, 3), (70, 90), (len(everything) - 2, 10**9), (len(everything), 10**9)):
        assert list(describe(files[kind], start, end)) == everything[start:end]
        options = ("--start", str(start), "--end", str(end))
        assert [json.loads(line) for line in printed(files[kind], *options, "--json")] == everything[start:end]
        lines = printed(files[kind], *options)
        assert [line.split()[0] for line in lines] == [str(item["index"]) for item in everything[start:end]]
        assert all(("sfen" in line) != (kind is DataFormat.BOOK) for line in lines)


def test_averages_have_means_and_shares(files: dict[DataFormat, Path]) -> None:
    averages = read_averages(files[DataFormat.AVERAGES])
    items = list(describe(files[DataFormat.AVERAGES], 0, len(averages)))
    values, results, counts = averages.values(), averages.results(), averages.counts()
    for index, item in enumerate(items):
        part = averages.part(index, index + 1)
        assert item["sfen"] == _native.position_from_hcp(part.positions["hcp"].tobytes()).sfen()
        assert item["count"] == counts[index]
        assert item["value"] == pytest.approx(values[index], abs=1e-6)
        assert item["result"] == pytest.approx(results[index], abs=1e-6)
        expected = dict(zip(map(usi, part.moves["move"]), part.shares().tolist(), strict=True))
        assert item["shares"] == pytest.approx(expected, abs=1e-6)
        assert list(item["shares"].values()) == sorted(item["shares"].values(), reverse=True)
        assert sum(item["played"].values()) == counts[index]
    best = next(iter(items[0]["shares"].items()))
    line = printed(files[DataFormat.AVERAGES], "--end", "1")[0]
    assert f"count {items[0]['count']}  eval {items[0]['eval']}  value {items[0]['value']}" in line
    assert f"  {best[0]} {best[1]:.1%}" in line


def test_caches_say_the_same_as_the_averages_that_they_were_made_of(files: dict[DataFormat, Path]) -> None:
    pairs = zip(
        describe(files[DataFormat.CACHE], 0, 10**9), describe(files[DataFormat.AVERAGES], 0, 10**9), strict=True
    )
    for cached, averaged in pairs:
        assert (cached["sfen"], cached["count"]) == (averaged["sfen"], averaged["count"])
        assert cached["value"] == pytest.approx(averaged["value"], abs=2e-6)
        assert cached["result"] == pytest.approx(averaged["result"], abs=2e-6)
        assert cached["shares"] == pytest.approx(averaged["shares"], abs=2e-6)


def test_entries_of_a_book(files: dict[DataFormat, Path]) -> None:
    entries = read_book(files[DataFormat.BOOK])
    for entry, item in zip(entries, describe(files[DataFormat.BOOK], 0, len(entries)), strict=True):
        assert int(item["key"]) == entry["key"]
        assert item["move"] == usi(entry["fromToPro"])
        assert (item["count"], item["score"]) == (entry["count"], entry["score"])
    first = next(describe(files[DataFormat.BOOK], 0, 1))
    expected = "  ".join(f"{name} {first[name]}" for name in ("key", "move", "count", "score"))
    assert printed(files[DataFormat.BOOK], "--end", "1") == [f"0  {expected}"]


def test_damage_is_named(files: dict[DataFormat, Path], tmp_path: Path) -> None:
    averages = read_averages(files[DataFormat.AVERAGES])
    path = tmp_path / "bad.avg"
    for field, value in (("hcp", 255), ("first_move", 1 << 60), ("moves", 0), ("moves", 600), ("draws", -1)):
        positions = np.array(averages.positions)
        if field == "draws":
            for name in ("draws", "black_wins", "white_wins"):
                positions[name][5] = 0
        else:
            positions[field][5] = value
        body = positions.tobytes() + averages.moves.tobytes()
        path.write_bytes(header_bytes(len(positions), len(averages.moves), zlib.crc32(body)) + body)
        assert len(list(describe(path, 0, 5))) == 5
        with pytest.raises(DataFileError, match=r"bad\.avg, position 5"):
            list(describe(path, 0, 10**9))
    assert (HEADER.itemsize, POSITION.itemsize, MOVE.itemsize) == (64, 64, 16)
    data = bytearray(files[DataFormat.CACHE].read_bytes())
    third = int.from_bytes(data[8 + 3 * 8 : 16 + 3 * 8], "little")
    data[third : third + 32] = b"\xff" * 32
    (tmp_path / "bad.cache").write_bytes(data)
    assert len(list(describe(tmp_path / "bad.cache", 0, 3))) == 3
    assert len(list(describe(tmp_path / "bad.cache", 4, 8))) == 4
    with pytest.raises(CacheError, match=r"bad\.cache, position 3"):
        list(describe(tmp_path / "bad.cache", 0, 8))
    entries = np.array(read_book(files[DataFormat.BOOK]))
    entries["fromToPro"][4] = 0
    (tmp_path / "bad.book").write_bytes(entries.tobytes())
    with pytest.raises(DataFileError, match=rf"bad\.book, entry 4 \(offset {4 * BOOK_ENTRY.itemsize}\)"):
        list(describe(tmp_path / "bad.book", 0, 8, DataFormat.BOOK))
    found = CliRunner().invoke(app, ["data", "print", str(tmp_path / "bad.book"), "--from", "book"])
    assert found.exit_code == 1
    assert "entry 4" in found.stderr


def test_parts_of_a_cache_are_read_from_any_position_on(files: dict[DataFormat, Path]) -> None:
    (whole,) = read_cache(files[DataFormat.CACHE])
    for begin in (0, 1, 100, len(whole) - 1, len(whole)):
        found = [part.positions for part in read_cache(files[DataFormat.CACHE], 7, begin)]
        assert np.array_equal(np.concatenate([whole.positions[:0], *found]), whole.positions[begin:])


def test_records_have_their_ends_times_and_variations(tmp_path: Path) -> None:
    path = tmp_path / "a.kif"
    variation = "変化：2手\n   2 ８四歩(83)\n   3 ２六歩(27)\n"
    game = "手合割：平手\n   1 ７六歩(77)   ( 0:03/)\n   2 ３四歩(33)\n   3 {}\n\n" + variation
    path.write_text(game.format("封じ手   ( 0:01/)"), "utf-8")
    (item,) = describe(path)
    assert (item["end"], item["end_word"], item["end_time_ms"]) == ("other", "封じ手", 1000)
    assert [move["time_ms"] for move in item["moves"]] == [3000, None]
    assert item["variations"] == [{"ply": 2, "parent": None, "moves": ["8c8d", "2g2f"]}]
    lines = printed(path)
    assert "end other  end_word 封じ手" in lines[0]
    assert lines[1:] == ["    1 7g7f           3 s", "    2 3c3d", "      variation from ply 2: 8c8d 2g2f"]
    path.write_text(game.format("７五歩(77)   ( 0:02/)\n   4 反則負け"), "utf-8")
    (item,) = describe(path)
    assert (item["end"], item["illegal_move"], item["illegal_move_time_ms"]) == ("illegal_move", "7g7e", 2000)
    assert "illegal_move 7g7e" in printed(path)[0]


def test_a_row_of_psv_without_a_move_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.psv"
    path.write_bytes(psv_record(START_SFEN, None, 30, 7, 1).tobytes())
    assert json.loads(printed(path, "--json")[0])["move"] is None
    assert printed(path) == [f"0  sfen {START_SFEN[:-1]}7  no move  eval 30  result black  ply 7"]
