"""Batches: how they fill, collide, come to nothing, and how the arrays are checked."""

import math

import numpy as np
import pytest
from search_runner import MATSURI, Runner, Slot

from fukayomi._native import HashEvaluator, Position, Search, SearchParams, UniformEvaluator


def test_a_batch_larger_than_the_tree_never_hangs() -> None:
    runner = Runner(Position(), capacity=512)
    sizes = [runner.step() for _ in range(6)]
    assert sizes[0] == 1, "only the root can be evaluated"
    assert 1 < sizes[1] <= 30, "only its children"
    assert all(size > 0 for size in sizes)
    runner.search.check_invariants()


@pytest.mark.parametrize("sfen", [Position().sfen(), MATSURI, "4k4/9/9/9/9/9/9/9/4K4 b - 1"])
def test_flat_policies_do_not_hang_either(sfen: str) -> None:
    runner = Runner(Position.from_sfen(sfen), capacity=64, evaluator=UniformEvaluator())
    runner.run(3000)
    assert runner.search.nodes == 3000
    runner.search.check_invariants()


def test_two_batches_hold_different_leaves() -> None:
    search = Search(SearchParams(), 16)
    slots = [Slot(16), Slot(16)]
    batches = [search.new_batch(16), search.new_batch(16)]
    evaluator = HashEvaluator()
    assert slots[0].gather(search, batches[0], 16) == 1
    assert slots[1].gather(search, batches[1], 16) == 0, "the root is in the other batch"
    slots[0].run(evaluator, 1)
    slots[0].apply(search, batches[0])
    for _ in range(20):
        counts = [slot.gather(search, batch, 16) for slot, batch in zip(slots, batches, strict=True)]
        rows = {
            slot.input.planes1[i].tobytes() + slot.input.planes2[i].tobytes()
            for slot, n in zip(slots, counts, strict=True)
            for i in range(n)
        }
        assert counts[0] > 0
        assert len(rows) >= 0.9 * sum(counts), "but for transpositions"
        for slot, batch, n in reversed(list(zip(slots, batches, counts, strict=True))):
            assert len(batch) == n
            if n:
                slot.run(evaluator, n)
                slot.apply(search, batch)
            assert len(batch) == 0
    search.check_invariants()


def test_cancelled_leaves_can_be_gathered_again() -> None:
    runner = Runner(MATSURI_POSITION)
    runner.run(200)
    search, slot, batch = runner.search, runner.slot, runner.batch
    first = slot.gather(search, batch, 16)
    rows = slot.input.planes1[:first].tobytes()
    search.cancel(batch)
    search.check_invariants()
    assert slot.gather(search, batch, 16) == first
    assert slot.input.planes1[:first].tobytes() == rows
    search.cancel(batch)
    search.cancel(batch)
    assert search.nodes == 200


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_bad_logits_cancel_the_batch(bad: float) -> None:
    runner = Runner(MATSURI_POSITION)
    runner.run(100)
    n = runner.slot.gather(runner.search, runner.batch, 16)
    runner.slot.run(runner.evaluator, n)
    runner.slot.logits[n - 1, int(runner.slot.input.counts[n - 1]) - 1] = bad
    with pytest.raises(ValueError, match="not finite"):
        runner.slot.apply(runner.search, runner.batch)
    assert runner.search.nodes == 100
    runner.search.check_invariants()
    runner.run(300)
    assert runner.search.nodes == 300


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.01, 1.01])
def test_bad_values_cancel_the_batch(bad: float) -> None:
    runner = Runner(MATSURI_POSITION)
    n = runner.slot.gather(runner.search, runner.batch, 16)
    runner.slot.run(runner.evaluator, n)
    runner.slot.values[0] = bad
    with pytest.raises(ValueError, match="not between 0 and 1"):
        runner.slot.apply(runner.search, runner.batch)
    runner.search.check_invariants()


def test_set_position_brings_batches_to_nothing() -> None:
    runner = Runner(Position())
    runner.run(500)
    n = runner.slot.gather(runner.search, runner.batch, 16)
    assert n > 0
    after = Position()
    after.push(runner.search.lines(1)[0].move)
    assert runner.search.set_position(after)
    runner.search.check_invariants()
    visits = runner.search.root_visits
    runner.slot.run(runner.evaluator, n)
    runner.slot.apply(runner.search, runner.batch)
    assert (runner.search.nodes, runner.search.root_visits) == (0, visits)
    runner.run(100)
    runner.search.check_invariants()


