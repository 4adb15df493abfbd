"""Files of every format as NumPy arrays: whole, in parts, from any place on, and written again."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from format_files import write_all_formats
from game_samples import random_games

import fukayomi.data
from fukayomi.data import (
    BOOK_ENTRY,
    FORMATS,
    HCP,
    HCPE,
    PSV,
    Averages,
    CachedPositions,
    DataFileError,
    DataFormat,
    Games,
    Report,
    check_data,
    load_rows,
    read_data,
    read_rows,
    write_data,
)
from fukayomi.data.formats import format as format_module
from fukayomi.data.formats import games as games_module
from fukayomi.data.formats import hcpe3
from fukayomi.data.formats.format import START, Place
from fukayomi.data.formats.table import as_rows
from fukayomi.listener import Listener
from fukayomi.shogi.record import Record

ROW_TYPES = {
    DataFormat.HCP: HCP, DataFormat.SFEN: HCP, DataFormat.HCPE: HCPE, DataFormat.HCPE2: HCPE, DataFormat.PSV: PSV,
    DataFormat.PLAIN: PSV, DataFormat.BOOK: BOOK_ENTRY,
}  # fmt: skip
CLASSES = {
    DataFormat.HCPE3: Games, DataFormat.AVERAGES: Averages, DataFormat.CACHE: CachedPositions, DataFormat.RECORDS: list
}  # fmt: skip
NO_ROWS = (DataFormat.HCP, DataFormat.SFEN, DataFormat.BOOK, DataFormat.CACHE)


class Heard(Listener):
    def __init__(self) -> None:
        self.done: list[int] = []
        self.total: int | None = None
        self.notes: list[str] = []

    def progress(self, stage: str, done: int, total: int | None) -> None:
        assert stage == "reading"
        self.done.append(done)
        self.total = total

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[DataFormat, Path]:
    return write_all_formats(tmp_path_factory.mktemp("formats"))


@pytest.mark.parametrize("kind", DataFormat)
def test_every_format_is_read_in_its_form(kind: DataFormat, files: dict[DataFormat, Path]) -> None:
    heard = Heard()
    parts = list(read_data(files[kind], listener=heard))
    assert sum(map(len, parts)) > 25
    for part in parts:
        if kind in ROW_TYPES:
            assert isinstance(part, np.ndarray)
            assert part.dtype == ROW_TYPES[kind]
        else:
            assert isinstance(part, CLASSES[kind])
    assert heard.done == sorted(heard.done)
    assert 0 < heard.done[-1] <= (heard.total or 0) == files[kind].stat().st_size


@pytest.mark.parametrize("kind", DataFormat)
def test_reading_goes_on_from_any_part(
    kind: DataFormat, files: dict[DataFormat, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (format_module, fukayomi.data.formats.hcp):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 50)
    monkeypatch.setattr(fukayomi.data.formats.plain, "_ROWS_AT_ONCE", 50)
    monkeypatch.setattr(fukayomi.data.formats.averages, "_READ_AT_ONCE", 50)
    monkeypatch.setattr(games_module, "RECORDS_AT_ONCE", 5)
    read = FORMATS[kind].read
    places: list[Place] = [START]
    counts: list[int] = []
    for content, after in read(files[kind]):
        counts.append(len(content))
        places.append(after)
    if kind not in (DataFormat.HCPE3, DataFormat.CACHE):
        assert len(counts) > 3
    for number, place in enumerate(places):
        assert [len(content) for content, _ in read(files[kind], place)] == counts[number:]


@pytest.mark.parametrize("kind", [kind for kind in DataFormat if kind not in NO_ROWS])
def test_rows_are_the_same_whatever_the_format(kind: DataFormat, files: dict[DataFormat, Path]) -> None:
    rows = load_rows(files[kind])
    assert rows.dtype == HCPE
    assert np.array_equal(np.concatenate(list(read_rows(files[kind]))), rows)
    if kind is not DataFormat.AVERAGES:
        assert rows.tobytes() == load_rows(files[DataFormat.HCPE]).tobytes()
    assert isinstance(rows, np.memmap) == (kind is DataFormat.HCPE)


@pytest.mark.parametrize("kind", NO_ROWS)
def test_formats_without_rows_say_so(kind: DataFormat, files: dict[DataFormat, Path]) -> None:
    with pytest.raises(DataFileError, match=r"positions alone|all formats but books and caches"):
        load_rows(files[kind])


def test_damaged_rows_are_named_and_damaged_records_noted(tmp_path: Path, files: dict[DataFormat, Path]) -> None:
    rows = np.array(load_rows(files[DataFormat.HCPE]))
    rows["hcp"][7] = 0xFF
    write = tmp_path / "bad.hcpe"
    write.write_bytes(rows.tobytes())
    with pytest.raises(DataFileError, match=r"bad\.hcpe, record 7 \(offset 266\)"):
        list(read_rows(write))
    assert sum(map(len, read_data(write))) == len(rows)  # positions are not decoded
    text = files[DataFormat.RECORDS].read_text()
    (tmp_path / "some.csa").write_text(f"PI\n+\n+7776FU\n+7775FU\n%TORYO\n/\n{text}")
    for read in (read_rows, read_data):
        heard = Heard()
        assert sum(map(len, read(tmp_path / "some.csa", listener=heard))) > 0
        assert len(heard.notes) == 1
        assert "some.csa, line 4" in heard.notes[0]


@pytest.mark.parametrize("name", ["a.hcpe", "a.hcpe2", "a.psv", "a.plain", "a.hcpe3", "a.csa", "a.usi"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    games = random_games(12, seed=5)
    expected = as_rows(games).records
    is_game = name in ("a.hcpe3", "a.csa", "a.usi")
    assert write_data(tmp_path / name, games) == (12 if is_game else len(expected))
    back = list(read_data(tmp_path / name))
    assert write_data(tmp_path / f"again.{name}", iter(back)) == (12 if is_game else len(expected))
    assert (tmp_path / f"again.{name}").read_bytes() == (tmp_path / name).read_bytes()
    if name not in ("a.csa", "a.usi"):  # these lose evaluations below -32767, or all of them
        rows = load_rows(tmp_path / name)
        assert rows["hcp"].tobytes() == expected["hcp"].tobytes()
        assert rows["eval"].tolist() == expected["eval"].tolist()
    else:
        assert all(isinstance(record, Record) for part in back for record in part)


def test_a_format_may_be_named_instead_of_the_suffix(tmp_path: Path) -> None:
    games = random_games(3, seed=5)
    write_data(tmp_path / "a", games, format="hcpe3")
    (back,) = read_data(tmp_path / "a", format="hcpe3")
    assert isinstance(back, Games)
    assert back.write() == games.write() == (tmp_path / "a").read_bytes()
    with pytest.raises(ValueError, match="nonsense"):
        next(read_data(tmp_path / "a", format="nonsense"))
    with pytest.raises(DataFileError, match="the suffix is not that of a format"):
        write_data(tmp_path / "b", games)


def test_a_report_is_a_table_of_its_findings(tmp_path: Path) -> None:
    games = random_games(4, seed=2)
    (tmp_path / "a.hcpe3").write_bytes(games.write() + b"\0" * 40)
    report = check_data(tmp_path / "a.hcpe3")
    assert isinstance(report, Report)
    assert report.errors >= 1
    frame = report.to_pandas()
    assert list(frame.columns) == ["level", "file", "record", "ply", "line", "offset", "reason"]
    assert len(frame) == len(report.findings)
    assert "bytes left out" in frame["reason"].str.cat()  # the text of a report is cut to the width of the screen


def test_sizes_of_games_are_those_of_their_bytes() -> None:
    games = random_games(9, seed=4)
    assert games.sizes().tolist() == [len(hcpe3.join_games([game]).write()) for game in games]
    assert games.lengths().tolist() == [len(game) for game in games]


def test_public_names_are_listed_and_light() -> None:
    for name in fukayomi.data.__all__:
        assert getattr(fukayomi.data, name) is not None
    assert set(fukayomi.data.__all__) <= set(dir(fukayomi.data))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = fukayomi.data.nothing  # pyright: ignore[reportAttributeAccessIssue]
    code = "import sys, fukayomi.data; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
