"""From the store to the folder of a run."""

import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from canary_games import relabelled
from fleet_parts import Cable
from selfplay_chunks import NETWORK, SETTINGS, details, random_games

from fukayomi.loop.fleet import generator as collector
from fukayomi.loop.fleet.generator import Collector
from fukayomi.loop.fleet.store import Store, StoreError, open_store
from fukayomi.loop.ingest import Manifest, ingest
from fukayomi.loop.run import RunFolder
from fukayomi.selfplay.chunk import write_chunk


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"memory://{tmp_path.name}-{id(tmp_path)}")


def upload(
    store: Store, task: int, worker: str, *, games: int = 2, seed: int = 1, parts: int = 2, numbers: int = 0
) -> list[str]:
    """Put a chunk into the store: its games, then its sidecar; or only the first of these parts."""
    played = random_games(games, seed)
    names: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{worker}-000001.hcpe3"
        write_chunk(path, played.write(), relabelled(played, details(worker=worker, seed=seed, numbers=numbers)))
        for file in [path, path.with_suffix(".json")][:parts]:
            names.append(f"games/{task:06}/{worker}-{seed}/{file.name}")
            store.write(names[-1], file.read_bytes())
    return names


def new_run(path: Path) -> RunFolder:
    manifest = Manifest(path)
    path.mkdir()
    manifest.add_network(NETWORK, 0)
    manifest.add_settings(SETTINGS)
    return RunFolder(path)


def test_chunks_arrive_whole_and_once(store: Store, tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    names = upload(store, 1, "w1", games=3) + upload(store, 2, "w2", seed=2)
    upload(store, 2, "w3", seed=3, parts=1)  # its sidecar is still on its way

    collecting = Collector(store, run, 256)

    assert (collecting.collect(), collecting.games) == (2, 5)
    assert (collecting.collect(), collecting.games) == (0, 5)
    files = {path.relative_to(run.path).as_posix() for path in run.games.rglob("*") if path.is_file()}
    assert files == set(names)
    assert len(ingest(run.path).accepted) == 2
    assert Collector(store, run, 256).collect() == 0


def test_what_workers_claim_does_not_end_a_generation_without_games(store: Store, tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    upload(store, 1, "w1", games=3, numbers=1_000_000)
    collecting = Collector(store, run, 4)
    assert (collecting.collect(), collecting.games) == (1, 4)
    for copy in range(5):  # the same games under other names
        upload(store, 1, f"copy{copy}", games=3)
    assert (collecting.collect(), collecting.games) == (5, 4)


def test_chunks_of_games_with_opponents_arrive_too(store: Store, tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    for name in upload(store, 1, "w1"):
        store.write(name.replace("-000001.", "-000001_opp."), store.read(name))
    assert Collector(store, run, 256).collect() == 2
    assert len(list(run.games.rglob("*_opp.hcpe3"))) == 1


def test_what_was_refused_is_not_fetched_again(store: Store, tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    games, _ = upload(store, 1, "w1")
    store.write(games, store.read(games)[:-1])

    assert Collector(store, run, 256).collect() == 1
    assert len(ingest(run.path).quarantined) == 1
    assert Collector(store, run, 256).collect() == 0
    assert len(ingest(run.path).quarantined) == 0


@pytest.mark.parametrize(
    "name",
    [
        "games/000001/../../w1-000001",
        "games/000001/w1/.w1-000001",
        "games/000001/w1-000001",
        "games/000001/w1/deep/w1-000001",
        "games/000001/w1/w1",
        "games/elsewhere/w1/w1-000001",
    ],
)
def test_names_that_no_worker_writes_are_passed_over(store: Store, tmp_path: Path, name: str) -> None:
    run = new_run(tmp_path / "run")
    before = sorted(tmp_path.rglob("*"))
    for suffix in (".hcpe3", ".json"):
        store.write(name + suffix, b"{}")
    assert Collector(store, run, 256).collect() == 0
    assert sorted(tmp_path.rglob("*")) == before


def test_files_that_are_too_large_are_passed_over(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = new_run(tmp_path / "run")
    upload(store, 1, "w1")
    monkeypatch.setattr(collector, "LARGEST_CHUNK", 10)
    assert Collector(store, run, 256).collect() == 0


@pytest.mark.parametrize(("largest", "reads"), [(1 << 28, 1), (5_500, 4)])
def test_large_chunks_are_not_in_memory_together(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest: int, reads: int
) -> None:
    run = new_run(tmp_path / "run")
    sizes = [sum(len(store.read(name)) for name in upload(store, 1, f"w{seed}", seed=seed)) for seed in range(1, 5)]
    assert max(sizes) < 5_500 < min(map(sum, pairwise(sizes)))
    monkeypatch.setattr(collector, "LARGEST_CHUNK", largest)
    cable = Cable(store)
    assert Collector(cable, run, 256).collect() == 4
    assert sum(each.startswith("read_all") for each in cable.asked) == reads


def test_a_store_that_fails_in_the_middle_loses_nothing(store: Store, tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    upload(store, 1, "w1")
    upload(store, 1, "w2", seed=2)
    cable = Cable(store)
    collecting = Collector(cable, run, 256)
    cable.is_cut = True
    with pytest.raises(StoreError):
        collecting.collect()
    cable.is_cut = False
    assert collecting.collect() == 2
    assert len(ingest(run.path).accepted) == 2


def test_each_look_reads_the_newest_tasks_and_one_older(store: Store, tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    for task in range(1, 6):
        upload(store, task, "w1", seed=task)
    cable = Cable(store)
    collecting = Collector(cable, run, 256)
    looks: list[list[str]] = []
    for _ in range(3):
        begin = len(cable.asked)
        collecting.collect()
        looks.append([each.rpartition("/")[2] for each in cable.asked[begin:] if each.startswith("sizes")])
    assert all(look[:2] == ["000004", "000005"] and len(look) == 3 for look in looks)
    assert {look[2] for look in looks} == {"000001", "000002", "000003"}
    assert len(ingest(run.path).accepted) == 5


def test_the_folder_of_the_run_may_be_the_store(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run")
    store = open_store(run.path)
    upload(store, 1, "w1")
    collecting = Collector(store, run, 256)
    assert (collecting.collect(), collecting.games) == (1, 2)
    assert len(ingest(run.path).accepted) == 1
