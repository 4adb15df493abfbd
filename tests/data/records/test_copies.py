"""A game that is given more than once counts once, whatever reads the records; repeated games are different games."""

import gzip
import random
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from command_runs import run, run_json

from fukayomi.arena.results.sources import read_games
from fukayomi.data.formats import games as games_module
from fukayomi.data.jobs import job
from fukayomi.data.records.copies import SeenGames
from fukayomi.data.verbs import merge
from fukayomi.listener import Listener, Notes
from fukayomi.shogi import START_SFEN, Position
from fukayomi.shogi.formats import write_csa, write_kif, write_record
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

GAMES = 12
BALANCED = ("--filter-moves", 1, "--moves1", 24, "--moves2", 30)


def made_game(number: int, start_time: str = "2026/01/03 21:37:56", seed: int | None = None) -> Record:
    """A random game with evaluations, which Black wins."""
    chooser, position = random.Random(number if seed is None else seed), Position()
    for _ in range(41):
        position.push(chooser.choice(position.legal_moves))
    return Record(
        moves=[RecordedMove(move, score_cp=ply, time_ms=1000) for ply, move in enumerate(position.moves)],
        black_name=f"engine {number % 2}",
        white_name=f"engine {1 - number % 2}",
        black_rating=4000,
        white_rating=4000,
        start_time=start_time,
        termination=Termination.RESIGN,
        result=Result.BLACK_WIN,
    )


def write_games(folder: Path, records: Sequence[Record]) -> Path:
    """Each game as CSA and as KIF, as in the folder of a match."""
    folder.mkdir(parents=True)
    for number, record in enumerate(records, 1):
        (folder / f"{number:06}.csa").write_text(write_csa(record), encoding="utf-8")
        (folder / f"{number:06}.kif").write_text("#KIF version=2.0 encoding=UTF-8\n" + write_kif(record), "utf-8")
    return folder


@pytest.fixture
def games(tmp_path: Path) -> Path:
    return write_games(tmp_path / "match" / "games", [made_game(number) for number in range(GAMES)])


def count(*paths: Path) -> tuple[int, int]:
    """Games read, and copies."""
    found = run_json("data", "stats", *paths, "--no-unique")
    return found["games"], found["copies"]


def test_a_match_folder_counts_once_for_every_command(games: Path, tmp_path: Path) -> None:
    assert count(games) == (GAMES, GAMES)
    found = run_json("data", "convert", games, "-o", tmp_path / "a.hcpe3")
    assert (found["games"], found["written"], found["dropped"]) == (GAMES, GAMES, {"copy": GAMES})
    found = run_json("data", "convert", games, "-o", tmp_path / "a.csa")
    assert (found["games"], found["written"], found["dropped"]) == (GAMES, GAMES, {"copy": GAMES})
    found = run_json("data", "csa-to-hcpe", games, "-o", tmp_path / "a.hcpe")
    assert (found["games_read"], found["training"]["games"], found["games_dropped"]) == (GAMES, GAMES, {"copy": GAMES})
    found = run_json("data", "merge", games, "-o", tmp_path / "b.csa")
    assert (found["read"], found["copies"]) == (GAMES, GAMES)
    found = run_json("data", "check", games, "--good", tmp_path / "good.hcpe3")
    assert (found["good"], found["remarks"], found["duplicates"], found["errors"]) == (GAMES, GAMES, GAMES, 0)
    assert (tmp_path / "good.hcpe3").read_bytes() == (tmp_path / "a.hcpe3").read_bytes()
    found = run_json("positions", "balanced", games, "-o", tmp_path / "a.sfen", *BALANCED)
    assert (found["games_read"], found["left_out"]["copy"]) == (GAMES, GAMES)
    assert run_json("rate", games, "--simulations", "0")["games"] == GAMES
    assert run_json("first-move", games)["games"] == GAMES
    assert len(run_json("strategy", games, "--game")["games"]) == GAMES


