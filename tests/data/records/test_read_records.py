"""Every game of files, folders and archives, by one function."""

import gzip
import zipfile
from pathlib import Path

import pytest
from places import ROOT

import fukayomi
from fukayomi import RecordError, read_record, read_records, write_record
from fukayomi.listener import Notes

EXAMPLE = ROOT / "examples" / "game.csa"
TWO = b"startpos moves 7g7f\nstartpos moves 2g2f 8c8d\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Games in files of several kinds, and files that are no games."""
    games = tmp_path / "games"
    (games / "more").mkdir(parents=True)
    (games / "a.usi").write_bytes(TWO)
    (games / "b.csa.gz").write_bytes(gzip.compress(EXAMPLE.read_bytes()))
    (games / "notes.md").write_text("# not a game")
    write_record(read_record(EXAMPLE), games / "more" / "c.kif")
    with zipfile.ZipFile(games / "more" / "d.zip", "w") as archive:
        archive.writestr("one.usi", "startpos moves 5g5f\n")
        archive.writestr("readme.txt", "nothing")
    return games


def test_files_folders_and_archives_in_order(folder: Path) -> None:
    lengths = [1, 2, 118, 118, 1]
    assert [len(record) for record in read_records(folder)] == lengths
    assert [len(record) for record in read_records(str(folder))] == lengths
    assert [len(record) for record in read_records(EXAMPLE, folder / "a.usi", TWO)] == [118, 1, 2, 1, 2]
    names = [Path(record.name).name for record in read_records(folder)]
    assert names == ["a.usi", "a.usi#2", "b.csa.gz", "c.kif", "one.usi"]


def test_a_game_that_cannot_be_read_is_an_error_or_a_note(folder: Path) -> None:
    (folder / "damaged.usi").write_bytes(b"startpos moves 7g7e\nstartpos moves 7g7f\n")
    games = read_records(folder)
    assert [len(next(games)) for _ in range(3)] == [1, 2, 118]
    with pytest.raises(RecordError, match=r"damaged\.usi, line 1: .*7g7e"):
        next(games)
    notes = Notes()
    assert len(list(read_records(folder, listener=notes))) == 6
    assert any("7g7e" in text for text in notes.texts)
    assert any("notes.md" in text for text in notes.texts)


def test_what_is_named_must_be_there_and_be_games(folder: Path) -> None:
    with pytest.raises(ValueError, match="nowhere: no such file or folder"):
        list(read_records("nowhere"))
    with pytest.raises(RecordError, match=r"notes\.md"):
        list(read_records(folder / "notes.md"))
    (folder / "broken.zip").write_bytes(b"PK\x03\x04" + bytes(40))
    with pytest.raises(ValueError, match=r"broken\.zip"):
        list(read_records(folder / "broken.zip"))
    notes = Notes()
    assert list(read_records(folder / "broken.zip", folder / "a.usi", listener=notes))
    assert len(notes.texts) == 1


def test_records_go_into_ratings_and_strategies(folder: Path) -> None:
    games = list(fukayomi.read_records(folder / "more" / "c.kif"))
    assert [row["player"] for row in fukayomi.rate(games, simulations=0).rows()] == ["kp2019_n10000", "kp2019_n5000"]
    assert repr(games) == "[<Record kp2019_n5000 - kp2019_n10000: 118 moves, WHITE_WIN>]"
