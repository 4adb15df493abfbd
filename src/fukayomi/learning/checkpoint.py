"""Checkpoints: everything that a training run needs to go on as if it had never stopped.

A checkpoint is a torch file of plain values and tensors, read with weights_only=True: reading one never runs code.
"""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from zipfile import BadZipFile

import torch
from torch import Tensor

from fukayomi.nn.config import NetworkConfig
from fukayomi.nn.files import replacing

FORMAT = "fukayomi-checkpoint-1"


class CheckpointError(ValueError):
    """A file that is no checkpoint, or a damaged one."""


@dataclass(frozen=True)
class Checkpoint:
    """The state of a training run after `step` steps.

    The learning-rate schedule and the order of the data are functions of the step and the settings, and so need no
    state of their own.

    Attributes:
        step: Optimiser steps done.
        network: The network's shape.
        settings: The run's settings, plain values.
        model: The network's parameters and BatchNorm statistics.
        optimizer: The optimiser's state.
        rng: State of torch's random generator, uint8.
    """

    step: int
    network: NetworkConfig
    settings: dict[str, Any]
    model: dict[str, Tensor]
    optimizer: dict[str, Any]
    rng: Tensor


def save_checkpoint(checkpoint: Checkpoint, path: Path) -> None:
    """Write a checkpoint; a file of that name is replaced whole or not at all."""
    state = {"format": FORMAT, **vars(checkpoint), "network": checkpoint.network.as_dict()}
    with replacing(path) as temporary:
        torch.save(state, temporary)


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint, its tensors on the CPU.

    Raises:
        CheckpointError: no such file, not a checkpoint, damaged, or of another format.
    """
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file")
    try:
        state: Any = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, pickle.UnpicklingError, EOFError, BadZipFile, OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path}: not a checkpoint, or a damaged one ({type(error).__name__})") from error
    fields = cast("dict[str, Any]", state) if isinstance(state, dict) else {}
    if fields.get("format") != FORMAT:
        raise CheckpointError(f"{path}: not a checkpoint of the format {FORMAT!r} but {fields.get('format')!r}")
    try:
        network = NetworkConfig.from_dict(fields["network"])
        return Checkpoint(
            fields["step"], network, fields["settings"], fields["model"], fields["optimizer"], fields["rng"]
        )
    except KeyError as error:
        raise CheckpointError(f"{path}: the checkpoint lacks {error}") from error
