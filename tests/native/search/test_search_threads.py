"""Many Python threads on one search, doing everything at once."""

import random
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest
from search_runner import MATSURI, Slot, reviewer

from fukayomi._native import HashEvaluator, Position, Search, SearchParams

CAPACITY = 16


def gatherer(search: Search, is_over: threading.Event, seed: int) -> None:
    rng = random.Random(seed)
    evaluator = HashEvaluator(3)
    slot, second = Slot(CAPACITY), reviewer()
    batch = search.new_batch(CAPACITY, reviewer=second)
    while not is_over.is_set():
        n = slot.gather(search, batch, rng.randint(1, CAPACITY))
        if n == 0:
            time.sleep(0.0005)
            continue
        slot.run(evaluator, n)
        action = rng.randrange(20)
        if action == 0:
            search.cancel(batch)
        elif action == 1:
            slot.values[0] = float("nan")
            with pytest.raises(ValueError, match="not between"):
                slot.apply(search, batch)
        elif action == 2:
            batch = search.new_batch(CAPACITY, reviewer=second)
        else:
            slot.apply(search, batch)


def reader(search: Search, is_over: threading.Event) -> None:
    while not is_over.is_set():
        for line in search.lines(5):
            assert line.pv[0] == line.move
            assert 0.0 <= line.winrate <= 1.0
        assert search.bytes_used <= 2 << 20
        time.sleep(0.002)


def play(search: Search, rng: random.Random, moves: int) -> None:
    position = Position() if rng.random() < 0.5 else Position.from_sfen(MATSURI)
    for _ in range(moves):
        search.set_position(position)
        time.sleep(rng.uniform(0.0, 0.03))
        if rng.random() < 0.3:
            search.stop()
            time.sleep(0.001)
            search.resume()
        lines = search.lines(1)
        if not lines:
            return
        position.push(lines[0].move)
        if rng.random() < 0.1:
            position.pop()


def run_together(jobs: list[Callable[[], None]], meanwhile: Callable[[], None], is_over: threading.Event) -> None:
    failures: list[BaseException] = []

    def guarded(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    meanwhile()
    is_over.set()
    for thread in threads:
        thread.join(timeout=600)
        assert not thread.is_alive()
    assert failures == []


def stress(games: int, moves: int) -> None:
    params = SearchParams()
    params.review_visits = 4
    search = Search(params, 2)
    rng = random.Random(5)
    for _ in range(games):
        is_over = threading.Event()
        jobs: list[Callable[[], None]] = [partial(gatherer, search, is_over, seed) for seed in range(3)]
        run_together([*jobs, partial(reader, search, is_over)], partial(play, search, rng, moves), is_over)
        search.check_invariants()


def test_threads() -> None:
    stress(games=3, moves=15)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_threads_for_long() -> None:
    stress(games=60, moves=60)


def test_one_batch_in_two_threads_is_refused() -> None:
    """No crash and no lost visit, whatever the interleaving."""
    search = Search(SearchParams(), 4)
    batch = search.new_batch(CAPACITY)
    evaluator = HashEvaluator()

    def misuse() -> None:
        slot = Slot(CAPACITY)
        slot.input.counts[:] = 1
        for _ in range(200):
            try:
                if n := slot.gather(search, batch, CAPACITY):
                    slot.run(evaluator, n)
                search.cancel(batch)
            except RuntimeError:
                pass

    threads = [threading.Thread(target=misuse) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=600)
    search.cancel(batch)
    search.check_invariants()
