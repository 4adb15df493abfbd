"""Lazy Adam is torch's Adam on rows that occur, and does nothing to the others."""

import numpy as np
import pytest
import torch

from fukayomi._native import lazy_adam
from fukayomi.learning import TrainingSettings
from fukayomi.learning.optimization.lazy_adam import BETAS, LazyAdam
from fukayomi.learning.optimization.optimizers import make_optimizer
from fukayomi.nn.sparse import SparseNetwork
from fukayomi.nn.sparse_config import SparseConfig


@pytest.mark.parametrize("shape", [(7,), (5, 33), (2, 3, 32)])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_rows_that_always_occur_move_as_torchs_do(shape: tuple[int, ...], decay: float) -> None:
    torch.manual_seed(1)
    start = torch.randn(shape)
    mine, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    ours = LazyAdam([mine], lr=0.02, weight_decay=decay)
    reference = torch.optim.AdamW([theirs], lr=0.02, betas=BETAS, weight_decay=decay)
    for _ in range(6):
        mine.grad = theirs.grad = torch.randn(shape)
        ours.step()
        reference.step()
    torch.testing.assert_close(mine, theirs)


def test_rows_without_a_gradient_stay_and_keep_their_memory() -> None:
    table = torch.nn.Parameter(torch.ones(3, 32))
    optimizer = LazyAdam([table], lr=0.1)
    first = torch.zeros(3, 32)
    first[1, 5] = 2.0
    table.grad = first
    optimizer.step()
    assert (table.data[[0, 2]] == 1).all()
    moved = table.data[1].clone()
    assert (moved[5] < 1, (moved[torch.arange(32) != 5] == 1).all()) == (True, True)
    memory = {name: value.clone() for name, value in optimizer.state[table].items() if name != "step"}
    for _ in range(20):
        table.grad = torch.zeros(3, 32)
        optimizer.step()
    torch.testing.assert_close(table.data[1], moved, rtol=0, atol=0)
    assert all((optimizer.state[table][name] == value).all() for name, value in memory.items())


def test_threads_change_nothing_and_a_run_goes_on_from_its_state() -> None:
    def run(threads: int, breaks: bool) -> torch.Tensor:
        torch.set_num_threads(threads)
        torch.manual_seed(2)
        table = torch.nn.Parameter(torch.randn(50, 32))
        optimizer = LazyAdam([table], lr=0.01)
        for step in range(8):
            table.grad = torch.randn(50, 32) * (torch.rand(50, 1) < 0.3)
            optimizer.step()
            if breaks and step == 3:
                state = optimizer.state_dict()
                optimizer = LazyAdam([table], lr=0.01)
                optimizer.load_state_dict(state)
        return table.data

    before = torch.get_num_threads()
    try:
        torch.testing.assert_close(run(1, breaks=False), run(3, breaks=True), rtol=0, atol=0)
    finally:
        torch.set_num_threads(before)


def test_sparse_networks_have_it() -> None:
    network = SparseNetwork(SparseConfig(policy=64, value=64, shared=32))
    optimizer = make_optimizer(network, TrainingSettings(optimizer="adamw", weight_decay=0.5))
    assert isinstance(optimizer, LazyAdam)
    assert {group["weight_decay"] for group in optimizer.param_groups} == {0.0, 0.5}


@pytest.mark.parametrize(
    ("wrong", "problem"), [("means", "differ in size"), ("gradients", "differ in size"), ("step", "step")]
)
def test_wrong_arrays_are_refused(wrong: str, problem: str) -> None:
    arrays = {name: np.zeros((2, 32), np.float32) for name in ("weights", "means", "squares", "gradients")}
    if wrong in arrays:
        arrays[wrong] = np.zeros((2, 31), np.float32)
    with pytest.raises(ValueError, match=problem):
        lazy_adam(**arrays, rate=0.1, betas=BETAS, step=int(wrong != "step"), epsilon=1e-8, threads=1)
