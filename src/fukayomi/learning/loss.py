"""The loss: cross-entropy of the policy, of the value against a mix of result and search value, and of further heads.

Formulas are dlshogi's, so that losses and settings can be compared. A teacher's targets are mixed in as in Hinton et
al. 2015, arXiv:1503.02531.

A position's weight multiplies everything that it adds to a loss. Losses stay means over the number of positions, not
over the sum of the weights. So the expected gradient is that of visiting each position as often as its weight says, as
KataGo does, and the parts of a batch that several processes have can be averaged.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F  # noqa: N812 - the usual name
from torch import Tensor

from fukayomi._native import NO_POLICY_LABEL, POLICY_LABELS
from fukayomi.errors import InvalidValueError
from fukayomi.learning.settings import VAL_LAMBDA
from fukayomi.nn.config import HeadName


@dataclass(frozen=True)
class SoftPolicy:
    """The policy target of N positions whose moves share the weight; C moves in total."""

    places: Tensor
    """int32 [C], row * 2187 + label: where the logits of the moves are."""
    weights: Tensor
    """float32 [C]; the weights of a position add up to 1. A position without a move has none, and counts as 0."""

    def cross_entropy(self, policy: Tensor, factors: Tensor | None = None) -> Tensor:
        """The mean over all positions, in nats.

        Args:
            policy: Logits [N, 2187].
            factors: What each position's cross-entropy is multiplied by, [N]; None: 1.
        """
        log_p = torch.log_softmax(policy, dim=1).flatten().gather(0, self.places.long())
        weights = self.weights
        if factors is not None:
            weights = weights * factors[torch.div(self.places, POLICY_LABELS, rounding_mode="floor").long()]
        return -(weights * log_p).sum() / len(policy)

    def softened(self, temperature: float, positions: int) -> "SoftPolicy":
        """The same moves with weights^(1 / temperature); positions with a single move have the weight 0.

        Args:
            temperature: 1 changes nothing, more makes lesser moves count more.
            positions: N.
        """
        rows = torch.div(self.places, POLICY_LABELS, rounding_mode="floor").long()
        weights = self.weights ** (1 / temperature)
        sums = torch.zeros(positions, device=weights.device).index_add(0, rows, weights)
        moves = torch.zeros(positions, device=weights.device).index_add(0, rows, torch.ones_like(weights))
        return SoftPolicy(self.places, torch.where(moves[rows] > 1, weights / sums[rows], 0.0))


@dataclass(frozen=True)
class MoveLists:
    """The policy target of N positions over lists of their moves, M in all, for logits of those alone.

    The moves are those that the search tries: without needless non-promotions, which count for the promotion. The
    logits are [M], position by position.
    """

    offsets: Tensor
    """int64 [N + 1]: position n has the moves from offsets[n] to offsets[n + 1]."""
    rows: Tensor
    """int64 [M]: the position of each move."""
    places: Tensor
    """int64 [M]: row * 2187 + label of each move."""
    weights: Tensor
    """float32 [M]; the weights of a position add up to 1, or to 0 if it has no move to learn."""
    played: Tensor
    """int64 [N]: the move played, below M; -1: none."""

    def log_softmax(self, logits: Tensor) -> Tensor:
        """Of each position's moves, [M]."""
        count = len(self.played)
        with torch.no_grad():
            largest = torch.segment_reduce(logits.detach(), "max", offsets=self.offsets)
        shifted = logits - largest[self.rows]
        sums = logits.new_zeros(count).index_add(0, self.rows, shifted.exp())
        return shifted - sums.log()[self.rows]

    def sums(self, each: Tensor) -> Tensor:
        """Sums [N] over the moves, [M], of each position."""
        return each.new_zeros(len(self.played)).index_add(0, self.rows, each)

    def cross_entropies(self, logits: Tensor, weights: Tensor) -> Tensor:
        """Of each position, against weights [M]: [N], in nats."""
        return -self.sums(weights * self.log_softmax(logits))

    def entropies(self, logits: Tensor) -> Tensor:
        """Of each position, [N], in nats."""
        log_p = self.log_softmax(logits)
        return -self.sums(log_p.exp() * log_p)

    def of_labels(self, policy: Tensor) -> Tensor:
        """The shares [M] of the moves in probabilities of all labels, [N, 2187]."""
        found = policy.flatten()[self.places]
        return found / self.sums(found).clamp_min(1e-12)[self.rows]

    def is_best(self, logits: Tensor) -> Tensor:
        """1 if the move played is the first with the largest logit, otherwise 0: [N]."""
        largest = torch.segment_reduce(logits, "max", offsets=self.offsets)
        maxima = torch.nonzero(logits >= largest[self.rows]).squeeze(1)
        first = torch.full_like(self.played, len(logits))
        first = first.scatter_reduce(0, self.rows[maxima], maxima, "amin")
        return (first == self.played).float()