def test_copies_are_told_in_words(games: Path, tmp_path: Path) -> None:
    told = "12 records of games given before; each game counts once"
    assert told in run("data", "convert", games, "-o", tmp_path / "a.hcpe3")[2]
    assert told in run("data", "stats", games)[2]
    assert told in run("data", "merge", games, "-o", tmp_path / "a.csa")[2]
    for command in (("data", "csa-to-hcpe", games), ("positions", "balanced", games, *BALANCED)):
        assert "copies of games given before" in run(*command, "-o", tmp_path / "out.hcpe")[1]
    assert told in run("rate", games, "--simulations", "0")[2]
    listener = Notes()
    assert len(list(read_games([games], listener=listener))) == GAMES
    assert listener.texts == [told]


def as_zip(games: Path) -> Path:
    with zipfile.ZipFile(path := games.with_suffix(".zip"), "w") as archive:
        for file in sorted(games.iterdir()):
            archive.write(file, f"elsewhere/{file.name}")
    return path


def as_tar(games: Path) -> Path:
    with tarfile.open(path := games.with_suffix(".tar.xz"), "w:xz") as archive:
        archive.add(games, "games")
    return path


def as_copy(games: Path) -> Path:
    path = games.with_name("other names")
    path.mkdir()
    for file in games.iterdir():
        shutil.copy(file, path / f"copy of {file.name}")
    return path


def as_collection(games: Path) -> Path:
    path = games / "all.csa"
    path.write_text("/\n".join(file.read_text() for file in sorted(games.glob("0*.csa"))))
    return path


def as_compressed(games: Path) -> Path:
    path = games.with_name("collection.csa.gz")
    path.write_bytes(gzip.compress(as_collection(games).read_bytes()))
    return path


@pytest.mark.parametrize("pack", [as_zip, as_tar, as_copy, as_collection, as_compressed])
def test_games_count_once_however_they_are_packed(games: Path, pack: Callable[[Path], Path]) -> None:
    packed = pack(games)
    assert count(games.parent)[0] == GAMES
    assert count(packed, games)[0] == GAMES
    assert count(games, packed, games)[0] == GAMES


def test_games_repeated_by_engines_that_do_not_vary_are_different_games(tmp_path: Path) -> None:
    once = [made_game(0, seed=1), made_game(1, seed=1)]
    games = write_games(tmp_path / "games", once * 3)  # all began in the same second
    assert count(games) == (6, 6)
    assert count(games, as_zip(games)) == (6, 18)
    later = write_games(tmp_path / "later", [made_game(0, "2026/01/03 21:37:57", seed=1)])
    assert count(games, later) == (7, 7)


@pytest.mark.parametrize(
    "shown",
    [
        "2026-01-03 21:37", "2026/1/3(土) 21:37", "2026年1月3日(土) 21時37分", "２０２６／０１／０３　２１：３７",
        "2026.1.3 午後9:37", "2026年01月03日 21時", "令和8年1月3日 21:37:56", "R8.1.3", "Jan 3",
        "20260103 213756", "2026-01-03T21:37:56+09:00",
    ],
)  # fmt: skip
def test_a_time_is_the_same_in_any_spelling(shown: str) -> None:
    seen = SeenGames()
    record = made_game(0)
    for name, time, is_copy in (
        ("b/1.csa", "2026/01/04 21:37:56", False),
        ("a/1.csa", record.start_time, False),
        ("a/1.kif", shown, True),
        ("a/2.csa", "2026/01/03 21:38", False),
        ("c/1.jkf", "2026年1月4日 21時37分56秒", True),
        ("c/2.jkf", "2026年1月3日 21時39分", False),
    ):
        record.name, record.start_time = name, time
        assert seen.is_copy(record) == is_copy, name


