"""A run for one process or several, and the program of another process, which writes what it has at the end."""

import sys
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

import torch

from fukayomi import fan_out
from fukayomi.learning import Dataset, JsonLinesListener, TrainingListener, TrainingSettings, train
from fukayomi.learning.checkpoint import load_checkpoint, save_checkpoint
from fukayomi.learning.listeners import TrainingStep
from fukayomi.learning.training import run_folder
from fukayomi.nn import NetworkConfig
from fukayomi.nn.config import HeadName


class Trace(TrainingListener):
    """Keeps the losses, and whether anything was reported."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []

    def step(self, step: TrainingStep) -> None:
        self.steps.append(dict(step.as_dict()))


def run(train_file: Path, out: Path, *, steps: int = 12, resume: bool = False) -> dict[str, Any]:
    """Train in this process, with others if the environment is that of torchrun."""
    settings = TrainingSettings(
        steps=steps,
        batch=16,
        lr=0.05,
        warmup=2,
        schedule="constant",
        ema_interval=3,
        weight_decay=1e-3,
        amp="off",
        seed=3,
    )
    trace, data = Trace(), Dataset(train_file)
    result = train(
        NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8, heads=get_args(HeadName)), data, out,
        test=data, settings=settings,
        device="cpu", threads=1, eval_interval=6, resume=resume,
        listener=fan_out(JsonLinesListener(1), trace),
    )  # fmt: skip
    checkpoint = load_checkpoint(result.checkpoint)
    return {
        "model": checkpoint.model, "averaged": checkpoint.averaged, "trace": trace.steps, "step": result.step,
        "metrics": result.metrics.as_dict() if result.metrics else None,
    }  # fmt: skip


def run_in_two_parts(train_file: Path, out: Path) -> dict[str, Any]:
    """The same, stopped and resumed; and how many checkpoints this process wrote."""
    with patch.object(run_folder, "save_checkpoint", wraps=save_checkpoint) as writes:
        run(train_file, out, steps=7)
        found = run(train_file, out, resume=True)
    return found | {"writes": writes.call_count}


if __name__ == "__main__":
    torch.save(run_in_two_parts(Path(sys.argv[1]), Path(sys.argv[2])), sys.argv[3])
