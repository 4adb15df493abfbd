"""Test-set metrics, the same for networks of all families, with bootstrap intervals.

The metrics are dlshogi's, but those of the policy are over the moves that the search tries in each position, not over
all 2187 labels: all legal moves but needless non-promotions, which count for the promotion. What a network gives to
other labels changes nothing in play, and a sparse one has no logits of them.

Positions of one game share its result and resemble each other, so the bootstrap does not draw single positions but
whole groups: games, or blocks of consecutive positions where the data does not tell games apart.

Sources: B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13 (percentile intervals);
H. R. Künsch, "The jackknife and the bootstrap for general stationary observations" (1989), for blocks.
"""

# pyright: reportUnknownMemberType=false

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from math import isfinite, isnan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import NO_POLICY_LABEL
from fukayomi.errors import InvalidValueError
from fukayomi.tabular import Tabular

if TYPE_CHECKING:
    from torch import Tensor

    from fukayomi.learning.loss import Targets

_CHUNK = 4_000_000  # elements of the largest array

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval."""

    value: float
    """Mean over all positions; NaN where none has the target."""
    low: float | None
    """Lower end of the interval; None where there are fewer than two groups."""
    high: float | None
    """Upper end of the interval."""

    @property
    def margin(self) -> float | None:
        """Half the width of the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def resample_means(sums: Floats, counts: Floats, *, resamples: int, seed: int) -> Floats:
    """Means of random samples of groups, drawn with replacement, each of as many groups as there are.

    Args:
        sums: Sums over the positions of each group, [G, M].
        counts: Positions of each group, [G].
        resamples: Number of samples R.
        seed: Random seed; the same seed and number of groups give the same samples.

    Returns:
        The means of each sample, [R, M]. All M columns are of the same samples, so their differences are paired.
    """
    random = np.random.default_rng(seed)
    groups = len(counts)
    means = np.empty((resamples, sums.shape[1]))
    chunk = max(1, _CHUNK // max(1, groups))
    for first in range(0, resamples, chunk):
        last = min(first + chunk, resamples)
        drawn = np.empty((last - first, groups))
        for row in drawn:
            row[:] = np.bincount(random.integers(groups, size=groups), minlength=groups)
        means[first:last] = (drawn @ sums) / (drawn @ counts)[:, None]
    return means


def percentile_estimates(values: Floats, means: Floats, confidence: float) -> list[Estimate]:
    """Values, [M], with intervals from the means of R samples, [R, M]; R = 0 gives no intervals, nor has NaN one."""
    if len(means) == 0:
        return [Estimate(value, None, None) for value in values.tolist()]
    tail = (1 - confidence) / 2
    lows, highs = np.quantile(means, [tail, 1 - tail], axis=0).tolist()
    found = zip(values.tolist(), lows, highs, strict=True)
    return [Estimate(value, *((None, None) if isnan(value) else ends)) for value, *ends in found]


@dataclass(frozen=True)
class Metrics(Tabular):
    """Means over all positions of a test set; losses in nats."""

    positions: int
    """Number of positions."""
    policy_loss: float
    """Cross-entropy of the policy target (the move played; in hcpe3 and avg, the visits) over the moves: the mean over
    the positions that have a move, NaN if none has."""
    result_loss: float
    """Binary cross-entropy of the game's result."""
    search_value_loss: float
    """Binary cross-entropy of the search's win probability."""
    total_loss: float
    """policy + (1 - val_lambda) * result + val_lambda * search value; policy is 0 in a position without a move."""
    policy_accuracy: float
    """Share of positions with a move in which it is the most likely; in hcpe3 and avg, the most visited move. NaN if
    none has a move."""
    value_accuracy: float
    """Share of positions whose value (0.5 or more: won) agrees with the result; draws count as won, as in dlshogi."""
    policy_entropy: float
    """Entropy of the policy over the moves."""
    heads: Mapping[str, float] = field(default_factory=dict[str, float])
    """Losses of the heads that only training has, as "reply_loss", where the test set has their targets."""

    def rows(self) -> list[dict[str, float]]:
        """One row."""
        return [self.as_dict()]

    def as_dict(self) -> dict[str, float]:
        """The fields by name, for JSON, with the losses of heads beside them."""
        values = asdict(self)
        return values | values.pop("heads")

    @property
    def is_finite(self) -> bool:
        """True if all are numbers, but for those of the policy on a test set without moves."""
        return all(isfinite(value) for name, value in self.as_dict().items() if name not in _OF_MOVES)


MEASURES = tuple(field.name for field in fields(Metrics) if field.name not in ("positions", "heads"))
"""The names of the metrics, in order."""
_OF_MOVES = ("policy_loss", "policy_accuracy")
"""Those that a test set without moves does not have."""


def position_metrics(policy: "Tensor", value: "Tensor", targets: "Targets", val_lambda: float) -> "Tensor":
    """The metrics of each position, [N, 7]: those of a set are their means, `of_positions_with_moves` of them.

    Args:
        policy: Logits [N, 2187], or those of moves, [M], as the targets have them.
        value: Logits [N, 1].
        targets: Of the positions.
        val_lambda: Share of the search value in the total loss, 0 to 1.
    """
    import torch
    import torch.nn.functional as F  # noqa: N812 - the usual name

    logits, policy = value.squeeze(1).float(), policy.float()
    policy_loss = targets.policy_losses(policy)
    result_loss = F.binary_cross_entropy_with_logits(logits, targets.results, reduction="none")
    value_loss = F.binary_cross_entropy_with_logits(logits, targets.values, reduction="none")
    columns = (
        policy_loss,
        result_loss,
        value_loss,
        policy_loss + torch.lerp(result_loss, value_loss, val_lambda),
        targets.is_best(policy),
        ((logits >= 0) == (targets.results >= 0.5)).float(),
        targets.entropies(policy),
    )
    return torch.stack(columns, dim=1)


def of_positions_with_moves(means: Floats, with_moves: int, positions: int) -> Floats:
    """Means [..., 7 * K] over all positions, where those of the policy's targets are over the positions with a move.

    They are NaN if no position has one.

    Args:
        means: Of `position_metrics`, of K networks.
        with_moves: Positions that have a move, which some rows of psv do not have.
        positions: All positions.
    """
    if with_moves == positions:
        return means
    factors = np.ones(len(MEASURES))
    factors[[MEASURES.index(name) for name in _OF_MOVES]] = positions / with_moves if with_moves else np.nan
    return means * np.tile(factors, means.shape[-1] // len(MEASURES))


class MetricsSum:
    """Sums over all positions, in float64."""

    def __init__(self, val_lambda: float) -> None:
        self._val_lambda = val_lambda
        self.positions = 0
        """Positions added so far."""
        self._with_moves = 0
        self._sums = np.zeros(len(MEASURES))
        self._heads: dict[str, float] = {}

    def add(self, policy: "Tensor", value: "Tensor", targets: "Targets") -> None:
        """Add a batch: logits of moves, [M], or [N, 2187], as the targets have them, and [N, 1]."""
        metrics = position_metrics(policy, value, targets, self._val_lambda).double().cpu().numpy()
        self.add_scores(metrics, int((targets.labels != NO_POLICY_LABEL).sum()))

    def add_scores(self, scores: Floats, with_moves: int) -> None:
        """Add the metrics of positions, [N, 7], of which so many have a move."""
        self._sums += scores.sum(axis=0)
        self.positions += len(scores)
        self._with_moves += with_moves

    def add_heads(self, losses: "Mapping[str, Tensor]", positions: int) -> None:
        """Add the mean losses of further heads over the positions of a batch, by name without "_loss"."""
        for name, loss in losses.items():
            self._heads[name] = self._heads.get(name, 0.0) + loss.item() * positions

    def metrics(self) -> Metrics:
        """The means so far; raises ValueError if nothing was added."""
        if not self.positions:
            raise InvalidValueError("no positions were added")
        heads = {f"{name}_loss": total / self.positions for name, total in self._heads.items()}
        means = of_positions_with_moves(self._sums / self.positions, self._with_moves, self.positions)
        return Metrics(self.positions, *means.tolist(), heads=heads)
