"""Generating games: chunks, resuming, stopping, opponents."""

import hashlib
import json
import math
import signal
import struct
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE_S, until
from selfplay_runner import Hash
from toy_network import write_network

from fukayomi import __version__, _native
from fukayomi._native import OUTSIDE, SelfplayPlayer, SelfplayPool, WaitingGame, decode_hcpe3, position_from_hcp
from fukayomi.data import check_data, load_rows, merge
from fukayomi.data.formats.hcpe3 import read_hcpe3
from fukayomi.engine import Network
from fukayomi.engine.evaluators.protocol import Evaluator, Slot
from fukayomi.files.lock import FolderLock, LockedError
from fukayomi.listener import Listener
from fukayomi.loop.ingest import validate_chunk
from fukayomi.selfplay import (
    ChunkError,
    ChunkInfo,
    GameSummary,
    Openings,
    OpeningSet,
    SelfplayListener,
    SelfplaySettings,
    find_chunks,
    generate,
    read_chunk,
)
from fukayomi.selfplay.chunk import read_chunk_info, sidecar_of
from fukayomi.selfplay.journal import Journal
from fukayomi.shogi import Position

SHORT = SelfplaySettings(playouts=4, max_move=24, out_max_move=True, chunk_games=4)
HASH = "<hash>"


class Heard(SelfplayListener):
    """Notes what it hears."""

    def __init__(self) -> None:
        self.games: list[GameSummary] = []
        self.chunks: list[Path] = []
        self.notes: list[str] = []
        self.ends = 0

    def note(self, text: str) -> None:
        self.notes.append(text)

    def game(self, game: GameSummary) -> None:
        self.games.append(game)

    def chunk(self, path: Path, info: ChunkInfo) -> None:
        self.chunks.append(path)

    def ended(self) -> None:
        self.ends += 1


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file() and path.suffix != ".lock"
    }


def test_chunks_have_fixed_ranges_of_games(tmp_path: Path) -> None:
    heard = Heard()
    result = generate(SHORT, HASH, tmp_path, games=10, seed=3, name="w1", listener=heard)
    assert result.finished
    assert sorted(game.number for game in heard.games) == list(range(10))
    assert sorted(heard.chunks) == find_chunks(tmp_path)
    infos = [read_chunk(path).info for path in find_chunks(tmp_path)]
    assert [(info.first_game, info.numbers, info.sequence) for info in infos] == [(0, 4, 1), (4, 4, 2), (8, 2, 3)]
    assert {info.worker for info in infos} == {"w1"}
    assert infos[0].settings == SHORT.model_dump()
    assert sum(info.positions for info in infos) == result.progress.positions
    assert heard.ends == 1
    for path in find_chunks(tmp_path):
        validate_chunk(path)


def test_the_bytes_depend_on_settings_seed_and_network_alone(tmp_path: Path) -> None:
    for number, parallel in enumerate((1, 3, 64)):
        generate(SHORT, HASH, tmp_path / str(number), games=9, seed=1, parallel=parallel, cache_mb=number)
    folders = [contents(tmp_path / str(number)) for number in range(3)]
    assert folders[0] == folders[1] == folders[2]
    generate(SHORT, HASH, tmp_path / "other", games=9, seed=2)
    assert contents(tmp_path / "other")["selfplay-000001.hcpe3"] != folders[0]["selfplay-000001.hcpe3"]


def test_more_games_continue_the_numbers(tmp_path: Path) -> None:
    generate(SHORT, HASH, tmp_path, games=6)
    before = contents(tmp_path)
    assert generate(SHORT, HASH, tmp_path, games=6).progress.new_games == 0
    result = generate(SHORT, HASH, tmp_path, games=13)
    assert result.progress.new_games == 7
    assert result.progress.games == 13
    assert contents(tmp_path).items() >= before.items()
    firsts = [read_chunk(path).info.first_game for path in find_chunks(tmp_path)]
    assert firsts == [0, 4, 6, 10]


def test_a_later_range_of_games_leaves_the_earlier_alone(tmp_path: Path) -> None:
    generate(SHORT, HASH, tmp_path, games=8)
    generate(SHORT, HASH, tmp_path, games=8, first_game=8)
    generate(SHORT, HASH, tmp_path / "whole", games=16)
    assert contents(tmp_path / "whole").items() <= contents(tmp_path).items()
    generate(SHORT, HASH, tmp_path / "late", games=8, first_game=8)
    assert set(contents(tmp_path / "late")) == {f"selfplay-00000{n}.{e}" for n in (3, 4) for e in ("hcpe3", "json")}


