"""The optimiser of a run, averages of the network's weights, and the values that depend on the step."""

# pyright: reportUnknownMemberType=false

import math
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage] - the class of all of them

from fukayomi.learning.data.batch import training_batches
from fukayomi.learning.data.dataset import Dataset
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.loss import LossWeights
from fukayomi.learning.settings import TrainingSettings
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.nn.parameters import AnyNetwork
from fukayomi.nn.sparse import SparseNetwork

MOMENTUM = 0.95
BETAS = (0.9, 0.95)
EPSILON = 1e-8
ITERATIONS = 5
QUINTIC = (3.4445, -4.7750, 2.0315)
"""Coefficients a, b, c of the iteration X <- a X + b (X X^T) X + c (X X^T)^2 X, which drives all singular values to
between 0.7 and 1.2."""


def orthogonalize(matrices: Tensor) -> Tensor:
    """The nearest matrices whose singular values are about 1: float [K, M, N] to the same shape.

    The iteration is Newton and Schulz's with Jordan's coefficients; bfloat16 on a GPU, where it is precise enough.
    """
    a, b, c = QUINTIC
    x = matrices.bfloat16() if matrices.is_cuda else matrices.float()
    is_tall = x.size(1) > x.size(2)
    x = x.transpose(1, 2) if is_tall else x
    x = x / (x.square().sum((1, 2), keepdim=True).sqrt() + 1e-7)
    for _ in range(ITERATIONS):
        gram = x @ x.transpose(1, 2)
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.transpose(1, 2) if is_tall else x).to(matrices.dtype)


class Muon(torch.optim.Optimizer):
    """Muon for some parameters and AdamW for the others, with one learning rate.

    Muon is momentum whose update of a matrix is made orthogonal. Sources: Keller Jordan et al. 2024, "Muon: An
    optimizer for hidden layers in neural networks", and Liu et al. 2025, "Muon is Scalable for LLM Training",
    arXiv:2502.16982, whose scale lets both kinds of parameters share one learning rate.

    A convolution's kernel counts as a matrix [outputs, inputs * height * width]. The update of a matrix [M, N] has the
    root mean square 0.2, that of AdamW's updates, by the factor 0.2 * sqrt(max(M, N)).

    Args:
        groups: Parameter groups; those with "muon": True have matrices and kernels only.
        lr: Learning rate.
    """

    def __init__(self, groups: Iterable[dict[str, Any]], lr: float) -> None:
        super().__init__(groups, {"lr": lr, "weight_decay": 0.0, "muon": False})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Change the parameters by their gradients; a closure is not called."""
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
            for parameter in parameters:
                parameter.mul_(1.0 - group["lr"] * group["weight_decay"])
            if group["muon"]:
                self._muon(parameters, group["lr"])
            else:
                for parameter in parameters:
                    self._adamw(parameter, group["lr"])

    def _muon(self, parameters: list[Tensor], lr: float) -> None:
        """Kernels of the same shape are made orthogonal together."""
        by_shape: dict[tuple[int, ...], list[Tensor]] = {}
        for parameter in parameters:
            by_shape.setdefault(tuple(parameter.shape), []).append(parameter)
        for same in by_shape.values():
            matrices = torch.stack([self._with_momentum(parameter).flatten(1) for parameter in same])
            scale = 0.2 * math.sqrt(max(matrices.shape[1:]))
            for parameter, update in zip(same, orthogonalize(matrices), strict=True):
                parameter.sub_(update.view(parameter.shape), alpha=lr * scale)

    def _with_momentum(self, parameter: Tensor) -> Tensor:
        """The gradient with Nesterov's momentum."""
        assert parameter.grad is not None
        state = self.state[parameter]
        if not state:
            state["momentum"] = torch.zeros_like(parameter)
        momentum: Tensor = state["momentum"].mul_(MOMENTUM).add_(parameter.grad)
        return parameter.grad.add(momentum, alpha=MOMENTUM)

    def _adamw(self, parameter: Tensor, lr: float) -> None:
        assert parameter.grad is not None
        state = self.state[parameter]
        if not state:
            state |= {"step": 0, "mean": torch.zeros_like(parameter), "square": torch.zeros_like(parameter)}
        state["step"] += 1
        mean: Tensor = state["mean"].lerp_(parameter.grad, 1 - BETAS[0])
        square: Tensor = state["square"].mul_(BETAS[1]).addcmul_(parameter.grad, parameter.grad, value=1 - BETAS[1])
        first, second = 1 - BETAS[0] ** state["step"], 1 - BETAS[1] ** state["step"]
        parameter.addcdiv_(mean, (square / second).sqrt_().add_(EPSILON), value=-lr / first)


SPARSE_BETAS = (0.9, 0.99)
"""AdamW's for sparse networks: most rows are rare, and their squares must not be remembered for thousands of steps."""


