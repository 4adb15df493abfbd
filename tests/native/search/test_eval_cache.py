"""The cache of evaluations: a hit is what the evaluator said, and the search goes on as if it had been asked."""

import threading

import pytest
from search_runner import MATSURI, Runner, Slot

from fukayomi._native import EvalCache, HashEvaluator, Move, Position, Search, SearchParams

BEAR_IN_MATE = "4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1"
"""Mate in one: G*5b."""
LANCE_HANDICAP = "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
"""No two positions that follow are each other's with sides exchanged, which to a network are the same."""


def runner_with(cache: EvalCache | None, sfen: str = MATSURI, **options: object) -> Runner:
    runner = Runner(Position.from_sfen(sfen), **options)  # pyright: ignore[reportArgumentType]
    runner.batch = runner.search.new_batch(runner.batch.capacity, cache)
    return runner


def all_lines(search: Search) -> list[tuple[object, ...]]:
    return [(line.move, line.visits, line.prior, line.winrate, line.pv) for line in search.lines(600)]


def search_by_nodes(runner: Runner, nodes: int) -> int:
    """Search exactly this many nodes; the number of rows."""
    slot, search, rows = runner.slot, runner.search, 0
    while (left := nodes - search.nodes) > 0:
        n = slot.gather(search, runner.batch, runner.batch.capacity, nodes=left)
        if n + runner.batch.hits == 0:
            break
        slot.run(runner.evaluator, n)
        slot.apply(search, runner.batch)
        rows += n
    return rows


@pytest.mark.parametrize("sfen", [Position().sfen(), MATSURI, BEAR_IN_MATE])
def test_the_tree_is_the_same_with_and_without_a_cache(sfen: str) -> None:
    # With one leaf a batch: a hit is backed up before the next leaf is chosen, as an evaluation then is.
    plain = runner_with(None, sfen, capacity=1)
    search_by_nodes(plain, 3000)
    cache = EvalCache(8)
    for share in (1.0, 0.0):  # of the nodes that may need a row: the second search finds all of them in the cache
        cached = runner_with(cache, sfen, capacity=1)
        rows = search_by_nodes(cached, 3000)
        assert all_lines(cached.search) == all_lines(plain.search)
        assert (cached.search.nodes, cached.search.playouts) == (plain.search.nodes, plain.search.playouts)
        assert cached.search.evaluations == rows
        assert share * 0.5 * cached.search.nodes <= rows <= share * cached.search.nodes
        cached.search.check_invariants()


def test_transpositions_are_evaluated_once() -> None:
    runner = runner_with(EvalCache(8), LANCE_HANDICAP, capacity=1)
    rows: list[bytes] = []
    while runner.search.nodes < 4000:
        n = runner.slot.gather(runner.search, runner.batch, 1)
        if n:
            rows.append(runner.slot.input.planes1[0].tobytes() + runner.slot.input.planes2[0].tobytes())
            runner.slot.run(runner.evaluator, n)
            runner.slot.apply(runner.search, runner.batch)
    assert len(set(rows)) == len(rows) == runner.search.evaluations
    assert len(rows) < runner.search.nodes


@pytest.mark.parametrize("capacity", [1, 7, 64])
def test_the_limit_counts_hits(capacity: int) -> None:
    cache = EvalCache(8)
    for nodes in (1, 100, 1001, 500):
        runner = runner_with(cache, capacity=capacity)
        search_by_nodes(runner, nodes)
        assert runner.search.nodes == nodes
        assert runner.search.root_visits == runner.search.playouts >= nodes
        runner.search.check_invariants()


def test_a_full_cache_forgets_the_oldest() -> None:
    cache = EvalCache(1)
    assert search_by_nodes(runner_with(cache, capacity=1), 500) > 400
    assert search_by_nodes(runner_with(cache, capacity=1), 500) == 0
    search_by_nodes(runner_with(cache, Position().sfen(), capacity=64), 20_000)
    assert search_by_nodes(runner_with(cache, capacity=1), 500) > 400
    assert cache.bytes_used <= 1 << 20


def test_what_an_evaluation_depends_on() -> None:
    cache = EvalCache(8)
    search_by_nodes(runner_with(cache, capacity=1), 200)
    warm = SearchParams()
    warm.softmax_temperature = 1.0
    assert search_by_nodes(runner_with(cache, params=warm, capacity=1), 200) > 100, "other priors"
    position = Position.from_sfen(MATSURI)
    few = [Move.from_usi("P*5h"), Move.from_usi("S*9c")]
    limited = runner_with(cache, capacity=1, search_moves=few)
    limited.search.set_position(position, few)
    assert limited.slot.gather(limited.search, limited.batch, 1, nodes=1) == 1, "the root has other moves"


def test_a_refused_evaluation_is_not_kept() -> None:
    cache = EvalCache(1)
    runner = runner_with(cache)
    assert runner.slot.gather(runner.search, runner.batch, 16) == 1
    runner.slot.run(runner.evaluator, 1)
    runner.slot.values[0] = 2.0
    with pytest.raises(ValueError, match="not between 0 and 1"):
        runner.slot.apply(runner.search, runner.batch)
    assert runner.slot.gather(runner.search, runner.batch, 16) == 1
    assert runner.batch.hits == 0


def test_one_cache_for_searches_in_several_threads() -> None:
    cache, errors = EvalCache(2), list[BaseException]()
    position = Position.from_sfen(MATSURI)

    def search(seed: int) -> None:
        try:
            runner = Runner(position, evaluator=HashEvaluator(0), capacity=1 + seed)
            runner.batch = runner.search.new_batch(1 + seed, cache)
            search_by_nodes(runner, 3000)
            runner.search.check_invariants()
            assert runner.search.nodes == 3000
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=search, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_the_search_keeps_its_cache() -> None:
    search, slot = Search(SearchParams(), 16), Slot(4)
    batch = search.new_batch(4, EvalCache(1))
    assert slot.gather(search, batch, 4) == 1
    slot.run(HashEvaluator(), 1)
    slot.apply(search, batch)
    assert slot.gather(search, batch, 4) > 0


@pytest.mark.parametrize("memory_mb", [0, 65537])
def test_bad_sizes(memory_mb: int) -> None:
    with pytest.raises(ValueError, match=f"memory_mb is {memory_mb}"):
        EvalCache(memory_mb)
