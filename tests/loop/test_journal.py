"""The journal of a run: steps in their order, and what follows from them."""

from pathlib import Path
from typing import Any

import pytest

from fukayomi.loop.journal import (
    Entry,
    Games,
    Gated,
    Ingested,
    Journal,
    KeptNetwork,
    Measured,
    Played,
    Reanalyzed,
    Started,
    Trained,
)
from fukayomi.loop.settings import LoopError

GAMES: dict[str, Any] = {"games": 1, "positions": 5, "plies": 5, "results": {}, "wrong_resignations": (0, 0)}


def network(generation: int, steps: int) -> KeptNetwork:
    return KeptNetwork(generation=generation, file=f"network-{generation:04}.onnx", sha256="0" * 64, steps=steps)


def generation(number: int, *, steps: int, passed: bool, rolled_back: bool = False) -> list[Entry]:
    return [
        Played(
            generation=number, network="0" * 64, chunks=(f"local-{number:06}",), opponents={}, **GAMES,
        ),
        Ingested(
            generation=number, chunks=number, positions=5 * number, quarantined=0, played=Games(**GAMES), opponents={},
        ),
        Trained(
            generation=number, steps=steps, budget=0.0, seen_positions=5, window=5, network=network(number, steps),
            fresh=None, test=None, losses=None, paid=(),
        ),
        Gated(
            generation=number, pairs=(), llr=None, decision="none", passed=passed, kept=passed,
            rolled_back=rolled_back,
        ),
        Measured(generation=number, network="network-0000", games=0, opponents=()),
    ]  # fmt: skip


def test_steps_of_a_generation_after_a_rollback(tmp_path: Path) -> None:
    journal = recorded(
        tmp_path,
        [
            Started(network=network(0, 0)),
            *generation(1, steps=10, passed=True),
            *generation(2, steps=25, passed=False),
            *generation(3, steps=40, passed=False, rolled_back=True),
            *generation(4, steps=30, passed=True),
            *generation(5, steps=32, passed=True),
        ],
    )
    assert [journal.steps_of(number) for number in range(7)] == [0, 10, 15, 15, 20, 2, 0]


def recorded(folder: Path, entries: list[Entry]) -> Journal:
    journal = Journal(folder)
    for entry in entries:
        journal.record(entry)
    return journal


def test_a_journal_goes_on_where_it_was(tmp_path: Path) -> None:
    entries = [Started(network=network(0, 0)), *generation(1, steps=4, passed=True)]
    recorded(tmp_path, entries[:4])

    journal = Journal(tmp_path)

    assert (journal.next_step, journal.generations, journal.entries) == ((1, "gate"), 0, entries[:4])
    journal = recorded(tmp_path, entries[4:])
    assert (journal.next_step, journal.generations, journal.entries) == ((2, "selfplay"), 1, entries)
    assert journal.chunks == ["local-000001"]


def test_the_last_network_that_passed_generates_games(tmp_path: Path) -> None:
    first = [Started(network=network(0, 0)), *generation(1, steps=4, passed=True)]

    journal = recorded(tmp_path, [*first, *generation(2, steps=8, passed=False)])

    assert [each.generation for each in journal.networks] == [0, 1]
    assert journal.learner_steps == 8


def test_after_a_rollback_the_learner_goes_on_from_the_network_that_passed(tmp_path: Path) -> None:
    first = [Started(network=network(0, 0)), *generation(1, steps=4, passed=True)]

    journal = recorded(tmp_path, [*first, *generation(2, steps=8, passed=False, rolled_back=True)])

    assert journal.learner_steps == 4


@pytest.mark.parametrize("line", ["{", '{"step": "dance", "generation": 1}', '{"step": "gate", "generation": 1}'])
def test_a_damaged_journal_names_the_line(line: str, tmp_path: Path) -> None:
    journal = recorded(tmp_path, [Started(network=network(0, 0))])
    with journal.path.open("a") as file:
        file.write(line + "\n")

    with pytest.raises(LoopError, match="line 2"):
        Journal(tmp_path)


def test_steps_out_of_order_name_what_is_missing(tmp_path: Path) -> None:
    journal = recorded(tmp_path, [Started(network=network(0, 0)), *generation(1, steps=4, passed=True)])
    lines = journal.path.read_text().splitlines(keepends=True)
    journal.path.write_text("".join(lines[:2] + lines[3:]))

    with pytest.raises(LoopError, match="line 3: train of generation 1 instead of ingest of generation 1"):
        Journal(tmp_path)


def test_a_run_that_reanalyzes_does_so_in_each_generation(tmp_path: Path) -> None:
    played, ingested, trained, *rest = generation(1, steps=4, passed=True)
    again = Reanalyzed(generation=1, network=0, chunks=(), positions=0, changed=0, moved=0)
    journal = Journal(tmp_path, reanalyzes=True)
    for entry in (Started(network=network(0, 0)), played, ingested):
        journal.record(entry)
    assert journal.next_step == (1, "reanalysis")
    for entry in (again, trained, *rest):
        journal.record(entry)

    found = Journal(tmp_path)

    assert (found.reanalyzes, found.generations, found.next_step) == (True, 1, (2, "selfplay"))
    lines = journal.path.read_text().splitlines(keepends=True)
    journal.path.write_text("".join(lines[:3] + lines[4:]))
    with pytest.raises(LoopError, match="line 4: train of generation 1 instead of reanalysis of generation 1"):
        Journal(tmp_path, reanalyzes=True)