def test_stop_and_resume() -> None:
    runner = Runner(Position())
    runner.run(100)
    runner.search.stop()
    assert runner.search.is_stopped
    assert runner.step() == 0
    runner.search.resume()
    assert runner.step() > 0
    runner.search.check_invariants()


def test_a_batch_that_is_dropped_gives_its_leaves_back() -> None:
    search = Search(SearchParams(), 16)
    slot = Slot(4)
    batch = search.new_batch(4)
    assert slot.gather(search, batch, 4) == 1
    del batch
    search.check_invariants()
    batch = search.new_batch(4)
    assert slot.gather(search, batch, 4) == 1
    del search  # the batch keeps it alive
    assert len(batch) == 1


def test_gathering_twice_is_refused() -> None:
    runner = Runner(Position())
    assert runner.slot.gather(runner.search, runner.batch, 16) == 1
    with pytest.raises(RuntimeError, match="applied or cancelled"):
        runner.slot.gather(runner.search, runner.batch, 16)
    for capacity in (0, 65537, 2**62):
        with pytest.raises(ValueError, match=f"room for 1 to 65536 leaves, not {capacity}"):
            runner.search.new_batch(capacity)


def test_a_batch_of_another_search_is_refused() -> None:
    runner, other = Runner(Position()), Search(SearchParams(), 16)
    slot, batch = runner.slot, runner.batch
    outputs = slot.logits, slot.values
    for gathered in (False, True):
        if gathered:
            assert slot.gather(runner.search, batch, 1) == 1
        for use in (
            lambda: other.gather(batch, slot.input, 0, 1),
            lambda: other.apply(batch, *outputs),
            lambda: other.cancel(batch),
            lambda: other.labelled_leaves(batch, *outputs),
            lambda: other.run(batch, HashEvaluator(), slot.input, *outputs, 1, 1),
        ):
            with pytest.raises(ValueError, match="of another search"):
                use()
    slot.run(runner.evaluator, 1)
    slot.apply(runner.search, batch)
    assert (runner.search.nodes, other.nodes) == (1, 0)
    other.check_invariants()


def test_arrays_are_checked() -> None:
    search = Search(SearchParams(), 16)
    batch = search.new_batch(16)
    slot = Slot(16)
    for first, limit in ((0, 17), (1, 16), (17, 0), (2**63, 2**63)):
        with pytest.raises(ValueError, match=r"exceeds the batch's capacity of 16|the input has 16 rows; rows from"):
            search.gather(batch, slot.input, first, limit)
    with pytest.raises(TypeError):
        search.gather(batch, slot.input, -1, 1)
    with pytest.raises(TypeError):
        search.gather(batch, slot.input.planes1, 0, 1)  # pyright: ignore[reportArgumentType]
    assert slot.gather(search, batch, 16) == 1
    with pytest.raises(ValueError, match="0 rows; it needs 1"):
        search.apply(batch, slot.logits[:0], slot.values)
    slot.input.counts[0] = 594
    with pytest.raises(ValueError, match="row 0: the count 594 is above 593"):
        slot.run(HashEvaluator(), 1)


def test_the_hash_evaluator_is_as_sharp_as_a_network() -> None:
    runner = Runner(MATSURI_POSITION, capacity=64)
    runner.run(500)
    n = runner.slot.gather(runner.search, runner.batch, 64)
    slot = runner.slot
    slot.run(HashEvaluator(1), n)
    logits = np.concatenate([slot.logits[i, : slot.input.counts[i]] for i in range(n)])
    assert abs(logits.mean()) < 0.1
    assert logits.std() == pytest.approx(1.5, abs=0.1)
    assert 0.05 < slot.values[:n].std() < 0.2
    again = slot.logits[:n].copy()
    slot.run(HashEvaluator(1), n)
    assert np.array_equal(again, slot.logits[:n])
    slot.run(HashEvaluator(2), n)
    assert not np.array_equal(again, slot.logits[:n])


MATSURI_POSITION = Position.from_sfen(MATSURI)
