"""A run that is killed again and again ends with the same bytes."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import learn_run
import pytest
from learn_run import digests

from fukayomi.loop.journal import Journal, Played

SCRIPT = Path(learn_run.__file__)
KILLED = -9
KILLS = int(os.environ.get("FUKAYOMI_KILLS", "20"))
"""Of each soak test."""
DELAY_S = 0.5


def start(
    folder: Path, events: int = 0, step: str = "", delay_s: float = 0, **changes: object
) -> subprocess.Popen[bytes]:
    words = [str(SCRIPT), str(folder), str(events), json.dumps(changes), step, str(delay_s)]
    return subprocess.Popen([sys.executable, "-W", "ignore", *words])


@pytest.mark.soak
def test_a_killed_run_ends_as_if_it_had_not_been(small_run: Path, tmp_path: Path) -> None:
    folder, events = tmp_path / "run", random.randint(1, 45)

    assert start(folder, events).wait() == KILLED
    assert learn_run.run(folder).finished

    assert digests(folder) == digests(small_run), f"killed after {events} events"


@pytest.mark.soak  # its short sibling is that of test_loop_sparse.py
@pytest.mark.parametrize(
    ("step", "events"),
    [
        pytest.param("", random.randint(1, 120), id="any"),
        pytest.param("reanalysis", random.randint(1, 60), id="reanalysis"),
    ],
)
def test_a_killed_run_with_its_past_ends_as_if_it_had_not_been(
    step: str, events: int, past_run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"

    assert start(folder, events, step, **learn_run.PAST).wait() == KILLED
    assert learn_run.run(folder, **learn_run.PAST).finished

    assert digests(folder) == digests(past_run), f"killed after {events} events {step}"


@pytest.mark.soak
def test_a_run_in_int8_that_is_killed_between_the_files_of_a_network_ends_as_if_it_had_not_been(
    int8_run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"

    assert start(folder, 2, "quantising", **learn_run.INT8).wait() == KILLED
    found = sorted(path.name for path in (folder / "networks").glob("*.onnx"))
    assert found == ["network-0000.int8.onnx", "network-0000.onnx", "network-0001.onnx"]
    assert learn_run.run(folder, **learn_run.INT8).finished

    assert digests(folder) == digests(int8_run)


def test_a_run_meets_its_past(past_run: Path) -> None:
    played = Journal(past_run).all(Played)

    assert [sorted(entry.opponents) for entry in played] == [[], ["network-0000"], ["network-0000", "network-0001"]]
    assert [sum(map(sum, entry.opponents.values())) for entry in played] == [0, 4, 4]


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_run_killed_at_twenty_random_moments_ends_as_if_it_had_not_been(
    small_run: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    rng = random.Random(1)
    kills, runs = 0, 0
    while kills < KILLS:
        folder, runs = tmp_path / f"run{runs}", runs + 1
        while True:
            process = start(folder)
            try:
                assert process.wait(timeout=rng.uniform(3, 15) if kills < KILLS else None) == 0
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                kills += 1
        assert digests(folder) == digests(small_run), f"run {runs}"
    record_property("kills", kills)
    record_property("runs", runs)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("step", "most"), [("selfplay", 12), ("reanalysis", 60), ("train", 12), ("gate", 6), ("quantising", 2)]
)
def test_a_run_killed_again_and_again_in_one_of_its_roles_ends_as_if_it_had_not_been(
    step: str,
    most: int,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """The generator, reanalysis, learner, gate, int8: at a random moment after a random one of their reports."""
    rng = random.Random(step)
    special = {"reanalysis": ("past_run", learn_run.PAST), "quantising": ("int8_run", learn_run.INT8)}
    fixture, changes = special.get(step, ("small_run", {}))
    whole: Path = request.getfixturevalue(fixture)
    kills, runs = 0, 0
    while kills < KILLS:
        folder, runs = tmp_path / f"run{runs}", runs + 1
        while code := start(
            folder, rng.randint(1, most) * (kills < KILLS), step, rng.uniform(0.001, DELAY_S), **changes
        ).wait():
            assert code == KILLED
            kills += 1
        assert digests(folder) == digests(whole), f"run {runs}"
    record_property("kills", kills)
    record_property("runs", runs)


def on_full_disks(whole: Path, mount: Path, cases: list[str]) -> list[dict[str, object]]:
    """See full_disk.py."""
    mount.mkdir()
    allowed = ["unshare", "-rm"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*allowed, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("this user may not mount disks of its own")
    command = [*allowed, sys.executable, "-W", "ignore", str(SCRIPT.with_name("full_disk.py")), str(mount), str(whole)]
    found = subprocess.run([*command, *cases], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in found.splitlines()]


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_run_whose_disk_is_full_says_so_and_goes_on_when_there_is_room(
    small_run: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    rng = random.Random(1)
    steps = ["selfplay", "ingest", "train", "gate", "strength"] * -(-KILLS // 5)
    cases = [f"{step}:{rng.randint(1, 4)}" for step in steps[:KILLS]]
    found = on_full_disks(small_run, tmp_path / "disk", cases)
    for each in found:
        assert each["full"] == ("disk is full" in str(each["said"])), each
        assert (each["finished"], each["differs"]) == (True, []), each
    assert [each["case"] for each in found] == cases
    assert sum(bool(each["full"]) for each in found) >= len(cases) / 2
    record_property("full disks", sum(bool(each["full"]) for each in found))