def test_positions_end_a_run(tmp_path: Path) -> None:
    result = generate(SHORT, HASH, tmp_path, positions=150, parallel=4)
    assert result.finished
    assert result.waiting == 0
    assert 150 <= result.progress.positions < 2000  # games in play are finished
    assert sum(read_chunk(path).info.positions for path in find_chunks(tmp_path)) == result.progress.positions
    assert generate(SHORT, HASH, tmp_path, positions=150).progress.new_games == 0


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
    path = _journal_of(SHORT, tmp_path, games=4)
    if over:
        data = path.read_bytes()
        begin = struct.calcsize("<4s4I")
        run = json.loads(data[begin : begin + struct.unpack_from("<4sI", data)[1]])
        games = Journal(path, run).games
        path.unlink()
        journal = Journal(path, run)
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


def test_games_that_are_too_short_or_drawn_by_length_are_not_kept(tmp_path: Path) -> None:
    settings = SHORT.model_copy(update={"out_max_move": False})
    result = generate(settings, HASH, tmp_path, games=5)
    assert result.progress.games == 5
    assert result.progress.kept < 5
    assert [read_chunk(path).info.games for path in find_chunks(tmp_path)] in ([0, 0], [1, 0], [0, 1])
    none = SHORT.model_copy(update={"min_move": 25})
    assert generate(none, HASH, tmp_path / "short", games=3).progress.kept == 0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"out_max_move": False, "max_move": 1}, r"shorter than min_move \(10\)"),
        ({"out_max_move": False, "max_move": 1, "min_move": 0}, r"drawn after max_move \(1\), without out_max_move"),
        ({"max_move": 12, "cheap": 1.0, "cheap_playouts": 2}, "without a move that has targets"),
    ],
)
def test_a_run_for_positions_whose_games_have_none_fails(
    tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    settings = SHORT.model_copy(update={"chunk_games": 200, **changes})
    with pytest.raises(ValueError, match=rf"the last \d+ games brought no position: \d+ {reason}; change the settings"):
        generate(settings, HASH, tmp_path, positions=100)


@pytest.mark.parametrize("files", [("games",), ("hcpe3", "games"), ("hcpe3", "json", "games")])
def test_a_chunk_without_sidecar_is_made_again(tmp_path: Path, files: tuple[str, ...]) -> None:
    """Whatever of its files a kill has left; the games are in the journal."""
    generate(SHORT, HASH, tmp_path / "whole", games=4)
    whole = contents(tmp_path / "whole")
    stopped = tmp_path / "stopped"
    stopped.mkdir()
    journal = _journal_of(SHORT, stopped, games=4)
    for suffix in files:
        if suffix != "games":
            (stopped / f"selfplay-000001.{suffix}").write_bytes(whole[f"selfplay-000001.{suffix}"])
    assert journal.is_file()
    result = generate(SHORT, HASH, stopped, games=4)
    assert result.progress.new_games == 0
    assert contents(stopped) == whole


def _journal_of(settings: SelfplaySettings, folder: Path, games: int) -> Path:
    """A journal with some games, of a run that was killed when they were over."""
    larger = settings.model_copy(update={"chunk_games": settings.chunk_games})

    class Stop(SelfplayListener):
        def game(self, game: GameSummary) -> None:
            if len(list(folder.glob("*.games"))) and game.number == games - 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate(larger, HASH, folder, games=games, parallel=1, listener=Stop())
    return folder / "selfplay-000001.games"


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
    journal = _journal_of(SHORT, tmp_path, games=3)
    data = journal.read_bytes()
    for cut in (len(data) - 1, len(data) - 300, 40, 3, 0):
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / journal.name).write_bytes(data[:cut])
        generate(SHORT, HASH, folder, games=4)
        assert contents(folder) == contents(tmp_path / "whole")


