"""Supervised training: one loop, read from top to bottom.

The schedule (linear warm-up, then a cosine to zero) and the order of the data are functions of the step. So a run that
is interrupted and resumed gives the same weights as one that is not, and a run that is resumed with another number of
steps follows the schedule of the new number.
"""

# pyright: reportUnknownMemberType=false

import math
import signal
import threading
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from torch import Tensor, nn
from torch.utils.tensorboard import SummaryWriter

from fukayomi.data.formats.evalfix import EVAL_SCALE
from fukayomi.learning.batches import training_batches
from fukayomi.learning.checkpoint import Checkpoint, CheckpointError, load_checkpoint, save_checkpoint
from fukayomi.learning.evaluation import evaluate_network
from fukayomi.learning.loss import Losses, compute_losses
from fukayomi.learning.metrics import Metrics
from fukayomi.learning.positions import PositionFiles, TargetSettings
from fukayomi.nn.config import NetworkConfig
from fukayomi.nn.network import PolicyValueNetwork

CHECKPOINT_NAME = "checkpoint.pt"
LOG_INTERVAL = 50
"""Steps between two points of the training curves."""


class TrainingRunError(ValueError):
    """A run that cannot start: its settings make no sense, or its folder is in use."""


@dataclass(frozen=True)
class TrainingSettings:
    """What decides the weights, beside the data and the network's shape.

    Attributes:
        steps: Optimiser steps of the whole run; the schedule ends there.
        batch: Positions a step.
        optimizer: "sgd" (Nesterov momentum 0.9) or "adamw".
        lr: Peak learning rate.
        warmup: Steps of the linear warm-up.
        weight_decay: Of weight matrices and convolutions; never of biases and BatchNorm.
        clip: Largest norm of the gradient.
        val_lambda: Share of the search value in the value target, 0 to 1.
        temperature: Of the policy target, with visits; TargetSettings says how.
        eval_scale: Of the search value, centipawns; None: fitted to each file.
        seed: Of the initial weights and the order of the data.
        amp: Whether to compute in bfloat16 where that is safe.
    """

    steps: int
    batch: int = 1024
    optimizer: Literal["sgd", "adamw"] = "sgd"
    lr: float = 0.04
    warmup: int = 500
    weight_decay: float = 1e-4
    clip: float = 10.0
    val_lambda: float = 0.333
    temperature: float = 1.0
    eval_scale: float | None = EVAL_SCALE
    seed: int = 0
    amp: bool = False

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "lr", "clip"):
            if not getattr(self, name) > 0:
                raise TrainingRunError(f"{name} must be positive, not {getattr(self, name)}")
        if not 0 <= self.val_lambda <= 1:
            raise TrainingRunError(f"val_lambda must be between 0 and 1, not {self.val_lambda}")

    @property
    def targets(self) -> TargetSettings:
        """What visits and evaluations become."""
        return TargetSettings(self.temperature, self.eval_scale)


@dataclass(frozen=True)
class TrainingRun:
    """Where a run reads and writes, and how often; none of it changes the weights.

    Attributes:
        train: Training positions.
        test: Test positions; None: no evaluation.
        out: Folder for the checkpoint and the TensorBoard files.
        device: Where to compute.
        eval_interval: Steps between two evaluations.
        checkpoint_interval: Steps between two checkpoints.
        test_positions: Size of the sample of the test set that is evaluated on the way (at the end, all of it).
    """

    train: PositionFiles
    test: PositionFiles | None
    out: Path
    device: torch.device
    eval_interval: int = 1000
    checkpoint_interval: int = 1000
    test_positions: int = 10_000


@dataclass(frozen=True)
class TrainingResult:
    """How a run ended: steps done, whether all of them, and the last metrics if there is a test set."""

    step: int
    finished: bool
    metrics: Metrics | None
    checkpoint: Path


