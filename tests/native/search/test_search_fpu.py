"""First-play urgency: the value of a move without visits, beside a model of the formulas in Python."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from search_runner import MATSURI, Runner

from fukayomi._native import Fpu, Move, Position, Repetition, SearchParams

NODES = 400
OPEN = "1nsgkgsn1/9/9/9/9/9/9/9/1NSGKGSN1 b - 1"
"""Pieces of which the search tries every move, promotion or not."""


@dataclass
class Branch:
    """A move of the model's tree and the position after it."""

    prior: float
    visits: int = 0
    total: float = 0.0
    """Of the values for the side that moves here."""
    branches: dict[str, "Branch"] = field(default_factory=dict[str, "Branch"])


class Model:
    """PUCT as the papers write it: every move of a position has a branch from the start, and nothing is kept apart."""

    def __init__(self, position: Position, params: SearchParams) -> None:
        self.position = position
        self.params = params
        self.runner = Runner(params=params)  # evaluates one position
        self.root = Branch(1.0)

    def evaluate(self, position: Position) -> tuple[float, dict[str, Branch]]:
        """The value for the side to move, and the branches."""
        if position.first_recurrence() != Repetition.NONE:
            assert position.first_recurrence() == Repetition.DRAW, "no other proof occurs in this test"
            return 0.5, {}
        self.runner.search.set_position(position, nodes=1)
        assert self.runner.step(1) == 1, "the positions of this test are open"
        lines = self.runner.search.lines(600)
        return float(self.runner.slot.values[0]), {line.move.usi(): Branch(line.prior) for line in lines}

    def choose(self, branch: Branch, *, is_root: bool) -> str:
        """The move that the next visit takes."""
        params = self.params
        c_init = params.c_init_root if is_root else params.c_init
        c_base = params.c_base_root if is_root else params.c_base
        reduction = params.fpu_reduction_root if is_root else params.fpu_reduction
        parts = branch.branches.values()
        visits = sum(part.visits for part in parts)
        mean = 1.0 - branch.total / branch.visits
        mass = sum(part.prior * (part.visits if params.fpu_visit_mass else 1) for part in parts if part.visits)
        unvisited = {
            Fpu.PARENT: max(0.0, mean - reduction * math.sqrt(mass)), Fpu.HALF: 0.5, Fpu.LOSS: 0.0, Fpu.WIN: 1.0,
        }[params.fpu_root if is_root else params.fpu]  # fmt: skip
        scale = (math.log((visits + c_base + 1) / c_base) + c_init) * math.sqrt(max(visits, 1))

        def score(move: str) -> float:
            part = branch.branches[move]
            q = part.total / part.visits if part.visits else unvisited
            return q + scale * part.prior / (1 + part.visits)

        return max(branch.branches, key=score)

    def visit(self) -> None:
        """One visit: down, evaluate, back up."""
        position, path = self.position.copy(), [self.root]
        while path[-1].branches:
            move = self.choose(path[-1], is_root=len(path) == 1)
            position.push(Move.from_usi(move))
            path.append(path[-1].branches[move])
        value, path[-1].branches = self.evaluate(position)
        for branch in reversed(path):
            branch.visits += 1
            branch.total += 1.0 - value  # for the side that moved here
            value = 1.0 - value


def parameters(fpu: Fpu, fpu_root: Fpu, *, visit_mass: bool = False, reduction: float = 0.27) -> SearchParams:
    params = SearchParams()
    params.fpu, params.fpu_root, params.fpu_visit_mass, params.fpu_reduction = fpu, fpu_root, visit_mass, reduction
    params.mate_in_one = False
    return params


def visits(params: SearchParams, nodes: int = NODES) -> dict[str, int]:
    runner = Runner(Position.from_sfen(OPEN), params=params, capacity=1)
    runner.run(nodes)
    runner.search.check_invariants()
    return {line.move.usi(): line.visits for line in runner.search.lines(600)}


@pytest.mark.parametrize(
    "params",
    [
        parameters(Fpu.PARENT, Fpu.PARENT),
        parameters(Fpu.PARENT, Fpu.PARENT, visit_mass=True),
        parameters(Fpu.PARENT, Fpu.PARENT, visit_mass=True, reduction=0.05),
        parameters(Fpu.LOSS, Fpu.WIN),
        parameters(Fpu.HALF, Fpu.PARENT),
        parameters(Fpu.WIN, Fpu.LOSS),
    ],
    ids=["parent", "dlshogi", "dlshogi, small reduction", "loss inside, win at the root", "half", "win inside"],
)
def test_visits_are_those_of_the_formula(params: SearchParams) -> None:
    found = visits(params)
    model = Model(Position.from_sfen(OPEN), params)
    while model.root.visits <= sum(found.values()):  # visits that end in a repetition evaluate nothing
        model.visit()
    assert found == {move: branch.visits for move, branch in model.root.branches.items()}


def test_a_win_tries_every_root_move_and_a_loss_few() -> None:
    tried = dict.fromkeys((Fpu.WIN, Fpu.LOSS), 0)
    for root in tried:
        tried[root] = sum(1 for n in visits(parameters(Fpu.PARENT, root), 100).values() if n)
    assert tried[Fpu.WIN] == len(Position.from_sfen(OPEN).legal_moves)
    assert tried[Fpu.LOSS] < 15


@pytest.mark.parametrize("fpu", list(Fpu))
def test_batches_and_noise_get_on_with_every_choice(fpu: Fpu) -> None:
    params = parameters(fpu, fpu, visit_mass=True)
    params.root_noise_epsilon = 0.25
    runner = Runner(Position.from_sfen(MATSURI), params=params, capacity=32)
    runner.run(2000)
    runner.search.check_invariants()
    assert runner.search.nodes == 2000
    assert np.sum([line.visits for line in runner.search.lines(600)]) == runner.search.root_visits - 1
