"""A run that is killed again and again ends with the same bytes."""

import hashlib
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import learn_run
import pytest

from fukayomi.loop.journal import Journal, Played

SCRIPT = Path(learn_run.__file__)
KILLED = -9
KILLS = 20


def digests(folder: Path) -> dict[str, str]:
    """Everything that a run leaves, but what has times: its log, its matches, and the learner's table of files."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.relative_to(folder).parts[0] not in ("matches", "log.jsonl")
        and path.name != "config.toml"  # it has the folder's name
    }


def start(folder: Path, events: int = 0, **changes: object) -> subprocess.Popen[bytes]:
    words = [str(SCRIPT), str(folder), str(events), json.dumps(changes)]
    return subprocess.Popen([sys.executable, "-W", "ignore", *words])


def test_a_killed_run_ends_as_if_it_had_not_been(small_run: Path, tmp_path: Path) -> None:
    folder, events = tmp_path / "run", random.randint(1, 45)

    assert start(folder, events).wait() == KILLED
    assert learn_run.run(folder).finished

    assert digests(folder) == digests(small_run), f"killed after {events} events"


def test_a_killed_run_with_a_league_of_its_past_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    undisturbed, folder, events = tmp_path / "whole", tmp_path / "run", random.randint(1, 30)
    changes: dict[str, object] = {
        "league": {"share": 1, "past": 2},
        "generations": 3,
        "gate": {"mode": "off"},
        "strength": {"games": 0},
    }
    assert learn_run.run(undisturbed, **changes).finished

    assert start(folder, events, **changes).wait() == KILLED
    assert learn_run.run(folder, **changes).finished

    assert digests(folder) == digests(undisturbed), f"killed after {events} events"
    played = Journal(undisturbed).all(Played)
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
