"""The parts of the loss: critic weighting, entropy, teacher, against formulas and numerical gradients."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fukayomi.learning.loss import LossWeights, SoftPolicy, Targets, TeacherTargets, compute_losses

LABELS = 2187
probability = st.floats(0.0, 1.0, width=32)


def random_batch(seed: int, rows: int = 3) -> tuple[Tensor, Tensor, Targets]:
    """Logits, and targets with two moves a position."""
    generator = torch.Generator().manual_seed(seed)
    policy = torch.randn(rows, LABELS, generator=generator)
    value = torch.randn(rows, 1, generator=generator)
    labels = torch.randint(0, LABELS - 1, (rows,), generator=generator)
    places = (torch.arange(rows) * LABELS + labels).repeat_interleave(2) + torch.tensor([0, 1] * rows)
    share = torch.rand(rows, generator=generator)
    soft = SoftPolicy(places.int(), torch.stack([share, 1 - share], dim=1).flatten())
    results, values = torch.rand(2, rows, generator=generator)
    return policy, value, Targets(labels, results, values, soft)


def dense(targets: Targets) -> Tensor:
    """The policy target of each row, [N, 2187]."""
    target = torch.zeros(len(targets.labels), LABELS)
    if targets.soft is None:
        return target.scatter(1, targets.labels.unsqueeze(1), 1.0)
    target.view(-1)[targets.soft.places.long()] = targets.soft.weights
    return target


@pytest.mark.parametrize("is_soft", [False, True])
def test_the_critic_weighs_each_position_by_how_much_better_the_game_went(is_soft: bool):
    policy, value, targets = random_batch(1)
    if not is_soft:
        targets = Targets(targets.labels, targets.results, targets.values)
    each = -(dense(targets) * torch.log_softmax(policy, dim=1)).sum(dim=1)
    factors = targets.results - targets.values + 0.5
    losses = compute_losses(policy, value, targets, LossWeights(0.0, critic=True))
    assert losses.policy.item() == pytest.approx(each.mean().item(), rel=1e-5), "reported as it is"
    assert (losses.total - losses.result).item() == pytest.approx((factors * each).mean().item(), rel=1e-5)


def test_the_value_has_a_weight_beside_the_policy():
    policy, value, targets = random_batch(4)
    plain = compute_losses(policy, value, targets, LossWeights(0.3))
    light = compute_losses(policy, value, targets, LossWeights(0.3, value=0.25))
    assert (light.policy, light.result, light.search_value) == (plain.policy, plain.result, plain.search_value)
    assert (light.total - light.policy).item() == pytest.approx(0.25 * (plain.total - plain.policy).item(), rel=1e-4)
    teacher = TeacherTargets(torch.softmax(policy.flip(1), dim=1), targets.values, 1.0)
    both = [compute_losses(policy, value, targets, LossWeights(value=weight), teacher).total for weight in (0, 0.5, 1)]
    assert (both[1] - both[0]).item() == pytest.approx((both[2] - both[1]).item(), rel=1e-4)


def test_the_entropy_is_rewarded():
    policy, value, targets = random_batch(2)
    plain = compute_losses(policy, value, targets, LossWeights(0.3))
    rewarded = compute_losses(policy, value, targets, LossWeights(0.3, entropy=0.1))
    assert (plain.total - rewarded.total).item() == pytest.approx(
        0.1 * targets.entropies(policy).mean().item(), rel=1e-4
    )
    assert targets.entropies(torch.zeros(2, LABELS)).mean().item() == pytest.approx(math.log(LABELS))


@given(weight=probability, val_lambda=probability, seed=st.integers(0, 1000))
def test_a_teacher_has_the_gradient_of_one_mixed_target(weight: float, val_lambda: float, seed: int):
    policy, value, targets = random_batch(seed)
    teacher = TeacherTargets(torch.softmax(torch.randn(3, LABELS), dim=1), torch.rand(3), weight)
    policy.requires_grad_()
    value.requires_grad_()
    losses = compute_losses(policy, value, targets, LossWeights(val_lambda), teacher)
    losses.total.backward()
    target = (1 - weight) * dense(targets) + weight * teacher.policy
    expected = torch.softmax(policy.detach(), dim=1) - target
    torch.testing.assert_close(policy.grad, expected / 3, atol=1e-6, rtol=1e-4)
    mixed = torch.lerp(torch.lerp(targets.results, targets.values, val_lambda), teacher.values, weight)
    torch.testing.assert_close(value.grad, (torch.sigmoid(value.detach()) - mixed.unsqueeze(1)) / 3)
    assert losses.teacher is not None


def test_without_a_teacher_there_is_no_such_loss():
    losses = compute_losses(*random_batch(4))
    assert list(losses.by_name()) == ["total", "policy", "result", "search_value"]
