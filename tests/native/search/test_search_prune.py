"""What the search does at the end of its memory: it drops what was visited least, and goes on."""

import pytest
from search_runner import MATSURI, Runner, Slot

from fukayomi._native import Position, SearchParams, UniformEvaluator


def in_chunks(runner: Runner, nodes: int, chunk: int) -> None:
    """Search, and look at the tree after each chunk of nodes."""
    search = runner.search
    for goal in range(chunk, nodes + 1, chunk):
        runner.run(goal)
        assert search.nodes == goal
        assert not search.is_full
        assert search.bytes_live <= search.bytes_used <= runner.memory_mb << 20
        search.check_invariants()


@pytest.mark.parametrize("sfen", [Position().sfen(), MATSURI])
@pytest.mark.parametrize("capacity", [1, 64])
def test_a_full_memory_ends_nothing(sfen: str, capacity: int) -> None:
    runner = Runner(Position.from_sfen(sfen), memory_mb=1, capacity=capacity)
    in_chunks(runner, 40_000, 4000)  # eight times and more what fits
    assert runner.search.node_count < 6000
    line = runner.search.lines(1)[0]
    assert line.visits > 1000
    assert line.depth > 3


def test_ten_times_its_capacity() -> None:
    params = SearchParams()
    params.leaf_mate_plies = 1  # which takes less time
    runner = Runner(Position.from_sfen(MATSURI), params=params, memory_mb=16, capacity=64)
    runner.run(35_000)
    fits = runner.search.node_count
    runner.run(380_000)
    search = runner.search
    assert search.nodes == 380_000 > 10 * fits
    assert search.node_count < 1.5 * fits
    assert 0.7 * (16 << 20) < search.bytes_live < search.bytes_used <= 16 << 20
    best, second = search.lines(2)
    assert best.visits > second.visits > 1000
    assert best.depth > 5
    search.check_invariants()


def test_a_flat_tree_is_pruned_too() -> None:
    runner = Runner(Position.from_sfen(MATSURI), memory_mb=1, capacity=32, evaluator=UniformEvaluator())
    in_chunks(runner, 20_000, 5000)


def test_the_same_tree_each_time() -> None:
    def lines() -> object:
        runner = Runner(Position.from_sfen(MATSURI), memory_mb=1, capacity=16)
        runner.run(15_000)
        return [(line.move, line.visits, line.winrate, line.pv) for line in runner.search.lines(600)]

    assert lines() == lines()


def test_batches_in_flight_are_left_alone() -> None:
    runner = Runner(Position(), memory_mb=1, capacity=32)
    runner.run(5000)
    search = runner.search
    others = [(search.new_batch(16), Slot(16)) for _ in range(3)]
    for _ in range(200):
        held = [(batch, slot, slot.gather(search, batch, 16)) for batch, slot in others]
        for _ in range(3):
            runner.step()
        for k, (batch, slot, n) in enumerate(held):
            if n and k < 2:
                slot.run(runner.evaluator, n)
                slot.apply(search, batch)
            else:
                search.cancel(batch)
    assert search.nodes > 20_000
    assert not search.is_full
    search.check_invariants()


def test_the_best_line_and_proofs_stay() -> None:
    position = Position.from_sfen(MATSURI)
    runner = Runner(position, memory_mb=1, capacity=16)
    runner.run(2500)
    search = runner.search
    first = search.lines(1)[0]
    losing = search.lines(600)[5].move
    after = position.copy()
    after.push(losing)
    assert search.prove(after, after.turn, 5)
    before, node_count = first, 0
    while search.node_count >= node_count:  # until the first pruning
        before, node_count = search.lines(1)[0], search.node_count
        runner.step()
    pruned = search.lines(1)[0]
    assert pruned.pv[: before.depth - 1] == before.pv[: before.depth - 1]
    assert pruned.visits >= before.visits >= first.visits
    runner.run(30_000)
    assert next(line for line in search.lines(600) if line.move == losing).mate == -6
    search.check_invariants()


def test_the_game_goes_on_after_pruning() -> None:
    position = Position.from_sfen(MATSURI)
    runner = Runner(position, memory_mb=1, capacity=16)
    kept = 0
    for _ in range(12):
        kept += runner.search.set_position(position)
        runner.run(6000)
        if runner.search.is_decided:
            break
        assert runner.search.nodes == 6000
        runner.search.check_invariants()
        position.push(runner.search.lines(1)[0].move)
    assert kept > 5


def test_a_stop_ends_a_search_with_full_memory() -> None:
    runner = Runner(Position(), memory_mb=1, capacity=16)
    runner.run(6000)
    runner.search.stop()
    assert runner.step() == 0
    runner.search.check_invariants()
    runner.search.resume()
    assert runner.step() > 0
