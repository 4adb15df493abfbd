"""Checkpoints: the state from which a training run resumes exactly.

A checkpoint is a torch file of plain values and tensors, read with weights_only=True: reading one never runs code.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import AtomicFile
from fukayomi.files.inputs import problem_of
from fukayomi.nn.config import NetworkConfigError
from fukayomi.nn.sparse_config import AnyConfig, config_from_dict

FORMAT = "fukayomi-checkpoint-1"
KINDS = {
    "step": int, "settings": dict, "model": dict, "optimizer": dict, "scaler": dict, "averaged": dict, "averages": int,
    "guard": dict,
}  # fmt: skip


class CheckpointError(InvalidValueError):
    """A file is not a checkpoint, is damaged, or belongs to another run."""

    __module__ = "fukayomi.learning"


@dataclass(frozen=True)
class Checkpoint:
    """The state of a training run after `step` steps.

    The learning rate, the data order and random numbers are functions of the step and the settings, and have no state
    of their own.
    """

    step: int
    """Optimiser steps done."""
    network: AnyConfig
    """Shape of the network."""
    settings: dict[str, Any]
    """Settings of the run, plain values."""
    model: dict[str, Tensor]
    """Parameters and BatchNorm statistics of the network."""
    optimizer: dict[str, Any]
    """State of the optimiser."""
    scaler: dict[str, Any] = field(default_factory=dict[str, Any])
    """State of the loss scale of fp16; empty for other precisions."""
    averaged: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    """Averaged parameters and BatchNorm statistics; empty without averages."""
    averages: int = 0
    """Updates of the averages so far."""
    guard: dict[str, float] = field(default_factory=dict[str, float])
    """State of the guard of the loss after the steps so far."""

    @property
    def exported(self) -> dict[str, Tensor]:
        """The parameters to play with: the averaged ones if there are any."""
        return self.averaged or self.model


def save_checkpoint(checkpoint: Checkpoint, path: Path) -> None:
    """Write a checkpoint; an existing file is replaced only once the new one is complete."""
    state = {
        "format": FORMAT, **vars(checkpoint), "network": checkpoint.network.as_dict(),
        "optimizer": _interned(checkpoint.optimizer),
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    with AtomicFile(path) as file:
        torch.save(state, cast("Any", file))


def _interned(value: Any) -> Any:
    """A copy of nested dicts and lists in which equal names are one object.

    Names that were read from a file are objects of their own, and pickle writes a reference for an object that it has
    written before: without this the bytes of a checkpoint depend on whether its run was resumed.
    """
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {sys.intern(key) if isinstance(key, str) else key: _interned(each) for key, each in items}
    return [_interned(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint, its tensors on the CPU.

    Raises:
        CheckpointError: The file is missing, damaged, not a checkpoint, or of another format.
    """
    if (problem := problem_of(path)) is not None:
        raise CheckpointError(f"{path}: {problem}")
    try:
        state: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged files make torch raise almost anything
        raise CheckpointError(f"{path}: not a checkpoint, or damaged ({type(error).__name__})") from error
    content = cast("dict[str, Any]", state) if isinstance(state, dict) else {}
    if content.get("format") != FORMAT:
        raise CheckpointError(f"{path}: not a checkpoint: the format is {content.get('format')!r}, not {FORMAT!r}")
    try:
        network = config_from_dict(content["network"])
        given = {name: content[name] for name in KINDS}
        for name, value in given.items():
            if not isinstance(value, KINDS[name]):
                raise CheckpointError(f"{path}: the checkpoint's {name} is of the type {type(value).__name__}")
        if not all(isinstance(number, int | float) for number in given["guard"].values()):
            raise CheckpointError(f"{path}: the checkpoint's guard has values that are no numbers")
        return Checkpoint(network=network, **given)
    except KeyError as error:
        raise CheckpointError(f"{path}: the checkpoint lacks {error}") from error
    except NetworkConfigError as error:
        raise CheckpointError(f"{path}: {error}") from error
