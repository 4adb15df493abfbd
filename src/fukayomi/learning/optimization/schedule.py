"""Values that depend on the step: the learning rate and the weights of the losses."""

import math
from dataclasses import dataclass

from fukayomi.learning.loss import LossWeights
from fukayomi.learning.settings import TrainingSettings


@dataclass(frozen=True)
class Schedule:
    """Learning rates and loss weights as functions of the step, so that they need no state in a checkpoint.

    >>> schedule = Schedule(TrainingSettings(lr=0.1, warmup=10, schedule="halving"), steps=300, steps_per_epoch=100)
    >>> [round(schedule.learning_rate(step), 4) for step in (0, 9, 99, 100, 299)]
    [0.01, 0.1, 0.1, 0.05, 0.025]
    """

    settings: TrainingSettings
    """Settings of the run."""
    steps: int
    """Steps of the whole run."""
    steps_per_epoch: int
    """Steps of one pass over the data."""

    def learning_rate(self, step: int) -> float:
        """The rate of a step, from 0: a linear warm-up times the schedule."""
        warm = min(1.0, (step + 1) / max(1, self.settings.warmup))
        return self.settings.lr * warm * self._after_warmup(step)

    def _after_warmup(self, step: int) -> float:
        """The share of the peak, 0 to 1."""
        if self.settings.schedule == "cosine":
            return 0.5 * (1.0 + math.cos(math.pi * min(1.0, step / self.steps)))
        if self.settings.schedule == "halving":
            return 0.5 ** math.floor(self._epoch(step) / self.settings.halving_epochs)
        return 1.0

    def loss_weights(self, step: int) -> LossWeights:
        """The weights of the losses at a step."""
        val_lambda = self.settings.val_lambda
        if self.settings.val_lambda_decay:
            val_lambda *= max(0.0, 1.0 - self._epoch(step) / self.settings.val_lambda_decay)
        settings = self.settings
        return LossWeights(val_lambda, settings.value_weight, settings.entropy, settings.critic)

    def _epoch(self, step: int) -> float:
        return step / max(1, self.steps_per_epoch)
