"""Supervised training: one loop, read from top to bottom.

The learning rate (linear warm-up, then a cosine to zero) and the data order are functions of the step. So an
interrupted and resumed run gives the same weights as an uninterrupted one, and a run that is resumed with another
number of steps follows the schedule of the new number.
"""

# pyright: reportUnknownMemberType=false

import signal
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from fukayomi.learning.checkpoint import Checkpoint, CheckpointError, load_checkpoint, save_checkpoint
from fukayomi.learning.data.batches import training_batches
from fukayomi.learning.data.dataset import Dataset
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.devices import choose_amp, choose_device, fastest_threads, measure_threads, use_threads
from fukayomi.learning.evaluation import evaluate
from fukayomi.learning.listeners.listener import SILENT, RunStart, TrainingListener, TrainingStep
from fukayomi.learning.listeners.tensorboard import FILE_PREFIX
from fukayomi.learning.loss import Losses, compute_losses
from fukayomi.learning.metrics import Metrics
from fukayomi.learning.settings import (
    CHECKPOINT_INTERVAL,
    EVAL_INTERVAL,
    LOG_INTERVAL,
    TEST_POSITIONS,
    TrainingError,
    TrainingSettings,
)
from fukayomi.nn.config import NetworkConfig
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.tabular import Tabular, counted

CHECKPOINT_NAME = "checkpoint.pt"
THREAD_TEST_POSITIONS = 128
"""Largest batch with which numbers of threads are compared."""


class Curve(Tabular):
    """Figures by step: one row for each step at which they were taken."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = tuple(rows)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One mapping for each step, with the key "step" first."""
        return self._rows


@dataclass(frozen=True)
class TrainingResult:
    """How a run ended."""

    step: int
    """Steps done."""
    steps: int
    """Steps of the whole run; fewer are done if the user stopped it."""
    checkpoint: Path
    """The last checkpoint."""
    metrics: Metrics | None
    """The last metrics on the test set; None if there was no evaluation."""
    history: Curve
    """Test metrics of each evaluation since this start or resumption."""
    losses: Curve
    """Training losses, learning rate and gradient norm every 50 steps since this start or resumption."""

    @property
    def finished(self) -> bool:
        """Whether all steps are done."""
        return self.step == self.steps


