"""Checkpoints: the state from which a training run resumes exactly.

A checkpoint is a torch file of plain values and tensors, read with weights_only=True: reading one never runs code.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from fukayomi.files.atomic import AtomicFile
from fukayomi.nn.config import NetworkConfig, NetworkConfigError

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
    except Exception as error:  # damaged files make torch raise almost anything
        raise CheckpointError(f"{path}: not a checkpoint, or damaged ({type(error).__name__})") from error
    fields = cast("dict[str, Any]", state) if isinstance(state, dict) else {}
    if fields.get("format") != FORMAT:
        raise CheckpointError(f"{path}: not a checkpoint: the format is {fields.get('format')!r}, not {FORMAT!r}")
    try:
        network = NetworkConfig.from_dict(fields["network"])
        types = {"step": int, "settings": dict, "model": dict, "optimizer": dict, "rng": Tensor}
        for name, kind in types.items():
            if not isinstance(fields[name], kind):
                raise CheckpointError(f"{path}: the checkpoint's {name} is of the type {type(fields[name]).__name__}")
        return Checkpoint(network=network, **{name: fields[name] for name in types})
    except KeyError as error:
        raise CheckpointError(f"{path}: the checkpoint lacks {error}") from error
    except NetworkConfigError as error:
        raise CheckpointError(f"{path}: {error}") from error
