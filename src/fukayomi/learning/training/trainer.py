"""One step of training with all that it changes (weights, optimiser, loss scale, averages), and reports of a run."""

# pyright: reportUnknownMemberType=false

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fukayomi.learning.checkpoint import Checkpoint
from fukayomi.learning.data.batch import Batch
from fukayomi.learning.data.dataset import Dataset
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.evaluation import evaluate
from fukayomi.learning.listeners import RunStart, TrainingListener, TrainingStep
from fukayomi.learning.loss import Losses, TeacherTargets, compute_losses, head_losses
from fukayomi.learning.metrics import Metrics
from fukayomi.learning.optimization import AveragedWeights, Schedule, estimate_batchnorm, make_optimizer
from fukayomi.learning.settings import LOG_INTERVAL
from fukayomi.learning.training.parallel import Processes
from fukayomi.nn.config import HeadName
from fukayomi.nn.parameters import AnyNetwork
from fukayomi.nn.sparse import SparseNetwork
from fukayomi.tabular import Tabular

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
"""Types of mixed precision."""

Teacher = Callable[[TensorBatch], TeacherTargets]


class Trainer:
    """A network and what changes its weights.

    Args:
        network: Its parameters are changed.
        schedule: Learning rates and loss weights by step.
        precision: "bf16", "fp16" or "off".
        processes: Those that share each batch.
        teacher: Makes targets of its own from network inputs.
    """

    def __init__(
        self,
        network: AnyNetwork,
        schedule: Schedule,
        precision: str,
        processes: Processes = Processes(),  # noqa: B008 - frozen
        teacher: Teacher | None = None,
    ) -> None:
        self.network = network
        """The network that is trained."""
        settings = schedule.settings
        self._schedule, self._precision, self._processes, self._teacher = schedule, precision, processes, teacher
        self._average = AveragedWeights(network, settings.ema_averages) if settings.ema_interval else None
        self._optimizer = make_optimizer(network, settings)
        self._device = next(network.parameters()).device
        self._has_policy = settings.policy_weight > 0
        self._scaler = torch.amp.GradScaler(self._device.type, enabled=precision == "fp16")
        forward = processes.wrap(_AllOutputs(network, has_policy=self._has_policy))
        self._forward = torch.compile(forward) if settings.compile else forward

    @property
    def exported(self) -> AnyNetwork:
        """The network to evaluate and play with: the averaged one as soon as there is one."""
        return self._average.network if self._average and self._average.count else self.network

    def update(self, positions: Batch, step: int) -> tuple[Losses, Tensor]:
        """Take a step, from 0; returns the losses before it and the norm of the gradient, both of the whole batch.

        Raises:
            PackedError: A position of a sparse network's batch is none that the rules allow.
        """
        batch = TensorBatch.of(positions, self._device, self.network, has_policy=self._has_policy)
        settings = self._schedule.settings
        for group in self._optimizer.param_groups:
            group["lr"] = self._schedule.learning_rate(step)
        # Dropout is a function of the step, and has no state in a checkpoint.
        torch.manual_seed(((settings.seed << 40) + (step << 10) + self._processes.rank) % (1 << 63))
        self.network.train()
        inputs = batch.inputs_for(self.network)
        teacher = self._teacher(batch) if self._teacher else None
        with self.autocast():
            policy, value, outputs = self._forward(*inputs)
        losses = compute_losses(policy, value, batch.targets, self._schedule.loss_weights(step), teacher)
        losses = replace(losses, heads=head_losses(outputs, batch.targets))
        weighted = (getattr(settings, f"{name}_weight") * loss for name, loss in losses.heads.items())
        minimised = sum(weighted, start=losses.total)
        self._optimizer.zero_grad()
        self._scaler.scale(minimised).backward()
        self._scaler.unscale_(self._optimizer)
        norm = clip_gradients(list(self.network.parameters()), settings.clip)
        self._scaler.step(self._optimizer)
        self._scaler.update()
        if self._average and (step + 1) % settings.ema_interval == 0:
            self._average.update(self.network)
        return self._of_all(losses), norm

    def estimate_averaged_batchnorm(self, batches: Iterable[TensorBatch]) -> None:
        """Estimate the BatchNorm statistics of the averaged weights from batches, if there are averages."""
        if self._average and self._average.count:
            with self.autocast():
                inputs = (batch.inputs_for(self.network) for batch in batches)
                estimate_batchnorm(self._average.network, inputs)

    def autocast(self) -> AbstractContextManager[Any]:
        """The precision for networks to compute in."""
        dtype = DTYPES.get(self._precision)
        return torch.autocast(self._device.type, dtype) if dtype else nullcontext()

    def checkpoint(self, step: int, settings: dict[str, Any], guard: dict[str, float] | None = None) -> Checkpoint:
        """The state after so many steps, with the settings of the run and the state of its guard, if it has one."""
        average = self._average if self._average and self._average.count else None
        return Checkpoint(
            step,
            self.network.config,
            settings,
            self.network.state_dict(),
            self._optimizer.state_dict(),
            self._scaler.state_dict(),
            average.network.state_dict() if average else {},
            average.count if average else 0,
            guard or {},
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go back to the state of a checkpoint; settings of the optimiser, such as its weight decay, stay.

        Raises:
            RuntimeError, ValueError, KeyError, TypeError: The checkpoint does not fit.
        """
        self.network.load_state_dict(checkpoint.model)
        decays = [group["weight_decay"] for group in self._optimizer.param_groups]
        self._optimizer.load_state_dict(checkpoint.optimizer)
        for group, decay in zip(self._optimizer.param_groups, decays, strict=True):
            group["weight_decay"] = decay
        if checkpoint.scaler and self._scaler.is_enabled():
            self._scaler.load_state_dict(checkpoint.scaler)
        if self._average and checkpoint.averages:
            self._average.network.load_state_dict(checkpoint.averaged)
            self._average.count = checkpoint.averages

    def _of_all(self, losses: Losses) -> Losses:
        """The means over all processes."""
        if self._processes.count == 1:
            return losses
        return losses.with_values(self._processes.mean(torch.stack(list(losses.by_name().values()))))


def clip_gradients(parameters: Sequence[nn.Parameter], most: float) -> Tensor:
    """As torch's `clip_grad_norm_`; on a CPU, gradients that are small enough are not multiplied by 1."""
    norm = nn.utils.get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None])
    is_small = norm.device.type == "cpu" and bool(norm + 1e-6 <= most)
    if not is_small:
        nn.utils.clip_grads_with_norm_(parameters, most, norm)
    return norm


