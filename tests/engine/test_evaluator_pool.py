"""Evaluators that several searches share: in turn, at the same time, and when something fails."""

import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from patience import PATIENCE_S, until

from fukayomi.engine import Engine, Network
from fukayomi.engine.control import BATCH_VISITS, Control, Limits
from fukayomi.engine.evaluator_pool import EvaluatorPool, Feed
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.protocol import Slot, hash_evaluator, uniform_evaluator
from fukayomi.engine.search import Reason, Searcher, SearchResult
from fukayomi.shogi import Position

AFTER_76 = Position.from_usi("startpos moves 7g7f")
AFTER_TWO = Position.from_usi("startpos moves 7g7f 3c3d")


class Recorder:
    """The hash evaluator. It records how it is used, can be held up, and fails on demand."""

    identity = "recorder"
    batch_size = 8

    def __init__(self, slots: int = 1, pause_s: float = 0.0) -> None:
        self.slots = slots
        self._pause_s = pause_s  # in which another evaluator gets its share
        self._inner = hash_evaluator(8)
        self.permission = threading.Event()
        self.permission.set()
        self.error: Exception | None = None
        self.running = 0
        self.rows: list[int] = []  # of each batch
        self.is_closed = False
        self.clashes = 0
        self._slots_in_use: set[int] = set()

    def allocate(self, capacity: int) -> Slot:
        return self._inner.allocate(capacity)

    def run(self, slot: Slot, n: int) -> None:
        assert not self.is_closed
        self.clashes += id(slot) in self._slots_in_use
        self._slots_in_use.add(id(slot))
        self.running += 1
        self.rows.append(n)
        try:
            self.permission.wait(PATIENCE_S)
            time.sleep(self._pause_s)
            if self.error is not None:
                raise self.error
            self._inner.run(slot, n)
        finally:
            self.running -= 1
            self._slots_in_use.discard(id(slot))

    def close(self) -> None:
        assert not self._slots_in_use
        self.is_closed = True


@pytest.fixture
def evaluator() -> Recorder:
    return Recorder()


@pytest.fixture
def pool(evaluator: Recorder) -> Generator[EvaluatorPool]:
    with EvaluatorPool([evaluator]) as pool:
        yield pool
    assert evaluator.is_closed
    assert evaluator.clashes == 0


def run(searcher: Searcher, nodes: int, position: Position | None = None) -> SearchResult:
    return searcher.search(position or Position(), Control(Limits(nodes=nodes)), multipv=600)


def at_once(searchers: Sequence[Searcher], nodes: int) -> list[SearchResult]:
    with ThreadPoolExecutor(len(searchers)) as threads:
        return list(threads.map(lambda searcher: run(searcher, nodes), searchers))


def alone(nodes: int, batch_visits: int = BATCH_VISITS) -> object:
    """What a searcher with an evaluator of its own finds."""
    with Searcher([hash_evaluator(8)], memory_mb=64, batch_visits=batch_visits) as searcher:
        return run(searcher, nodes).lines


def test_two_searches_in_turn(pool: EvaluatorPool) -> None:
    first, second = Searcher(pool, memory_mb=64), Searcher(pool, memory_mb=64)
    assert run(first, 1000).lines == alone(1000)
    assert run(second, 1000).lines == alone(1000)
    assert run(first, 500, AFTER_76).progress.nodes == 500
    assert run(second, 500, AFTER_76).progress.nodes == 500


def test_two_searches_at_once_find_what_each_finds_alone(pool: EvaluatorPool) -> None:
    # One slot is one gatherer: each tree grows as if it had the evaluator to itself.
    for nodes in (1, 9, 3000):
        results = at_once([Searcher(pool, memory_mb=64), Searcher(pool, memory_mb=64)], nodes)
        assert [result.progress.nodes for result in results] == [nodes, nodes]
        assert results[0].lines == results[1].lines == alone(nodes)


def test_many_searches_share_several_slots() -> None:
    evaluators = [Recorder(slots=2), Recorder()]
    with EvaluatorPool(evaluators) as pool:
        for result in at_once([Searcher(pool, memory_mb=16) for _ in range(6)], 700):
            assert result.progress.nodes == 700
            assert result.reason is Reason.LIMIT
    assert all(evaluator.is_closed and evaluator.clashes == 0 for evaluator in evaluators)


