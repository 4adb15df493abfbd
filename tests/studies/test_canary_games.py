"""Canaries: poisoned chunks are either rejected, or accepted as games by the rules and given away by a tripwire."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from canary_games import CANARIES, flipped_results, random_moves, relabelled
from selfplay_chunks import NETWORK, SETTINGS, deliver, details, new_store, random_games

from fukayomi.data.formats.hcpe3 import Games, join_games
from fukayomi.loop.ingest import ingest, validate_chunk

WORKERS, EACH = 5, 48


def foretold(games: Games, rng: np.random.Generator) -> Games:
    """Games whose evaluations foretell the result, and whose moves are mostly the most visited."""
    results = np.repeat(games.results % 4, games.lengths())
    turns = games.hcps[:, 0] % 2
    sides = np.where(results == 0, 0, np.where(results == turns + 1, 1, -1))
    evals = np.clip(sides * 800 + rng.normal(0, 400, len(sides)), -3000, 3000).astype(np.int16)
    last = games.plies[1:].astype(np.int64) - 1
    evals[last] = games.evals[last]
    games.evals[:] = evals
    return games


@pytest.fixture(scope="module")
def honest() -> list[Games]:
    rng = np.random.default_rng(11)
    return [foretold(random_games(EACH, 100 + worker), rng) for worker in range(WORKERS)]


@pytest.mark.parametrize("name", [name for name in CANARIES if name not in ("random moves", "flipped results")])
def test_a_poisoned_worker_is_flagged(tmp_path: Path, name: str, honest: list[Games]) -> None:
    new_store(tmp_path)
    for worker, games in enumerate(honest):
        made = CANARIES[name](games, SETTINGS, np.random.default_rng(1)) if worker == 2 else games
        deliver(tmp_path, made, worker=f"w{worker}")
    result = ingest(tmp_path)
    assert result.quarantined == ()
    assert {flag.worker for flag in result.tripwires.flags} == {"w2"}


def test_honest_workers_are_not_flagged(tmp_path: Path, honest: list[Games]) -> None:
    new_store(tmp_path)
    for worker, games in enumerate(honest):
        deliver(tmp_path, games, worker=f"w{worker}")
    assert ingest(tmp_path).tripwires.flags == ()


def test_flipped_results_are_rejected(tmp_path: Path, honest: list[Games]) -> None:
    new_store(tmp_path)
    deliver(tmp_path, honest[0])
    path = tmp_path / "games" / "flipped-000001.hcpe3"
    deliver(tmp_path, flipped_results(honest[0], SETTINGS, np.random.default_rng(1)), name=path.stem, worker="w2")
    result = ingest(tmp_path)
    assert [entry.worker for entry in result.quarantined] == ["w2"]
    assert "but the result is" in result.quarantined[0].reason
    assert result.quarantined[0].faults == int((honest[0].results % 4 > 0).sum())


def test_random_games_keep_the_rules(tmp_path: Path) -> None:
    store = new_store(tmp_path).store
    made = random_moves(random_games(200, 5), SETTINGS, np.random.default_rng(1))
    deliver(store, made)
    found = validate_chunk(store / "games" / "w1-000001.hcpe3")
    assert found.info.games == 200
    assert min(found.results.draws, found.results.black_wins, found.results.white_wins) > 0
    assert min(found.results.resignations, found.results.max_plies) > 0


def test_an_old_network_is_one_under_another_name(honest: list[Games]) -> None:
    said = relabelled(join_games(honest[0]), details(worker="old"))
    assert (said.network, said.worker, said.games) == (NETWORK, "old", EACH)


def test_canaries_leave_the_honest_games_alone(honest: list[Games]) -> None:
    before = honest[0].write()
    check: Callable[[Games], bytes] = Games.write
    for make in CANARIES.values():
        assert check(make(honest[0], SETTINGS, np.random.default_rng(1))) != before
    assert honest[0].write() == before
