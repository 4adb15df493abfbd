"""Supervised training: one loop, read from top to bottom.

The learning rate, the weights of the losses, the data order and random numbers are functions of the step. So an
interrupted and resumed run gives the same weights as an uninterrupted one, and a run that is resumed with another
number of steps follows the schedule of the new number.
"""

# pyright: reportUnknownMemberType=false

import operator
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import torch
from torch import nn

from fukayomi.interruption import StopRequest
from fukayomi.learning.data.batch import training_batches
from fukayomi.learning.data.dataset import DatasetLike, as_dataset
from fukayomi.learning.devices import choose_device, use_threads
from fukayomi.learning.listeners import SILENT, RunStart, TrainingListener, TrainingStep
from fukayomi.learning.optimization import estimation_batches
from fukayomi.learning.settings import (
    CHECKPOINT_INTERVAL,
    EVAL_INTERVAL,
    TEST_POSITIONS,
    RunSettings,
    TrainingError,
    TrainingSettings,
)
from fukayomi.learning.training.configuration import resolved
from fukayomi.learning.training.parallel import join, local_device
from fukayomi.learning.training.preparation import prepare
from fukayomi.learning.training.run_folder import LossGuard, RunFolder
from fukayomi.learning.training.trainer import Reporter, TrainingResult
from fukayomi.listener import Listener, of_kind
from fukayomi.nn.config import NetworkConfig
from fukayomi.nn.parameters import AnyNetwork
from fukayomi.nn.sparse_config import AnyConfig, SparseConfig, config_from_name

MOST_THREADS = 1024
"""CPU threads of a run, at most."""


