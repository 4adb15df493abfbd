"""Test-set metrics, defined as dlshogi's, so that numbers can be compared."""

# pyright: reportUnknownMemberType=false

from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from fukayomi.learning.loss import SoftPolicy, compute_losses


@dataclass(frozen=True)
class Metrics:
    """Means over all positions of a test set.

    Attributes:
        positions: How many positions.
        policy_loss: Cross-entropy of the move played (of hcpe3, of the candidates' shares), over all 2187 labels, nats.
        result_loss: Binary cross-entropy of the game's result, nats.
        search_value_loss: Binary cross-entropy of the search's win probability, nats.
        total_loss: policy + (1 - val_lambda) * result + val_lambda * search value.
        policy_accuracy: Share of positions whose most likely label is the move played; of hcpe3, the candidate with the
            most visits.
        value_accuracy: Share of positions where the value (at least one half: won) agrees with the result (a draw
            counts as won, as in dlshogi).
        policy_entropy: Of the policy over all 2187 labels, nats.
    """

    positions: int
    policy_loss: float
    result_loss: float
    search_value_loss: float
    total_loss: float
    policy_accuracy: float
    value_accuracy: float
    policy_entropy: float

    def as_dict(self) -> dict[str, float]:
        """The fields by name, for JSON."""
        return asdict(self)


class MetricsSum:
    """Sums over batches, in float64, so that the last, smaller batch weighs what it should."""

    def __init__(self, val_lambda: float) -> None:
        self._val_lambda = val_lambda
        self._positions = 0
        self._sums = torch.zeros(7, dtype=torch.float64)

    def add(
        self,
        policy: Tensor,
        value: Tensor,
        labels: Tensor,
        results: Tensor,
        values: Tensor,
        soft: SoftPolicy | None = None,
    ) -> None:
        """Add a batch; arguments as in `compute_losses`."""
        n = len(labels)
        losses = compute_losses(policy, value, labels, results, values, self._val_lambda, soft)
        log_p = torch.log_softmax(policy, dim=1)
        means = (
            losses.policy,
            losses.result,
            losses.search_value,
            losses.total,
            (policy.argmax(dim=1) == labels).float().mean(),
            ((value.squeeze(1) >= 0) == (results >= 0.5)).float().mean(),
            -(log_p.exp() * log_p).sum(dim=1).mean(),
        )
        self._sums += n * torch.stack(means).double().cpu()
        self._positions += n

    def metrics(self) -> Metrics:
        """The means so far; ValueError when nothing was added."""
        if not self._positions:
            raise ValueError("no positions were added")
        return Metrics(self._positions, *map(float, self._sums / self._positions))
