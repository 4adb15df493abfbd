"""Books that grow: that they follow from the games, and go on after any end."""

import errno
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import grow_run
import pytest
from command_runs import run_json
from grow_run import ENGINE, result, small

from fukayomi.arena.match.settings import MatchSettings
from fukayomi.arena.match.store import read_settings
from fukayomi.arena.match.workers import LocalWorkers
from fukayomi.arena.results.match_db import read_games
from fukayomi.book import read_book
from fukayomi.book_growth import GrowSettings, Growth, GrowthError, grow_book, read_growth
from fukayomi.book_growth.journal import JOURNAL_NAME
from fukayomi.book_growth.settings import book_path
from fukayomi.files.lock import FolderLock, LockedError
from fukayomi.shogi import BLACK, WHITE, Position
from fukayomi.shogi.formats.notation import english_moves, japanese_moves

SCRIPT = Path(grow_run.__file__)
SEED = "lr5nl/3g1kg2/2n1ppsp1/p1pps1p1p/1p5P1/P1PPSPP1P/1PS1P1N2/2GK1G3/LN5RL w Bb 38"
KILLED = -signal.SIGKILL
pytestmark = pytest.mark.slow


def grow(folder: Path, **changes: object) -> Growth:
    return grow_book(GrowSettings(**small(**changes)), folder)


