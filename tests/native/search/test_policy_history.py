"""Priors that follow what the search found out about moves."""

import math
from collections import defaultdict
from statistics import fmean

import numpy as np
import pytest
from puct_model import OPEN, Branch, Model, plain_parameters
from search_runner import MATSURI, Runner

from fukayomi._native import EvalCache, Position, SearchParams

NODES = 300
NEWEST = np.float32(0.03)


def with_history(weight: float, params: SearchParams | None = None) -> SearchParams:
    params = params or plain_parameters()
    params.policy_history = weight
    return params


def stored(prior: float) -> float:
    """As the tree keeps it: with six bits of mantissa, from 2^-16 on."""
    exponent = math.floor(math.log2(prior)) if prior > 0 else -17
    if exponent < -16:
        return 2.0**-16
    return round(prior / 2.0 ** (exponent - 6)) * 2.0 ** (exponent - 6)


def number(move: str) -> int:
    """Of moves with one prior, the one with the greatest number is tried first."""
    to = int(move[2]) * 9 + ord(move[3])
    start = 10**4 + "PLNSBRG".index(move[0]) if move[1] == "*" else int(move[0]) * 9 + ord(move[1])
    return (start * 10**4 + to) * 2 + (move[-1] == "+")


class HistoryModel(Model):
    """The same tree, with a mean gain for each side and move."""

    def __init__(self, position: Position, params: SearchParams) -> None:
        super().__init__(position, params)
        self.gains: defaultdict[tuple[int, str], np.float32] = defaultdict(lambda: np.float32(0))

    def visit(self) -> None:
        position, path, moves = self.descend()
        value, branches = self.evaluate(position)
        path[-1].branches = self.changed(len(moves) % 2, branches) if moves else branches
        self.back_up(path, value)
        for depth, move in enumerate(moves):
            mean = self.gains[depth % 2, move]
            gain = np.float32(path[depth + 1].values[-1] - (1.0 - fmean(path[depth].values)))
            self.gains[depth % 2, move] = mean + NEWEST * (gain - mean)

    def changed(self, side: int, branches: dict[str, Branch]) -> dict[str, Branch]:
        weights = {
            move: branch.prior * math.exp(self.params.policy_history * self.gains[side, move])
            for move, branch in branches.items()
        }
        priors = {move: stored(weight / sum(weights.values())) for move, weight in weights.items()}
        return {
            move: Branch(priors[move]) for move in sorted(priors, key=lambda m: (priors[m], number(m)), reverse=True)
        }


def searched(params: SearchParams, cache: EvalCache | None = None) -> Runner:
    runner = Runner(Position.from_sfen(OPEN), params=params, capacity=1)
    runner.batch = runner.search.new_batch(1, cache)
    while (left := NODES - runner.search.nodes) > 0:
        if n := runner.slot.gather(runner.search, runner.batch, 1, nodes=left):
            runner.slot.run(runner.evaluator, n)
            runner.slot.apply(runner.search, runner.batch)
    runner.search.check_invariants()
    return runner


@pytest.mark.parametrize("weight", [3.0, 30.0])
def test_priors_follow_what_moves_gained(weight: float) -> None:
    runner = searched(with_history(weight))
    HistoryModel(Position.from_sfen(OPEN), with_history(weight)).check(runner)
    assert runner.visits() != searched(plain_parameters()).visits()


def test_a_cache_holds_what_the_network_said() -> None:
    """What is found in it changes like what the network says: the third search asks the network nothing."""
    cache = EvalCache(8)
    runners = [searched(with_history(10.0), use) for use in (None, cache, cache)]
    assert runners[0].visits() == runners[1].visits() == runners[2].visits()
    assert runners[2].search.evaluations == 0


def test_a_tree_that_goes_on_knows_whose_moves_they_were() -> None:
    """A game goes on by one move: then the other side is to move at the root."""
    params = with_history(10.0, SearchParams())
    runner = Runner(Position.from_sfen(MATSURI), params=params, memory_mb=1)
    for _ in runner.play(Position.from_sfen(MATSURI), 4, 4000):
        assert math.fsum(line.prior for line in runner.search.lines(600)) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("weight", [-0.1, 100.1, math.nan])
def test_a_weight_out_of_range_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="policy_history"):
        Runner(params=with_history(weight))
