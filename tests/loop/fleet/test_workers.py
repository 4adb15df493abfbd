"""Workers without Ray: tasks, chunks, a store out of reach, and what a killed worker leaves."""

import json
import shutil
from pathlib import Path

import learn_run
import numpy as np
import pytest
import sparse_files
from fleet_parts import MACHINE, Cable, Notes, working
from patience import until

from fukayomi._native import encode_hcp
from fukayomi.engine import EvaluatorError
from fukayomi.engine.evaluators.backends.network_file import int8_path
from fukayomi.files.inputs import file_sha256
from fukayomi.files.lock import FolderLock
from fukayomi.learning import export_int8
from fukayomi.loop import LoopError
from fukayomi.loop.fleet.generator import Collector
from fukayomi.loop.fleet.store import Store, open_store
from fukayomi.loop.fleet.task import publish, read_current, read_task, task_name
from fukayomi.loop.fleet.worker import Session, Worker
from fukayomi.loop.ingest import Manifest, ingest
from fukayomi.loop.run import RunFolder
from fukayomi.selfplay import find_chunks
from fukayomi.selfplay.league import LeagueNetwork, LeagueSettings
from fukayomi.selfplay.openings import Openings, OpeningSet
from fukayomi.shogi import Position

SELFPLAY = learn_run.small(games=8, selfplay={"root_rule": "gumbel", "gumbel_scale": 10.0, "chunk_games": 8}).selfplay
"""Every move is drawn: workers that play on while a busy machine waits repeat no game, which ingest would refuse. And a
chunk is longer in the making than in the writing: a worker that is stopped leaves part of one."""


@pytest.fixture
def networks(small_run: Path) -> tuple[Path, Path]:
    run = RunFolder(small_run)
    return run.network(0), run.network(1)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "store")


def put(store: Store, *networks: Path, league: LeagueSettings | None = None, int8: bool = False) -> int:
    """Publish the last network; its task's number."""
    known = {file_sha256(network) for network in networks}
    return publish(store, SELFPLAY, networks[-1], league, known, int8=int8).number


def chunks(store: Store, task: int) -> list[str]:
    """The chunks of a task that are complete."""
    return [name for name in store.sizes(f"games/{task:06}") if name.endswith(".json")]


def accepted(store: Store, run: Path, *networks: Path, league: dict[str, object] | None = None) -> int:
    """Collect all games and have them checked: the number of chunks, of which none may be refused."""
    run.mkdir()
    manifest = Manifest(run)
    for generation, network in enumerate(networks):
        manifest.add_network(file_sha256(network), generation)
    values = SELFPLAY.model_dump(mode="json")
    manifest.add_settings(values if league is None else {**values, "league": league})
    Collector(store, RunFolder(run), 256).collect()
    result = ingest(run)
    assert result.quarantined == ()
    return len(result.accepted)


# ------------------------------------------------------------------------------------------------------------ the tasks


def test_a_task_is_published_once(store: Store, networks: tuple[Path, Path]) -> None:
    assert put(store, networks[0]) == put(store, networks[0]) == 1
    assert put(store, *networks) == 2
    file = read_current(store)
    assert file is not None
    assert file.name == task_name(2)
    assert read_task(store, file).network.sha256 == file_sha256(networks[1])
    assert len(store.read("current.json")) < 128, "all that is read again and again"


def test_the_store_of_another_run_is_refused(store: Store, networks: tuple[Path, Path]) -> None:
    put(store, networks[0])
    before = store.sizes("")
    with pytest.raises(LoopError, match="is the store of another run"):
        put(store, networks[1])
    assert store.sizes("") == before


def test_a_network_that_is_damaged_is_not_played(store: Store, networks: tuple[Path, Path], tmp_path: Path) -> None:
    put(store, networks[0])
    name = f"networks/{file_sha256(networks[0])}.onnx"
    store.write(name, networks[0].read_bytes()[:-1])
    with working(store, tmp_path / "scratch") as worker:
        until(lambda: worker.heard.notes)
        assert f"{name} is damaged" in worker.heard.notes[0]
        assert not list((tmp_path / "scratch").glob("*/session.json"))
        store.write(name, networks[0].read_bytes())
        until(lambda: chunks(store, 1))