def train(
    network_config: NetworkConfig, settings: TrainingSettings, run: TrainingRun, resume: bool, console: Console
) -> TrainingResult:
    """Train a network until all steps are done or the user stops it.

    Args:
        network_config: The network's shape.
        settings: What decides the weights.
        run: Where to read and write, and how often.
        resume: Go on from the checkpoint in the run's folder; else the folder must be new or empty.
        console: Where progress and metrics are shown.

    Raises:
        TrainingDataError: fewer positions than a batch, or an hcpe record that is none.
        TrainingRunError: a folder that is in use, or a loss that is not a number.
        CheckpointError: a checkpoint that cannot be read or is of another run.
    """
    save_path = run.out / CHECKPOINT_NAME
    if not resume:
        require_unused(run.out)

    torch.manual_seed(settings.seed)
    network = PolicyValueNetwork(network_config).to(run.device)
    optimizer = make_optimizer(network, settings)
    step = restore(save_path, network, optimizer, settings, console) if resume else 0

    metrics: Metrics | None = None
    batches = training_batches(run.train, settings.batch, settings.seed, step, settings.steps, settings.targets)
    curves = SummaryWriter(str(run.out), purge_step=step)
    with curves, StopRequest() as stop, training_progress(console, step, settings) as progress:
        for batch in batches:
            set_learning_rate(optimizer, learning_rate(step, settings))
            batch = batch.to(run.device)
            network.train()
            with autocast(run.device, settings.amp):
                policy, value = network(*batch.features())
            losses = compute_losses(
                policy, value, batch.labels, batch.results, batch.values, settings.val_lambda, batch.soft
            )
            optimizer.zero_grad()
            losses.total.backward()
            norm = nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
            optimizer.step()
            step += 1

            progress.advance(step, losses)
            finished = step == settings.steps
            if step % LOG_INTERVAL == 0 or finished:
                require_finite(losses, step)
                write_curves(curves, step, losses, optimizer, norm)
            if run.test and (step % run.eval_interval == 0 or finished):
                metrics = look_at_test_set(network, run.test, settings, run, all_of_it=finished)
                write_metrics(curves, step, metrics)
                progress.report(step, metrics)
            if step % run.checkpoint_interval == 0 or finished or stop.requested:
                save_checkpoint(make_checkpoint(step, network, optimizer, settings), save_path)
                if stop.requested:
                    break
    return TrainingResult(step, step == settings.steps, metrics, save_path)


def require_unused(folder: Path) -> None:
    """Raise TrainingRunError when a run's folder holds anything but the curves of a run that came to nothing."""
    if not folder.exists():
        return
    if not folder.is_dir() or not all(path.name.startswith("events.out.tfevents") for path in folder.iterdir()):
        raise TrainingRunError(f"{folder} exists and is not empty: use --resume to go on, or another folder")


def require_finite(losses: Losses, step: int) -> None:
    """Raise TrainingRunError when training has diverged."""
    if not torch.isfinite(losses.total):
        raise TrainingRunError(
            f"the loss is {losses.total.item()} after step {step}: training diverged, try a lower learning rate"
        )


