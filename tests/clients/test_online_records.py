"""The records of games against others: saved at once, and what a kill leaves of a game."""

from pathlib import Path

import pytest

from fukayomi import Move, Position, Record, Result, Termination, read_record
from fukayomi.clients.records import GameFile, RecordFolder
from fukayomi.files.lock import LockedError
from fukayomi.listener import Notes
from fukayomi.shogi.record import RecordedMove


def add(file: GameFile, record: Record, *moves: str) -> None:
    position = Position()
    for number, text in enumerate(moves):
        played = RecordedMove(Move.from_usi(text), 30 - number, time_ms=1000 * number)
        file.add(position, played)
        record.moves.append(played)
        position.push(played.move)


def test_a_game_is_a_part_file_until_it_is_a_record(tmp_path: Path) -> None:
    record = Record(black_name="a", white_name="b")
    with RecordFolder(tmp_path) as folder:
        file = folder.begin("x+a+b", record)
        add(file, record, "7g7f", "3c3d")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "x+a+b.part"]
        record.termination, record.result = Termination.RESIGN, Result.WHITE_WIN
        path = file.finish()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "x+a+b.csa", "x+a+b.kif"]
    saved = read_record(path)
    assert (saved.usi_moves(), saved.result) == (["7g7f", "3c3d"], Result.WHITE_WIN)
    assert [played.score_cp for played in saved.moves] == [30, 29]


def test_names_from_servers_stay_in_the_folder_and_do_not_meet(tmp_path: Path) -> None:
    out = tmp_path / "games"
    with RecordFolder(out) as folder:
        for name in ("../../evil", "/etc/passwd", "..", "", "a" * 1000, "same", "same", "日本"):
            folder.begin(name, Record()).finish()
    assert len(list(out.glob("*.csa"))) == 8
    assert [path.name for path in tmp_path.iterdir()] == ["games"]


@pytest.mark.parametrize("cut", range(0, 30))
def test_what_a_kill_leaves_becomes_a_record_wherever_it_came(tmp_path: Path, cut: int) -> None:
    record, notes = Record(black_name="a", white_name="b"), Notes()
    with RecordFolder(tmp_path) as folder:
        file = folder.begin("x", record)
        add(file, record, "7g7f", "3c3d", "2g2f")
        file.close()
    part = tmp_path / "x.part"
    data = part.read_bytes()
    part.write_bytes(data[: len(data) - cut])
    with RecordFolder(tmp_path, notes):
        pass
    saved = read_record(tmp_path / "x.csa")
    assert saved.usi_moves() == ["7g7f", "3c3d", "2g2f"][: len(saved.moves)]
    assert (saved.termination, saved.result, saved.black_name) == (Termination.INTERRUPTED, Result.UNKNOWN, "a")
    assert notes.texts == [f"x.csa: the game was broken off after {len(saved)} moves"]
    assert not part.exists()


def test_a_game_that_has_ended_keeps_its_result_when_its_kif_cannot_be_written(tmp_path: Path) -> None:
    record, notes = Record(black_name="a", white_name="b"), Notes()
    with RecordFolder(tmp_path) as folder:
        file = folder.begin("x", record)
        add(file, record, "7g7f", "3c3d")
        record.termination, record.result = Termination.RESIGN, Result.WHITE_WIN
        kif = tmp_path / "x.kif"
        kif.mkdir()
        with pytest.raises(OSError, match=r"x\.kif"):
            file.finish()
        kif.rmdir()
    with RecordFolder(tmp_path, notes):
        pass
    for path in (tmp_path / "x.csa", kif):
        saved = read_record(path)
        assert (saved.usi_moves(), saved.result) == (["7g7f", "3c3d"], Result.WHITE_WIN)
        assert saved.termination is Termination.RESIGN
    assert (notes.texts, list(tmp_path.glob("*.part"))) == ([], [])


def test_a_damaged_file_is_kept_aside(tmp_path: Path) -> None:
    (tmp_path / "x.part").write_bytes(b"\xff\xfe nonsense\n")
    notes = Notes()
    with RecordFolder(tmp_path, notes):
        pass
    assert (tmp_path / "x.damaged").read_bytes() == b"\xff\xfe nonsense\n"
    assert "kept as x.damaged" in notes.texts[0]


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with RecordFolder(tmp_path), pytest.raises(LockedError):
        RecordFolder(tmp_path)
