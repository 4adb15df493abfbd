"""A run whose loss trace is compared: started by a test, and as a program that can be killed."""

import sys
import time
from pathlib import Path

import torch

from fukayomi import fan_out
from fukayomi.learning import Dataset, JsonLinesListener, TrainingListener, TrainingSettings, train
from fukayomi.learning.listeners import TrainingStep
from fukayomi.nn import NetworkConfig, PolicyValueNetwork

STEPS = 24


class Slow(TrainingListener):
    """Leaves time for a kill, and waits for it."""

    def step(self, step: TrainingStep) -> None:
        time.sleep(0.1 if step.step < 20 else 600)


def run(train_file: Path, out: Path, *, resume: bool = False, listener: TrainingListener | None = None) -> None:
    """A run that uses everything that has state: dropout, an optimiser, averages, weighted files, a loss scale; with
    large kernels, a Transformer block and a teacher.
    """
    settings = TrainingSettings(
        steps=STEPS, batch=16, lr=0.002, warmup=5, optimizer="muon", schedule="halving", ema_interval=4,
        val_lambda_decay=6, amp="fp16", seed=3, teacher_weight=0.3,
    )  # fmt: skip
    torch.manual_seed(7)
    teacher = PolicyValueNetwork(NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8))
    listeners = [JsonLinesListener(1)] + ([listener] if listener else [])
    train(
        NetworkConfig(
            blocks=2, channels=8, activation="relu", value_hidden=8, large_kernel_interval=1, transformer_blocks=1,
            head_width=4, dropout=0.2, heads=("wdl",),
        ),
        Dataset(train_file, weights=[1.5]), out, teacher=teacher,
        settings=settings, device="cpu", threads=1, checkpoint_interval=5, resume=resume,
        listener=fan_out(*listeners),
    )  # fmt: skip


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]), listener=Slow())
