"""The loss: policy cross-entropy plus value cross-entropy against a mix of game result and search value."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - the usual name
from torch import Tensor


@dataclass(frozen=True)
class Losses:
    """Means over a batch, scalars in nats."""

    total: Tensor
    """The loss that training minimises."""
    policy: Tensor
    """Cross-entropy of the policy."""
    result: Tensor
    """Binary cross-entropy of the value against the game's result."""
    search_value: Tensor
    """Binary cross-entropy of the value against the search's win probability."""


@dataclass(frozen=True)
class SoftPolicy:
    """The policy target of N positions whose moves share the weight; C moves in total."""

    places: Tensor
    """int32 [C], row * 2187 + label: where the logits of the moves are."""
    weights: Tensor
    """float32 [C]; the weights of a position add up to 1."""

    def cross_entropy(self, policy: Tensor) -> Tensor:
        """The mean over all positions, in nats; policy: logits [N, 2187]."""
        log_p = torch.log_softmax(policy, dim=1).flatten().gather(0, self.places.long())
        return -(self.weights * log_p).sum() / len(policy)


def compute_losses(
    policy: Tensor,
    value: Tensor,
    labels: Tensor,
    results: Tensor,
    values: Tensor,
    val_lambda: float,
    soft: SoftPolicy | None = None,
) -> Losses:
    """dlshogi's loss: policy + (1 - val_lambda) * result + val_lambda * search value.

    The binary cross-entropy is linear in its target, so the weighted sum of the two value losses has the gradient of
    one loss against the mixed target (1 - val_lambda) * result + val_lambda * search value.

    Args:
        policy: Logits [N, 2187].
        value: Logits [N, 1].
        labels: Labels of the moves played, int64 [N].
        results: 1, 0.5 or 0 for the side to move, float32 [N].
        values: The search's win probability, float32 [N].
        val_lambda: Share of the search value, 0 to 1.
        soft: The policy target; None: the labels.
    """
    policy_loss = F.cross_entropy(policy, labels) if soft is None else soft.cross_entropy(policy)
    logits = value.squeeze(1)
    result_loss = F.binary_cross_entropy_with_logits(logits, results)
    value_loss = F.binary_cross_entropy_with_logits(logits, values)
    total = policy_loss + torch.lerp(result_loss, value_loss, val_lambda)
    return Losses(total, policy_loss, result_loss, value_loss)
