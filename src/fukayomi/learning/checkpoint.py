"""Checkpoints: the state from which a training run resumes exactly.

A checkpoint is a torch file of plain values and tensors, read with weights_only=True: reading one never runs code.
"""

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from zipfile import BadZipFile

import torch
from torch import Tensor

from fukayomi.files.atomic import AtomicFile
from fukayomi.nn.config import NetworkConfig

FORMAT = "fukayomi-checkpoint-1"


class CheckpointError(ValueError):
    """A file is not a checkpoint, is damaged, or belongs to another run."""

    __module__ = "fukayomi.learning"


@dataclass(frozen=True)
class Checkpoint:
    """The state of a training run after `step` steps.

    The learning rate and the data order are functions of the step and the settings, and have no state of their own.
    """

    step: int
    """Optimiser steps done."""
    network: NetworkConfig
    """Shape of the network."""
    settings: dict[str, Any]
    """Settings of the run, plain values."""
    model: dict[str, Tensor]
    """Parameters and BatchNorm statistics of the network."""
    optimizer: dict[str, Any]
    """State of the optimiser."""
    rng: Tensor
    """State of torch's random generator, uint8."""


def save_checkpoint(checkpoint: Checkpoint, path: Path) -> None:
    """Write a checkpoint; an existing file is replaced only once the new one is complete."""
    state = {"format": FORMAT, **vars(checkpoint), "network": checkpoint.network.as_dict()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with AtomicFile(path) as file:
        torch.save(state, cast("Any", file))


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint, its tensors on the CPU.

    Raises:
        CheckpointError: The file is missing, damaged, not a checkpoint, or of another format.
    """
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file")
    try:
        state: Any = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, pickle.UnpicklingError, EOFError, BadZipFile, OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path}: not a checkpoint, or damaged ({type(error).__name__})") from error
    fields = cast("dict[str, Any]", state) if isinstance(state, dict) else {}
    if fields.get("format") != FORMAT:
        raise CheckpointError(f"{path}: not a checkpoint: the format is {fields.get('format')!r}, not {FORMAT!r}")
    try:
        network = NetworkConfig.from_dict(fields["network"])
        return Checkpoint(
            fields["step"], network, fields["settings"], fields["model"], fields["optimizer"], fields["rng"]
        )
    except KeyError as error:
        raise CheckpointError(f"{path}: the checkpoint lacks {error}") from error
