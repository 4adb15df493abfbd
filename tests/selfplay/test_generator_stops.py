"""Runs of self-play that end early: told to, by Ctrl-C, by a crash, by a kill; and what they go on with."""

import json
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from patience import PATIENCE_S, until
from selfplay_runner import HASH, SHORT, Heard, contents, journal_of

from fukayomi.selfplay import (
    GameSummary,
    find_chunks,
    generate,
    read_chunk,
)
from fukayomi.selfplay.journal import GameJournal


class Ending(Heard):
    """Ends a run after a number of games."""

    def __init__(self, games: int) -> None:
        super().__init__()
        self.over = threading.Event()
        self._left = games

    def game(self, game: GameSummary) -> None:
        super().game(game)
        self._left -= 1
        if self._left <= 0:
            self.over.set()


@pytest.mark.parametrize("parallel", [1, 6])
def test_a_run_goes_on_until_it_is_told_to_end_and_its_last_chunk_is_short(tmp_path: Path, parallel: int) -> None:
    heard = Ending(games=6)
    result = generate(SHORT, HASH, tmp_path, until=heard.over, parallel=parallel, listener=heard)
    assert (result.finished, result.waiting) == (True, 0)
    infos = [read_chunk(path).info for path in find_chunks(tmp_path)]
    assert [info.first_game for info in infos] == list(range(0, 4 * len(infos), 4))
    assert sum(info.numbers for info in infos) == len(heard.games) >= 6
    assert sorted(game.number for game in heard.games) == list(range(len(heard.games)))


@pytest.mark.parametrize(("over", "played"), [((), []), ((0, 1), []), ((0, 1, 3), [2]), ((1,), [0])])
def test_a_killed_run_that_is_told_to_end_plays_only_what_its_chunk_waits_for(
    tmp_path: Path, over: tuple[int, ...], played: list[int]
) -> None:
    path = journal_of(SHORT, tmp_path, games=4)
    if over:
        data = path.read_bytes()
        begin = struct.calcsize("<4s4I")
        run = json.loads(data[begin : begin + struct.unpack_from("<4sI", data)[1]])
        games = GameJournal(path, run).games
        path.unlink()
        journal = GameJournal(path, run)
        for number in over:
            journal.add(games[number])
        journal.close()
    else:
        path.unlink()
    heard = Ending(games=0)
    heard.over.set()

    result = generate(SHORT, HASH, tmp_path, until=heard.over, parallel=3, listener=heard)

    assert (result.finished, [game.number for game in heard.games]) == (True, played)
    assert [read_chunk(path).info.numbers for path in find_chunks(tmp_path)] == ([max(over) + 1] if over else [])


@pytest.mark.parametrize("files", [("games",), ("hcpe3", "games"), ("hcpe3", "json", "games")])
def test_a_chunk_without_sidecar_is_made_again(tmp_path: Path, files: tuple[str, ...]) -> None:
    """Whatever of its files a kill has left; the games are in the journal."""
    generate(SHORT, HASH, tmp_path / "whole", games=4)
    whole = contents(tmp_path / "whole")
    stopped = tmp_path / "stopped"
    stopped.mkdir()
    journal = journal_of(SHORT, stopped, games=4)
    for suffix in files:
        if suffix != "games":
            (stopped / f"selfplay-000001.{suffix}").write_bytes(whole[f"selfplay-000001.{suffix}"])
    assert journal.is_file()
    result = generate(SHORT, HASH, stopped, games=4)
    assert result.progress.new_games == 0
    assert contents(stopped) == whole


class Crashing(Heard):
    """Fails after some games."""

    def game(self, game: GameSummary) -> None:
        super().game(game)
        if len(self.games) == 6:
            raise RuntimeError("crash")