def make_optimizer(network: AnyNetwork, settings: TrainingSettings) -> torch.optim.Optimizer:
    """SGD with Nesterov momentum, AdamW, or Muon for the kernels and matrices of the blocks beside AdamW.

    Weight decay is for matrices and convolutions only.
    """
    by_muon = set[int]()
    if settings.optimizer == "muon" and isinstance(network, PolicyValueNetwork):
        by_muon = {id(p) for p in network.blocks.parameters()}
    matrices, kernels, others = list[nn.Parameter](), list[nn.Parameter](), list[nn.Parameter]()
    for parameter in network.parameters():
        if parameter.requires_grad:
            kind = others if parameter.ndim <= 1 else kernels if id(parameter) in by_muon else matrices
            kind.append(parameter)
    groups: list[dict[str, Any]] = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    if settings.optimizer == "muon":
        groups.append({"params": kernels, "weight_decay": settings.weight_decay, "muon": True})
        return Muon(groups, settings.lr)
    if settings.optimizer == "adamw" and isinstance(network, SparseNetwork):
        return torch.optim.AdamW(groups, lr=settings.lr, betas=SPARSE_BETAS, fused=True)
    if settings.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=settings.lr)
    return torch.optim.SGD(groups, lr=settings.lr, momentum=0.9, nesterov=True)


ESTIMATION_POSITIONS = 100_000
"""Positions for which BatchNorm statistics are estimated."""


def estimation_batches(
    data: Dataset, size: int, *, seed: int, most: int, device: torch.device, network: nn.Module
) -> Iterator[TensorBatch]:
    """The first batches of training on this data, for BatchNorm statistics, up to `ESTIMATION_POSITIONS`.

    Args:
        data: Training positions.
        size: Positions per batch.
        seed: Random seed; the same seed gives the same batches.
        most: Number of batches, at most.
        device: Where the batches are.
        network: The network that they are for.
    """
    stop = min(most, -(-ESTIMATION_POSITIONS // size))
    for batch in training_batches(data, size, seed=seed, start=0, stop=stop):
        yield TensorBatch.of(batch, device, network)


class AveragedWeights:
    """An exponential average of a network's weights.

    dlshogi's "SWA": the average is updated every 250 steps (Izmailov et al. 2018, arXiv:1803.05407, with old weights
    forgotten).

    Args:
        network: The network that is trained.
        averages: After each update the average is n / (n + 1) of itself plus 1 / (n + 1) of the weights, with this n.
    """

    def __init__(self, network: AnyNetwork, averages: int) -> None:
        self.network = deepcopy(network).eval().requires_grad_(False)
        """The network with averaged weights."""
        self.count = 0
        """Updates so far."""
        self._weight = 1.0 / (averages + 1)

    @torch.no_grad()
    def update(self, network: AnyNetwork) -> None:
        """Take in the network's present weights; the first ones are copied."""
        weight = self._weight if self.count else 1.0
        state: dict[str, Tensor] = network.state_dict()
        for name, average in self.network.state_dict().items():
            if average.is_floating_point():
                average.lerp_(state[name], weight)
            else:
                average.copy_(state[name])
        self.count += 1


def batchnorm_layers(network: nn.Module) -> list[_BatchNorm]:
    """The BatchNorm layers of a network."""
    return [module for module in network.modules() if isinstance(module, _BatchNorm)]


@torch.no_grad()
def estimate_batchnorm(network: nn.Module, inputs: Iterable[tuple[Any, ...]]) -> None:
    """Replace the statistics of all BatchNorm layers by their means over batches.

    Averaged weights need it at the end: the statistics of the run belong to other weights.

    Args:
        network: Left in evaluation mode.
        inputs: What the network is called with, for each batch; not read without BatchNorm.
    """
    layers = batchnorm_layers(network)
    momenta = [layer.momentum for layer in layers]
    network.eval()
    if not layers:
        return
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # the mean of all batches
        layer.train()
    for given in inputs:
        network(*given)
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum
    network.eval()


@dataclass(frozen=True)
class Schedule:
    """Learning rates and loss weights as functions of the step, so that they need no state in a checkpoint.

    >>> schedule = Schedule(TrainingSettings(lr=0.1, warmup=10, schedule="halving"), steps=300, steps_per_epoch=100)
    >>> [round(schedule.learning_rate(step), 4) for step in (0, 9, 99, 100, 299)]
    [0.01, 0.1, 0.1, 0.05, 0.025]
    """

    settings: TrainingSettings
    """Settings of the run."""
    steps: int
    """Steps of the whole run."""
    steps_per_epoch: int
    """Steps of one pass over the data."""

    def learning_rate(self, step: int) -> float:
        """The rate of a step, from 0: a linear warm-up times the schedule."""
        warm = min(1.0, (step + 1) / max(1, self.settings.warmup))
        return self.settings.lr * warm * self._after_warmup(step)

    def _after_warmup(self, step: int) -> float:
        """The share of the peak, 0 to 1."""
        if self.settings.schedule == "cosine":
            return 0.5 * (1.0 + math.cos(math.pi * min(1.0, step / self.steps)))
        if self.settings.schedule == "halving":
            return 0.5 ** math.floor(self._epoch(step) / self.settings.halving_epochs)
        return 1.0

    def loss_weights(self, step: int) -> LossWeights:
        """The weights of the losses at a step."""
        val_lambda = self.settings.val_lambda
        if self.settings.val_lambda_decay:
            val_lambda *= max(0.0, 1.0 - self._epoch(step) / self.settings.val_lambda_decay)
        settings = self.settings
        return LossWeights(val_lambda, settings.policy_weight, settings.value_weight, settings.entropy, settings.critic)

    def _epoch(self, step: int) -> float:
        return step / max(1, self.steps_per_epoch)
