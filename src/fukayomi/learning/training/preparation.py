"""Preparation before the first step: network, state of an earlier run, teacher, number of CPU threads."""

# pyright: reportUnknownMemberType=false

import hashlib
from collections.abc import Mapping
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fukayomi._native import POLICY_LABELS
from fukayomi.learning.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from fukayomi.learning.data.batch import training_batches
from fukayomi.learning.data.dataset import Dataset, require_targets
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.devices import choose_precision, fastest_threads, measure_threads
from fukayomi.learning.listeners import TrainingListener
from fukayomi.learning.loss import TeacherTargets
from fukayomi.learning.models import OnnxNetwork, load_model, load_network
from fukayomi.learning.optimization import Schedule
from fukayomi.learning.settings import TrainingError, TrainingSettings
from fukayomi.learning.training.configuration import with_weight
from fukayomi.learning.training.parallel import Processes
from fukayomi.learning.training.trainer import Trainer
from fukayomi.nn.config import NetworkConfigError
from fukayomi.nn.growth import embed_network
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.nn.parameters import AnyNetwork, make_network
from fukayomi.nn.sparse import SparseNetwork
from fukayomi.nn.sparse_config import AnyConfig, SparseConfig
from fukayomi.tabular import counted


class Teacher:
    """Evaluates each batch with another network, without gradients, just before the step.

    The targets are probabilities over all 2187 labels; a good network leaves little to illegal moves, and a sparse one
    nothing to others than those that the search tries.

    Args:
        network: A network in torch, or an ONNX file; this and a sparse one compute on the CPU.
        device: Where the batches are.
        weight: Share of the teacher in the loss, 0 to 1.
        temperature: The policy is softmax(logits / temperature).
    """

    def __init__(self, network: nn.Module, device: torch.device, *, weight: float, temperature: float) -> None:
        self._device = device
        self._where = torch.device("cpu") if isinstance(network, OnnxNetwork | SparseNetwork) else device
        self._network = network.to(self._where).eval()
        self._weight, self._temperature = weight, temperature

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that tell networks apart: of the SHA-256 of its weights, or of an ONNX file."""
        if isinstance(self._network, OnnxNetwork):
            return self._network.digest
        sha = hashlib.sha256()
        for name, tensor in self._network.state_dict().items():
            sha.update(name.encode())
            sha.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        return sha.hexdigest()[:16]

    def __call__(self, batch: TensorBatch) -> TeacherTargets:
        """Targets [N, 2187] and [N] for the positions of a batch."""
        with torch.no_grad():
            policy, value = self._outputs(batch)
        return TeacherTargets(policy.to(self._device), torch.sigmoid(value.to(self._device).float()), self._weight)

    def _outputs(self, batch: TensorBatch) -> tuple[Tensor, Tensor]:
        """Probabilities of all labels, [N, 2187], and the value's logits, [N]."""
        if isinstance(self._network, SparseNetwork):
            positions, moves = batch.moves()
            logits, value = self._network(positions)
            policy = torch.zeros(len(batch), POLICY_LABELS)
            policy.flatten()[moves.places] = moves.log_softmax(logits / self._temperature).exp()
            return policy, value
        policy, value = self._network(*(each.to(self._where) for each in batch.features_for(self._network)))
        return torch.softmax(policy.float() / self._temperature, dim=1), value.squeeze(1)


LOSS_SETTINGS = (
    "files", "positions", "temperature", "eval_scale", "layer", "n_step", "weights", "val_lambda", "val_lambda_decay",
    "policy_weight", "value_weight", "entropy", "critic", "teacher", "teacher_weight", "teacher_temperature",
)  # fmt: skip
"""Settings on which the size of the loss depends, of `settings_used`."""
THREAD_TEST_POSITIONS = 128
"""Largest batch with which numbers of threads are compared."""
SPARSE_TEST_POSITIONS = 2048
"""The same for a sparse network, whose tables cost as much as that many positions."""