@dataclass(frozen=True)
class HeadTargets:
    """Targets of N positions for the heads that only training has, as `data.batch.HeadArrays` says."""

    draws: Tensor
    """float32 [N]."""
    replies: Tensor
    """int32 [N]; -1: none."""
    plies_left: Tensor
    """int32 [N]; 0: not known."""
    short_term: Tensor
    """float32 [N, 2]; NaN: not known."""


@dataclass(frozen=True)
class Targets:
    """Targets of N positions, from the view of the side to move."""

    labels: Tensor
    """int64 [N]: labels of the moves played; NO_POLICY_LABEL where there is none, and then `soft` is not None."""
    results: Tensor
    """float32 [N]: results of the games, 1, 0.5 or 0."""
    values: Tensor
    """float32 [N]: the search's win probability."""
    soft: SoftPolicy | None = None
    """The policy target; None if `labels` is all of it."""
    heads: HeadTargets | None = None
    """Targets of further heads; None if they were not asked for."""
    position_weights: Tensor | None = None
    """float32 [N], 0 or more: how much each position counts; None: all 1."""
    moves: MoveLists | None = None
    """The policy target, if the logits are those of moves, [M]; else they are [N, 2187]."""

    def policy_losses(self, policy: Tensor) -> Tensor:
        """The cross-entropy of each position, [N], in nats; 0 without a move to learn."""
        if self.moves is not None:
            return self.moves.cross_entropies(policy, self.moves.weights)
        log_p = torch.log_softmax(policy, dim=1)
        if self.soft is None:
            return F.nll_loss(log_p, self.labels, reduction="none")
        places = self.soft.places.long()
        terms = self.soft.weights * log_p.flatten()[places]
        return -torch.zeros_like(policy[:, 0]).index_add(0, places // POLICY_LABELS, terms)

    def is_best(self, policy: Tensor) -> Tensor:
        """1 if the most likely move is the one played, otherwise 0: [N]."""
        if self.moves is not None:
            return self.moves.is_best(policy)
        return (policy.argmax(dim=1) == self.labels).float()

    def entropies(self, policy: Tensor) -> Tensor:
        """Entropy of each position's policy, [N], in nats."""
        if self.moves is not None:
            return self.moves.entropies(policy)
        log_p = torch.log_softmax(policy, dim=1)
        return -(log_p.exp() * log_p).sum(dim=1)


@dataclass(frozen=True)
class TeacherTargets:
    """Evaluations of N positions by another network."""

    policy: Tensor
    """float32 [N, 2187]: probabilities, which add up to 1."""
    values: Tensor
    """float32 [N]: win probabilities."""
    weight: float
    """Share of the teacher in the loss, 0 to 1."""


@dataclass(frozen=True)
class LossWeights:
    """Weights of the parts of the loss."""

    val_lambda: float = VAL_LAMBDA
    """Share of the search value in the value target, 0 to 1; the rest is the game's result."""
    policy: float = 1.0
    """Weight of the policy losses."""
    value: float = 1.0
    """Weight of the value losses."""
    entropy: float = 0.0
    """Reward for each nat of the policy's entropy over all labels."""
    critic: bool = False
    """Multiply each position's policy loss by result - search value + 0.5, so that moves of games that went better
    than the search thought count more. The factor is negative in games lost by more than half a point."""


@dataclass(frozen=True)
class Losses:
    """Means over a batch, scalars in nats; the weights of positions count in all of them."""

    total: Tensor
    """That of policy and value, which training minimises."""
    policy: Tensor | None
    """Cross-entropy of the policy; None if the network was asked for the value alone."""
    result: Tensor
    """Binary cross-entropy of the value against the game's result."""
    search_value: Tensor
    """Binary cross-entropy of the value against the search's win probability."""
    teacher: Tensor | None = None
    """Cross-entropies of policy and value against the teacher's, added up; None without a teacher."""
    heads: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    """Those of further heads, without their weights."""

    def by_name(self) -> dict[str, Tensor]:
        """The losses there are."""
        own = {name: loss for name, loss in vars(self).items() if name != "heads" and loss is not None}
        return own | self.heads

    def with_values(self, values: Iterable[Tensor]) -> "Losses":
        """The same losses with other values, in the order of `by_name`."""
        named = dict(zip(self.by_name(), values, strict=True))
        heads = {name: named.pop(name) for name in self.heads}
        return Losses(**named, heads=heads)


def compute_losses(
    policy: Tensor | None,
    value: Tensor,
    targets: Targets,
    weights: LossWeights = LossWeights(),
    teacher: TeacherTargets | None = None,
) -> Losses:
    """dlshogi's loss: policy + value, with value = (1 - val_lambda) * result + val_lambda * search value, less
    entropy * H(policy). Both can have a weight, the value as in MuZero Reanalyze.

    The binary cross-entropy is linear in its target, so the weighted sum of the two value losses has the gradient of
    one loss against the mixed target (1 - val_lambda) * result + val_lambda * search value. So has the sum with a
    teacher: (1 - weight) * (policy + value) + weight * (the same against the teacher's policy and value).

    Args:
        policy: Logits [N, 2187], or those of moves, [M], as the targets have them; None: the value alone counts.
        value: Logits [N, 1].
        targets: Of the data.
        weights: Of the parts.
        teacher: Targets of another network.
    """
    logits, each = value.squeeze(1), targets.position_weights
    result_loss = F.binary_cross_entropy_with_logits(logits, targets.results, weight=each)
    value_loss = F.binary_cross_entropy_with_logits(logits, targets.values, weight=each)
    total = weights.value * torch.lerp(result_loss, value_loss, weights.val_lambda)
    policy_loss = None
    if policy is not None:
        policy_loss = minimised = _policy_loss(policy, targets)
        if weights.critic:
            minimised = _policy_loss(policy, targets, targets.results - targets.values + 0.5)
        total = total + weights.policy * minimised
    teacher_loss = None
    if teacher is not None:
        teacher_loss = weights.value * F.binary_cross_entropy_with_logits(logits, teacher.values, weight=each)
        if policy is not None:
            teacher_loss = teacher_loss + weights.policy * _teacher_loss(policy, teacher.policy, targets)
        total = torch.lerp(total, teacher_loss, teacher.weight)
    if weights.entropy and policy is not None:
        has_policy = (targets.labels != NO_POLICY_LABEL).to(policy.dtype)
        total = total - weights.entropy * weighted_mean(
            targets.entropies(policy), has_policy if each is None else each * has_policy
        )
    return Losses(total, policy_loss, result_loss, value_loss, teacher_loss)


def cross_entropy(logits: Tensor, target: Tensor, factors: Tensor | None) -> Tensor:
    """The mean cross-entropy, in nats.

    Args:
        logits: [N, K].
        target: Labels [N], or probabilities [N, K].
        factors: What each position's is multiplied by, [N]; None: 1.
    """
    if factors is None:
        return F.cross_entropy(logits, target)
    return (factors * F.cross_entropy(logits, target, reduction="none")).mean()


def weighted_mean(each: Tensor, factors: Tensor | None) -> Tensor:
    """The mean of [N] or [N, K], with the rows multiplied by factors [N]; None: 1."""
    if factors is None:
        return each.mean()
    return (each * factors.view(-1, *[1] * (each.dim() - 1))).mean()


def _teacher_loss(policy: Tensor, teacher: Tensor, targets: Targets) -> Tensor:
    """The cross-entropy of the policy against a teacher's, [N, 2187]."""
    if targets.moves is None:
        return cross_entropy(policy, teacher, targets.position_weights)
    each = targets.moves.cross_entropies(policy, targets.moves.of_labels(teacher))
    return weighted_mean(each, targets.position_weights)


def _policy_loss(policy: Tensor, targets: Targets, factors: Tensor | None = None) -> Tensor:
    if targets.position_weights is not None:
        factors = targets.position_weights if factors is None else targets.position_weights * factors
    if targets.moves is not None:
        return weighted_mean(targets.policy_losses(policy), factors)
    if targets.soft is not None:
        return targets.soft.cross_entropy(policy, factors)
    return cross_entropy(policy, targets.labels, factors)


SOFT_TEMPERATURE = 4.0
"""KataGo's, of the target of the head "soft-policy"."""
PLIES_UNIT = 20.0
"""Plies for which the head "plies-left" has a 1."""
PLIES_TOLERANCE = 10.0
"""Errors of more plies count linearly, smaller ones squared (Huber 1964)."""


def head_losses(outputs: Mapping[HeadName, Tensor], targets: Targets) -> dict[str, Tensor]:
    """The losses of heads, scalars, by names as settings and curves have them: "soft_policy".

    A loss is the sum over the positions that have its target, divided by all positions of the batch: a position without
    it counts as 0.

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