def train(
    config: NetworkConfig,
    data: Dataset,
    out: Path | str,
    *,
    test: Dataset | None = None,
    settings: TrainingSettings = TrainingSettings(),  # noqa: B008 - frozen
    device: str | torch.device = "auto",
    threads: int | None = None,
    eval_interval: int = EVAL_INTERVAL,
    checkpoint_interval: int = CHECKPOINT_INTERVAL,
    test_positions: int = TEST_POSITIONS,
    resume: bool = False,
    listener: TrainingListener = SILENT,
) -> TrainingResult:
    """Train a network until all steps are done or the user stops the run.

    Ctrl-C (in a notebook, "interrupt") and SIGTERM save a checkpoint and return after the current step; a second
    Ctrl-C interrupts at once.

    Args:
        config: Shape of the network.
        data: Training positions; its temperature and evaluation scale make the targets.
        out: Folder of the run, for its checkpoint; new or empty, unless the run is resumed.
        test: Test positions; None: no evaluation.
        settings: What determines the weights, besides data and shape.
        device: "cpu", "cuda", "cuda:1", or "auto": CUDA if there is one.
        threads: CPU threads. None: those of the resumed run; or, on a CPU, the fastest of one, half and all, measured
            with a few steps on a copy of the network. Sums, and so the weights, depend on the number.
        eval_interval: Steps between two evaluations on the test set; the last step always has one.
        checkpoint_interval: Steps between two checkpoints; the last step always has one.
        test_positions: Size of the sample that is evaluated; after the last step, the whole test set is.
        resume: Go on from the checkpoint in the folder. Settings may change, except the optimiser.
        listener: Follows the run.

    Raises:
        TrainingError: The folder is in use, there are fewer positions than a batch, or training diverged (the last
            good checkpoint stays).
        CheckpointError: The checkpoint cannot be read or belongs to another run.
        DataFileError: A training or test record is damaged.
        DeviceError: There is no such device.
    """
    out = Path(out)
    if not resume:
        require_unused(out)
    where = choose_device(device)
    amp = choose_amp(settings.amp, where)
    steps = settings.total_steps(len(data))
    used = settings_used(settings, data, steps, amp=amp) | ({"threads": threads} if threads else {})
    path = out / CHECKPOINT_NAME

    torch.manual_seed(settings.seed)
    network = PolicyValueNetwork(config).to(where)
    optimizer = make_optimizer(network, settings)
    before = restore(path, network, optimizer, used, listener) if resume else None
    step = before.step if before else 0
    if threads is None and where.type == "cpu":
        threads = threads_used(before) or choose_threads(network, data, settings, amp=amp, listener=listener)
    used["threads"] = threads

    metrics: Metrics | None = None
    history: list[dict[str, Any]] = []
    curve: list[dict[str, Any]] = []
    batches = training_batches(data, settings.batch, seed=settings.seed, start=step, stop=steps)
    run = RunStart(step, steps, settings.batch, out)
    with use_threads(threads), StopRequest() as stop, reported(listener, run):
        for batch in batches:
            rate = settings.learning_rate(step, steps)
            losses, norm = update(network, optimizer, TensorBatch.of(batch, where), rate, settings, amp=amp)
            step += 1
            finished = step == steps
            report = TrainingStep(step, losses, rate, norm)
            if step % LOG_INTERVAL == 0 or finished:
                require_finite(step, losses, network)
                curve.append({"step": step, **report.as_dict()})
            listener.progress("training", step, steps)
            listener.step(report)
            if test is not None and (step % eval_interval == 0 or finished):
                sample = None if finished else test_positions
                with autocast(where, amp=amp):
                    metrics = evaluate(network, test, val_lambda=settings.val_lambda, sample=sample)
                history.append({"step": step, **metrics.as_dict()})
                listener.evaluated(step, metrics)
            if step % checkpoint_interval == 0 or finished or stop.requested:
                require_finite(step, losses, network)
                save_checkpoint(make_checkpoint(step, network, optimizer, used), path)
                listener.checkpoint(step, path)
                if stop.requested:
                    break
    return TrainingResult(step, steps, path, metrics, Curve(history), Curve(curve))


def choose_threads(
    network: PolicyValueNetwork, data: Dataset, settings: TrainingSettings, *, amp: bool, listener: TrainingListener
) -> int:
    """The fastest number of CPU threads for steps of this network; tells the listener what was measured."""
    most = torch.get_num_threads()
    if most == 1:
        return 1
    size = min(settings.batch, THREAD_TEST_POSITIONS, len(data))
    with closing(training_batches(data, size, seed=settings.seed, start=0, stop=1)) as batches:
        batch = TensorBatch.of(next(batches), torch.device("cpu"))
    copy = deepcopy(network)
    optimizer = make_optimizer(copy, settings)
    seconds = measure_threads(lambda: update(copy, optimizer, batch, 0.0, settings, amp=amp), most)
    count = fastest_threads(seconds)
    rates = ", ".join(f"{size / time:,.0f} positions/s with {number}" for number, time in seconds.items())
    listener.note(f"training with {counted(count, 'CPU thread')}: {rates}")
    return count


def threads_used(checkpoint: Checkpoint | None) -> int | None:
    """The number of CPU threads of an earlier run; None if it is not known."""
    count = checkpoint.settings.get("threads") if checkpoint else None
    return count if isinstance(count, int) and count >= 1 else None


