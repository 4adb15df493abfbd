"""The database of a match: nothing is lost, nothing is mixed up, one run at a time."""

import pickle
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from match_samples import openings_of, play, settings_of
from places import HELPERS

from fukayomi.arena.game.player import Failure
from fukayomi.arena.game.referee import PlayedGame
from fukayomi.arena.match.settings import MatchSettings, schedule
from fukayomi.arena.match.state import read_state
from fukayomi.arena.match.store import MatchStore, read_settings
from fukayomi.arena.results.match_db import DATABASE, StoreError, read_games
from fukayomi.files.lock import LockedError
from fukayomi.shogi.record import Result, Termination

OPENINGS = openings_of(3)
SETTINGS = settings_of("先手君", "b", games=6)


def fill(folder: Path, settings: MatchSettings = SETTINGS, games: int = 4) -> Path:
    with MatchStore(folder, settings, OPENINGS) as store:
        for game in list(schedule(settings, OPENINGS))[:games]:
            store.add(game, play(game))
    return folder


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    games = list(schedule(SETTINGS, OPENINGS))
    failure = Failure("b", Termination.CRASH, "exit code 3\nlast words")
    with MatchStore(tmp_path / "deep" / "match", SETTINGS, OPENINGS) as store:
        assert store.check_schedule(iter(games)) == games
        for game in (games[3], games[0]):
            store.add(game, PlayedGame(play(game).record, failure if game.number == 4 else None))
        assert store.numbers() == [1, 4]
        assert [game.number for game in store.check_schedule(iter(games))] == [2, 3, 5, 6]
        for game in (games[0], games[3]):
            expected = play(game).record
            expected.name = str(game.number)
            assert store.record(game.number) == expected
        assert store.failures() == [(4, failure)]
        found = list(store.results())
    assert [(game.name, game.pair, game.black, game.white, game.moves) for game in found] == [
        ("1", 1, "先手君", "b", None), ("4", 2, "b", "先手君", None)
    ]  # fmt: skip
    read = list(read_games(tmp_path / "deep" / "match"))
    assert read == list(read_games(tmp_path / "deep" / "match" / "match.db"))
    assert read[0].moves == tuple(move.move for move in play(games[0]).record.moves)
    assert (read[0].result, read[0].termination, read[0].date) == (Result.BLACK_WIN, Termination.RESIGN, "2026-01-03")
    assert (read[1].result, read[1].year) == (Result.DRAW, 2026)


def test_a_game_is_never_there_twice(tmp_path: Path) -> None:
    game = next(schedule(SETTINGS, OPENINGS))
    with MatchStore(tmp_path, SETTINGS, OPENINGS) as store:
        store.add(game, play(game))
        with pytest.raises(StoreError, match="UNIQUE"):
            store.add(game, play(game))
        assert store.numbers() == [1]


def test_games_travel(tmp_path: Path) -> None:
    game = next(schedule(SETTINGS, OPENINGS))
    assert pickle.loads(pickle.dumps((SETTINGS, game))) == (SETTINGS, game)
    played = play(game)
    assert pickle.loads(pickle.dumps(played)) == played


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"clock": "nodes=2"}, 'clock was "nodes=1" and is "nodes=2"'),
        ({"seed": 3}, "seed was 0 and is 3"),
        ({"rules": {"max_plies": 100}}, "rules max_plies was 320 and is 100"),
        ({"rules": {"resign": {"score_cp": 1000}}}, "rules resign score_cp was not set and is 1000"),
        ({"tournament": "gauntlet"}, 'tournament was "round-robin" and is "gauntlet"'),
        ({"opening_plies": 2}, "opening_plies was null and is 2"),
        ({"event": "cup"}, "event was"),
    ],
    ids=["clock", "seed", "rule", "adjudication", "tournament", "plies", "event"],
)
def test_other_settings_are_named(tmp_path: Path, change: dict[str, object], said: str) -> None:
    fill(tmp_path)
    with pytest.raises(StoreError) as caught:
        MatchStore(tmp_path, settings_of("先手君", "b", **{"games": 6, **change}), OPENINGS)
    assert said in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "choose another folder" in str(caught.value)
    assert len(list(read_games(tmp_path))) == 4


def test_other_engines_and_openings_are_named(tmp_path: Path) -> None:
    fill(tmp_path)
    with pytest.raises(StoreError, match="engines was 先手君, b and is b, 先手君"):
        MatchStore(tmp_path, settings_of("b", "先手君", games=6), OPENINGS)
    engines = [{"name": "先手君", "command": ["engine", "先手君"], "options": {"Hash": "16"}}, SETTINGS.engines[1]]
    with pytest.raises(StoreError, match='先手君\'s options Hash was not set and is "16"'):
        MatchStore(tmp_path, MatchSettings(engine=engines, games=6, clock="nodes=1"), OPENINGS)  # pyright: ignore
    with pytest.raises(StoreError, match="the openings are not the same"):
        MatchStore(tmp_path, SETTINGS, OPENINGS[:2])