@pytest.mark.parametrize("visits", [4, 16])
def test_batches_grow_with_the_tree(pool: EvaluatorPool, evaluator: Recorder, visits: int) -> None:
    with Searcher(pool, memory_mb=64, batch_visits=visits) as searcher:
        run(searcher, 1000)
        made = 0
        for rows in evaluator.rows:
            assert rows <= max(1, made // visits)
            made += rows
        assert made == 1000
        assert evaluator.rows.count(8) > 0.8 * (1000 - 8 * visits) / 8
        evaluator.rows.clear()
        run(searcher, 100)  # the tree is there already
        assert min(evaluator.rows[:-1]) == 8


def test_batches_are_full_from_the_start_on_request(pool: EvaluatorPool, evaluator: Recorder) -> None:
    with Searcher(pool, memory_mb=64, batch_visits=0) as searcher:
        run(searcher, 100)
    assert evaluator.rows[:4] == [1, 8, 8, 8]


def test_searches_take_turns(pool: EvaluatorPool) -> None:
    control = Control(Limits(until_stopped=True))
    with ThreadPoolExecutor(1) as threads:
        endless = threads.submit(Searcher(pool, memory_mb=256).search, Position(), control)
        with Searcher(pool, memory_mb=64) as short:
            for _ in range(5):
                assert run(short, 200).reason is Reason.LIMIT
        assert not endless.done()
        control.stop()
        assert endless.result().reason is Reason.STOPPED


def test_closing_one_searcher_leaves_the_other_alone(pool: EvaluatorPool, evaluator: Recorder) -> None:
    first, second = Searcher(pool, memory_mb=64), Searcher(pool, memory_mb=64)
    run(first, 100)
    control = Control(Limits(until_stopped=True))
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(second.search, Position(), control)
        until(lambda: evaluator.running)
        first.close()
        first.close()
        time.sleep(0.05)
        control.stop()
        assert running.result().progress.nodes > 0
    assert not evaluator.is_closed
    assert run(second, 300).progress.nodes == 300


def test_a_searcher_closes_evaluators_of_its_own(evaluator: Recorder) -> None:
    with Searcher([evaluator], memory_mb=64) as searcher:
        run(searcher, 50)
    assert evaluator.is_closed
    with pytest.raises(RuntimeError, match="pool is closed"):
        run(searcher, 50)


def test_closing_the_pool_ends_searches(evaluator: Recorder) -> None:
    pool = EvaluatorPool([evaluator])
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(Searcher(pool, memory_mb=64).search, Position(), Control(Limits()))
        until(lambda: evaluator.running)
        pool.close()
        assert running.result().reason is Reason.ERROR
        assert "closed" in str(running.result().error)
    assert evaluator.is_closed


def test_a_batch_in_flight_of_an_ended_search_delays_only_its_slot(pool: EvaluatorPool, evaluator: Recorder) -> None:
    first, second = Searcher(pool, memory_mb=64), Searcher(pool, memory_mb=64)
    run(first, 300)
    evaluator.permission.clear()
    begin = time.monotonic()
    late = first.search(Position(), Control(Limits(time_ms=100)))
    assert (late.reason, evaluator.running) == (Reason.TIME, 1)
    assert 0.09 < time.monotonic() - begin < PATIENCE_S / 2
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(run, second, 300)
        time.sleep(0.05)
        assert not waiting.done()
        evaluator.permission.set()
        assert waiting.result().lines == alone(300)
    assert run(first, 100, AFTER_76).progress.nodes == 100


def test_a_failure_ends_only_the_search_that_it_belongs_to(pool: EvaluatorPool, evaluator: Recorder) -> None:
    first, second = Searcher(pool, memory_mb=64), Searcher(pool, memory_mb=64)
    evaluator.error = EvaluatorError("out of memory")
    failed = run(first, 300)
    assert (failed.reason, failed.error) == (Reason.ERROR, evaluator.error)
    evaluator.error = None
    assert run(second, 300).lines == alone(300)
    assert run(first, 300).lines == alone(300)


def test_one_of_two_evaluators_may_fail() -> None:
    broken, sound = Recorder(), Recorder()
    broken.error = EvaluatorError("broken")
    with EvaluatorPool([broken, sound]) as pool:
        result = Searcher(pool, memory_mb=64).search(Position(), Control(Limits(nodes=10**6)))
    assert result.reason is Reason.ERROR
    assert str(result.error) == "broken"


def test_stops_at_any_moment(pool: EvaluatorPool) -> None:
    searchers = [Searcher(pool, memory_mb=16), Searcher(pool, memory_mb=16)]
    positions = [Position(), AFTER_76]
    for delay_ms in range(12):
        controls = [Control(Limits(until_stopped=True)) for _ in searchers]
        with ThreadPoolExecutor(2) as threads:
            running = [
                threads.submit(searcher.search, position, control)
                for searcher, position, control in zip(searchers, positions, controls, strict=True)
            ]
            time.sleep(delay_ms / 1000)
            for control in controls:
                control.stop()
            for future, position in zip(running, positions, strict=True):
                assert future.result(PATIENCE_S).best in position.legal_moves
        positions.reverse()


def test_no_thread_remains_without_a_search(pool: EvaluatorPool) -> None:
    def threads() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == "fukayomi-evaluator"]

    run(Searcher(pool, memory_mb=16), 100)
    until(lambda: not threads())