def test_times_are_compared_as_far_as_both_records_tell_them(tmp_path: Path) -> None:
    """As a folder with the same games as KIF without a date and as CSA with one."""
    times = ["2026/01/03 21:37:56", "2026/01/03 21:37:57", "2026/01/04 09:00:00"]
    games = tmp_path / "games"
    games.mkdir()
    for number, time in enumerate(times * 2):
        record = made_game(0, time, seed=number // 3)
        (games / f"{number}.csa").write_text(write_csa(record))
        for suffix, shown in (("kif", ""), ("jkf", time[:10]), ("ki2", time[:16])):
            record.start_time = shown
            write_record(record, games / f"other {number}.{suffix}")
    assert count(games) == (6, 18)
    record = made_game(0, "2026/01/05", seed=0)  # another day
    write_record(record, games / "another.jkf")
    assert count(games) == (7, 18)


def test_records_without_players_and_time_must_agree_in_name(tmp_path: Path) -> None:
    record = made_game(0)
    record.black_name = record.white_name = record.start_time = ""
    for name in ("a.csa", "a.kif", "b.ki2"):
        write_record(record, tmp_path / name)
    assert count(tmp_path) == (2, 1)


def test_many_repeated_games_take_linear_time() -> None:
    seen, record = SeenGames(), made_game(0)
    for number in range(3000):
        record.name = f"{number}/a.csa"
        assert seen.is_copy(record) == (number > 0)
        record.name = f"same/{number}.csa"
        assert seen.is_copy(record) == (number == 0)


def test_without_a_time_places_are_told_apart(tmp_path: Path) -> None:
    games = write_games(tmp_path / "games", [made_game(number, "2026/01/03", seed=1) for number in (0, 2, 4)])
    assert count(games) == (3, 3)
    shutil.copytree(games, tmp_path / "copy")
    assert count(games, tmp_path / "copy") == (3, 9)
    assert count(games, as_copy(games)) == (3, 9)
    lines = tmp_path / "lines.usi"
    lines.write_text("startpos moves 7g7f resign\n" * 4)
    assert count(lines) == (4, 0)


def test_other_players_moves_starts_and_times_make_other_games() -> None:
    record, seen = made_game(1), SeenGames()
    assert not seen.is_copy(record)
    for field, value in (
        ("black_name", "somebody"), ("white_name", "somebody"), ("start_time", "2026/01/03 21:38:56"),
        ("moves", record.moves[:-1]), ("initial_sfen", START_SFEN.replace("snl/", "sn1/", 1)),
    ):  # fmt: skip
        other = made_game(1)
        other.name = f"other/{field}.csa"
        setattr(other, field, value)
        assert not seen.is_copy(other), field
        other.name = f"third/{field}.kif"
        assert seen.is_copy(other), field
    same = made_game(1)
    same.name, same.start_time = "a.jkf", "2026年1月3日 (土) 21:37:56"
    assert seen.is_copy(same)
    assert seen.copies == 6


def test_a_file_that_is_named_twice_is_read_once(games: Path, tmp_path: Path) -> None:
    file = games / "000001.csa"
    (tmp_path / "link.csa").symlink_to(file)
    assert count(file, file, tmp_path / "link.csa", games.parent / "games" / "000001.csa") == (1, 0)


def test_a_killed_job_goes_on_without_copies(games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games_module, "RECORDS_AT_ONCE", 2)
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0)
    both = [games, as_copy(games)]

    class Stop(Listener):
        def __init__(self, after: int) -> None:
            self.after = after

        def progress(self, stage: str, done: int, total: int | None) -> None:
            self.after -= 1
            if self.after == 0:
                raise KeyboardInterrupt

    whole = merge(both, tmp_path / "whole.csa")
    for after in (3, 13, 25, 40):
        with pytest.raises(KeyboardInterrupt):
            merge(both, tmp_path / "out.csa", listener=Stop(after))
    summary = merge(both, tmp_path / "out.csa")
    assert (tmp_path / "out.csa").read_bytes() == (tmp_path / "whole.csa").read_bytes()
    assert summary.resumed
    assert (summary.read, summary.skipped.copies) == (whole.read, whole.skipped.copies) == (GAMES, 3 * GAMES)
