"""cPUCT by the spread of values and its exponent, the choice by lower bounds, and the root's temperature."""

import math
from statistics import fmean, pvariance

import pytest
from puct_model import OPEN, Branch, Model, plain_parameters
from search_runner import MATSURI, Runner

from fukayomi._native import Position, SearchParams

NODES = 400


def spread(branch: Branch, expected: float) -> float:
    """The standard deviation with two expected values mixed in."""
    n = len(branch.values)
    return math.sqrt((2 * expected**2 + n * pvariance(branch.values)) / (n + 1))


def searched(params: SearchParams, nodes: int = NODES, sfen: str = OPEN) -> Runner:
    runner = Runner(Position.from_sfen(sfen), params=params, capacity=1)
    runner.run(nodes)
    runner.search.check_invariants()
    return runner


@pytest.mark.parametrize(("variance", "stdev", "exponent"), [(0.85, 0.2, 0.5), (1.0, 0.05, 0.5), (0.0, 0.1, 0.65)])
def test_exploration_follows_the_spread_and_the_exponent(variance: float, stdev: float, exponent: float) -> None:
    params = plain_parameters()
    params.c_variance, params.c_stdev, params.c_exponent = variance, stdev, exponent
    runner = searched(params)
    Model(Position.from_sfen(OPEN), params).check(runner)
    assert runner.visits() != searched(plain_parameters()).visits()


def test_a_flat_exponent_and_no_variance_change_nothing() -> None:
    params = plain_parameters()
    params.c_stdev, params.lcb_visits = 0.4, 0.9
    assert searched(params).visits() == searched(plain_parameters()).visits()


@pytest.mark.parametrize(("stdevs", "share"), [(1.0, 0.0), (3.0, 0.15), (30.0, 0.5)])
def test_the_move_with_the_highest_lower_bound_is_chosen(stdevs: float, share: float) -> None:
    params = plain_parameters()
    params.lcb_stdevs, params.lcb_visits = stdevs, share
    runner = searched(params)
    lines = [line for line in runner.search.lines(600) if line.visits]
    assert runner.visits() == searched(plain_parameters()).visits(), "the search itself is the same"
    model = Model(Position.from_sfen(OPEN), params)
    model.check(runner)
    most = max(line.visits for line in lines)

    def bound(move: str) -> float:
        branch = model.root.branches[move]
        return fmean(branch.values) - stdevs * spread(branch, params.c_stdev) / math.sqrt(len(branch.values))

    expected = sorted(
        (line.move.usi() for line in lines if line.visits >= share * most), key=lambda move: -bound(move)
    )  # fmt: skip
    assert [line.move.usi() for line in lines[: len(expected)]] == expected
    behind = [line.visits for line in lines[len(expected) :]]
    assert behind == sorted(behind, reverse=True)


def test_proofs_come_before_bounds() -> None:
    for stdevs in (0.0, 5.0):
        params = SearchParams()
        params.lcb_stdevs = stdevs
        runner = Runner(Position.from_sfen("4k4/9/4P4/9/9/9/9/9/4K4 b G 1"), params=params)
        runner.run(200)
        assert runner.search.lines(1)[0].mate == 1
        runner = Runner(Position.from_sfen(MATSURI), params=params, capacity=16)
        runner.run(3000)
        lost = [line.winrate <= 0 and line.visits > 0 for line in runner.search.lines(600) if line.visits]
        assert lost == sorted(lost)


def test_the_variance_stays_right_when_the_tree_is_kept() -> None:
    params = SearchParams()
    params.lcb_stdevs, params.c_variance = 2.0, 0.85
    runner = Runner(Position(), params=params)
    position = Position()
    for _ in range(6):
        runner.run(1000)
        position.push(runner.search.lines(1)[0].move)
        assert runner.search.set_position(position)
        runner.search.check_invariants()


def test_the_root_has_a_temperature_of_its_own() -> None:
    def first_visits(inside: float, root: float) -> dict[str, int]:
        params = SearchParams()
        params.softmax_temperature, params.softmax_temperature_root = inside, root
        runner = Runner(Position(), params=params, capacity=1)
        runner.run(2)  # one root move, the one with the greatest prior
        runner.run(150)
        return runner.visits()

    def most(found: dict[str, int]) -> int:
        return max(found.values())

    assert first_visits(1.74, 0.0) == first_visits(1.74, 1.74)
    assert most(first_visits(1.74, 0.5)) > most(first_visits(1.74, 1.74)) > most(first_visits(1.74, 10.0))
    # What counts at the root is its own temperature, up to the rounding of priors; below it differs.
    a, b = first_visits(1.74, 1.2), first_visits(1.2, 1.2)
    assert sum(abs(a[move] - b[move]) for move in a) < 60
    assert a != b


def test_the_temperature_changes_with_the_depth() -> None:
    def shares(deep: float) -> tuple[list[float], list[float]]:
        """The priors of the root's moves, and of the moves after the best of them."""
        params = SearchParams()
        params.softmax_temperature_deep = deep
        runner = Runner(Position(), params=params)
        runner.run(300)
        at_root = {line.move: line.prior for line in runner.search.lines(len(Position().legal_moves))}
        best = max(at_root, key=at_root.__getitem__)
        position = Position()
        position.push(best)
        assert runner.search.set_position(position), "the tree is kept"
        below = runner.search.lines(len(position.legal_moves))
        return sorted(at_root.values()), sorted(line.prior for line in below)

    root, below = shares(0.0)
    for deep in (0.6, 8.0):
        same_root, changed = shares(deep)
        assert same_root == root
        # One ply down the temperature has gone 1 - 2^(-1/4) of the way.
        temperature = deep + (1.74 - deep) * 2 ** (-1 / 4)
        weights = [prior ** (1.74 / temperature) for prior in below]
        assert changed == pytest.approx([weight / sum(weights) for weight in weights], rel=0.02, abs=1e-3)