@pytest.mark.parametrize("settings", [{}, {"out_max_move": False}])
def test_the_share_of_wrong_resignations_is_that_of_a_run_without_crashes(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    odd = SHORT.model_copy(update={"threshold": 0.2, "play_out": 0.6, **settings})
    for _ in range(3):
        with pytest.raises(RuntimeError, match="crash"):
            generate(odd, HASH, tmp_path / "crashed", games=30, parallel=5, listener=Crashing())
    crashed = generate(odd, HASH, tmp_path / "crashed", games=30).progress
    whole = generate(odd, HASH, tmp_path / "whole", games=30).progress
    assert contents(tmp_path / "crashed") == contents(tmp_path / "whole")
    assert (crashed.played_out, crashed.wrong_resignations) == (whole.played_out, whole.wrong_resignations)
    assert whole.played_out >= whole.wrong_resignations > 0
    again = generate(odd, HASH, tmp_path / "crashed", games=30).progress
    assert (again.played_out, again.wrong_resignations) == (whole.played_out, whole.wrong_resignations)


def test_a_torn_journal_loses_only_its_last_game(tmp_path: Path) -> None:
    generate(SHORT, HASH, tmp_path / "whole", games=4)
    journal = journal_of(SHORT, tmp_path, games=3)
    data = journal.read_bytes()
    for cut in (len(data) - 1, len(data) - 300, 40, 3, 0):
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / journal.name).write_bytes(data[:cut])
        generate(SHORT, HASH, folder, games=4)
        assert contents(folder) == contents(tmp_path / "whole")


PROGRAM = """
import sys
from pathlib import Path
from fukayomi.selfplay import SelfplaySettings, generate
settings = SelfplaySettings(playouts=16, max_move=60, out_max_move=True, chunk_games=8)
result = generate(settings, "<hash>", Path(sys.argv[1]), games=int(sys.argv[2]), parallel=6, seed=4)
print("finished", result.finished, result.waiting)
"""


def start(folder: Path, games: int) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder), str(games)], stdout=subprocess.PIPE, text=True)


def finish(process: "subprocess.Popen[str]") -> str:
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    return output


def wait_for_games(folder: Path, chunks: int) -> None:
    until(lambda: folder.is_dir() and len(find_chunks(folder)) >= chunks, 5 * PATIENCE_S)


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    games = 40
    for chunks in (1, 3):
        process = start(tmp_path / "killed", games)
        wait_for_games(tmp_path / "killed", chunks)
        process.kill()
        process.communicate()
    found = contents(tmp_path / "killed")
    finish(start(tmp_path / "killed", games))
    assert contents(tmp_path / "killed").items() >= {n: d for n, d in found.items() if n.endswith(".json")}.items()
    finish(start(tmp_path / "whole", games))
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is not a signal there")
def test_ctrl_c_ends_after_the_games_in_play(tmp_path: Path) -> None:
    process = start(tmp_path, 100_000)
    wait_for_games(tmp_path, 2)
    process.send_signal(signal.SIGINT)
    output = finish(process)
    assert output.startswith("finished False")
    chunks = len(find_chunks(tmp_path))
    waiting = sum(path.stat().st_size > 0 for path in tmp_path.glob("*.games"))
    assert chunks >= 2
    assert (int(output.split()[-1]) > 0) == (waiting > 0)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is not a signal there")
def test_ctrl_c_ends_a_run_whose_games_end_as_fast_as_they_begin(tmp_path: Path) -> None:
    heard = Interrupting()
    settings = SHORT.model_copy(update={"max_move": 1, "min_move": 0, "playouts": 1, "chunk_games": 1000})
    result = generate(settings, HASH, tmp_path, positions=1_000_000, parallel=8, listener=heard)
    assert not result.finished
    assert len(heard.games) < 1000


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is not a signal there")
def test_ctrl_c_is_answered_when_all_games_have_begun(tmp_path: Path) -> None:
    heard = Interrupting()
    result = generate(SHORT, HASH, tmp_path, games=8, parallel=8, listener=heard)
    assert result.finished
    assert heard.notes == ["stopping after the games in play; press Ctrl-C again to stop at once"]


class Interrupting(Heard):
    """Presses Ctrl-C at the first game."""

    def game(self, game: GameSummary) -> None:
        super().game(game)
        if len(self.games) == 1:
            signal.raise_signal(signal.SIGINT)