def update(
    network: PolicyValueNetwork,
    optimizer: torch.optim.Optimizer,
    batch: TensorBatch,
    rate: float,
    settings: TrainingSettings,
    *,
    amp: bool,
) -> tuple[Losses, torch.Tensor]:
    """One optimiser step; returns the losses before it and the norm of the gradient."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    network.train()
    with autocast(batch.labels.device, amp=amp):
        policy, value = network(*batch.features())
    losses = compute_losses(policy, value, batch.labels, batch.results, batch.values, settings.val_lambda, batch.soft)
    optimizer.zero_grad()
    losses.total.backward()
    norm = nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
    optimizer.step()
    return losses, norm


def require_unused(folder: Path) -> None:
    """Raise TrainingError when a run's folder has other content than a run leaves that never saved a checkpoint."""
    if not folder.exists():
        return
    leftovers = (f"{FILE_PREFIX}*", f".{CHECKPOINT_NAME}.*.tmp")
    if not folder.is_dir() or not all(any(path.match(name) for name in leftovers) for path in folder.iterdir()):
        raise TrainingError(f"{folder} exists and is not empty: resume the run, or choose another folder")


def require_finite(step: int, losses: Losses, network: PolicyValueNetwork) -> None:
    """Raise TrainingError when training has diverged: the loss before a step, or a weight after it, is not finite."""
    if not torch.isfinite(losses.total):
        found = f"the loss is {losses.total.item()}"
    elif not torch.stack([tensor.isfinite().all() for tensor in network.state_dict().values()]).all():
        found = "a weight is not finite"
    else:
        return
    raise TrainingError(f"{found} after step {step}: training diverged, try a lower learning rate")


def make_optimizer(network: nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    """SGD or AdamW; weight decay for matrices and convolutions only."""
    parameters = [p for p in network.parameters() if p.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    if settings.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=settings.lr)
    return torch.optim.SGD(groups, lr=settings.lr, momentum=0.9, nesterov=True)


def settings_used(settings: TrainingSettings, data: Dataset, steps: int, *, amp: bool) -> dict[str, Any]:
    """What a checkpoint records: settings without "auto" and epochs, and how the data became targets."""
    used = asdict(settings) | {"steps": steps, "amp": amp}
    del used["epochs"]
    return used | {"temperature": data.temperature, "eval_scale": data.eval_scale}


def make_checkpoint(
    step: int, network: PolicyValueNetwork, optimizer: torch.optim.Optimizer, used: dict[str, Any]
) -> Checkpoint:
    """The state of a run as a checkpoint."""
    return Checkpoint(step, network.config, used, network.state_dict(), optimizer.state_dict(), torch.get_rng_state())


def restore(
    path: Path,
    network: PolicyValueNetwork,
    optimizer: torch.optim.Optimizer,
    used: dict[str, Any],
    listener: TrainingListener,
) -> Checkpoint:
    """Load a checkpoint into a network and its optimiser.

    Raises:
        CheckpointError: The checkpoint cannot be read, has another shape or optimiser, or all steps are done.
    """
    checkpoint = load_checkpoint(path)
    if checkpoint.network != network.config:
        raise CheckpointError(f"{path}: the checkpoint is of {checkpoint.network}, not of {network.config}")
    if (optimizer_used := checkpoint.settings.get("optimizer")) != used["optimizer"]:
        raise CheckpointError(f"{path}: the run uses {optimizer_used}, not {used['optimizer']}")
    if checkpoint.step >= used["steps"]:
        raise CheckpointError(f"{path}: the run is already at step {checkpoint.step} of {used['steps']}")
    for name, value in used.items():
        if (before := checkpoint.settings.get(name)) != value:
            listener.note(f"{name} changes from {before} to {value} after step {checkpoint.step:,}")
    try:
        network.load_state_dict(checkpoint.model)
        optimizer.load_state_dict(checkpoint.optimizer)
        torch.set_rng_state(checkpoint.rng)
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: the checkpoint does not fit the run: {error}") from error
    return checkpoint


def autocast(device: torch.device, *, amp: bool) -> AbstractContextManager[Any]:
    """bfloat16 where it is safe, or nothing."""
    return torch.autocast(device.type, torch.bfloat16) if amp else nullcontext()


@contextmanager
def reported(listener: TrainingListener, run: RunStart) -> Generator[None]:
    """Report the start of a run, and its end however it ends."""
    listener.started(run)
    try:
        yield
    finally:
        listener.ended()


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
