"""Ingest: what is accepted is in the manifest once, what is rejected in quarantine, whatever is killed and repeated."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from canary_games import relabelled
from selfplay_chunks import NETWORK, SETTINGS, deliver, details, new_store, random_games

from fukayomi.data.formats.hcpe3 import join_games
from fukayomi.files.lock import FolderLock, LockedError
from fukayomi.listener import Listener
from fukayomi.loop.ingest.deliveries import IngestSettings, find_new, ingest
from fukayomi.loop.ingest.manifest import Manifest, ManifestError
from fukayomi.selfplay.chunk import sidecar_of, write_chunk


class Notes(Listener):
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.done: list[tuple[str, int, int | None]] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self.done.append((stage, done, total))


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(".lock")
    }


def test_good_chunks_are_accepted_where_they_are(tmp_path: Path) -> None:
    new_store(tmp_path)
    (tmp_path / "games" / "east").mkdir()
    first = deliver(tmp_path, random_games(5, 1), worker="w2")
    second = deliver(tmp_path, random_games(6, 2), worker="w1", name="east/w1-000001")
    before = files(tmp_path / "games")
    notes = Notes()
    result = ingest(tmp_path, listener=notes)
    assert [chunk.path for chunk in result.accepted] == ["games/east/w1-000001.hcpe3", "games/w2-000001.hcpe3"]
    assert [chunk.sha256 for chunk in result.accepted] == [second.sha256, first.sha256]
    assert (result.quarantined, result.copies, notes.notes) == ((), 0, [])
    assert notes.done[-1] == ("ingest", 2, 2)
    manifest = Manifest(tmp_path)
    assert manifest.chunks() == list(result.accepted)
    chunk = manifest.accepted[first.sha256]
    assert (chunk.games, chunk.plies, chunk.positions) == (first.games, first.plies, first.positions)
    assert (chunk.generation, chunk.worker, chunk.results, chunk.duplicates) == (1, "w2", first.results, 0)
    assert files(tmp_path / "games") == before
    assert (tmp_path / "games.keys").stat().st_size == 8 * 11


def test_ingesting_again_changes_nothing(tmp_path: Path) -> None:
    new_store(tmp_path)
    deliver(tmp_path, random_games(5))
    deliver(tmp_path, replace(random_games(5, 2), opponents=np.full(5, 9, np.uint8)), sequence=2, first_game=5)
    assert len(ingest(tmp_path).accepted) == 1
    before = files(tmp_path)
    again = ingest(tmp_path)
    assert (again.accepted, again.quarantined, again.copies) == ((), (), 0)
    assert files(tmp_path) == before


def test_a_chunk_delivered_twice_counts_once(tmp_path: Path) -> None:
    new_store(tmp_path)
    games = random_games(5)
    deliver(tmp_path, games)
    deliver(tmp_path, games, name="again-000001")
    result = ingest(tmp_path)
    assert (len(result.accepted), result.quarantined, result.copies) == (1, (), 1)
    assert result.accepted[0].path == "games/again-000001.hcpe3"
    assert ingest(tmp_path).copies == 1
    assert len(Manifest(tmp_path).chunks()) == 1


def quarantined(store: Path, count: int = 1) -> dict[str, Any]:
    """The reasons of the last rejected chunk."""
    notes = Notes()
    result = ingest(store, listener=notes)
    assert len(result.quarantined) == count
    entry = result.quarantined[-1]
    assert "is in quarantine" in notes.notes[-1]
    assert not (store / entry.path).exists()
    return json.loads((store / entry.folder / "reasons.json").read_text())


def test_a_bad_chunk_goes_to_quarantine_whole_with_its_reasons(tmp_path: Path) -> None:
    new_store(tmp_path)
    games = random_games(5)
    info = deliver(tmp_path, replace(games, opponents=np.array([0, 0, 3, 0, 4], np.uint8)))
    before = {name.removeprefix("games/"): data for name, data in files(tmp_path).items() if name.startswith("games/")}
    reasons = quarantined(tmp_path)
    offsets = [0, *games.sizes().cumsum().tolist()]
    assert reasons == {
        "path": "games/w1-000001.hcpe3",
        "worker": "w1",
        "faults": [
            {"file": "w1-000001.hcpe3", "game": game, "ply": None, "offset": offsets[game], "reason": reason}
            for game, reason in ((2, "opponent 3 is not 0, 1 or 2"), (4, "opponent 4 is not 0, 1 or 2"))
        ],
    }
    [entry] = Manifest(tmp_path).quarantined.values()
    assert entry.folder.startswith("quarantine/w1-000001-")
    assert (entry.faults, entry.worker) == (2, "w1")
    kept = files(tmp_path / entry.folder)
    kept.pop("reasons.json")
    assert kept == before
    assert list((tmp_path / "games").iterdir()) == []
    assert info.sha256 not in Manifest(tmp_path).accepted


def test_a_rejected_chunk_may_be_delivered_again(tmp_path: Path) -> None:
    new_store(tmp_path)
    bad = replace(random_games(5), opponents=np.full(5, 9, np.uint8))
    for _ in range(3):
        deliver(tmp_path, bad)
        quarantined(tmp_path)
    deliver(tmp_path, random_games(5))
    assert len(ingest(tmp_path).accepted) == 1
    folders = sorted(entry.folder for entry in Manifest(tmp_path).quarantined.values())
    assert [folder[-2:] for folder in folders][1:] == ["-1", "-2"]
    assert all((tmp_path / folder / "w1-000001.hcpe3").is_file() for folder in folders)


def test_weights_come_with_their_chunk(tmp_path: Path) -> None:
    new_store(tmp_path)
    games = random_games(3)
    path = tmp_path / "games" / "w1-000002.hcpe3"
    said = relabelled(games, details(sequence=2))
    write_chunk(path, games.write(), said, np.ones(said.positions, np.float32))
    [chunk] = ingest(tmp_path).accepted
    assert (chunk.weights, chunk.positions) == ("w1-000002.weights.npy", said.positions)


def test_weights_go_to_quarantine_with_their_chunk(tmp_path: Path) -> None:
    new_store(tmp_path)
    games = random_games(3)
    path = tmp_path / "games" / "w1-000002.hcpe3"
    said = relabelled(games, details(sequence=2))
    write_chunk(path, games.write(), said, np.ones(said.positions, np.float32))
    sidecar = json.loads(sidecar_of(path).read_text()) | {"sha256": "0" * 64}
    sidecar_of(path).write_text(json.dumps(sidecar))
    assert "the checksum" in quarantined(tmp_path)["faults"][0]["reason"]
    [entry] = Manifest(tmp_path).quarantined.values()
    assert set(entry.files) == {"w1-000002.hcpe3", "w1-000002.json", "w1-000002.weights.npy"}
    assert set(files(tmp_path / entry.folder)) == {*entry.files, "reasons.json"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"network": "cd" * 32}, f"the network {'cd' * 32} is not one of the run"),
        ({"settings": SETTINGS | {"playouts": 101}}, "are not those of the run"),
    ],
)
def test_networks_and_settings_must_be_known(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    new_store(tmp_path)
    deliver(tmp_path, random_games(3), **changes)
    assert reason in quarantined(tmp_path)["faults"][0]["reason"]


def test_duplicate_games_are_counted_and_refused_if_there_are_many(tmp_path: Path) -> None:
    new_store(tmp_path)
    games = list(random_games(40))
    deliver(tmp_path, join_games(games[:20]))
    deliver(tmp_path, join_games([*games[20:39], games[0]]), worker="w2")
    assert [chunk.duplicates for chunk in ingest(tmp_path).accepted] == [0, 1]
    deliver(tmp_path, join_games([games[39], games[0], games[25]]), worker="w3")
    assert quarantined(tmp_path)["faults"][0]["reason"] == "2 games of 3 were delivered before, or are in it twice"
    deliver(tmp_path, join_games([games[39]] * 3), worker="w4")
    assert quarantined(tmp_path)["faults"][0]["reason"] == "2 games of 3 were delivered before, or are in it twice"
    assert len(ingest(tmp_path, IngestSettings(most_duplicates=1.0)).quarantined) == 0
    deliver(tmp_path, join_games([games[39]] * 3), worker="w5")
    assert ingest(tmp_path, IngestSettings(most_duplicates=1.0)).accepted[0].duplicates == 2


def test_game_numbers_of_a_worker_must_not_overlap(tmp_path: Path) -> None:
    new_store(tmp_path)
    deliver(tmp_path, random_games(5, 1), first_game=10)
    deliver(tmp_path, random_games(5, 2), first_game=15, sequence=2)
    deliver(tmp_path, random_games(5, 3), first_game=12, worker="w2")
    deliver(tmp_path, random_games(5, 4), first_game=12, seed=2, sequence=3)
    assert len(ingest(tmp_path).accepted) == 4
    deliver(tmp_path, random_games(5, 5), first_game=19, sequence=4)
    reason = "games 19 to 23 of this worker and seed overlap with those of games/w1-000002.hcpe3"
    assert quarantined(tmp_path)["faults"][0]["reason"] == reason


def test_an_excluded_worker_is_left_out_of_what_is_learnt_from(tmp_path: Path) -> None:
    manifest = new_store(tmp_path)
    for worker in ("w1", "w2", "w3"):
        deliver(tmp_path, random_games(3, ord(worker[1])), worker=worker)
    ingest(tmp_path)
    with manifest.path.open("a") as file:  # one line
        file.write('{"entry": "excluded", "worker": "w2", "reason": "an old network"}\n')
    manifest.refresh()
    assert [chunk.worker for chunk in manifest.chunks()] == ["w1", "w3"]
    assert manifest.excluded == {"w2": "an old network"}
    deliver(tmp_path, random_games(3, 9), worker="w2", sequence=2, first_game=3)
    assert len(ingest(tmp_path).accepted) == 1
    assert [chunk.worker for chunk in Manifest(tmp_path).chunks()] == ["w1", "w3"]
    manifest.admit("w2")
    assert [chunk.worker for chunk in manifest.chunks()] == ["w1", "w2", "w3", "w2"]


def test_odd_files_stop_nothing(tmp_path: Path) -> None:
    new_store(tmp_path)
    deliver(tmp_path, random_games(3))
    games = tmp_path / "games"
    (games / "a-000001.hcpe3").mkdir()
    (games / "a-000001.json").write_text("{}")
    (games / "b-000001.hcpe3").write_bytes(b"no sidecar")
    (games / "c-000001.json").write_text("no games")
    if hasattr(os, "mkfifo"):
        os.mkfifo(games / "d-000001.hcpe3")
        (games / "d-000001.json").write_text("{}")
    result = ingest(tmp_path)
    assert (len(result.accepted), result.quarantined) == (1, ())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")
def test_names_that_are_not_utf_8_are_passed_over(tmp_path: Path) -> None:
    new_store(tmp_path)
    deliver(tmp_path, random_games(3))
    for suffix in ("hcpe3", "json"):
        named = os.fsencode(tmp_path / "games") + b"/w\xff-000001." + suffix.encode()
        shutil.copyfile(tmp_path / "games" / f"w1-000001.{suffix}", os.fsdecode(named))
    notes = Notes()
    result = ingest(tmp_path, listener=notes)
    assert (len(result.accepted), result.quarantined, result.copies) == (1, (), 0)
    assert notes.notes == ["'w\\udcff-000001.hcpe3': the name is not UTF-8, so the chunk is passed over; rename it"]


def test_lost_keys_are_made_again(tmp_path: Path) -> None:
    new_store(tmp_path)
    deliver(tmp_path, random_games(5))
    ingest(tmp_path)
    keys = (tmp_path / "games.keys").read_bytes()
    (tmp_path / "games.keys").write_bytes(keys[:-3])
    ingest(tmp_path)
    assert (tmp_path / "games.keys").read_bytes() == keys


@pytest.mark.parametrize("damage", ["missing", "flipped"])
def test_lost_keys_are_made_again_without_an_excluded_chunk(tmp_path: Path, damage: str) -> None:
    manifest = new_store(tmp_path)
    for number in range(3):
        deliver(tmp_path, random_games(5, number), worker=f"w{number}")
    ingest(tmp_path)
    keys = (tmp_path / "games.keys").read_bytes()
    (tmp_path / "games.keys").unlink()
    lost = tmp_path / "games" / "w1-000001.hcpe3"
    data = lost.read_bytes()
    lost.unlink() if damage == "missing" else lost.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))

    remedy = "put the file back, or go on without it: fukayomi learn exclude .* games/w1-000001"
    with pytest.raises(ManifestError, match=rf"w1-000001\.hcpe3: .*games\.keys is lost .*{remedy}"):
        ingest(tmp_path)
    manifest.exclude_chunk("games/w1-000001.hcpe3")
    deliver(tmp_path, join_games(list(random_games(5, 2))[::-1]), worker="w4")  # those of w2

    assert len(ingest(tmp_path).quarantined) == 1
    assert (tmp_path / "games.keys").read_bytes() == keys[:40] + bytes(40) + keys[80:]


def test_one_process_ingests_at_a_time(tmp_path: Path) -> None:
    new_store(tmp_path)
    with FolderLock(tmp_path, ".ingest.lock"), pytest.raises(LockedError):
        ingest(tmp_path)


INGEST = (
    "import sys; from fukayomi.loop.ingest.deliveries import ingest; print('ready', flush=True); ingest(sys.argv[1])"
)
KILLS = [pytest.param(3), pytest.param(60, marks=pytest.mark.soak)]


def kill_randomly(store: Path, kills: int, rng: np.random.Generator) -> Iterator[None]:
    """Run ingest and kill it, again and again; each time after a little longer."""
    for number in range(kills):
        with subprocess.Popen([sys.executable, "-c", INGEST, store], stdout=subprocess.PIPE) as run:
            assert run.stdout is not None
            run.stdout.readline()
            time.sleep(float(rng.uniform(0, 0.01 * (number + 1))))
            run.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        yield


@pytest.mark.timeout(900)  # each process takes seconds to start on a busy machine
@pytest.mark.parametrize("kills", KILLS)
def test_kills_leave_a_consistent_store(tmp_path: Path, kills: int) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for store in (whole, killed):
        new_store(store)
        for number in range(12):
            games = random_games(8, number)
            if number % 3 == 1:
                games = replace(games, opponents=np.full(8, 9, np.uint8))
            deliver(store, games, worker=f"w{number:02}")
    ingest(whole)
    delivered = {path.name for path in find_new(Manifest(killed))}
    assert len(delivered) == 12
    for _ in kill_randomly(killed, kills, np.random.default_rng(1)):
        manifest = Manifest(killed)
        accepted = {Path(chunk.path).name for chunk in manifest.accepted.values()}
        assert accepted <= delivered
        here = {path.name for path in killed.rglob("*.hcpe3")}
        assert here == delivered
    ingest(killed)
    assert files(killed) == files(whole)


def test_the_network_s_generation_is_that_of_the_manifest(tmp_path: Path) -> None:
    manifest = new_store(tmp_path)
    manifest.add_network(NETWORK, 7)
    deliver(tmp_path, random_games(3))
    assert ingest(tmp_path).accepted[0].generation == 7
