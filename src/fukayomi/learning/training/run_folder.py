"""The folder of a run: its checkpoint, the one before it, and what may be in it before a run starts."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from fukayomi import __version__
from fukayomi.files.atomic import copy_or_link, replace_file
from fukayomi.files.disk import raise_if_full
from fukayomi.files.lock import FolderLock, LockedError
from fukayomi.learning.checkpoint import Checkpoint, CheckpointError, load_checkpoint, save_checkpoint
from fukayomi.learning.listeners.json_lines import LOG_NAME, TIMES_NAME
from fukayomi.learning.listeners.tensorboard import FILE_PREFIX
from fukayomi.learning.settings import TrainingError
from fukayomi.learning.training.configuration import RunConfiguration
from fukayomi.learning.training.guard import DivergenceError

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
