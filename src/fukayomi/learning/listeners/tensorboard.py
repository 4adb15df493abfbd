"""Training curves for TensorBoard."""

# pyright: reportUnknownMemberType=false

import math
from typing import TYPE_CHECKING

from fukayomi.errors import InvalidValueError
from fukayomi.learning.listeners.listener import RunStart, TrainingListener, TrainingStep
from fukayomi.learning.settings import LOG_INTERVAL

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

    from fukayomi.learning.metrics import Metrics

FILE_PREFIX = "events.out.tfevents"
"""Prefix of the names of TensorBoard's files."""


class TensorBoardListener(TrainingListener):
    """Writes losses, learning rate, gradient norm and test metrics into the folder of the run.

    Show them with ``tensorboard --logdir FOLDER``.
    """

    def __init__(self) -> None:
        self._writer: SummaryWriter | None = None
        self._steps = 0

    def started(self, run: RunStart) -> None:
        """Open a file; what a run before it wrote after the step is hidden."""
        from torch.utils.tensorboard import SummaryWriter

        self._steps = run.steps
        try:
            self._writer = SummaryWriter(str(run.out), purge_step=run.step)
        except UnicodeEncodeError as error:
            raise InvalidValueError(
                f"{run.out}: the name is not UTF-8, and TensorBoard cannot write there: rename it"
            ) from error

    def step(self, step: TrainingStep) -> None:
        """Write a point of the training curves now and then."""
        if self._writer and (step.step % LOG_INTERVAL == 0 or step.step == self._steps):
            for name, value in step.as_dict().items():
                self._writer.add_scalar(f"train/{name}", value, step.step)

    def evaluated(self, step: int, metrics: "Metrics") -> None:
        """Write a point of the test curves."""
        if self._writer:
            for name, value in metrics.as_dict().items():
                if name != "positions" and not math.isnan(value):
                    self._writer.add_scalar(f"test/{name}", value, step)
            self._writer.flush()

    def ended(self) -> None:
        """Close the file."""
        if self._writer:
            self._writer.close()
