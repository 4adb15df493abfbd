"""The folder of a run, with its checkpoint and the one before it, and a guard that watches the loss."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import torch
from torch import Tensor

from fukayomi import __version__
from fukayomi.files.atomic import copy_or_link, replace_file
from fukayomi.files.disk import raise_if_full
from fukayomi.files.lock import FolderLock, LockedError
from fukayomi.learning.checkpoint import Checkpoint, CheckpointError, load_checkpoint, save_checkpoint
from fukayomi.learning.listeners import FILE_PREFIX, LOG_NAME, TIMES_NAME
from fukayomi.learning.settings import TrainingError
from fukayomi.learning.training.configuration import RunConfiguration

CHECKPOINT_NAME = "checkpoint.pt"
PREVIOUS_NAME = "checkpoint-before.pt"
CONFIG_NAME = "config.toml"
LOCK_NAME = "lock"
REMEDY = "lower the learning rate"


class RunFolder:
    """The folder that a run writes to.

    Args:
        path: The folder; it is created with the first file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        """The folder."""
        self.checkpoint = path / CHECKPOINT_NAME
        """The last checkpoint."""
        self.previous = path / PREVIOUS_NAME
        """The checkpoint before the last one."""

    def require_unused(self) -> None:
        """Raise TrainingError when there is other content than a run leaves that never saved a checkpoint."""
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise TrainingError(f"{self.path} is a file: choose another name for the folder of the run")
        leftovers = (f"{FILE_PREFIX}*", f".{CHECKPOINT_NAME}.*.tmp", LOG_NAME, TIMES_NAME, CONFIG_NAME, LOCK_NAME)
        if not all(any(path.match(name) for name in leftovers) for path in self.path.iterdir()):
            raise TrainingError(f"{self.path} exists and is not empty: resume the run, or choose another folder")

    def require_begun(self) -> None:
        """Raise CheckpointError, with a remedy, when there is no checkpoint to go on from."""
        if self.checkpoint.exists():
            return
        if self.previous.is_file():
            raise CheckpointError(
                f"{self.checkpoint}: no such file; to go on from the checkpoint before it, call {PREVIOUS_NAME} so"
            )
        raise CheckpointError(f"{self.checkpoint}: no such file: there is no run to resume in {self.path}")

    def lock(self) -> FolderLock:
        """The right to write to the folder, which is created.

        Raises:
            TrainingError: Another run writes to it.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            return FolderLock(self.path, LOCK_NAME)
        except LockedError as error:
            raise TrainingError(f"another run writes to {self.path}: wait for it, or choose another folder") from error

    def write_configuration(self, configuration: RunConfiguration) -> None:
        """Write `config.toml`, with which the run can be repeated.

        Raises:
            TrainingError: The name of a file is not UTF-8.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        head = f"# A training run of fukayomi {__version__}: fukayomi train --config {CONFIG_NAME} --out FOLDER\n\n"
        try:
            content = (head + configuration.text()).encode()
        except UnicodeEncodeError as error:
            raise TrainingError(
                f"{configuration.non_utf8_file()}: the name is not UTF-8, and {CONFIG_NAME} cannot hold it: "
                "rename the file"
            ) from error
        replace_file(self.path / CONFIG_NAME, content)

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint and keep the one before it; each is there, whole, whenever this is killed."""
        if self.checkpoint.is_file():
            copy_or_link(self.checkpoint, self.previous)
        save_checkpoint(checkpoint, self.checkpoint)

    @contextmanager
    def keeping_good_weights(self) -> Generator[None]:
        """Put the checkpoint before the last one back when training diverges, if the last one may be bad.

        Raises:
            DivergenceError: Training diverged; the message says which weights are left.
            DiskError: The disk is full; the message says where the run goes on.
        """
        try:
            yield
        except DivergenceError as error:
            step = self._roll_back(error.calm)
            if step is None:
                raise DivergenceError(
                    f"{error}: training diverged before a checkpoint; {REMEDY}", error.calm
                ) from error
            left = f"the last good weights, of step {step:,}, are in {self.checkpoint}"
            message = f"{error}: training diverged; {left}. {REMEDY.capitalize()}, and resume the run"
            raise DivergenceError(message, error.calm) from error
        except OSError as error:
            again = f"resume the run from {self.checkpoint}" if self.checkpoint.is_file() else "start the run again"
            raise_if_full(error, f"make room, and {again}", self.path)
            raise

    def _roll_back(self, calm: int) -> int | None:
        """The step of the last checkpoint from before a step, which becomes the checkpoint; None if there is none."""
        for path in (self.checkpoint, self.previous):
            if path.is_file() and (step := load_checkpoint(path).step) < calm:
                path.replace(self.checkpoint)
                return step
        return None


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

    So a run stops before its good weights are lost.

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