def start(folder: Path, *when: object, **changes: object) -> "subprocess.Popen[bytes]":
    words = [str(SCRIPT), str(folder), json.dumps(small(**changes)), *map(str, when)]
    return subprocess.Popen([sys.executable, *words], stderr=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A growth that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "grown"
    growth = grow(folder)
    assert growth.is_complete
    assert growth.new_games == 36
    return folder


# ------------------------------------------------------------------------------------------------------- what it makes


def test_the_books_are_those_of_minmax(whole: Path, tmp_path: Path) -> None:
    for side, th in ((BLACK, 4), (WHITE, 3)):
        out, name = tmp_path / "book.db", side.name.lower()
        found = run_json("book", "minmax", whole / "rounds", "-o", out, "--side", name, "--th", th, "--uniq")
        assert out.read_bytes() == book_path(whole, side).read_bytes()
        state = next(book for book in read_growth(whole).rounds[-1].books if book.side == name)
        (value,) = found["sides"]
        assert (state.win_rate, list(state.line)) == (value["win_rate"], value["line"])
        assert state.entries == found["entries"] > 0


def test_the_growing_side_follows_its_book_and_the_other_does_not(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "grown")
    book = read_book(book_path(whole, BLACK))
    best = book["lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b -"][0].move
    grow(tmp_path / "grown", rounds=4)
    games = list(read_games(tmp_path / "grown" / "rounds" / "0004-black"))
    assert {game.moves[0] for game in games if game.moves} == {best}
    other = list(read_games(tmp_path / "grown" / "rounds" / "0004-white"))
    assert len({game.moves[0] for game in other if game.moves}) > 1


def test_engines_get_the_book_and_limits_of_their_own(whole: Path) -> None:
    first = read_settings(whole / "rounds" / "0001-black")
    last = read_settings(whole / "rounds" / "0003-white")
    assert first is not None
    assert last is not None
    assert [engine.options for engine in first.engines] == [{}, {}]  # there was no book
    expected = {"USI_OwnBook": "true", "BookMoves": "256", "Book_File": str(book_path(whole.absolute(), WHITE))}
    assert [engine.options for engine in last.engines] == [expected, expected]
    limits = [engine.clock.nodes for engine in last.engines if engine.clock is not None]
    assert [len(nodes) for nodes in limits] == [3, 3]
    assert limits[0] != limits[1]
    assert all(900 <= nodes <= 1100 for each in limits for nodes in each)
    assert last.rules.resign is not None
    assert (last.rules.max_plies, last.rules.resign.score_cp) == (320, 500)


def test_the_page_has_the_trees(whole: Path) -> None:
    page = (whole / "report.html").read_text(encoding="utf-8")
    last = read_growth(whole).rounds[-1]
    assert page.count("<svg") == 2
    for book in last.books:
        japanese, english = (write(Position().sfen(), book.line) for write in (japanese_moves, english_moves))
        assert all(f">{name}</text>" in page for name in [*english, japanese[0]])
        assert all(f">{' '.join(names[:6])}" in page for names in (japanese, english))
        assert not any(f">{move}" in page for move in book.line)
    assert f"{last.books[0].win_rate:.0%}".rstrip("%") in page


def test_the_table_has_a_row_for_each_round(whole: Path) -> None:
    rows = read_growth(whole).rows()
    assert [row["round"] for row in rows] == [1, 2, 3]
    assert rows[-1]["games"] == 36
    assert rows[-1]["black_positions"] == len(read_book(book_path(whole, BLACK)))


def test_games_of_the_frontier_begin_at_its_lines_from_a_given_position(tmp_path: Path) -> None:
    growth = grow(tmp_path / "grown", start=SEED, games_from="frontier", games=8, rounds=2)
    assert growth.is_complete
    for book in growth.rounds[-1].books:
        assert book.entries > 0
        position = Position.from_sfen(SEED)
        for move in book.line:
            position.push_usi(move)
    assert all(game.initial_sfen == SEED for game in read_games(tmp_path / "grown" / "rounds" / "0002-white"))
    pairs = [game.moves for game in read_games(tmp_path / "grown" / "rounds" / "0002-black")]
    common = [
        first and second and first[0] == second[0] for first, second in zip(pairs[2::4], pairs[3::4], strict=True)
    ]
    assert all(common)


# --------------------------------------------------------------------------------------------------------- after an end


def test_a_growth_that_is_killed_again_and_again_ends_as_if_it_had_not_been(whole: Path, tmp_path: Path) -> None:
    """Amid the games of a round, at a book of it, and at the journal of the next one."""
    folder = tmp_path / "grown"
    for kind, number in (("games", 5), ("files", 3), ("files", 8)):
        assert start(folder, kind, number).wait() == KILLED
    assert grow(folder).is_complete
    assert result(folder) == result(whole)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("games_from", ["trunk", "frontier"])
def test_a_growth_that_is_killed_twenty_times_ends_as_if_it_had_not_been(games_from: str, tmp_path: Path) -> None:
    how = {"rounds": 7, "games_from": games_from}
    grow(tmp_path / "whole", **how)
    folder = tmp_path / "grown"
    kills = [("games", 1 + number % 4) if number % 2 else ("files", 2 + number % 5) for number in range(20)]
    ends = [start(folder, kind, number, **how).wait() for kind, number in kills]
    assert ends.count(KILLED) == 20
    assert grow(folder, **how).is_complete
    assert result(folder) == result(tmp_path / "whole")


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("kind", "step", "least"), [("games", 4, 36), ("files", 1, 13)])
def test_a_kill_at_any_point_changes_nothing(kind: str, step: int, least: int, whole: Path, tmp_path: Path) -> None:
    number = 1
    while (end := start(tmp_path / str(number), kind, number).wait()) == KILLED:
        assert grow(tmp_path / str(number)).is_complete
        assert result(tmp_path / str(number)) == result(whole), number
        number += step
    assert end == 0
    assert number > least


def test_ctrl_c_drops_the_games_in_progress(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "grown"
    command = [sys.executable, "-m", "fukayomi", "book", "grow", str(folder), "--config", str(settings_file(tmp_path))]
    slow = os.environ | {"PAUSE_S": "0.05"}  # the rounds that follow last longer than it takes to stop them
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=slow) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("round 1:"):
                break
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130, said
    assert f"fukayomi book grow {folder}" in said
    assert not read_growth(folder).is_complete
    found = run_json("book", "grow", folder)
    assert found["complete"]
    assert found["books"]["white"] == str(book_path(folder, WHITE))
    assert result(folder) == result(whole)


