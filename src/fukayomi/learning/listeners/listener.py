"""Interface for the reports of a training run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fukayomi.listener import Listener

if TYPE_CHECKING:
    from torch import Tensor

    from fukayomi.learning.loss import Losses
    from fukayomi.learning.metrics import Metrics


@dataclass(frozen=True)
class RunStart:
    """Description of a run that is about to start."""

    step: int
    """Steps done before; 0 unless the run is resumed."""
    steps: int
    """Steps of the whole run."""
    batch: int
    """Positions per step."""
    out: Path
    """Folder of the run."""


@dataclass(frozen=True)
class TrainingStep:
    """One finished step. Reading a tensor waits for the device, so do not read it at every step."""

    step: int
    """Steps done, this one included."""
    losses: "Losses"
    """Means over the batch, before the update; those of further heads are without their weights."""
    learning_rate: float
    """Learning rate of the update."""
    gradient_norm: "Tensor"
    """Norm of the gradient before clipping, a scalar."""

    def as_dict(self) -> Mapping[str, float]:
        """Losses, learning rate and gradient norm as numbers, by name."""
        losses = {f"{name}_loss": loss.item() for name, loss in self.losses.by_name().items()}
        return {**losses, "learning_rate": self.learning_rate, "gradient_norm": self.gradient_norm.item()}


class TrainingListener(Listener):
    """Follows a training run. Every method does nothing: override those you need.

        >>> class Evaluations(TrainingListener):
        ...     def evaluated(self, step, metrics):
        ...         print(step, round(metrics.policy_accuracy, 3))

    Settings that a resumed run changes are reported by `note`.
    """

    def started(self, run: RunStart) -> None:
        """Called before the first step."""

    def step(self, step: TrainingStep) -> None:
        """Called after every step."""

    def evaluated(self, step: int, metrics: "Metrics") -> None:
        """Called after an evaluation on the test set."""

    def checkpoint(self, step: int, path: Path) -> None:
        """Called after a checkpoint was saved."""

    def ended(self) -> None:
        """Called once after `started`, when the run ends, is stopped, or fails."""


SILENT = TrainingListener()
"""Reports nothing; the default."""
