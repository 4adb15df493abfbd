"""Values shared between nodes of the same position: what is shared, what is not, and what it costs."""

from statistics import fmean

import pytest
from puct_model import Branch, Model, plain_parameters
from search_runner import MATSURI, Runner

from fukayomi._native import Move, Position, Repetition, SearchParams

GOLDS = "4kg3/9/9/9/9/9/9/9/3GK4 b - 1"
KINGS = "4k4/9/9/9/9/9/9/9/4K4 b - 1"
"""Most lines soon repeat a position."""


class SharingModel(Model):
    """A visit ends where another node of the position has more visits, with the mean of their values."""

    def __init__(self, position: Position, params: SearchParams) -> None:
        super().__init__(position, params)
        self.most_visited: dict[tuple[int, int], Branch] = {}
        self.bound: set[int] = set()
        """Branches whose values contain a repetition of a position before them."""
        self.shared = self.started = self.free = 0

    def key(self, position: Position) -> tuple[int, int]:
        return position.key, position.ply if self.params.draw_ply else 0

    def known(self, key: tuple[int, int]) -> Branch | None:
        """The branch that may give its value."""
        found = self.most_visited.get(key)
        return None if found is None or id(found) in self.bound else found

    def other(self, branch: Branch, key: tuple[int, int]) -> Branch | None:
        """Another branch of the position with more visits."""
        if id(branch) in self.bound:
            return None
        found = self.known(key)
        if found is None or len(found.values) < len(branch.values):
            self.most_visited[key] = branch
            return None
        return found if found is not branch and len(found.values) > len(branch.values) else None

    def candidates(self, branch: Branch) -> list[str]:
        """After three visits without a new leaf, not those of which the result is known."""
        return [move for move, part in branch.branches.items() if self.free < 3 or part.branches or not part.values]

    def visit(self) -> None:
        """One visit: down, evaluate or share, back up."""
        position, path, keys = self.position.copy(), [self.root], [self.position.key]
        other = None
        while path[-1].branches:
            if len(path) > 1 and self.free < 3 and (other := self.other(path[-1], self.key(position))):
                break
            move = self.choose(path[-1], is_root=len(path) == 1)
            position.push(Move.from_usi(move))
            path.append(path[-1].branches[move])
            keys.append(position.key)
        self.free = self.free + 1 if path[-1].values else 0
        if other is not None:
            value = 1.0 - fmean(other.values)
            self.shared += 1
        else:
            value, path[-1].branches = self.evaluate(position)
            if position.first_recurrence() != Repetition.NONE:
                first = max(i for i, key in enumerate(keys[:-1]) if key == keys[-1])
                self.bound.update(id(branch) for branch in path[first + 1 :])
            elif known := self.known(self.key(position)):
                value = 1.0 - fmean(known.values)
                self.started += 1
        for branch in reversed(path):
            value = 1.0 - value
            branch.values.append(value)


def sharing(params: SearchParams | None = None) -> SearchParams:
    params = params or SearchParams()
    params.transposition_values = True
    return params


@pytest.mark.parametrize("draw_ply", [0, 1000])
@pytest.mark.parametrize("sfen", [GOLDS, KINGS])
def test_the_search_shares_as_the_model_does(sfen: str, draw_ply: int) -> None:
    params = sharing(plain_parameters())
    params.draw_ply = draw_ply  # not reached; but it makes positions after other numbers of moves others
    runner = Runner(Position.from_sfen(sfen), params=params, capacity=1)
    runner.run(600)
    runner.search.check_invariants()
    model = SharingModel(Position.from_sfen(sfen), params)
    while len(model.root.values) < runner.search.root_visits:
        model.visit()
    assert {line.move.usi(): line.visits for line in runner.search.lines(600)} == {
        move: len(branch.values) for move, branch in model.root.branches.items()
    }
    assert min(model.shared, model.started) > 10, "values were shared"
    assert model.bound, "some were not, because of repetitions"
    assert runner.search.playouts > runner.search.nodes, "visits with shared values are no nodes"


def test_nothing_is_shared_by_default() -> None:
    plain = Runner(Position.from_sfen(KINGS), params=plain_parameters())
    plain.run(600)
    shared = Runner(Position.from_sfen(KINGS), params=sharing(plain_parameters()))
    shared.run(600)
    assert plain.search.tree_text() != shared.search.tree_text()
    assert plain.search.bytes_used < shared.search.bytes_used


def test_the_same_tree_each_time() -> None:
    """What the table of an earlier tree holds changes nothing."""
    runner, trees = Runner(params=sharing(), memory_mb=4, capacity=8), list[str]()
    for sfen in (KINGS, MATSURI, GOLDS, KINGS):
        runner.search.set_position(Position.from_sfen(sfen))
        runner.run(3000)
        trees.append(runner.search.tree_text())
    assert trees[0] == trees[-1]


@pytest.mark.parametrize("sfen", [KINGS, MATSURI])
def test_a_full_memory_and_moves(sfen: str) -> None:
    position = Position.from_sfen(sfen)
    runner, kept = Runner(params=sharing(), memory_mb=1, capacity=8), 0
    for _ in range(5):
        kept += runner.search.set_position(position)
        runner.run(10_000)
        runner.search.check_invariants()
        assert runner.search.bytes_live <= runner.search.bytes_used <= 1 << 20
        if runner.search.is_decided:
            break
        position.push(runner.search.lines(1)[0].move)
    assert kept > 0
