"""The losses of the heads that only training has (`fukayomi.nn.heads`).

A loss is the sum over the positions that have its target, divided by all positions of the batch: a position without it
counts as 0, and the parts of a batch that several processes have can be averaged. Weights of positions count as in
`loss.py`.
"""

from collections.abc import Callable, Collection, Mapping

import torch
import torch.nn.functional as F  # noqa: N812 - the usual name
from torch import Tensor

from fukayomi.errors import InvalidValueError
from fukayomi.learning.data.dataset import Dataset
from fukayomi.learning.loss import HeadTargets, Targets, cross_entropy, weighted_mean
from fukayomi.learning.settings import TrainingError
from fukayomi.nn.config import HeadName

SOFT_TEMPERATURE = 4.0
"""KataGo's, of the target of the head "soft-policy"."""
PLIES_UNIT = 20.0
"""Plies for which the head "plies-left" has a 1."""
PLIES_TOLERANCE = 10.0
"""Errors of more plies count linearly, smaller ones squared (Huber 1964)."""


def require_targets(heads: Collection[HeadName], data: Dataset) -> None:
    """Raise TrainingError if a head has nothing to learn from in any of the files."""
    for name in heads:
        if not has_targets(name, data):
            following = "the moves that follow a position: hcpe3 files of whole games, as fukayomi data convert makes"
            visits = "policies of several moves: hcpe3 or avg files with visits, and a temperature above 0"
            needed = visits if name == "soft-policy" else following
            raise TrainingError(f"the head {name} needs {needed}")


def has_targets(head: HeadName, data: Dataset) -> bool:
    """True if a head has something to learn from in one of the files."""
    if head == "soft-policy":
        return data.has_choices
    return head == "wdl" or data.has_following_moves


def head_losses(outputs: Mapping[HeadName, Tensor], targets: Targets) -> dict[str, Tensor]:
    """The losses of heads, scalars, by names as settings and curves have them: "soft_policy".

    Args:
        outputs: By name, as `PolicyValueNetwork.all_outputs` has them.
        targets: Of the data, with those of the heads.
    """
    return {name.replace("-", "_"): LOSSES[name](output, targets) for name, output in outputs.items()}


def _soft_policy(logits: Tensor, targets: Targets) -> Tensor:
    """Cross-entropy of the policy at a higher temperature, in nats, where there are several moves."""
    if targets.soft is None:
        return 0.0 * logits.sum()
    return targets.soft.softened(SOFT_TEMPERATURE, len(logits)).cross_entropy(logits, targets.position_weights)


def _reply(logits: Tensor, targets: Targets) -> Tensor:
    """Cross-entropy of the opponent's next move, in nats."""
    labels = _of(targets).replies.long()
    if (weights := targets.position_weights) is None:
        return F.cross_entropy(logits, labels, reduction="sum", ignore_index=-1) / len(logits)
    return weighted_mean(F.cross_entropy(logits, labels, reduction="none", ignore_index=-1), weights)


def _short_term_value(logits: Tensor, targets: Targets) -> Tensor:
    """Binary cross-entropy of the averages of the next search values, in nats, the mean over both."""
    averages = _of(targets).short_term
    is_known = averages.isfinite()
    each = F.binary_cross_entropy_with_logits(logits, torch.where(is_known, averages, 0.5), reduction="none")
    return weighted_mean(torch.where(is_known, each, 0.0), targets.position_weights)


def _wdl(logits: Tensor, targets: Targets) -> Tensor:
    """Cross-entropy of win, draw and loss, in nats."""
    draws = _of(targets).draws
    wins = targets.results - draws / 2
    return cross_entropy(logits, torch.stack([wins, draws, 1 - wins - draws], dim=1), targets.position_weights)


def _plies_left(output: Tensor, targets: Targets) -> Tensor:
    """Huber's loss of the plies to the end of the game, in squares of 20 plies."""
    plies = _of(targets).plies_left
    each = F.huber_loss(output.squeeze(1), plies / PLIES_UNIT, reduction="none", delta=PLIES_TOLERANCE / PLIES_UNIT)
    return weighted_mean(torch.where(plies > 0, each, 0.0), targets.position_weights)


def _of(targets: Targets) -> HeadTargets:
    if targets.heads is None:
        raise InvalidValueError("the batch has no targets of further heads: ask for them with arrays(..., heads=True)")
    return targets.heads


LOSSES: dict[HeadName, Callable[[Tensor, Targets], Tensor]] = {
    "soft-policy": _soft_policy,
    "short-term-value": _short_term_value,
    "wdl": _wdl,
    "plies-left": _plies_left,
    "reply": _reply,
}