def test_a_full_disk_costs_nothing(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "grown"
    command = [sys.executable, "-m", "fukayomi", "book", "grow", str(folder), "--config", str(settings_file(tmp_path))]
    for size in (9_000, 60_000):  # of the page, of a match

        def limit(size: int = size) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        process = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, check=False)
        assert process.returncode == 1
        assert process.stderr.count("error: ") == 1
        assert "Traceback" not in process.stderr
    assert grow(folder).is_complete
    assert result(folder) == result(whole)


def settings_file(folder: Path) -> Path:
    path = folder / "settings.toml"
    path.write_text(GrowSettings(**small()).text(), encoding="utf-8")
    return path


def test_a_cut_journal_is_named_and_made_again(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "grown"
    shutil.copytree(whole, folder)
    journal = folder / JOURNAL_NAME
    journal.write_bytes(journal.read_bytes()[:-40])
    with pytest.raises(GrowthError, match=r"journal\.jsonl, line 3: not a round: .*Remove the file"):
        grow(folder)
    journal.write_bytes((whole / JOURNAL_NAME).read_bytes().replace(b'"line":["', b'"line":["5e5d","'))
    with pytest.raises(GrowthError, match=r"journal\.jsonl: illegal move '5e5d' in .*Remove the file"):
        grow(folder)
    journal.unlink()
    assert grow(folder).new_games == 0
    assert result(folder) == result(whole)


def test_a_cut_book_is_made_again(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "grown"
    shutil.copytree(whole, folder)
    book_path(folder, BLACK).write_bytes(b"#YANEURAOU")
    grow(folder)
    assert result(folder) == result(whole)


@pytest.mark.parametrize("number", [1, 3])
def test_a_match_that_was_cut_off_at_its_creation_is_played(number: int, whole: Path, tmp_path: Path) -> None:
    """A kill, or a full disk, while the database of a round is made leaves a file without tables."""
    folder = tmp_path / "grown"
    shutil.copytree(whole, folder)
    journal = (folder / JOURNAL_NAME).read_text().splitlines(keepends=True)
    (folder / JOURNAL_NAME).write_text("".join(journal[: number - 1]))
    for side in ("black", "white"):
        shutil.rmtree(folder / "rounds" / f"{number:04}-{side}")
    cut = folder / "rounds" / f"{number:04}-white"
    cut.mkdir()
    (cut / "match.db").touch()
    grow(folder)
    assert result(folder) == result(whole)


def test_the_first_error_of_a_round_is_told(tmp_path: Path) -> None:
    """Black's match ends because White's has failed: that is not the reason."""

    def workers(settings: MatchSettings, logs: Path | None, stop: threading.Event) -> LocalWorkers:
        if next(count) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return LocalWorkers(settings, logs, stop)

    count = itertools.count()
    with pytest.raises(OSError, match="No space left"):
        grow_book(GrowSettings(**small()), tmp_path / "grown", start_workers=workers)


def test_missing_games_are_named(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "grown"
    shutil.copytree(whole, folder)
    shutil.rmtree(folder / "rounds" / "0002-black")
    with pytest.raises(GrowthError, match=r"0002-black: 0 games instead of 6\. Put the folder back; or remove it and"):
        grow(folder)
    (folder / JOURNAL_NAME).unlink()
    assert grow(folder).new_games == 6
    assert result(folder)["journal.jsonl"] == result(whole)["journal.jsonl"]


# ------------------------------------------------------------------------------------------------------ what is refused


def test_other_settings_are_refused(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "grown"
    shutil.copytree(whole, folder)
    with pytest.raises(GrowthError, match=r"spread is 0\.1 in .*grow\.toml, and 0\.2 now; give the settings it began"):
        grow(folder, spread=0.2)
    with pytest.raises(GrowthError, match=r"engine\.own\.options\.BookMoves is None in"):
        grow(folder, engine=[{"name": "own", "command": list(ENGINE), "options": {"BookMoves": "4"}}])
    assert result(folder) == result(whole)


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(GrowthError, match=r"is not empty, and there is no grow\.toml"):
        grow(tmp_path)
    with pytest.raises(GrowthError, match="no book grows here"):
        read_growth(tmp_path)


def test_one_process_at_a_time(whole: Path) -> None:
    with FolderLock(whole), pytest.raises(LockedError, match="another process is working in"):
        grow(whole)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"games": 7}, "games is an even number"),
        ({"start": "nowhere"}, "start: "),
        ({"sides": ["red"]}, "there are black and white"),
        ({"engine": []}, "engine"),
        ({"black": {"prior_games": 3.0}}, "no judge is given"),
    ],
)
def test_settings_that_do_not_fit(changes: dict[str, object], problem: str, tmp_path: Path) -> None:
    with pytest.raises(GrowthError, match=problem):
        grow(tmp_path / "grown", **changes)


