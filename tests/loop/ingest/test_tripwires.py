"""Tripwires: workers that are alike are left alone, and each kind of odd one is found."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from selfplay_chunks import deliver, new_store, random_games

from fukayomi import _native
from fukayomi.data.formats.hcpe3 import Games, join_games
from fukayomi.loop.ingest import Manifest, ingest
from fukayomi.loop.ingest.statistics import ChunkStatistics, Moments, statistics_of, total
from fukayomi.loop.ingest.tripwires import METRICS, check_workers, compare_workers
from fukayomi.shogi import Move

POOL = list(random_games(330))


def numbers(games: Games) -> ChunkStatistics:
    return statistics_of(_native.decode_hcpe3(np.frombuffer(games.write(), np.uint8), True))


def split(rng: np.random.Generator, workers: int, each: int) -> dict[str, ChunkStatistics]:
    order = rng.permutation(len(POOL))
    parts = [order[each * worker : each * (worker + 1)] for worker in range(workers)]
    return {f"w{worker}": numbers(join_games(POOL[at] for at in part)) for worker, part in enumerate(parts)}


def test_numbers_are_those_of_the_games() -> None:
    drawn = [game for game in POOL if int(game.result) == 0]
    games = join_games([*POOL[:31], *drawn[:2]])
    found = numbers(games)
    is_decided = games.results % 4 > 0
    lengths = games.lengths()[is_decided]
    assert len(lengths) < found.games == 33
    assert found.length.mean == pytest.approx(lengths.mean())
    assert found.length.variance == pytest.approx(lengths.var(ddof=1))
    assert found.draws == sum(int(game.result) == 0 for game in games)
    assert found.first_moves[Move.from_raw(int(games[0].moves[0])).usi()] >= 1
    entropies, played, visits, errors = [], [], [], []
    for game in games:
        rows = []
        for ply, (begin, end) in enumerate(zip(game.candidates[:-1], game.candidates[1:], strict=True)):
            if begin == end:
                continue
            counts = game.candidate_visits[int(begin) : int(end)].astype(float)
            moves = game.candidate_moves[int(begin) : int(end)]
            shares = counts / counts.sum()
            is_black = game.hcps[ply, 0] % 2 == 0
            score = float((int(game.result) == 1) == is_black)
            chance = 1 / (1 + np.exp(-game.evals[ply] / 756.0864962951762))
            entropy = -(shares * np.log(shares)).sum()
            own = shares[moves == game.moves[ply]].sum()
            rows.append((entropy, own, np.log(counts.sum()), (chance - score) ** 2))
        for values, value in zip((entropies, played, visits, errors), np.mean(rows, axis=0), strict=True):
            values.append(value)
    for moments, values in ((found.entropy, entropies), (found.played, played), (found.visits, visits)):
        assert (moments.count, moments.mean) == (33, pytest.approx(np.mean(values)))
    assert found.brier.mean == pytest.approx(np.mean(np.array(errors)[is_decided]))
    assert found.unique.count == 2
    part = join_games(POOL[:16])
    hcps = part.hcps[part.candidate_counts() > 0]
    own_share = len(np.unique(hcps, axis=0)) / len(hcps)
    assert numbers(part).unique.total == pytest.approx(own_share)


def test_numbers_add_up() -> None:
    games = POOL[:64]
    parts = total(numbers(join_games(games[at : at + 16])) for at in range(0, 64, 16))
    whole = numbers(join_games(games))
    assert (parts.games, parts.draws, parts.first_moves) == (whole.games, whole.draws, whole.first_moves)
    for name in ("length", "brier", "entropy", "visits", "played", "unique"):
        one, two = getattr(parts, name), getattr(whole, name)
        assert (one.count, one.total, one.squares) == (two.count, pytest.approx(two.total), pytest.approx(two.squares))


@pytest.mark.parametrize("trials", [pytest.param(20), pytest.param(2000, marks=pytest.mark.soak)])
def test_workers_that_are_alike_are_left_alone(trials: int, record_property: Callable[[str, object], None]) -> None:
    rng = np.random.default_rng(5)
    alarms = sum(bool(compare_workers(split(rng, 8, 40), alarm_rate=0.05).flags) for _ in range(trials))
    record_property("alarms", f"{alarms} of {trials} at an alarm rate of 0.05")
    assert alarms <= 0.05 * trials + 3 * (0.05 * 0.95 * trials) ** 0.5


def shifted(statistics: ChunkStatistics, name: str, by: float) -> ChunkStatistics:
    """The numbers with a mean moved by so many standard deviations."""
    moments = getattr(statistics, name)
    step = by * moments.variance**0.5
    moved = Moments(
        count=moments.count, total=moments.total + moments.count * step,
        squares=moments.squares + 2 * step * moments.total + moments.count * step**2,
    )  # fmt: skip
    return statistics.model_copy(update={name: moved})


MOVED: Sequence[tuple[str, Callable[[ChunkStatistics], ChunkStatistics]]] = [
    ("length", lambda it: shifted(it, "length", 1.5)),
    ("calibration", lambda it: shifted(it, "brier", 1.5)),
    ("entropy", lambda it: shifted(it, "entropy", -1.5)),
    ("visits", lambda it: shifted(it, "visits", -1.5)),
    ("played", lambda it: shifted(it, "played", -1.5)),
    ("draws", lambda it: it.model_copy(update={"draws": 20})),
    ("first_moves", lambda it: it.model_copy(update={"first_moves": {"7g7f": 40}})),
]


@pytest.mark.parametrize(("metric", "move"), MOVED, ids=[metric for metric, _ in MOVED])
def test_an_odd_worker_is_flagged_and_the_others_are_not(
    metric: str, move: Callable[[ChunkStatistics], ChunkStatistics]
) -> None:
    workers = split(np.random.default_rng(7), 8, 40)
    workers["w3"] = move(workers["w3"])
    found = compare_workers(workers)
    assert [(flag.worker, flag.metric) for flag in found.flags] == [("w3", metric)]
    assert abs(found.flags[0].z) > found.threshold
    assert f"worker w3 differs in {metric}" in str(found.flags[0])
    rows = [row for row in found.rows() if row["worker"] == "w3" and row["metric"] == metric]
    assert [row["flagged"] for row in rows] == ["yes"]
    assert {row.metric for row in found.comparisons} <= METRICS.keys()


def test_several_odd_workers_do_not_make_the_others_look_odd() -> None:
    workers = split(np.random.default_rng(9), 8, 40)
    for name in ("w1", "w4"):
        workers[name] = shifted(workers[name], "brier", 4)
    workers["w6"] = workers["w6"].model_copy(update={"first_moves": {"7g7f": 40}})
    assert sorted(flag.worker for flag in compare_workers(workers).flags) == ["w1", "w4", "w6"]


def test_of_two_workers_that_differ_both_are_named() -> None:
    workers = split(np.random.default_rng(9), 2, 40)
    assert compare_workers(workers).flags == ()
    workers["w1"] = shifted(workers["w1"], "entropy", 3)
    assert [flag.worker for flag in compare_workers(workers).flags] == ["w0", "w1"]


def test_equal_numbers_are_alike_whatever_the_rounding() -> None:
    equal = ChunkStatistics(games=100, visits=Moments.of(np.full(100, np.log(800))))
    nearly = ChunkStatistics(games=300, visits=Moments.of(np.full(300, np.log(800) * (1 + 1e-12))))
    assert compare_workers({"a": equal, "b": nearly, "c": equal}).flags == ()


def test_first_moves_that_nobody_else_played_are_compared() -> None:
    common, rare = {"7g7f": 60, "2g2f": 60}, {f"{file}g{file}f": 2 for file in range(1, 10) if file not in (2, 7)}
    workers = {name: ChunkStatistics(games=120, first_moves=common) for name in "abc"}
    workers["d"] = ChunkStatistics(games=14, first_moves=rare)
    assert [flag.worker for flag in compare_workers(workers, least_games=10).flags] == ["d"]


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_is_compared_with_nothing(count: int) -> None:
    found = compare_workers({f"w{i}": numbers(join_games(POOL[:40])) for i in range(count)})
    assert (found.comparisons, found.flags, found.threshold) == ((), (), float("inf"))
    few = {f"w{i}": numbers(join_games(POOL[10 * i : 10 * i + 10])) for i in range(3)}
    assert compare_workers(few).comparisons == ()


def test_ingest_compares_the_workers_of_a_generation(tmp_path: Path) -> None:
    manifest = new_store(tmp_path)
    manifest.add_network("cd" * 32, 2)
    for worker in range(3):
        deliver(tmp_path, join_games(POOL[40 * worker : 40 * worker + 40]), worker=f"w{worker}")
    short = [game for game in POOL[120:] if len(game) < 20][:40]
    deliver(tmp_path, join_games(short), worker="w9")
    found = ingest(tmp_path).tripwires
    assert found.generation == 1
    assert {flag.worker for flag in found.flags} == {"w9"}
    manifest = Manifest(tmp_path)
    manifest.exclude("w9", str(found.flags[0]))
    assert check_workers(manifest, 1).flags == ()
    assert check_workers(manifest, 2).comparisons == ()


def test_games_that_come_with_those_of_the_next_network_are_compared(tmp_path: Path) -> None:
    manifest = new_store(tmp_path)
    manifest.add_network("cd" * 32, 2)
    for worker in range(3):
        deliver(tmp_path, join_games(POOL[40 * worker : 40 * worker + 40]), worker=f"w{worker}")
    deliver(tmp_path, join_games([game for game in POOL[120:] if len(game) < 20][:40]), worker="w9")
    deliver(tmp_path, join_games(POOL[-2:]), worker="w0", sequence=2, first_game=40, network="cd" * 32)

    found, alone = ingest(tmp_path).tripwires, check_workers(Manifest(tmp_path), 1)

    assert (found.generation, found.threshold, found.flags) == (2, alone.threshold, alone.flags)
    assert {(flag.worker, flag.generation) for flag in found.flags} == {("w9", 1)}
    assert "with network 1: z = " in str(found.flags[0])
    assert {(row["generation"], row["worker"]) for row in found.rows() if row["flagged"]} == {(1, "w9")}