def test_runs_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    generate(SHORT, HASH, tmp_path, games=4)
    with pytest.raises(ChunkError, match="seed 0"):
        generate(SHORT, HASH, tmp_path, games=8, seed=1)
    (tmp_path / "other").mkdir()
    _journal_of(SHORT, tmp_path / "other", games=3)
    with pytest.raises(ChunkError, match="another network"):
        generate(SHORT.model_copy(update={"playouts": 5}), HASH, tmp_path / "other", games=4)
    (tmp_path / "other" / "selfplay-000001.games").write_bytes(b"something else entirely")
    with pytest.raises(ChunkError, match="not a journal"):
        generate(SHORT, HASH, tmp_path / "other", games=4)
    with pytest.raises(ValueError, match="one of games, positions and until"):
        generate(SHORT, HASH, tmp_path)
    with pytest.raises(ValueError, match=r"name '\.\./x' cannot begin the names of files"):
        generate(SHORT, HASH, tmp_path / "new", games=1, name="../x")
    with pytest.raises(ValueError, match=f"seed is {1 << 64}; it must be from 0 to"):
        generate(SHORT, HASH, tmp_path / "new", games=1, seed=1 << 64)
    assert not (tmp_path / "new").exists()
    with FolderLock(tmp_path, "selfplay.lock"), pytest.raises(LockedError):
        generate(SHORT, HASH, tmp_path, games=8)


def test_games_of_another_network_are_not_taken_for_those_of_this_one(tmp_path: Path) -> None:
    write_network(tmp_path / "other.onnx")
    with Network(tmp_path / "other.onnx", device="cpu") as other:
        generate(SHORT, HASH, tmp_path, games=4)
        with pytest.raises(ChunkError, match="all games asked for are there, but of the network"):
            generate(SHORT, other, tmp_path, games=4)
        with pytest.raises(ChunkError, match="all games asked for are there, but of the network"):
            generate(SHORT, other, tmp_path, positions=1)
        assert generate(SHORT, other, tmp_path, games=5).progress.new_games == 1
        assert generate(SHORT, other, tmp_path, games=5).progress.new_games == 0
    assert generate(SHORT, HASH, tmp_path, games=4).progress.new_games == 0


def test_other_settings_that_change_nothing_are_noted(tmp_path: Path) -> None:
    other, heard = SHORT.model_copy(update={"playouts": 5}), Heard()
    generate(SHORT, HASH, tmp_path, games=4, listener=heard)
    generate(SHORT, HASH, tmp_path, games=4, listener=heard)
    assert heard.notes == []
    assert generate(other, HASH, tmp_path, games=4, listener=heard).progress.new_games == 0
    (note,) = heard.notes
    assert note.startswith("all games asked for are there, but played with other settings")
    assert generate(other, HASH, tmp_path, games=5, listener=heard).progress.new_games == 1
    assert len(heard.notes) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"games": 0}, "games is 0; it must be from 1 to "),
        ({"games": 1, "first_game": -1}, "first_game is -1; it must be from 0 to "),
        ({"games": 1, "first_game": 1 << 60}, "first_game is 1152921504606846976; it must be from 0 to "),
        ({"games": 1, "parallel": -5}, "parallel is -5; it must be from 0 to 65536"),
        ({"games": 1, "parallel": 65_537}, "parallel is 65537; it must be from 0 to 65536"),
        ({"games": 1, "cache_mb": 1 << 70}, "cache_mb is 1180591620717411303424; it must be from 0 to 65536"),
        ({"games": 1, "devices": 0}, "devices is 0; it must be from 1 to 1024"),
        ({"games": 1, "book_plies": 0}, "book_plies is 0; it must be from 1 to 512"),
    ],
)
def test_numbers_out_of_range_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        generate(SHORT, HASH, tmp_path / "games", **options)
    assert not (tmp_path / "games").exists()


def test_openings_are_where_games_begin(tmp_path: Path) -> None:
    positions = tuple(Position.from_usi(f"startpos moves {moves}") for moves in ("7g7f", "2g2f 8c8d"))
    openings = Openings([OpeningSet("two", None, positions)])
    generate(SHORT, HASH, tmp_path, games=8, openings=openings)
    data = b"".join(read_chunk(path).data for path in find_chunks(tmp_path))
    games = decode_hcpe3(np.frombuffer(data, np.uint8), True)
    firsts = {int(games.moves[begin]) for begin in games.plies[:-1]}
    assert firsts == {positions[0].moves[0].raw, positions[1].moves[0].raw}
    assert read_chunk_info(sidecar_of(find_chunks(tmp_path)[0])).settings["openings"] == openings.settings