def train(
    config: AnyConfig | str,
    data: DatasetLike,
    out: Path | str,
    *,
    test: DatasetLike | None = None,
    settings: TrainingSettings = TrainingSettings(),  # noqa: B008 - frozen
    initial: AnyNetwork | Path | str | None = None,
    teacher: nn.Module | Path | str | None = None,
    device: str | torch.device = "auto",
    threads: int | None = None,
    eval_interval: int = EVAL_INTERVAL,
    checkpoint_interval: int = CHECKPOINT_INTERVAL,
    test_positions: int = TEST_POSITIONS,
    resume: bool = False,
    listener: Listener = SILENT,
) -> TrainingResult:
    """Train a network until all steps are done or the user stops the run.

    Ctrl-C (in a notebook, "interrupt"), SIGTERM and SIGHUP save a checkpoint and return after the current step; a
    second Ctrl-C interrupts at once. A listener that fails and a damaged record end the run after a checkpoint. In
    processes that torchrun started, each takes a part of every batch, and the first one alone evaluates, reports and
    writes.

    Args:
        config: Shape of the network, of either family, or its name, such as "resnet10x128_swish". A sparse one is
            trained on the CPU in float32 by one process; `PRESETS["sparse"]` has good settings.
        data: Training positions, a `Dataset` or files; a dataset's temperature and evaluation scale make the targets.
        out: Folder of the run, for its last two checkpoints and `config.toml`, which repeats it but cannot name
            networks that are given in torch; new or empty, unless the run is resumed.
        test: Test positions, a `Dataset` or files; None: no evaluation.
        settings: What determines the weights, besides data and shape.
        initial: A network from whose weights training begins; a file of any kind that `load_network` reads. It has
            the same shape or grows to it (`fukayomi.nn.grow_network`); further heads that it lacks begin at random. A
            resumed run has its own weights.
        teacher: A network whose policy and value are targets too, with `settings.teacher_weight`: in torch, or a file
            of any kind that `load_model` reads; an .onnx file and a sparse network compute on the CPU. A run that had
            one cannot go on without it, but with another one or with a weight of 0.
        device: "cpu", "cuda", "cuda:1", or "auto": CUDA if there is one, for a sparse network the CPU. With several
            processes "auto" and "cuda" are a device for each.
        threads: CPU threads. None: those of the resumed run; or, on a CPU, the fastest of one, half and all, measured
            with a few steps on a copy of the network. Sums, and so the weights, depend on the number.
        eval_interval: Steps between two evaluations on the test set; the last step always has one.
        checkpoint_interval: Steps between two checkpoints; the last step always has one.
        test_positions: Size of the sample that is evaluated; after the last step, the whole test set is.
        resume: Go on from the checkpoint in the folder. Settings may change, except the optimiser.
        listener: Follows the run; a `TrainingListener` hears of steps and evaluations too.

    Raises:
        TrainingError: The folder is in use, there are fewer positions than a batch, no file has the targets of a
            head, or the initial network cannot grow to this shape.
        DivergenceError: A loss or weight is not finite, or the loss rose; the last good checkpoint stays.
        CheckpointError: The checkpoint cannot be read or belongs to another run, or the run's teacher is missing.
        ParameterFileError: The file of the initial network cannot be read.
        DataFileError: A training or test record is damaged; what was learned before is saved.
        DiskError: The disk is full; the last checkpoint stays.
        DeviceError: There is no such device.
    """
    eval_interval, checkpoint_interval, test_positions = _checked_counts(
        eval_interval=eval_interval, checkpoint_interval=checkpoint_interval, test_positions=test_positions
    )
    threads = _checked_threads(threads)
    config = _checked_config(config)
    data, test = as_dataset(data), None if test is None else as_dataset(test)
    if isinstance(config, SparseConfig) and str(device) == "auto":
        device = "cpu"
    where, folder = choose_device(local_device(device)), RunFolder(Path(out))
    processes = join(where)
    follower = of_kind(listener, TrainingListener) if processes.is_main else SILENT
    if processes.is_main:
        folder.require_begun() if resume else folder.require_unused()
    prepared = prepare(
        config, data, settings, where, processes, folder.checkpoint if resume else None,
        initial=initial, teacher=teacher, threads=threads, listener=follower,
    )  # fmt: skip
    trainer, schedule, step = prepared.trainer, prepared.schedule, prepared.step
    steps = schedule.steps
    run = RunStart(step, steps, settings.batch, folder.path)
    reporter = Reporter(run, follower, test, test_positions, settings.val_lambda)
    guard = LossGuard(settings.max_rise, step, prepared.guard)
    batches = training_batches(
        data, settings.batch, seed=settings.seed, start=step, stop=steps, rows=processes.rows(settings.batch),
        heads=bool(config.heads),
    )  # fmt: skip
    guarded = folder.keeping_good_weights() if processes.is_main else nullcontext()
    lock = folder.lock if processes.is_main else nullcontext
    with lock(), use_threads(prepared.threads), StopRequest() as stop, guarded, reported(follower, run):
        if processes.is_main:
            setup = RunSettings(
                initial=_file_of(initial), teacher=_file_of(teacher), device=str(device), threads=prepared.threads,
                eval_interval=eval_interval, checkpoint_interval=checkpoint_interval, test_positions=test_positions,
            )  # fmt: skip
            training = settings.changed(steps=steps, epochs=None, amp=prepared.used["amp"])
            folder.write_configuration(resolved(config, training, data, test, setup))

        def save() -> None:
            guard.check_weights(step, trainer.network.state_dict())
            if processes.is_main:
                folder.save(trainer.checkpoint(step, prepared.used, guard.state()))
                follower.checkpoint(step, folder.checkpoint)

        saved = step
        for batch in reporter.batches(batches):
            losses, norm = trainer.update(batch, step)
            step += 1
            guard.watch(step, losses.total)
            reporter.step(TrainingStep(step, losses, schedule.learning_rate(step - 1), norm))
            finished = step == steps
            if processes.is_main and finished:
                first = estimation_batches(
                    data, settings.batch, seed=settings.seed, most=steps, device=where, network=trainer.network
                )
                trainer.estimate_averaged_batchnorm(first)
            if processes.is_main and (finished or step % eval_interval == 0):
                reporter.evaluate(trainer, step)
            stopping = processes.any(stop.requested or reporter.failed, where)
            if finished or stopping or step % checkpoint_interval == 0:
                save()
                saved = step
            if stopping:
                break
        if saved < step:  # the next record is damaged
            save()
        reporter.raise_failure()
    processes.wait()
    return reporter.result(step, folder.checkpoint, stop.signal)


def _checked_counts(**counts: int) -> tuple[int, ...]:
    """Plain numbers, for neither checkpoints nor config.toml can hold NumPy's.

    Raises:
        TrainingError: One is not positive.
    """
    for name, count in counts.items():
        if count < 1:
            raise TrainingError(f"{name} must be positive, not {count}")
    return tuple(map(operator.index, counts.values()))


def _checked_threads(threads: int | None) -> int | None:
    if threads is None:
        return None
    threads = operator.index(threads)
    if not 1 <= threads <= MOST_THREADS:
        raise TrainingError(f"threads must be 1 to {MOST_THREADS}, not {threads}")
    return threads


def _checked_config(config: AnyConfig | str) -> AnyConfig:
    config = config_from_name(config) if isinstance(config, str) else config
    if not isinstance(config, NetworkConfig | SparseConfig):  # pyright: ignore[reportUnnecessaryIsInstance]
        kind = type(config).__name__
        raise TrainingError(
            f"config is the shape of a network or its name, not a {kind}: a network of the package has it as "
            "network.config, and goes on by initial=network; docs/python.md has a training loop for others"
        )
    return config


def _file_of(network: nn.Module | Path | str | None) -> str | None:
    """The file that a network was named by."""
    return None if network is None or isinstance(network, nn.Module) else str(network)


@contextmanager
def reported(listener: TrainingListener, run: RunStart) -> Generator[None]:
    """Report the start of a run, and its end however it ends."""
    listener.started(run)
    try:
        yield
    finally:
        listener.ended()
