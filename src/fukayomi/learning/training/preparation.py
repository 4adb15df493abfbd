"""What happens before the first step: the state of an earlier run, and the number of CPU threads."""

# pyright: reportUnknownMemberType=false

from contextlib import closing
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from fukayomi.learning.checkpoint import Checkpoint, CheckpointError
from fukayomi.learning.data.batches import training_batches
from fukayomi.learning.data.dataset import Dataset
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.devices import fastest_threads, measure_threads
from fukayomi.learning.listeners.listener import TrainingListener
from fukayomi.learning.optimization.schedule import Schedule
from fukayomi.learning.training.trainer import Trainer
from fukayomi.nn.config import NetworkConfig
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.tabular import counted

THREAD_TEST_POSITIONS = 128
"""Largest batch with which numbers of threads are compared."""


def settings_used(schedule: Schedule, data: Dataset, precision: str) -> dict[str, Any]:
    """What a checkpoint records: settings without "auto" and epochs, and how the data became targets."""
    used = asdict(schedule.settings) | {"steps": schedule.steps, "amp": precision}
    del used["epochs"]
    return used | {"temperature": data.temperature, "eval_scale": data.eval_scale, "positions": data.epoch_size}


def check_resumption(path: Path, before: Checkpoint, config: NetworkConfig, used: dict[str, Any]) -> None:
    """Compare a checkpoint with the run that is to go on from it.

    Raises:
        CheckpointError: It has another shape or optimiser, or all steps are done.
    """
    if before.network != config:
        raise CheckpointError(f"{path}: the checkpoint is of {before.network}, not of {config}")
    if (optimizer := before.settings.get("optimizer")) != used["optimizer"]:
        raise CheckpointError(f"{path}: the run uses {optimizer}, not {used['optimizer']}")
    if before.step >= used["steps"]:
        raise CheckpointError(f"{path}: the run is already at step {before.step} of {used['steps']}")


def restore(path: Path, before: Checkpoint, trainer: Trainer, used: dict[str, Any], listener: TrainingListener) -> None:
    """Go back to the state of a checkpoint; tells the listener which settings change.

    Raises:
        CheckpointError: The checkpoint does not fit.
    """
    for name, value in used.items():
        if name in before.settings and (earlier := before.settings[name]) != value:
            listener.note(f"{name} changes from {earlier} to {value} after step {before.step:,}")
    try:
        trainer.restore(before)
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: the checkpoint does not fit the run: {error}") from error


def choose_threads(
    network: PolicyValueNetwork, schedule: Schedule, precision: str, data: Dataset, listener: TrainingListener
) -> int:
    """The fastest number of CPU threads for steps of this network; tells the listener what was measured."""
    most = torch.get_num_threads()
    if most == 1:
        return 1
    size = min(schedule.settings.batch, THREAD_TEST_POSITIONS, len(data))
    with closing(training_batches(data, size, seed=schedule.settings.seed, start=0, stop=1)) as batches:
        batch = TensorBatch.of(next(batches), torch.device("cpu"))
    trainer = Trainer(deepcopy(network), schedule, precision)
    seconds = measure_threads(lambda: trainer.update(batch, 0), most)
    count = fastest_threads(seconds)
    rates = ", ".join(f"{size / time:,.0f} positions/s with {number}" for number, time in seconds.items())
    listener.note(f"training with {counted(count, 'CPU thread')}: {rates}")
    return count


def threads_used(checkpoint: Checkpoint | None) -> int | None:
    """The number of CPU threads of an earlier run; None if it is not known."""
    count = checkpoint.settings.get("threads") if checkpoint else None
    return count if isinstance(count, int) and count >= 1 else None
