"""Watching the loss of a run, so that it stops before good weights are lost."""

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from fukayomi.learning.settings import TrainingError

SMOOTHING = 0.9
"""The smoothed loss is this share of itself plus the rest of the new loss."""
FIRST_STEPS = 10
"""Losses that must be known before a rise is judged."""


class DivergenceError(TrainingError):
    """Training diverged: a loss or a weight is not finite, or the loss rose."""

    __module__ = "fukayomi.learning"

    def __init__(self, message: str, calm: int) -> None:
        super().__init__(message)
        self.calm = calm
        """The last step whose loss was near the lowest; weights from before it are good."""


class LossGuard:
    """Raises DivergenceError when the loss is not finite, or rises.

    A loss is read when the next one arrives, so the device does not wait: the guard is one step late, until `settle`.

    Args:
        max_rise: How many nats the smoothed loss may be above the lowest so far; 0: any number.
        step: Steps done before.
        state: What was known of their losses, as `state` gives it; empty: nothing.
    """

    def __init__(self, max_rise: float, step: int = 0, state: Mapping[str, float] = MappingProxyType({})) -> None:
        self._max_rise = max_rise
        self._unread: tuple[int, Tensor] | None = None
        self._sum, self._lowest = state.get("sum", 0.0), state.get("lowest", float("inf"))
        self._count = int(state.get("count", 0))
        self._calm = step + 1  # the weights of a checkpoint were judged when it was saved

    def state(self) -> dict[str, float]:
        """State for the checkpoint of a run that goes on: what is known of the losses so far."""
        return {"sum": self._sum, "count": self._count, "lowest": self._lowest}

    def watch(self, step: int, loss: Tensor) -> None:
        """Take the loss that was computed before the update of a step, and judge the one before it.

        Raises:
            DivergenceError: Training diverged.
        """
        self.settle()
        self._unread = step, loss.detach()

    def settle(self) -> None:
        """Judge the last loss.

        Raises:
            DivergenceError: Training diverged.
        """
        if self._unread is None:
            return
        (step, tensor), self._unread = self._unread, None
        loss = tensor.item()
        if not loss - loss == 0.0:
            raise DivergenceError(f"the loss of step {step:,} is {loss}", self._calm)
        self._sum = SMOOTHING * self._sum + (1 - SMOOTHING) * loss
        self._count += 1
        smoothed = self._sum / (1 - SMOOTHING**self._count)
        if self._max_rise and self._count >= FIRST_STEPS:
            self._lowest = min(self._lowest, smoothed)
            if smoothed > self._lowest + self._max_rise:
                found = f"the loss rose from {self._lowest:.3f} to {smoothed:.3f} (means of about 10 steps)"
                raise DivergenceError(f"{found} by step {step:,}", self._calm)
        if not self._max_rise or self._count < FIRST_STEPS or smoothed <= self._lowest + self._max_rise / 4:
            self._calm = step

    def check_weights(self, step: int, state: dict[str, Tensor]) -> None:
        """Judge the last loss and the weights after it, before they are saved.

        Raises:
            DivergenceError: Training diverged.
        """
        self.settle()
        if not torch.stack([tensor.isfinite().all() for tensor in state.values()]).all():
            raise DivergenceError(f"a weight is not finite after step {step:,}", self._calm)
