"""First-play urgency: the value of a move without visits, beside a model of the formulas in Python."""

import numpy as np
import pytest
from puct_model import OPEN, Model, plain_parameters
from search_runner import MATSURI, Runner

from fukayomi._native import Fpu, Position, SearchParams

NODES = 400


def parameters(fpu: Fpu, fpu_root: Fpu, *, visit_mass: bool = False, reduction: float = 0.27) -> SearchParams:
    params = plain_parameters()
    params.fpu, params.fpu_root, params.fpu_visit_mass, params.fpu_reduction = fpu, fpu_root, visit_mass, reduction
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
    while len(model.root.values) <= sum(found.values()):  # visits that end in a repetition evaluate nothing
        model.visit()
    assert found == {move: len(branch.values) for move, branch in model.root.branches.items()}


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