class _AllOutputs(nn.Module):
    """A network that is called for the outputs of all its heads; a sparse one, if asked, for the value alone."""

    def __init__(self, network: AnyNetwork, *, has_policy: bool) -> None:
        super().__init__()
        self.network, self._has_policy = network, has_policy

    def forward(self, *inputs: Any) -> tuple[Tensor | None, Tensor, dict[HeadName, Tensor]]:
        if not self._has_policy and isinstance(self.network, SparseNetwork):
            return None, self.network.values(*inputs).unsqueeze(1), {}
        return self.network.all_outputs(*inputs)


class Curve(Tabular):
    """Figures by step: one row for each step at which they were taken."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = tuple(rows)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One mapping for each step, with the key "step" first."""
        return self._rows


@dataclass(frozen=True)
class TrainingResult:
    """Result of a run."""

    step: int
    """Steps done."""
    steps: int
    """Steps of the whole run; fewer are done if the user stopped it."""
    checkpoint: Path
    """The last checkpoint."""
    metrics: Metrics | None
    """The last metrics on the test set, of the averaged weights if there are any; None if there was no evaluation."""
    history: Curve
    """Test metrics of each evaluation since this start or resumption."""
    losses: Curve
    """Training losses, learning rate and gradient norm every 50 steps since this start or resumption."""
    stopped_by: int | None = None
    """Number of the signal that stopped the run; None: none, or one to another process of the run."""

    @property
    def finished(self) -> bool:
        """True if all steps are done."""
        return self.step == self.steps


class Reporter:
    """Tells a listener what happens, and keeps it for the result.

    A listener that fails, such as one that writes to a full disk, and a damaged record do not end a run at once: the
    error is kept, so that the work can be saved before it is raised.

    Args:
        run: What the run does.
        listener: Who is told.
        test: Test positions; None: no evaluation.
        sample: Test positions of an evaluation before the last one, which has all.
        val_lambda: Share of the search value in the total loss of evaluations.
    """

    def __init__(
        self, run: RunStart, listener: TrainingListener, test: Dataset | None, sample: int, val_lambda: float
    ) -> None:
        self._run, self._listener = run, listener
        self._test, self._sample, self._val_lambda = test, sample, val_lambda
        self._metrics: Metrics | None = None
        self._history: list[dict[str, Any]] = []
        self._losses: list[dict[str, Any]] = []
        self._failure: BaseException | None = None

    @property
    def failed(self) -> bool:
        """True if there was an error, which `raise_failure` raises."""
        return self._failure is not None

    def raise_failure(self) -> None:
        """Raise the error that was kept, if there was one."""
        if self._failure is not None:
            raise self._failure

    def batches(self, batches: Iterable[Batch]) -> Generator[Batch]:
        """The batches up to a damaged record."""
        with self._keeping_errors():
            yield from batches

    @contextmanager
    def _keeping_errors(self) -> Generator[None]:
        try:
            yield
        except (Exception, SystemExit) as error:  # SystemExit: a closed standard output
            self._failure = self._failure or error

    def step(self, step: TrainingStep) -> None:
        """Take in a step."""
        if step.step % LOG_INTERVAL == 0 or step.step == self._run.steps:
            self._losses.append({"step": step.step, **step.as_dict()})
        with self._keeping_errors():
            self._listener.progress("training", step.step, self._run.steps)
            self._listener.step(step)

    def evaluate(self, trainer: Trainer, step: int) -> None:
        """Evaluate the network after a step, if there is a test set."""
        if self._test is None:
            return
        sample = None if step == self._run.steps else self._sample
        with self._keeping_errors():
            with trainer.autocast():
                self._metrics = evaluate(trainer.exported, self._test, val_lambda=self._val_lambda, sample=sample)
            self._history.append({"step": step, **self._metrics.as_dict()})
            self._listener.evaluated(step, self._metrics)

    def result(self, step: int, checkpoint: Path, stopped_by: int | None) -> TrainingResult:
        """Result of the run after a step."""
        history, losses = Curve(self._history), Curve(self._losses)
        return TrainingResult(step, self._run.steps, checkpoint, self._metrics, history, losses, stopped_by)