@dataclass(frozen=True)
class Prepared:
    """A run before its first step."""

    trainer: Trainer
    """In the state of the checkpoint, if the run is resumed."""
    schedule: Schedule
    """Values that depend on the step."""
    step: int
    """Steps done before."""
    used: dict[str, Any]
    """Settings as a checkpoint records them."""
    guard: dict[str, float]
    """State of the guard of the loss after those steps; empty if the loss is another one now."""

    @property
    def threads(self) -> int | None:
        """CPU threads; None: as torch has it."""
        return self.used.get("threads")


def prepare(
    config: AnyConfig,
    data: Dataset,
    settings: TrainingSettings,
    where: torch.device,
    processes: Processes,
    resumed: Path | None,
    *,
    initial: AnyNetwork | Path | str | None,
    teacher: nn.Module | Path | str | None,
    threads: int | None,
    listener: TrainingListener,
) -> Prepared:
    """Build a network with its optimiser, and go back to a checkpoint; arguments and errors as in `train`.

    Args:
        resumed: The checkpoint to go on from; None for a new run.
    """
    require_targets(config.heads, data)
    if isinstance(config, SparseConfig):
        require_for_sparse(settings, where, processes.count)
    precision = "off" if isinstance(config, SparseConfig) else choose_precision(settings.amp, where)
    schedule = Schedule(settings, settings.total_steps(data.epoch_size), data.epoch_size // settings.batch)
    taught = make_teacher(teacher, where, settings)
    used = settings_used(schedule, data, precision) | {"teacher": taught.digest if taught else None}
    before = load_checkpoint(resumed) if resumed else None
    if resumed and before:
        check_resumption(resumed, before, config, used)
    if resumed is None and settings.warmup > schedule.steps:
        listener.note(
            f"the warm-up of {settings.warmup:,} steps is longer than the run of {schedule.steps:,}: the learning rate "
            f"reaches {schedule.steps / settings.warmup:.0%} of {settings.lr:g}"
        )
    torch.manual_seed(settings.seed)
    network = make_network(config)
    if initial is not None and before is None:
        start_from(initial, network)
    network = network.to(where)
    threads = threads or threads_used(before)
    if threads is None and where.type == "cpu" and processes.count == 1:
        threads = choose_threads(network, schedule, precision, data, listener)
    used |= {"threads": threads} if threads else {}
    trainer = Trainer(network, schedule, precision, processes, taught)
    if resumed and before:
        restore(resumed, before, trainer, used, listener)
    guard = before.guard if before and has_same_loss(before.settings, used) else {}
    return Prepared(trainer, schedule, before.step if before else 0, used, guard)


def require_for_sparse(settings: TrainingSettings, device: torch.device, processes: int = 1) -> None:
    """Raise TrainingError for what the training of a sparse network does not have, with the reason."""
    refused = (
        (device.type != "cpu", f"it is computed on the CPU, not on {device} (--device cpu)"),
        (settings.amp not in ("auto", "off"), f"its layers compute in float32: no {settings.amp} (--amp off)"),
        (settings.compile, "its layers are native, and torch cannot compile them (without --compile)"),
        (settings.optimizer == "muon", "it has no blocks of matrices for muon (--optimizer adamw)"),
        (processes > 1, "it is trained by one process, whose threads share the work (--threads)"),
    )
    for holds, reason in refused:
        if holds:
            raise TrainingError(f"a sparse network cannot be trained so: {reason}")


def start_from(initial: AnyNetwork | Path | str, network: AnyNetwork) -> None:
    """Take over another network, which may be smaller; further heads that it lacks stay as they are.

    Raises:
        TrainingError: It is of another shape and cannot grow to this one.
    """
    given = initial if isinstance(initial, nn.Module) else load_network(initial)
    try:
        if isinstance(given, PolicyValueNetwork) and isinstance(network, PolicyValueNetwork):
            embed_network(given, network)
        elif given.config == network.config:
            network.load_state_dict(given.state_dict())
        else:
            raise NetworkConfigError("a sparse network begins as one of its own shape; only residual ones grow")
    except NetworkConfigError as error:
        name = "the initial network" if given is initial else initial
        raise TrainingError(
            f"{name}: it is {given.config}, and the network to train is {network.config}: {error}"
        ) from error


def make_teacher(
    network: nn.Module | Path | str | None, device: torch.device, settings: TrainingSettings
) -> Teacher | None:
    """The teacher of a run, from a network or its file."""
    if network is None:
        return None
    loaded = network if isinstance(network, nn.Module) else load_model(network)
    return Teacher(loaded, device, weight=settings.teacher_weight, temperature=settings.teacher_temperature)


def settings_used(schedule: Schedule, data: Dataset, precision: str) -> dict[str, Any]:
    """Settings as a checkpoint records them: without "auto" and epochs, and with how the data became targets."""
    used = dict(schedule.settings) | {"steps": schedule.steps, "amp": precision}
    del used["epochs"]
    files = [with_weight(path.name, weight) for path, weight in zip(data.paths, data.weights, strict=True)]
    targets = {
        "temperature": data.temperature,
        "eval_scale": data.eval_scale,
        "layer": data.layer,
        "n_step": data.n_step,
        "weights": data.position_weights,
    }
    return used | targets | {"files": files, "positions": data.epoch_size}


def check_resumption(path: Path, before: Checkpoint, config: AnyConfig, used: dict[str, Any]) -> None:
    """Compare a checkpoint with the run that is to go on from it.

    Raises:
        CheckpointError: It has another shape or optimiser, all steps are done, or the teacher is missing.
    """
    if before.network != config:
        raise CheckpointError(f"{path}: the checkpoint is of {before.network}, not of {config}")
    if (optimizer := before.settings.get("optimizer")) != used["optimizer"]:
        raise CheckpointError(f"{path}: the run uses {optimizer}, not {used['optimizer']}")
    if before.step >= used["steps"]:
        raise CheckpointError(
            f"{path}: the run is already at step {before.step} of {used['steps']}; more --epochs or --steps extend it"
        )
    if before.settings.get("teacher") and not used["teacher"] and used["teacher_weight"]:
        raise CheckpointError(
            f"{path}: the run has a teacher (digest {before.settings['teacher']}): name it again (--teacher FILE), or "
            "go on without one (--teacher-weight 0)"
        )


def has_same_loss(before: Mapping[str, Any], used: Mapping[str, Any]) -> bool:
    """True if the losses of a resumed run can be compared with those before."""
    return all(before.get(name) == used[name] for name in LOSS_SETTINGS)


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
    network: AnyNetwork, schedule: Schedule, precision: str, data: Dataset, listener: TrainingListener
) -> int:
    """The fastest number of CPU threads for steps of this network; tells the listener what was measured."""
    most = torch.get_num_threads()
    if most == 1:
        return 1
    most_positions = SPARSE_TEST_POSITIONS if isinstance(network, SparseNetwork) else THREAD_TEST_POSITIONS
    size = min(schedule.settings.batch, most_positions, len(data))
    heads = bool(network.config.heads)
    with closing(training_batches(data, size, seed=schedule.settings.seed, start=0, stop=1, heads=heads)) as batches:
        batch = next(batches)
    plain = replace(schedule, settings=schedule.settings.changed(compile=False))
    trainer = Trainer(deepcopy(network), plain, precision)
    seconds = measure_threads(lambda: trainer.update(batch, 0), most)
    count = fastest_threads(seconds)
    rates = ", ".join(f"{size / time:,.0f} positions/s with {number}" for number, time in seconds.items())
    listener.note(f"training with {counted(count, 'CPU thread')}: {rates}")
    return count


def threads_used(checkpoint: Checkpoint | None) -> int | None:
    """The number of CPU threads of an earlier run; None if it is not known."""
    count = checkpoint.settings.get("threads") if checkpoint else None
    return count if isinstance(count, int) and count >= 1 else None
