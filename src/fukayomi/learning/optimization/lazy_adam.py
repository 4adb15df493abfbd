"""Adam for tables of which a batch has few rows."""

from collections.abc import Callable, Iterable
from typing import Any, cast

import torch
from numpy.typing import NDArray
from torch import Tensor

from fukayomi._native import lazy_adam

BETAS = (0.9, 0.99)
"""Shares that the running means of gradients and of their squares keep."""
EPSILON = 1e-8


class LazyAdam(torch.optim.Optimizer):
    """Adam (Kingma and Ba 2015) that leaves rows without a gradient alone, on the CPU in float32.

    The usual Adam moves a row for dozens of steps after each gradient, while its memory of squares fades: a row that
    occurs in one batch of a thousand moves about ten times the learning rate each time, and learns its few positions
    by heart. A row is what the last axis of a parameter counts, of one axis a single number.

    Args:
        groups: Parameters, or groups of them with settings of their own, as for the optimisers of torch.
        lr: Learning rate.
        weight_decay: Share of the weights that a step with a learning rate of 1 would take away.
    """

    def __init__(self, groups: Iterable[Any], lr: float, weight_decay: float = 0.0) -> None:
        super().__init__(groups, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Make a step with the gradients that the parameters have; `closure` computes the loss before it."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for weights in cast("list[Tensor]", group["params"]):
                if weights.grad is None:
                    continue
                state = cast("dict[str, Any]", self.state[weights])
                if not state:
                    state.update(step=0, means=torch.zeros_like(weights), squares=torch.zeros_like(weights))
                state["step"] += 1
                if group["weight_decay"]:
                    weights.mul_(1 - group["lr"] * group["weight_decay"])
                lazy_adam(
                    _array(weights), _array(state["means"]), _array(state["squares"]), _array(weights.grad),
                    group["lr"], BETAS, state["step"], EPSILON, threads=torch.get_num_threads(),
                )  # fmt: skip
        return loss


def _array(tensor: Tensor) -> "NDArray[Any]":
    """The memory of a tensor; that of a copy for one that is not contiguous, such as the gradient of a sum."""
    return tensor.detach().contiguous().numpy()
