"""Batches that an evaluator in the core runs one after the other."""

import numpy as np
import pytest
from search_runner import MATSURI, Runner

from fukayomi._native import EvalCache, HashEvaluator, PlaneInput, Search, SearchParams, UniformEvaluator
from fukayomi.shogi import Position

ROWS = 16


def memory(rows: int = ROWS) -> tuple[PlaneInput, np.ndarray, np.ndarray]:
    planes = PlaneInput(
        np.zeros((rows, 628), np.uint8),
        np.zeros((rows, 8), np.uint8),
        np.zeros((rows, 593), np.uint16),
        np.zeros(rows, np.uint16),
    )
    return planes, np.zeros((rows, 593), np.float32), np.zeros(rows, np.float32)


def stretched(
    stretch: int, seconds: float = 10.0, *, visits_per_leaf: int = 0, cache: EvalCache | None = None
) -> Search:
    search = Search(SearchParams(), 64)
    search.set_position(Position.from_sfen(MATSURI))
    batch = search.new_batch(ROWS, cache)
    while (left := 1000 - search.nodes) > 0:
        nodes = min(left, stretch)
        done, is_idle, is_finite = search.run(batch, HashEvaluator(), *memory(), ROWS, nodes, visits_per_leaf, seconds)
        assert is_finite
        assert not is_idle
        assert 0 < done <= nodes
    return search


def test_stretches_find_what_batches_from_outside_find() -> None:
    runner = Runner(Position.from_sfen(MATSURI), capacity=ROWS)
    while (left := 1000 - runner.search.nodes) > 0:
        runner.step(min(ROWS, left))
    expected = runner.search.tree_text()
    for stretch in (ROWS, 1000):
        assert stretched(stretch).tree_text() == expected
    assert stretched(1000, seconds=0.0).tree_text() == expected


@pytest.mark.parametrize("has_cache", [False, True])
def test_where_a_stretch_ends_does_not_matter(has_cache: bool) -> None:
    texts = {
        stretched(stretch, seconds, visits_per_leaf=8, cache=EvalCache(8) if has_cache else None).tree_text()
        for stretch, seconds in ((2 * ROWS, 10.0), (77, 10.0), (1000, 10.0), (1000, 0.0))
    }
    assert len(texts) == 1


def test_a_decided_search_is_idle() -> None:
    search = Search(SearchParams(), 64)
    search.set_position(Position.from_sfen("4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1"))
    batch = search.new_batch(ROWS)
    done, is_idle, is_finite = search.run(batch, UniformEvaluator(), *memory(), ROWS, 100000, 0, 10.0)
    assert (is_idle, is_finite) == (True, True)
    assert done == search.nodes < 100000


def test_memory_that_is_too_small_is_refused() -> None:
    search = Search(SearchParams(), 64)
    search.set_position(Position())
    batch = search.new_batch(ROWS)
    for limit, rows, text in ((17, 32, "limit is 17"), (0, 32, "limit is 0"), (16, 8, "8 rows")):
        with pytest.raises(ValueError, match=text):
            search.run(batch, HashEvaluator(), *memory(rows), limit, 100)
    with pytest.raises(ValueError, match="seconds"):
        search.run(batch, HashEvaluator(), *memory(), ROWS, 100, 0, float("nan"))