class Outside:
    """A frozen network, or a program that plays its first legal move, is Black in one of two games."""

    def __init__(self) -> None:
        self.networks = [Network(HashNetwork())]
        self.asked = 0
        self.games: list[GameSummary] = []

    @property
    def settings(self) -> dict[str, object]:
        return {"share": 0.5}

    @property
    def has_own_files(self) -> bool:
        return False

    def notes(self) -> list[str]:
        return []

    def players(self, number: int) -> tuple[SelfplayPlayer, SelfplayPlayer]:
        if number % 2 == 0:
            return SelfplayPlayer(), SelfplayPlayer()
        return SelfplayPlayer(OUTSIDE if number % 4 == 1 else 1, teaches=False), SelfplayPlayer()

    def name(self, number: int) -> str:
        return "" if number % 2 == 0 else "program" if number % 4 == 1 else "frozen"

    def think(self, pool: SelfplayPool, game: WaitingGame) -> None:
        self.asked += 1
        threading.Thread(target=lambda: pool.answer(game.index, game.position.legal_moves[0])).start()

    def over(self, game: GameSummary) -> None:
        self.games.append(game)


class HashNetwork:
    """The hash evaluator with another seed, behind the protocol of evaluators."""

    identity, batch_size, slots = "hash-9", 4, 1

    def __init__(self) -> None:
        self._hash = Hash(9)

    def allocate(self, capacity: int) -> Slot:
        return Slot.zeros(capacity)

    def run(self, slot: Slot, n: int) -> None:
        self._hash.run(slot, n)

    def close(self) -> None: ...


def test_others_may_play_one_side(tmp_path: Path) -> None:
    opponents = Outside()
    result = generate(SHORT, HASH, tmp_path, games=8, opponents=opponents)
    assert result.finished
    assert opponents.asked >= 8
    assert {game.opponent for game in opponents.games} == {"", "black"}
    assert {name: counts[0] for name, counts in result.progress.opponents.items()} == {"program": 2, "frozen": 2}
    for path in find_chunks(tmp_path):
        validate_chunk(path)


def test_sidecars_say_what_ran_the_network(tmp_path: Path) -> None:
    write_network(tmp_path / "network.onnx")
    options = {"device": "cpu", "precision": "fp32", "threads": 1, "batch_size": 4}
    generate(SHORT, tmp_path / "network.onnx", tmp_path / "games", games=4, **options)
    generate(SHORT, HASH, tmp_path / "hash", games=4)
    (info,) = [read_chunk(path).info for path in find_chunks(tmp_path / "games")]
    assert (info.device, info.precision) == ("cpu", "fp32")
    assert info.build == f"{__version__}+core.{hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()[:12]}"
    (info,) = [read_chunk(path).info for path in find_chunks(tmp_path / "hash")]
    assert (info.device, info.precision) == ("", "")


def test_several_devices_have_each_a_share_of_the_games(tmp_path: Path) -> None:
    """They make the games that one makes."""
    write_network(tmp_path / "network.onnx")
    options = {"device": "cpu", "precision": "fp32", "threads": 1, "batch_size": 4}
    folders = [tmp_path / str(devices) for devices in (1, 2)]
    for devices, folder in enumerate(folders, 1):
        with Network([tmp_path / "network.onnx"] * devices, **options) as network:
            counted = [Counting(evaluator) for evaluator in network.evaluators]
            network.evaluators = tuple(counted)
            result = generate(SHORT, network, folder, games=24, parallel=12, cache_mb=0, reproducible=True)
        assert result.finished
        rows = [evaluator.rows for evaluator in counted]
        assert min(rows) > sum(rows) / devices / 4, rows
    one, two = ([read_chunk(path).data for path in find_chunks(folder)] for folder in folders)
    assert one == two
    result = generate(SHORT, tmp_path / "network.onnx", folders[1], games=28, devices=2, **options)
    assert (result.finished, result.progress.new_games) == (True, 4)