def test_an_engine_needs_an_option_for_a_book(tmp_path: Path) -> None:
    engine = SCRIPT.with_name("random_engine.py")
    with pytest.raises(GrowthError, match="engine own has no option for a book"):
        grow(tmp_path / "grown", engine=[{"name": "own", "command": [sys.executable, str(engine)]}])


@pytest.mark.parametrize(
    ("engine", "problem"),
    [
        ({"command": [sys.executable, "-c", "pass"]}, "engine own: "),
        ({"command": list(ENGINE), "options": {"NoSuch": "1"}}, "NoSuch"),
    ],
)
def test_an_engine_that_does_not_start_leaves_nothing_that_binds(
    engine: dict[str, object], problem: str, tmp_path: Path
) -> None:
    folder = tmp_path / "grown"
    with pytest.raises(GrowthError, match=problem):
        grow(folder, engine=[{"name": "own", **engine}], spread=0.3)
    assert [path.name for path in folder.iterdir()] == ["lock"]
    assert grow(folder, rounds=1, games=2).settings.spread == 0.1


def test_settings_bind_from_the_first_game_on(tmp_path: Path) -> None:
    """Games on other machines may fail before the first one is played."""
    folder = tmp_path / "grown"

    def no_workers(settings: MatchSettings, logs: Path | None, stop: threading.Event) -> LocalWorkers:
        raise OSError("no machine is left")

    with pytest.raises(OSError, match="no machine is left"):
        grow_book(GrowSettings(**small(spread=0.3)), folder, start_workers=no_workers)
    assert (folder / "grow.toml").is_file()
    assert grow(folder, rounds=1, games=2).settings.spread == read_growth(folder).settings.spread == 0.1


# ------------------------------------------------------------------------------------------------------ failing engines


def failing(folder: Path, times: int) -> list[dict[str, object]]:
    return [{"name": "own", "command": [*ENGINE, f"deaths={folder / 'deaths'}", f"times={times}"]}]


def test_a_crash_costs_a_game(tmp_path: Path) -> None:
    growth = grow(tmp_path / "grown", engine=failing(tmp_path, 2), rounds=1)
    assert growth.rounds[0].left_out == 2
    assert growth.rounds[0].games + growth.rounds[0].repeated == 10


def test_without_restarts_the_run_ends_and_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "grown"
    with pytest.raises(GrowthError, match=r"of round 1 left out: own . failed \(crash: .*Run the same command again"):
        grow(folder, engine=failing(tmp_path, 1), rounds=1, games=2, restart=False)
    assert grow(folder, engine=failing(tmp_path, 1), rounds=1, games=2, restart=False).is_complete


def test_an_engine_that_always_fails_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(GrowthError, match=r"all games of round 1 in .* ended by forfeits: .* remove this folder"):
        grow(tmp_path / "grown", engine=failing(tmp_path, 1000), games=2)
