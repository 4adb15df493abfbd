"""Settings of a training run, and its learning rate."""

import math
from dataclasses import dataclass
from typing import Literal

OptimizerName = Literal["sgd", "adamw"]
AmpMode = Literal["auto", "bf16", "off"]

VAL_LAMBDA = 0.333
TEMPERATURE = 1.0
EVAL_INTERVAL = 1000
CHECKPOINT_INTERVAL = 1000
TEST_POSITIONS = 10_000
LOG_INTERVAL = 50
RESAMPLES = 1000
CONFIDENCE = 0.95


class TrainingError(ValueError):
    """Training cannot start or go on: bad settings, a folder in use, too few positions, or a diverged loss."""

    __module__ = "fukayomi.learning"


@dataclass(frozen=True)
class TrainingSettings:
    """The settings that determine the weights, besides the data and the network's shape."""

    steps: int | None = None
    """Optimiser steps of the whole run, over which the learning rate falls to zero; None: as `epochs` says."""
    epochs: float | None = None
    """Passes over the training data, instead of `steps`; one if neither is given."""
    batch: int = 1024
    """Positions per step."""
    optimizer: OptimizerName = "sgd"
    """"sgd" with Nesterov momentum 0.9, or "adamw"."""
    lr: float = 0.04
    """Peak learning rate."""
    warmup: int = 500
    """Steps of linear warm-up."""
    weight_decay: float = 1e-4
    """Weight decay of matrices and convolutions; biases and BatchNorm have none."""
    clip: float = 10.0
    """Largest norm of the gradient; larger gradients are scaled down."""
    val_lambda: float = VAL_LAMBDA
    """Share of the evaluation in the value target, 0 to 1; the rest is the game's result."""
    seed: int = 0
    """Random seed for the initial weights and the data order."""
    amp: AmpMode = "auto"
    """Precision: "bf16", "off" (float32), or "auto": bfloat16 if the device has instructions for it."""

    def __post_init__(self) -> None:
        if self.steps is not None and self.epochs is not None:
            raise TrainingError("give steps or epochs, not both")
        for name in ("steps", "epochs", "batch", "lr", "clip"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise TrainingError(f"{name} must be positive, not {value}")
        if not 0 <= self.val_lambda <= 1:
            raise TrainingError(f"val_lambda must be between 0 and 1, not {self.val_lambda}")

    def total_steps(self, positions: int) -> int:
        """Steps of a run on this many training positions; the last partial batch of an epoch is left out."""
        if self.steps is not None:
            return self.steps
        epochs = 1.0 if self.epochs is None else self.epochs
        return max(1, round(epochs * (positions // self.batch)))

    def learning_rate(self, step: int, steps: int) -> float:
        """The rate of one of `steps` steps, from 0: a linear warm-up, then a cosine from the peak to zero."""
        warm = min(1.0, (step + 1) / max(1, self.warmup))
        return self.lr * warm * 0.5 * (1.0 + math.cos(math.pi * min(1.0, step / steps)))