def test_a_system_without_a_thread_to_spare_fails_one_search(
    pool: EvaluatorPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    searcher = Searcher(pool, memory_mb=64)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            run(searcher, 300)

    assert run(searcher, 300).lines == alone(300)


def test_a_full_tree_ends_no_search() -> None:
    with EvaluatorPool([uniform_evaluator(32)]) as pool:
        small, large = Searcher(pool, memory_mb=2), Searcher(pool, memory_mb=64)
        with ThreadPoolExecutor(2) as threads:
            for result in threads.map(lambda searcher: run(searcher, 20_000), (small, large)):
                assert result.reason is Reason.LIMIT
                assert result.progress.nodes == 20_000


def test_engines_share_the_pool_of_their_network(evaluator: Recorder) -> None:
    with Network(evaluator, cache_mb=0) as network:
        first, second = Engine(network, memory_mb=16), Engine(network, memory_mb=16)
        with ThreadPoolExecutor(2) as threads:
            results = list(threads.map(lambda engine: engine.search(Position(), nodes=500), (first, second)))
        assert [result.progress.nodes for result in results] == [500, 500]
        assert results[0].lines == results[1].lines
        first.close()
        assert second.search(Position(), nodes=500).progress.nodes == 500
        assert not evaluator.is_closed
    assert evaluator.is_closed
    assert evaluator.clashes == 0


def sharing(pool: EvaluatorPool, count: int) -> list[Searcher]:
    return [Searcher(pool, memory_mb=16, shares_batches=True) for _ in range(count)]


def test_searches_that_share_batches_fill_them_together(pool: EvaluatorPool, evaluator: Recorder) -> None:
    evaluator.permission.clear()  # until all have begun
    with ThreadPoolExecutor(6) as threads:
        running = [threads.submit(run, searcher, 10) for searcher in sharing(pool, 6)]
        until(lambda: len(pool._feeds) == 6)
        evaluator.permission.set()
        assert [future.result().progress.nodes for future in running] == [10] * 6
    shared = evaluator.rows.copy()
    evaluator.rows.clear()
    for searcher in sharing(pool, 6):
        assert run(searcher, 10).lines == alone(10, batch_visits=0)  # one after another: each fills the batches
    assert sum(shared) == sum(evaluator.rows) == 60
    assert max(shared) == 8
    assert len(shared) < 12
    assert len(evaluator.rows) == 18  # 1, 8 and 1 for each


def test_each_of_many_trees_gives_few_leaves() -> None:
    evaluator = Recorder()
    evaluator.batch_size = 16
    evaluator.permission.clear()
    with EvaluatorPool([evaluator]) as pool, ThreadPoolExecutor(5) as threads:
        running = [threads.submit(run, searcher, 200) for searcher in sharing(pool, 5)]
        until(lambda: len(pool._feeds) == 5)
        evaluator.permission.set()
        assert [future.result().progress.nodes for future in running] == [200] * 5
        assert pool.searches_at_once == 8
    assert evaluator.rows.count(16) > 0.8 * len(evaluator.rows)


@pytest.mark.parametrize(
    ("shares", "visits", "share", "rows"),
    [
        (True, 0, 2, 4),
        (True, 64, 9, 9),
        (True, 160, 4, 10),
        (True, 10_000, 4, 64),
        (False, 0, 64, 1),
        (False, 160, 64, 10),
    ],
)
def test_a_large_tree_gives_a_batch_more_leaves(shares: bool, visits: int, share: int, rows: int) -> None:
    """The fewer trees in a batch, the less is to do between two batches."""
    tree: Any = SimpleNamespace(root_visits=visits)
    feed = Feed(tree, Control(Limits(nodes=1)), 1, shares=shares, batch_visits=16)
    assert feed.leaves(64, share) == rows
    assert feed.leaves(3, share) == min(3, rows)


def test_a_search_that_does_not_share_has_batches_of_its_own(pool: EvaluatorPool) -> None:
    with ThreadPoolExecutor(3) as threads:
        others = [threads.submit(run, searcher, 2000) for searcher in sharing(pool, 2)]
        assert run(Searcher(pool, memory_mb=64), 1000).lines == alone(1000)
        assert [other.result().progress.nodes for other in others] == [2000, 2000]


def test_a_failure_ends_all_searches_of_its_batch(pool: EvaluatorPool, evaluator: Recorder) -> None:
    searchers = sharing(pool, 3)
    evaluator.error = EvaluatorError("out of memory")
    assert {str(result.error) for result in at_once(searchers, 300)} == {"out of memory"}
    evaluator.error = None
    assert [result.progress.nodes for result in at_once(searchers, 300)] == [300] * 3


def test_sharing_searches_on_several_slots_stop_at_any_moment() -> None:
    evaluators = [Recorder(slots=2), Recorder()]
    with EvaluatorPool(evaluators) as pool, ThreadPoolExecutor(6) as threads:
        searchers = sharing(pool, 6)
        for delay_ms in range(8):
            controls = [Control(Limits(until_stopped=True)) for _ in searchers]
            running = [
                threads.submit(searcher.search, Position(), control)
                for searcher, control in zip(searchers, controls, strict=True)
            ]
            time.sleep(delay_ms / 1000)
            for control in controls:
                control.stop()
            assert all(future.result(PATIENCE_S).best in Position().legal_moves for future in running)
    assert all(evaluator.clashes == 0 for evaluator in evaluators)


@pytest.mark.parametrize("nodes", [1, 9, 1000])
def test_a_cache_serves_all_searches_of_a_pool(nodes: int) -> None:
    with EvaluatorPool([Recorder(slots=2)], cache_mb=8) as pool:
        first, second = (run(Searcher(pool, memory_mb=16), nodes).progress for _ in range(2))
    assert first.nodes == second.nodes == nodes
    assert second.playouts >= second.nodes
    assert second.evaluations <= first.evaluations <= nodes
    assert second.evaluations < 0.5 * nodes
    assert first.evaluations > 0.5 * nodes


def test_searches_that_share_batches_share_a_cache_too() -> None:
    with EvaluatorPool([Recorder(slots=2)], cache_mb=8) as pool:
        searchers = [Searcher(pool, memory_mb=16, shares_batches=True) for _ in range(5)]
        first = run(searchers[0], 500).progress
        others = [result.progress for result in at_once(searchers[1:], 500)]  # in step, they meet few new positions
        assert [one.nodes for one in (first, *others)] == [500] * 5
        assert sum(one.evaluations for one in others) < 0.5 * 2000


@contextmanager
def held(pool: EvaluatorPool, evaluator: Recorder, other: Recorder, positions: Iterator[Position]) -> Generator[None]:
    """While one of two evaluators is busy with a position of another search, which no cache knows."""
    for each in (evaluator, other):
        each.permission.clear()
    with ThreadPoolExecutor(2) as threads:
        try:
            for _ in range(2):  # each takes one
                threads.submit(run, Searcher(pool, memory_mb=16), 1, next(positions))
            until(lambda: evaluator.running == other.running == 1)
            other.permission.set()
            until(lambda: other.running == 0)
            yield
        finally:
            evaluator.permission.set()
            other.permission.set()


@pytest.mark.parametrize("identity", ["recorder", "another"])
def test_each_network_has_a_cache_of_its_own(identity: str) -> None:
    first, second = Recorder(), Recorder()
    second.identity = identity
    positions = (Position.from_usi(f"startpos moves 2g2f {reply}") for reply in AFTER_76.legal_moves)
    with EvaluatorPool([first, second], cache_mb=8) as pool:
        with held(pool, first, second, positions):
            run(Searcher(pool, memory_mb=16), 1, AFTER_TWO)  # by the second one
        with held(pool, second, first, positions):
            before = sum(first.rows)
            run(Searcher(pool, memory_mb=16), 1, AFTER_TWO)  # by the first one, unless it is known
            assert (sum(first.rows) > before) == (identity == "another")