class Counting:
    """Counts the positions that an evaluator is asked for."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.identity, self.batch_size, self.slots = evaluator.identity, evaluator.batch_size, 1
        self.rows = 0

    def allocate(self, capacity: int) -> Slot:
        return self._evaluator.allocate(capacity)

    def run(self, slot: Slot, n: int) -> None:
        self.rows += n
        self._evaluator.run(slot, n)

    def close(self) -> None:
        self._evaluator.close()


def test_an_evaluator_that_fails_ends_the_run(tmp_path: Path) -> None:
    class Broken(HashNetwork):
        def run(self, slot: Slot, n: int) -> None:
            raise RuntimeError("the device is gone")

    with Network(Broken()) as network, pytest.raises(RuntimeError, match="device is gone"):
        generate(SHORT, network, tmp_path, games=4)
    assert generate(SHORT, HASH, tmp_path, games=4, name="again").finished


def test_a_plain_listener_hears_of_the_progress(tmp_path: Path) -> None:
    heard: list[tuple[str, int, int | None]] = []

    class Plain(Listener):
        def progress(self, stage: str, done: int, total: int | None) -> None:
            heard.append((stage, done, total))

    generate(SHORT, HASH, tmp_path, games=4, listener=Plain())
    assert heard[-1] == ("self-play", 4, 4)


# ---------------------------------------------------------------------------------------------- processes

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
    games = 60
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


class Interrupting(Heard):
    """Presses Ctrl-C at the first game."""

    def game(self, game: GameSummary) -> None:
        super().game(game)
        if len(self.games) == 1:
            signal.raise_signal(signal.SIGINT)


def test_forked_games_begin_like_earlier_ones(tmp_path: Path) -> None:
    settings = SHORT.model_copy(update={"fork": 0.5})
    heard = Heard()
    generate(settings, HASH, tmp_path, games=24, seed=2, listener=heard)
    forked = {game.number for game in heard.games if game.opening_plies}
    assert 4 <= len(forked) <= 14
    assert min(forked) >= 8
    data = {}
    for path in find_chunks(tmp_path):
        chunk = read_chunk(path)
        games = decode_hcpe3(np.frombuffer(chunk.data, np.uint8), True)
        for game, (begin, end) in enumerate(pairwise(games.plies.tolist())):
            data[chunk.info.first_game + game] = games.moves[begin:end].tolist()
        validate_chunk(path)
    for summary in heard.games:
        if summary.opening_plies:
            first = data[summary.number][: summary.opening_plies]
            chunk = 4 * (summary.number // 4 - 2)
            assert any(data[source][: len(first)] == first for source in range(chunk, chunk + 4))
    generate(settings, HASH, tmp_path / "again", games=24, seed=2, parallel=2)
    assert contents(tmp_path) == contents(tmp_path / "again")


def test_a_folder_of_chunks_is_a_folder_of_data(tmp_path: Path) -> None:
    settings = SHORT.model_copy(update={"surprise": 0.5})
    result = generate(settings, HASH, tmp_path / "games", games=8)
    checked = check_data(tmp_path / "games")
    assert (checked.records, checked.errors, checked.remarks) == (8, 0, 0)
    merge([tmp_path / "games"], tmp_path / "all.hcpe3")
    assert (tmp_path / "all.hcpe3").read_bytes() == b"".join(
        path.read_bytes() for path in find_chunks(tmp_path / "games")
    )
    assert len(load_rows(tmp_path / "all.hcpe3")) == result.progress.positions


@pytest.mark.parametrize("changes", [{}, {"root_rule": "gumbel"}, {"cheap": 0.5, "cheap_playouts": 3}])
def test_surprise_is_the_divergence_from_the_network_s_policy(tmp_path: Path, changes: dict[str, object]) -> None:
    settings = SHORT.model_copy(update={"playouts": 30, "surprise": 0.5, **changes})
    with Network(device="native", precision="fp32", threads=1, batch_size=4) as network:
        generate(settings, network, tmp_path, games=2, reproducible=True)
        (path,) = find_chunks(tmp_path)
        weights = read_chunk(path).weights
        assert weights is not None
        for game in next(iter(read_hcpe3(path))):
            mine, weights = np.split(weights, [np.count_nonzero(np.diff(game.candidates))])
            surprise = [
                divergence(game.candidate_moves[begin:end], game.candidate_visits[begin:end], network, hcp)
                for (begin, end), hcp in zip(pairwise(game.candidates.tolist()), game.hcps, strict=True)
                if begin < end
            ]
            np.testing.assert_allclose(mine, 0.5 + 0.5 * np.array(surprise) / np.mean(surprise), rtol=0.05, atol=0.05)


def divergence(moves: np.ndarray, visits: np.ndarray, network: Network, hcp: np.ndarray) -> float:
    policy = network.evaluate(position_from_hcp(hcp.tobytes())).policies[0]
    chances = {move.raw: chance for move, chance in policy.items()}
    shares = dict(zip(moves.tolist(), visits / visits.sum(), strict=True))
    return sum(share * math.log(share / max(chances[move], 1e-5)) for move, share in shares.items())


def test_weights_are_stored_beside_the_chunk(tmp_path: Path) -> None:
    settings = SHORT.model_copy(update={"surprise": 0.5})
    generate(settings, HASH, tmp_path, games=6, parallel=1)
    for path in find_chunks(tmp_path):
        chunk = read_chunk(path)
        assert chunk.weights is not None
        assert len(chunk.weights) == chunk.info.positions