def steps_of_epochs(files: PositionFiles, epochs: float, batch: int) -> int:
    """How many steps a number of passes takes; an epoch's last partial batch is left out."""
    if not epochs > 0:
        raise TrainingRunError(f"the number of epochs must be positive, not {epochs}")
    return max(1, round(epochs * (len(files) // batch)))


def learning_rate(step: int, settings: TrainingSettings) -> float:
    """The rate of a step (counted from 0): a linear warm-up, then a cosine from the peak to zero."""
    warm = min(1.0, (step + 1) / max(1, settings.warmup))
    return settings.lr * warm * 0.5 * (1.0 + math.cos(math.pi * min(1.0, step / settings.steps)))


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the rate of the next step."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def make_optimizer(network: nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    """SGD or AdamW; weight decay for matrices and kernels only."""
    parameters = [p for p in network.parameters() if p.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    if settings.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=settings.lr)
    return torch.optim.SGD(groups, lr=settings.lr, momentum=0.9, nesterov=True)


def look_at_test_set(
    network: nn.Module, files: PositionFiles, settings: TrainingSettings, run: TrainingRun, all_of_it: bool
) -> Metrics:
    """Metrics on the whole test set or the run's sample of it, in the run's precision."""
    sample = None if all_of_it else run.test_positions
    with autocast(run.device, settings.amp):
        return evaluate_network(network, files, run.device, settings.val_lambda, sample, targets=settings.targets)


def make_checkpoint(
    step: int, network: PolicyValueNetwork, optimizer: torch.optim.Optimizer, settings: TrainingSettings
) -> Checkpoint:
    """The state of a run as a checkpoint."""
    rng = torch.get_rng_state()
    return Checkpoint(step, network.config, asdict(settings), network.state_dict(), optimizer.state_dict(), rng)


def restore(
    path: Path,
    network: PolicyValueNetwork,
    optimizer: torch.optim.Optimizer,
    settings: TrainingSettings,
    console: Console,
) -> int:
    """Load a checkpoint into a network and its optimiser; returns the step to go on from.

    Settings may be changed for the rest of the run, except those that the state itself depends on; changes are shown.
    """
    checkpoint = load_checkpoint(path)
    if checkpoint.network != network.config:
        raise CheckpointError(f"{path}: the checkpoint is of {checkpoint.network}, not of {network.config}")
    if checkpoint.settings["optimizer"] != settings.optimizer:
        raise CheckpointError(f"{path}: the run uses {checkpoint.settings['optimizer']}, not {settings.optimizer}")
    if checkpoint.step >= settings.steps:
        raise CheckpointError(f"{path}: the run is at step {checkpoint.step} of {settings.steps} already")
    for name, value in asdict(settings).items():
        if (before := checkpoint.settings.get(name)) != value:
            console.print(f"from step {checkpoint.step:,} on: {name} {value}, was {before}", highlight=False)
    network.load_state_dict(checkpoint.model)
    optimizer.load_state_dict(checkpoint.optimizer)
    torch.set_rng_state(checkpoint.rng)
    return checkpoint.step


def autocast(device: torch.device, amp: bool) -> AbstractContextManager[Any]:
    """bfloat16 where it is safe, or nothing."""
    return torch.autocast(device.type, torch.bfloat16) if amp else nullcontext()


def write_curves(
    curves: SummaryWriter, step: int, losses: Losses, optimizer: torch.optim.Optimizer, norm: Tensor
) -> None:
    """One point of the training curves."""
    for name, loss in vars(losses).items():
        curves.add_scalar(f"train/{name}_loss", loss.item(), step)
    curves.add_scalar("train/learning_rate", optimizer.param_groups[0]["lr"], step)
    curves.add_scalar("train/gradient_norm", norm.item(), step)


def write_metrics(curves: SummaryWriter, step: int, metrics: Metrics) -> None:
    """One point of the test curves."""
    for name, value in metrics.as_dict().items():
        if name != "positions":
            curves.add_scalar(f"test/{name}", value, step)
    curves.flush()


class StopRequest:
    """Turns Ctrl-C and SIGTERM into a request that is honoured between steps; a second Ctrl-C interrupts at once."""

    def __init__(self) -> None:
        self.requested = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: object) -> None:
        if self.requested and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.requested = True


class TrainingProgress:
    """A progress bar for people, and one line an evaluation for everybody."""

    def __init__(self, console: Console, bar: Progress, task: TaskID, start: int, settings: TrainingSettings) -> None:
        self._console, self._bar, self._task = console, bar, task
        self._start, self._settings = start, settings
        self._started = time.monotonic()

    def advance(self, step: int, losses: Losses) -> None:
        """A step was done."""
        if step % 10 == 0 or step == self._settings.steps:
            text = f"{self._rate(step):,.0f} positions/s  loss {losses.total.item():.3f}"
            self._bar.update(self._task, completed=step, status=text)

    def report(self, step: int, metrics: Metrics) -> None:
        """The test set was evaluated."""
        self._console.print(
            f"step {step:,} of {self._settings.steps:,}  {self._rate(step):,.0f} positions/s  test: "
            f"policy loss {metrics.policy_loss:.4f}  result loss {metrics.result_loss:.4f}  "
            f"search value loss {metrics.search_value_loss:.4f}  sum {metrics.total_loss:.4f}  "
            f"policy accuracy {metrics.policy_accuracy:.4f}  value accuracy {metrics.value_accuracy:.4f}  "
            f"policy entropy {metrics.policy_entropy:.3f}",
            highlight=False,
            soft_wrap=True,
        )

    def _rate(self, step: int) -> float:
        return (step - self._start) * self._settings.batch / max(1e-9, time.monotonic() - self._started)


@contextmanager
def training_progress(console: Console, start: int, settings: TrainingSettings) -> Generator[TrainingProgress]:
    """The bar of a run; on a console that is no terminal only the lines are printed."""
    status = TextColumn("{task.fields[status]}")
    columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), status)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("training", total=settings.steps, completed=start, status="")
        yield TrainingProgress(console, bar, task, start, settings)