def test_a_worker_of_another_version_says_so(
    store: Store, networks: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, networks[0])
    monkeypatch.setattr("fukayomi.loop.fleet.worker.__version__", "0.0.1")
    with pytest.raises(LoopError, match=r"fukayomi is 0\.0\.1 on this machine and .* where the run is"):
        Worker(store, "w1", tmp_path, MACHINE, 0.1).run()


# -------------------------------------------------------------------------------------------------------------- playing


def test_a_worker_waits_for_a_task_plays_it_and_then_the_next(
    store: Store, networks: tuple[Path, Path], tmp_path: Path
) -> None:
    with working(store, tmp_path / "scratch") as worker:
        put(store, networks[0])
        until(lambda: chunks(store, 1))
        put(store, *networks)
        until(lambda: chunks(store, 2))
        until(lambda: len(list((tmp_path / "scratch").iterdir())) == 1)  # the first task is delivered, and over
        assert worker.error is None
    found = chunks(store, 1) + chunks(store, 2)
    assert accepted(store, tmp_path / "run", *networks) == len(found)
    assert {entry.worker for entry in Manifest(tmp_path / "run").chunks()} == {"w1"}
    first = [json.loads(store.read(name)) for name in chunks(store, 1)]
    assert sum(info["numbers"] for info in first) > max(info["first_game"] for info in first), "no game is missing"


def test_a_league_plays_with_networks_of_the_store(store: Store, networks: tuple[Path, Path], tmp_path: Path) -> None:
    league = LeagueSettings(share=1, networks=(LeagueNetwork(name="network-0000", file=networks[0], games=2, wins=1),))
    put(store, networks[0])
    number = put(store, *networks, league=league)
    with working(store, tmp_path / "scratch"):
        until(lambda: chunks(store, number))
    recorded = league.recorded([file_sha256(networks[0])])
    assert accepted(store, tmp_path / "run", *networks, league=recorded) > 0
    info = json.loads(store.read(chunks(store, number)[0]))
    assert sum(info["opponents"]["network-0000"]) == info["numbers"]
    assert str(tmp_path) not in store.read(task_name(number)).decode()


def test_workers_get_the_openings(store: Store, networks: tuple[Path, Path], tmp_path: Path) -> None:
    positions = tuple(Position.from_usi(f"startpos moves {moves}") for moves in ("7g7f", "2g2f 8c8d"))
    hcps = np.frombuffer(b"".join(map(encode_hcp, positions)), np.uint8).reshape(-1, 32)
    openings = Openings([OpeningSet("lines", None, positions, 2.0), OpeningSet("hcp", hcps)])
    known = {file_sha256(networks[0])}
    assert publish(store, SELFPLAY, networks[0], None, known, openings).number == 1
    assert publish(store, SELFPLAY, networks[0], None, known, openings).number == 1
    with working(store, tmp_path / "scratch") as worker:
        until(lambda: worker.error or chunks(store, 1))
        assert worker.error is None
    info = json.loads(store.read(chunks(store, 1)[0]))
    assert info["settings"]["openings"] == openings.settings
    assert publish(store, SELFPLAY, networks[0], None, known).number == 2