def test_some_settings_are_free(tmp_path: Path) -> None:
    fill(tmp_path)
    moved = {"games": 40, "concurrency": 2, "cores_per_game": 1, "restart": True, "log": True}
    settings = settings_of("先手君", "b", openings=tmp_path / "moved.sfen", **moved)
    with MatchStore(tmp_path, settings, OPENINGS) as store:
        assert len(store.check_schedule(schedule(settings, OPENINGS))) == 36


def test_a_database_of_another_schedule_is_refused(tmp_path: Path) -> None:
    fill(tmp_path)
    with closing(sqlite3.connect(tmp_path / "match.db")) as database:
        database.execute("UPDATE games SET black = 'b', white = '先手君' WHERE number = 3")
        database.commit()
    with MatchStore(tmp_path, SETTINGS, OPENINGS) as store, pytest.raises(StoreError, match="game 3 is not"):
        store.check_schedule(schedule(SETTINGS, OPENINGS))


def test_two_runs_do_not_meet(tmp_path: Path) -> None:
    program = (
        "import sys; sys.path[:0] = [sys.argv[1], sys.argv[2]]; from test_store import *\n"
        "with MatchStore(Path(sys.argv[3]), SETTINGS, OPENINGS): print('locked', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(Path(__file__).parent), str(HELPERS), str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(LockedError, match=f"another process is working in {tmp_path}"):
            MatchStore(tmp_path, SETTINGS, OPENINGS)
        assert list(read_games(tmp_path)) == [], "who only reads may come in"
        other.kill()
        other.wait()
    fill(tmp_path)  # the lock went with its owner


def test_what_is_no_match_is_left_alone(tmp_path: Path) -> None:
    foreign = tmp_path / "match.db"
    with closing(sqlite3.connect(foreign)) as database:
        database.execute("CREATE TABLE diary (day TEXT)")
        database.commit()
    before = foreign.read_bytes()
    for attempt in (lambda: MatchStore(tmp_path, SETTINGS, OPENINGS), lambda: list(read_games(tmp_path))):
        with pytest.raises(StoreError, match=r"match\.db is not the database of a match"):
            attempt()
    assert foreign.read_bytes() == before
    foreign.write_text("a text, and a rather long one " * 100)
    for attempt in (lambda: MatchStore(tmp_path, SETTINGS, OPENINGS), lambda: list(read_games(tmp_path))):
        with pytest.raises(StoreError, match=r"match\.db is damaged: file is not a database"):
            attempt()
    with pytest.raises(StoreError, match="there is no match at"):
        list(read_games(tmp_path / "nowhere"))


def test_a_damaged_database_is_reported(tmp_path: Path) -> None:
    path = fill(tmp_path) / "match.db"
    content = bytearray(path.read_bytes())
    page = 4096
    for start in range(page, len(content), page):
        content[start : start + 64] = b"\xff" * 64
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"match\.db is damaged"):
        MatchStore(tmp_path, SETTINGS, OPENINGS)
    with pytest.raises(StoreError, match=r"match\.db is damaged"):
        list(read_games(tmp_path))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE games SET moves = '7g7f 9z9z'",
        "UPDATE games SET termination = 'sleep'",
        "DROP TABLE games",
    ],
    ids=["move", "termination", "table"],
)
def test_rows_that_make_no_sense_are_reported(tmp_path: Path, change: str) -> None:
    with closing(sqlite3.connect(fill(tmp_path) / "match.db")) as database:
        database.execute(change)
        database.commit()
    with pytest.raises(StoreError, match=r"match\.db"):
        list(read_games(tmp_path))


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(fill(tmp_path) / "match.db")) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="format 99"):
        MatchStore(tmp_path, SETTINGS, OPENINGS)


def test_a_creation_that_was_cut_off_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "match.db").write_bytes(b"")
    fill(tmp_path)
    assert len(list(read_games(tmp_path))) == 4


def test_the_settings_can_be_read_of_a_match_that_has_begun(tmp_path: Path) -> None:
    assert read_settings(tmp_path / "none") is None
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / DATABASE).touch()
    assert read_settings(tmp_path / "begun") is None, "a run was killed before it wrote them"
    assert read_settings(fill(tmp_path / "match")) == SETTINGS
    (tmp_path / "begun" / DATABASE).write_bytes(b"something else, which is long enough to be looked at" * 100)
    with pytest.raises(StoreError, match=r"match\.db"):
        read_settings(tmp_path / "begun")


@pytest.mark.parametrize("answers", ["[", "[[1]]", '[["b", "x", null]]', "7"])
def test_damaged_times_are_reported(tmp_path: Path, answers: str) -> None:
    fill(tmp_path)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as database, database:
        database.execute("UPDATE times SET answers = ?", (answers,))
    with pytest.raises(StoreError, match="is damaged"):
        read_state(tmp_path)
