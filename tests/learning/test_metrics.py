"""Loss and metrics against numbers computed by hand."""

import math

import pytest
import torch

from fukayomi.learning.loss import LossWeights, Targets, compute_losses
from fukayomi.learning.metrics import MetricsSum

LABELS = 2187


def logits_with(**peaks: float) -> torch.Tensor:
    """One row of zero logits but for the given labels (l7=2.0: label 7 has the logit 2)."""
    row = torch.zeros(1, LABELS)
    for name, logit in peaks.items():
        row[0, int(name[1:])] = logit
    return row


def test_losses_of_two_positions():
    # Uniform: ln 2187. One label weighs as much as the 2186 others together: probability one half, ln 2.
    policy = torch.cat([logits_with(), logits_with(l5=math.log(2186))])
    value = torch.tensor([[0.0], [math.log(3)]])  # one half, three quarters
    labels = torch.tensor([0, 5])
    results = torch.tensor([1.0, 0.0])
    values = torch.tensor([0.25, 0.75])
    losses = compute_losses(policy, value, Targets(labels, results, values), LossWeights(0.25))
    policy_loss = (math.log(2187) + math.log(2)) / 2
    result_loss = (math.log(2) + math.log(4)) / 2
    search_value_loss = (math.log(2) - 0.75 * math.log(0.75) - 0.25 * math.log(0.25)) / 2
    assert losses.policy.item() == pytest.approx(policy_loss, rel=1e-6)
    assert losses.result.item() == pytest.approx(result_loss, rel=1e-6)
    assert losses.search_value.item() == pytest.approx(search_value_loss, rel=1e-6)
    assert losses.total.item() == pytest.approx(policy_loss + 0.75 * result_loss + 0.25 * search_value_loss, rel=1e-6)


def test_the_gradient_is_that_of_the_mixed_target():
    value = torch.tensor([[0.7]], requires_grad=True)
    targets = Targets(torch.tensor([0]), torch.tensor([1.0]), torch.tensor([0.4]))
    compute_losses(torch.zeros(1, LABELS), value, targets, LossWeights(0.3)).total.backward()
    assert value.grad is not None
    target = 0.7 * 1.0 + 0.3 * 0.4
    assert value.grad.item() == pytest.approx(torch.sigmoid(torch.tensor(0.7)).item() - target, rel=1e-5)


def test_metrics_weigh_positions_not_batches():
    total = MetricsSum(val_lambda=0.5)
    half = logits_with(l5=math.log(2186))
    # Two positions, move right and wrong; value right (won) and right (lost); then one: all wrong.
    results = torch.tensor([1.0, 0.0])
    total.add(torch.cat([half, half]), torch.tensor([[1.0], [-1.0]]), Targets(torch.tensor([5, 6]), results, results))
    total.add(
        logits_with(), torch.tensor([[-2.0]]), Targets(torch.tensor([9]), torch.tensor([0.5]), torch.tensor([0.5]))
    )
    metrics = total.metrics()
    assert metrics.positions == 3
    assert metrics.policy_accuracy == pytest.approx(1 / 3)
    assert metrics.value_accuracy == pytest.approx(2 / 3)  # a draw counts as won
    entropy_of_half = math.log(2) + 0.5 * math.log(2186)
    assert metrics.policy_entropy == pytest.approx((2 * entropy_of_half + math.log(2187)) / 3, rel=1e-5)
    assert metrics.policy_loss == pytest.approx((math.log(2) + math.log(2 * 2186) + math.log(2187)) / 3, rel=1e-5)
    softplus = math.log1p(math.exp(-1.0))
    draw = math.log1p(math.exp(-2.0)) + 1.0
    assert metrics.result_loss == pytest.approx((2 * softplus + draw) / 3, rel=1e-5)
    assert metrics.total_loss == pytest.approx(
        metrics.policy_loss + 0.5 * metrics.result_loss + 0.5 * metrics.search_value_loss
    )


def test_no_positions_no_metrics():
    with pytest.raises(ValueError, match="no positions"):
        MetricsSum(0.5).metrics()
