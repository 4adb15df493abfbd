"""Min-max over graphs with circles against a search of all lines."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fukayomi.book.minmax.values import Graph, solve

DRAW = 0.4


def plainly(graph: Graph, draw: float, node: int = 0, path: tuple[int, ...] = ()) -> float:
    """The value of a position by its definition: all lines, each up to the first position that comes again."""
    if node in path:
        circle = path[path.index(node) :]
        quiet = {True: 0, False: 0}
        for mover, after in zip(circle, (*circle[1:], node), strict=True):
            quiet[graph.maximizes[mover]] += not graph.is_check[after]
        if bool(quiet[True]) == bool(quiet[False]):
            return draw
        return 1.0 if quiet[True] else 0.0  # the other side gave check all the time, and loses
    if not graph.children[node]:
        return graph.values[node]
    best = max if graph.maximizes[node] else min
    return best(plainly(graph, draw, child, (*path, node)) for child in graph.children[node])


def random_graph(seed: int, size: int, checks: float) -> Graph:
    """A graph in which the sides take turns: even numbers maximize."""
    rng, graph = random.Random(seed), Graph()
    for node in range(size):
        others = [other for other in range(size) if other % 2 != node % 2]
        graph.maximizes.append(node % 2 == 0)
        graph.is_check.append(rng.random() < checks)
        graph.children.append(rng.sample(others, min(len(others), rng.choice([0, 1, 1, 2, 2, 3]))))
        graph.values.append(rng.choice([0.1, 0.2, 0.4, 0.6, 0.9]))
    return graph


@given(st.integers(0, 2**32), st.integers(2, 9), st.sampled_from([0.0, 0.3, 0.7, 1.0]))
def test_values_are_those_of_all_lines(seed: int, size: int, checks: float) -> None:
    graph = random_graph(seed, size, checks)
    found = solve(graph, DRAW)
    for node in range(size):
        assert found.values[node] == pytest.approx(plainly(graph, DRAW, node)), node


@given(st.integers(0, 2**32), st.integers(2, 9), st.sampled_from([0.0, 0.3, 0.7]))
def test_whoever_goes_towards_the_value_gets_it(seed: int, size: int, checks: float) -> None:
    """A side that has more than a draw and always plays the named move forces it, against all answers."""
    graph = random_graph(seed, size, checks)
    found = solve(graph, DRAW)
    for maximizer in (True, False):
        sign = 1 if maximizer else -1
        bound = Graph(graph.maximizes, graph.is_check, [list(moves) for moves in graph.children], graph.values)
        for node, moves in enumerate(bound.children):
            if graph.maximizes[node] == maximizer and moves:
                best = max(moves, key=lambda child: sign * found.values[child])
                towards = found.towards[node]
                moves[:] = [best if towards is None else towards]
        for node in range(size):
            if sign * found.values[node] > sign * DRAW:
                assert sign * plainly(bound, DRAW, node) >= sign * found.values[node] - 1e-9, node


def test_long_lines_do_not_recurse() -> None:
    size = 5000
    graph = Graph(
        [node % 2 == 0 for node in range(size)], [False] * size,
        [*([node + 1] for node in range(size - 1)), []], [0.7] * size,
    )  # fmt: skip
    assert solve(graph, DRAW).values == [0.7] * size
    graph.children[-1] = [0]
    assert solve(graph, DRAW).values == [DRAW] * size


@pytest.mark.parametrize(("checks", "value"), [((), DRAW), ((1, 3), 0.0), ((0, 2), 1.0), ((0, 1, 2, 3), DRAW)])
def test_a_circle_is_a_draw_and_perpetual_check_loses(checks: tuple[int, ...], value: float) -> None:
    """Four positions that follow each other for ever; the mover of an even one maximizes."""
    graph = Graph([True, False, True, False], [n in checks for n in range(4)], [[1], [2], [3], [0]], [0.0] * 4)
    assert solve(graph, DRAW).values == [value] * 4
