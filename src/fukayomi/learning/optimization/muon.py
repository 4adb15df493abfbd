"""Muon: momentum whose update of a matrix is made orthogonal, beside AdamW for all other parameters.

Sources: Keller Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks", and Liu et al. 2025,
"Muon is Scalable for LLM Training", arXiv:2502.16982, whose scale lets both kinds of parameters share one learning
rate.
"""

# pyright: reportUnknownMemberType=false

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

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
