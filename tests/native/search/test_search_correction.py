"""The correction of values by what the search found out about like positions."""

from collections import defaultdict
from statistics import fmean

import pytest
from puct_model import OPEN, Branch, Model, plain_parameters
from search_runner import MATSURI, Runner

from fukayomi._native import EvalCache, Position, SearchParams

NODES = 200
EXPONENT = 0.8


def corrected(share: float) -> SearchParams:
    params = plain_parameters()
    params.value_correction = share
    return params


def neighbourhood(position: Position, move: str) -> tuple[str, ...]:
    """The pieces on the square that a move went to, and on those around it; "#" beyond the edge."""
    board: list[list[str]] = []
    for row in position.sfen().split()[0].split("/"):
        cells: list[str] = []
        promoted = ""
        for sign in row:
            if sign == "+":
                promoted = "+"
            elif sign.isdigit():
                cells += [""] * int(sign)
            else:
                cells.append(promoted + sign)
                promoted = ""
        board.append(cells)
    file, rank = int(move[2]), "abcdefghi".index(move[3])
    return tuple(
        board[r][9 - f] if 1 <= f <= 9 and 0 <= r <= 8 else "#"
        for f in range(file - 1, file + 2)
        for r in range(rank - 1, rank + 2)
    )


class CorrectedModel(Model):
    """The same tree, where errors are averaged by kind of position without a table."""

    def __init__(self, position: Position, params: SearchParams) -> None:
        super().__init__(position, params)
        self.said: dict[int, float] = {}
        self.kinds: dict[int, object] = {}
        self.errors: defaultdict[object, list[tuple[float, float]]] = defaultdict(list)

    def visit(self) -> None:
        position, path, moves = self.descend()
        value, path[-1].branches = self.evaluate(position)
        value = 1.0 - value
        if moves and path[-1].branches:
            kind = (tuple(moves[-2:]), len(moves) % 2, neighbourhood(position, moves[-1]))
            self.kinds[id(path[-1])], self.said[id(path[-1])] = kind, value
            if found := self.errors[kind]:
                mean = sum(weight * error for weight, error in found) / sum(weight for weight, _ in found)
                value = min(max(value + self.params.value_correction * mean, 0.001), 0.999)
        self.back_up(path, 1.0 - value)
        for branch in path:
            self.learn(branch)

    def learn(self, branch: Branch) -> None:
        visits = len(branch.values)
        if visits in (2, 4, 8, 16, 32, 64, 128, 256) and id(branch) in self.kinds:
            weight = visits**EXPONENT - ((visits / 2) ** EXPONENT if visits > 2 else 0.0)
            error = fmean(branch.values[1:]) - self.said[id(branch)]
            self.errors[self.kinds[id(branch)]].append((weight, error))


def searched(params: SearchParams, nodes: int = NODES, memory_mb: int = 64) -> Runner:
    runner = Runner(Position.from_sfen(OPEN), params=params, capacity=1, memory_mb=memory_mb)
    runner.run(nodes)
    runner.search.check_invariants()
    return runner


@pytest.mark.parametrize("share", [0.35, 1.5])
def test_new_positions_gain_by_the_errors_of_like_ones(share: float) -> None:
    runner = searched(corrected(share))
    CorrectedModel(Position.from_sfen(OPEN), corrected(share)).check(runner)
    assert runner.visits() != searched(plain_parameters()).visits()


def test_small_and_large_trees_find_the_same() -> None:
    assert searched(corrected(0.5), 3000, 4).visits() == searched(corrected(0.5), 3000, 256).visits()


def test_a_cache_holds_what_the_network_said() -> None:
    """What is found in it is corrected like what the network says: the second search asks the network nothing."""
    found: list[list[tuple[object, ...]]] = []
    cache = EvalCache(8)
    for use in (None, cache, cache):
        runner = Runner(Position.from_sfen(MATSURI), params=corrected(0.5), capacity=1)
        runner.batch = runner.search.new_batch(1, use)
        search = runner.search
        while (left := 2000 - search.nodes) > 0:
            if n := runner.slot.gather(search, runner.batch, 1, nodes=left):
                runner.slot.run(runner.evaluator, n)
                runner.slot.apply(search, runner.batch)
        found.append([(line.move, line.visits, line.winrate) for line in search.lines(600)])
    assert found[0] == found[1] == found[2]
    assert search.evaluations == 0


@pytest.mark.parametrize("memory_mb", [1, 64])
def test_the_tree_stays_whole(memory_mb: int) -> None:
    params = SearchParams()
    params.value_correction = 1.0
    runner = Runner(Position.from_sfen(MATSURI), params=params, memory_mb=memory_mb)
    assert sum(1 for _ in runner.play(Position.from_sfen(MATSURI), 4, 6000)) == 4