def test_workers_get_the_int8_files_of_networks(
    store: Store, networks: tuple[Path, Path], small_run: Path, tmp_path: Path
) -> None:
    first, second = (Path(shutil.copy(network, tmp_path)) for network in networks)
    for network in (first, second):
        export_int8(network, int8_path(network), find_chunks(small_run / "games"))
    league = LeagueSettings(share=1, networks=(LeagueNetwork(name="network-0000", file=first),))
    with pytest.raises(EvaluatorError, match=r"there is no network-0000\.int8\.onnx beside it"):
        put(store, networks[0], int8=True)
    put(store, first, int8=True)
    number = put(store, first, second, league=league, int8=True)
    # Such a machine refuses networks without an int8 file.
    machine = MACHINE.model_copy(update={"device": "cpu", "precision": "int8"})
    with working(store, tmp_path / "scratch", machine=machine) as worker:
        until(lambda: worker.error or chunks(store, number))
        assert worker.error is None
        (folder,) = (tmp_path / "scratch").glob(f"{number:06}-*/networks")
        sha256s = [file_sha256(network) for network in (first, second)]
        expected = [f"{each}{suffix}" for each in sha256s for suffix in (".int8.onnx", ".onnx")]
        assert sorted(path.name for path in folder.iterdir()) == sorted(expected)
    recorded = league.recorded([file_sha256(first)])
    assert accepted(store, tmp_path / "run", first, second, league=recorded) > 0


def test_a_worker_that_is_cut_off_plays_on_and_delivers_later(
    store: Store, networks: tuple[Path, Path], tmp_path: Path
) -> None:
    cable = Cable(store)
    put(store, networks[0])
    with working(cable, tmp_path / "scratch") as worker:
        until(lambda: chunks(store, 1))
        cable.is_cut = True
        before = len(chunks(store, 1))
        until(lambda: len(list((tmp_path / "scratch").glob("*/games/*.json"))) > before + 2)
        put(store, *networks)
        assert any("the cable is cut; trying again, and playing on" in note for note in worker.heard.notes)
        cable.is_cut = False
        until(lambda: chunks(store, 2))
        until(lambda: len(list((tmp_path / "scratch").iterdir())) == 1)
    assert len(chunks(store, 1)) > before + 2
    assert accepted(store, tmp_path / "run", *networks) == len(chunks(store, 1)) + len(chunks(store, 2))


def test_a_look_for_a_new_task_is_one_small_file(store: Store, networks: tuple[Path, Path], tmp_path: Path) -> None:
    put(store, networks[0])
    cable = Cable(store)
    with working(cable, tmp_path / "scratch"):
        until(lambda: chunks(store, 1))
        begin = len(cable.asked)
        until(lambda: cable.asked[begin:].count("read current.json") >= 3)
    asked = [each for each in cable.asked[begin:] if not each.startswith("write games/")]
    assert set(asked) == {"read current.json"}


# ------------------------------------------------------------------------------------------------------ after the death


def left_by_a_dead_worker(store: Store, scratch: Path) -> list[Path]:
    """A worker that stops at once, with finished games of an incomplete chunk; the sessions that it leaves."""
    while not list(
        scratch.glob("*/games/*.games")
    ):  # the chunk may have been completed before the worker heard of its end
        with working(store, scratch):
            until(lambda: chunks(store, 1) and list(scratch.glob("*/games/*.games")))
    return sorted(scratch.glob("*/session.json"))


