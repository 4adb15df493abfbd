"""Generating games: chunks, settings, devices."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from selfplay_runner import HASH, SHORT, HashNetwork, Heard, contents, journal_of
from toy_network import write_network

from fukayomi import __version__, _native
from fukayomi.engine import Network
from fukayomi.engine.evaluators.protocol import Evaluator, Slot
from fukayomi.files.lock import FolderLock, LockedError
from fukayomi.listener import Listener
from fukayomi.loop.ingest import validate_chunk
from fukayomi.selfplay import (
    ChunkError,
    find_chunks,
    generate,
    read_chunk,
)


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


def test_runs_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    generate(SHORT, HASH, tmp_path, games=4)
    with pytest.raises(ChunkError, match="seed 0"):
        generate(SHORT, HASH, tmp_path, games=8, seed=1)
    (tmp_path / "other").mkdir()
    journal_of(SHORT, tmp_path / "other", games=3)
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


@pytest.mark.parametrize("precision", ["fp32", "int16"])
def test_native_says_the_same_in_full_batches_and_in_others(tmp_path: Path, precision: str) -> None:
    """So `fukayomi learn` needs no full batches to be reproducible there."""
    settings = SHORT.model_copy(update={"max_move": 12})
    options = {"device": "native", "precision": precision, "threads": 1, "batch_size": 8}
    for full in (True, False):
        generate(
            settings, "embedded", tmp_path / str(full), games=3, parallel=3, cache_mb=0, reproducible=full, **options
        )
    full, other = (find_chunks(tmp_path / str(each)) for each in (True, False))
    assert [read_chunk(path).data for path in full] == [read_chunk(path).data for path in other]


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
