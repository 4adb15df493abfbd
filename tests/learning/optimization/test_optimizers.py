"""Optimisers and schedules: Muon against its definition, learning rates and loss weights by step."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fukayomi.learning import TrainingSettings
from fukayomi.learning.optimization import MOMENTUM, Muon, Schedule, make_optimizer, orthogonalize
from fukayomi.nn import NetworkConfig
from fukayomi.nn.network import PolicyValueNetwork


@given(rows=st.integers(1, 12), columns=st.integers(1, 40), seed=st.integers(0, 1000))
def test_orthogonal_updates_keep_the_singular_vectors(rows: int, columns: int, seed: int):
    generator = torch.Generator().manual_seed(seed)
    matrices = torch.randn(2, rows, columns, generator=generator)
    found = orthogonalize(matrices)
    for matrix, update in zip(matrices, found, strict=True):
        u, sizes, v = torch.linalg.svd(matrix, full_matrices=False)
        turned = u.T @ update @ v.T
        large = sizes > 0.1 * sizes.max()  # five iterations do not lift what is tiny
        assert ((turned.diagonal()[large] > 0.6) & (turned.diagonal()[large] < 1.3)).all()
        off = turned - torch.diag(turned.diagonal())
        assert off.abs().max() < 1e-2


def test_muon_updates_have_the_size_of_adamw_updates():
    kernel = torch.nn.Parameter(torch.zeros(16, 8, 3, 3))
    bias = torch.nn.Parameter(torch.zeros(16))
    optimizer = Muon([{"params": [kernel], "muon": True}, {"params": [bias]}], lr=0.01)
    kernel.grad, bias.grad = torch.randn(16, 8, 3, 3), torch.randn(16)
    optimizer.step()
    assert kernel.square().mean().sqrt().item() == pytest.approx(0.2 * 0.01, rel=0.3)
    torch.testing.assert_close(bias.data, -0.01 * bias.grad.sign(), rtol=1e-3, atol=1e-6)
    matrix = (1 + MOMENTUM) * kernel.grad.flatten(1)
    expected = -0.01 * 0.2 * 72**0.5 * orthogonalize(matrix.unsqueeze(0))[0]
    torch.testing.assert_close(kernel.data.flatten(1), expected)


def test_adamw_beside_muon_is_that_of_torch():
    torch.manual_seed(3)
    mine, theirs = torch.nn.Parameter(torch.ones(5, 4)), torch.nn.Parameter(torch.ones(5, 4))
    ours = Muon([{"params": [mine], "weight_decay": 0.1}], lr=0.02)
    reference = torch.optim.AdamW([theirs], lr=0.02, weight_decay=0.1, betas=(0.9, 0.95))
    for _ in range(5):
        mine.grad = theirs.grad = torch.randn(5, 4)
        ours.step()
        reference.step()
    torch.testing.assert_close(mine, theirs)


def test_only_blocks_are_orthogonalised_and_only_matrices_decay():
    network = PolicyValueNetwork(NetworkConfig(blocks=2, channels=8, activation="relu", value_hidden=8))
    optimizer = make_optimizer(network, TrainingSettings(optimizer="muon", weight_decay=0.3))
    kinds = {id(p): (group["muon"], group["weight_decay"]) for group in optimizer.param_groups for p in group["params"]}
    for name, parameter in network.named_parameters():
        is_matrix = parameter.ndim > 1
        assert kinds.pop(id(parameter)) == (is_matrix and name.startswith("blocks."), 0.3 if is_matrix else 0.0), name
    assert not kinds


def test_the_learning_rate_halves_by_epochs():
    settings = TrainingSettings(lr=0.08, warmup=4, schedule="halving", halving_epochs=2)
    schedule = Schedule(settings, steps=80, steps_per_epoch=10)
    assert [schedule.learning_rate(step) for step in (0, 1, 3, 19)] == pytest.approx([0.02, 0.04, 0.08, 0.08])
    assert [schedule.learning_rate(step) for step in (20, 39, 40, 79)] == pytest.approx([0.04, 0.04, 0.02, 0.01])


def test_a_constant_rate_stays_after_the_warmup():
    schedule = Schedule(TrainingSettings(lr=0.5, warmup=2, schedule="constant"), steps=10, steps_per_epoch=3)
    assert [schedule.learning_rate(step) for step in (0, 1, 9)] == [0.25, 0.5, 0.5]


def test_val_lambda_falls_to_zero():
    settings = TrainingSettings(val_lambda=0.6, val_lambda_decay=3, entropy=0.01, critic=True)
    schedule = Schedule(settings, steps=100, steps_per_epoch=10)
    assert [schedule.loss_weights(step).val_lambda for step in (0, 10, 20, 30, 99)] == pytest.approx(
        [0.6, 0.4, 0.2, 0.0, 0.0]
    )
    assert (schedule.loss_weights(5).entropy, schedule.loss_weights(5).critic) == (0.01, True)
    assert Schedule(TrainingSettings(), 100, 10).loss_weights(99).val_lambda == 0.333
