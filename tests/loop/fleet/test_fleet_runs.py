"""Whole runs with a fleet whose workers are killed: without Ray, and in the long version on a Ray cluster."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import fleet_worker
import learn_run
import pytest
from fleet_parts import Cable
from ray_cluster import ENVIRONMENT, START_S, needs_ray, start_cluster, wait_until
from s3_server import BUCKET

from fukayomi.loop import LoopListener, learn
from fukayomi.loop.fleet.generator import FleetGenerator
from fukayomi.loop.fleet.store import open_store
from fukayomi.loop.ingest import Manifest
from fukayomi.loop.journal import Journal, Played
from fukayomi.loop.run import RunFolder
from fukayomi.selfplay.chunk import read_chunk_info, sidecar_of

SETTINGS = {
    "gate": {"mode": "off"},
    "strength": {"games": 0},
    "games": 8,
    "selfplay": {"playouts": 64, "random": 12},  # many moves are drawn, so that no game is repeated
    "learner": {"most_steps": 5},
}


class Cutting(LoopListener):
    """Cuts a cable in the middle of each self-play, and repairs it when the loop complains."""

    def __init__(self, cable: Cable) -> None:
        self._cable = cable
        self.notes: list[str] = []

    def progress(self, stage: str, done: int, total: int | None) -> None:
        if stage.startswith("self-play") and not self.notes:
            self._cable.is_cut = True

    def note(self, text: str) -> None:
        self.notes.append(text)
        self._cable.is_cut = False


@contextmanager
def worker(
    store: Path | str, name: str, scratch: Path, environment: dict[str, str]
) -> Generator[subprocess.Popen[bytes]]:
    """A worker in a process of its own, which is killed in the end."""
    process = subprocess.Popen(
        [sys.executable, fleet_worker.__file__, str(store), name, str(scratch)], env=ENVIRONMENT | environment
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


class Killing(Cutting):
    """Kills a worker too, in the second generation, when both have delivered games."""

    def __init__(self, cable: Cable, process: subprocess.Popen[bytes]) -> None:
        super().__init__(cable)
        self._process = process

    def step_started(self, generation: int, step: str) -> None:
        if (generation, step) == (2, "selfplay"):
            wait_until(lambda: self._workers() == {"w1", "w2"})
            self._process.kill()

    def _workers(self) -> set[str]:
        """Those who have delivered a chunk of the first task."""
        chunks = (Path(name) for name in self._cable.sizes("games/000001") if name.endswith(".json"))
        return {chunk.parent.name.partition("-")[0] for chunk in chunks}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", pytest.param("s3", marks=pytest.mark.soak)])
def test_a_run_learns_from_the_games_of_workers_that_come_late_and_die(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    environment: dict[str, str] = request.getfixturevalue("s3") if kind == "s3" else {}
    place = f"s3://{BUCKET}/{tmp_path.name}" if kind == "s3" else tmp_path / "store"
    folder = RunFolder(tmp_path / "run")
    store = open_store(place)
    cable = Cable(store)
    generate = FleetGenerator(cable, folder, 0.2, lambda _: 1)
    settings = learn_run.small(**SETTINGS)

    with worker(place, "w1", tmp_path / "scratch", environment) as first:
        listener = Killing(cable, first)
        with worker(place, "w2", tmp_path / "scratch", environment) as second:
            assert learn(settings, folder.path, generate=generate, listener=listener).finished
            assert (first.wait(), second.poll()) == (-signal.SIGKILL, None)

    assert listener.notes == [f"store {store.url}: the cable is cut; trying again", "the store answers again"]
    journal, manifest = assert_whole(folder.path), Manifest(folder.path)
    assert {chunk.worker for chunk in manifest.chunks()} == {"w1", "w2"}
    assert [entry.network for entry in journal.all(Played)] == [each.sha256 for each in journal.networks[:2]]
    for played in journal.all(Played):
        infos = [read_chunk_info(sidecar_of(folder.games / f"{name}.hcpe3")) for name in played.chunks]
        assert sum(info.numbers for info in infos) >= learn_run.small(**SETTINGS).games


def assert_whole(folder: Path) -> Journal:
    """No chunk was refused, no game was played twice, and the journal has only chunks that were accepted."""
    manifest, journal = Manifest(folder), Journal(folder)
    assert manifest.quarantined == {}
    ranges = sorted((chunk.seed, chunk.first_game, chunk.first_game + chunk.games) for chunk in manifest.chunks())
    assert all(one[0] != two[0] or one[2] <= two[1] for one, two in pairwise(ranges))
    accepted = {chunk.path.removeprefix("games/").removesuffix(".hcpe3") for chunk in manifest.chunks()}
    assert set(journal.chunks) <= accepted
    return journal


# --------------------------------------------------------------------------------------------------------------- on Ray


class _Run:
    """A learning run on a cluster, in a process of its own."""

    def __init__(self, folder: Path, scratch: Path, address: str, workers: int, **changes: object) -> None:
        self.folder, self.scratch = folder, scratch
        fleet = {"ray": address, "workers": workers, "poll_s": 0.5, "scratch": str(scratch)}
        values = {**SETTINGS, "fleet": fleet, **changes}
        words = [sys.executable, "-W", "ignore", learn_run.__file__, str(folder), "0", json.dumps(values)]
        self.process = subprocess.Popen(words, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)

    def workers(self) -> list[int]:
        """The processes that play."""
        return [int(pid) for pid in self.pids() if Path(f"/proc/{pid}").exists()]

    def pids(self) -> list[str]:
        """Processes that ever took a task, by the logs of the workers."""
        lines = (line.split() for path in self.scratch.glob("*/*.log") for line in path.read_text().splitlines())
        return list(dict.fromkeys(line[1] for line in lines))

    def end(self) -> None:
        _, said = self.process.communicate(timeout=START_S)
        assert self.process.returncode == 0, said


@needs_ray
@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_fleet_of_four_with_two_killed_learns(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with start_cluster(4) as cluster, ExitStack() as ends:
        run = _Run(tmp_path / "run", tmp_path / "scratch", cluster.address, 4, games=200, generations=3)
        ends.callback(run.process.kill)
        wait_until(lambda: len(run.workers()) == 4)
        for _ in range(2):
            before = run.workers()
            killed = random.choice(before)
            seen = len(run.pids())
            wait_until(lambda: list(run.folder.glob("games/*/*/*.json")))
            os.kill(killed, signal.SIGKILL)
            wait_until(lambda seen=seen: len(run.pids()) > seen and len(run.workers()) == 4)
        run.end()
        wait_until(lambda: not run.workers())
    assert assert_whole(run.folder).generations == 3
    manifest = Manifest(run.folder)
    assert len({chunk.worker for chunk in manifest.chunks()}) == 4
    log = (run.folder / "log.jsonl").read_text()
    assert log.count("was lost and is started again") == 2
    record_property("games", sum(chunk.games for chunk in manifest.chunks()))
    record_property("lost", log.count("was lost"))