def test_the_next_worker_goes_on_with_what_a_dead_one_left(
    store: Store, networks: tuple[Path, Path], tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    put(store, networks[0])
    left = left_by_a_dead_worker(store, scratch)
    before = len(chunks(store, 1))
    with working(store, scratch, "w2"):
        until(lambda: len(chunks(store, 1)) > before)
    assert sorted(scratch.glob("*/session.json")) == left
    assert accepted(store, tmp_path / "run", networks[0]) == len(chunks(store, 1))
    assert {entry.worker for entry in Manifest(tmp_path / "run").chunks()} == {"w1"}


def test_the_next_worker_ends_games_of_an_older_task(store: Store, networks: tuple[Path, Path], tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    put(store, networks[0])
    (left,) = left_by_a_dead_worker(store, scratch)
    put(store, *networks)
    with working(store, scratch, "w2") as worker:
        until(lambda: not left.exists())
        until(lambda: chunks(store, 2))
    assert any(str(left.parent) in note for note in worker.heard.notes)
    infos = [json.loads(store.read(name)) for name in chunks(store, 1)]
    assert sorted(info["first_game"] for info in infos)[0] == 0
    last = max(infos, key=lambda info: info["first_game"])
    missing = last["first_game"] + last["numbers"] - sum(info["numbers"] for info in infos)
    assert 0 <= missing <= MACHINE.parallel, "only games that were in play are missing"
    assert accepted(store, tmp_path / "run", *networks) == len(infos) + len(chunks(store, 2))


def test_a_session_belongs_to_one_worker(store: Store, networks: tuple[Path, Path], tmp_path: Path) -> None:
    put(store, networks[0])
    file = read_current(store)
    assert file is not None
    task = read_task(store, file)
    session = Session.create(tmp_path, task, "w1", store)
    assert Session.find(tmp_path, task) is None
    session.close()
    again = Session.find(tmp_path, task)
    assert again is not None
    assert again.folder == session.folder
    again.close()
    assert Session.find(tmp_path, task.model_copy(update={"number": 2})) is None


@pytest.mark.parametrize("holds", [False, True])
def test_a_new_folder_that_another_worker_looks_into_is_made_again(
    holds: bool, store: Store, networks: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its making and its lock; the other one removes it, as it has no order yet."""
    put(store, networks[0])
    file = read_current(store)
    assert file is not None
    taken: list[Path] = []

    def look_first(folder: Path, name: str) -> FolderLock:
        monkeypatch.setattr("fukayomi.loop.fleet.worker.FolderLock", FolderLock)
        taken.append(folder)
        if holds:
            with FolderLock(folder, name):
                return FolderLock(folder, name)
        assert Session.adopt(folder) is None
        return FolderLock(folder, name)

    monkeypatch.setattr("fukayomi.loop.fleet.worker.FolderLock", look_first)
    session = Session.create(tmp_path, read_task(store, file), "w1", store)
    assert session.folder not in taken
    assert (session.folder / "session.json").is_file()
    session.close()


def test_what_cannot_be_ended_is_set_aside(store: Store, networks: tuple[Path, Path], tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    put(store, networks[0])
    (left,) = left_by_a_dead_worker(store, scratch)
    next(left.parent.glob("games/*.games")).write_bytes(b"something else entirely")
    (scratch / "000001-empty").mkdir()
    shutil.copytree(left.parent, scratch / "000001-odd")
    (scratch / "000001-odd" / "session.json").write_text("{}")
    put(store, *networks)
    with working(store, scratch, "w2") as worker:
        until(lambda: any("is set aside" in note for note in worker.heard.notes))
        until(lambda: chunks(store, 2))
    names = {path.name for path in scratch.iterdir() if not path.name.startswith("000002-")}
    assert names == {f"failed-{left.parent.name}", "failed-000001-odd"}


def test_games_that_cannot_be_played_end_the_worker(store: Store, networks: tuple[Path, Path], tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no network")
    put(store, broken)
    heard = Notes()
    with pytest.raises(EvaluatorError, match="onnx: this is not an ONNX file, or it is damaged"):
        Worker(store, "w1", tmp_path / "scratch", MACHINE, 0.1, heard).run()


def test_workers_get_sparse_networks_by_their_names(store: Store, networks: tuple[Path, Path], tmp_path: Path) -> None:
    newest = sparse_files.write(tmp_path, sparse_files.SMALL).path
    league = LeagueSettings(share=1, networks=(LeagueNetwork(name="network-0000", file=networks[0]),))
    put(store, networks[0])
    number = put(store, networks[0], newest, league=league)
    sent = f"networks/{file_sha256(newest)}.sparse"
    assert store.read(sent) == newest.read_bytes()
    with working(store, tmp_path / "scratch") as worker:
        until(lambda: worker.error or chunks(store, number))
        assert worker.error is None
        (folder,) = (tmp_path / "scratch").glob(f"{number:06}-*/networks")
        assert {path.name for path in folder.iterdir()} == {
            f"{file_sha256(newest)}.sparse", f"{file_sha256(networks[0])}.onnx",
        }  # fmt: skip
    recorded = league.recorded([file_sha256(networks[0])])
    assert accepted(store, tmp_path / "run", networks[0], newest, league=recorded) > 0
    assert json.loads(store.read(chunks(store, number)[0]))["precision"] == "int8"
