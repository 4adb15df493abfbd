"""Several processes that train one network, each on a part of every batch.

``torchrun --nproc-per-node 4 -m fukayomi train ...`` starts them; CUDA devices talk by NCCL, CPUs by gloo. The result
is that of one process with the same batches, up to rounding: gradients are means over all processes
(DistributedDataParallel), BatchNorm normalises with the statistics of the whole batch, and losses are reported for the
whole batch.
"""

# pyright: reportUnknownMemberType=false

import atexit
import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage] - the class of all of them

from fukayomi.learning.settings import TrainingError

PATIENCE = timedelta(hours=6)
"""Time that processes wait for each other, as while the first one evaluates a large test set."""


@dataclass(frozen=True)
class Processes:
    """The processes of a run, seen from one of them."""

    rank: int = 0
    """Number of this process, from 0."""
    count: int = 1
    """Number of processes."""

    @property
    def is_main(self) -> bool:
        """True if this is the process that evaluates, reports and writes."""
        return self.rank == 0

    def rows(self, batch: int) -> slice:
        """This process's part of the rows of a batch.

        Raises:
            TrainingError: The batch cannot be divided evenly.
        """
        if batch % self.count:
            raise TrainingError(f"a batch of {batch} cannot be divided among {self.count} processes")
        part = batch // self.count
        return slice(self.rank * part, (self.rank + 1) * part)

    def wrap(self, network: nn.Module) -> nn.Module:
        """The network to train: with several processes its gradients are means over all of them.

        BatchNorm layers of the network are changed in place; names and parameters stay.
        """
        if self.count == 1:
            return network
        from torch.nn.parallel import DistributedDataParallel  # takes a second to import

        device = next(network.parameters()).device
        devices = [device] if device.type == "cuda" else None
        if devices:
            nn.SyncBatchNorm.convert_sync_batchnorm(network)
        else:
            share_batchnorm(network)
        return DistributedDataParallel(network, device_ids=devices)

    def mean(self, tensor: Tensor) -> Tensor:
        """The mean of a tensor over all processes."""
        if self.count == 1:
            return tensor
        total = tensor.detach().clone()
        dist.all_reduce(total)
        return total / self.count

    def any(self, flag: bool, device: torch.device) -> bool:
        """True if the flag is set in any process."""
        return flag if self.count == 1 else bool(self.mean(torch.tensor(float(flag), device=device)).item())

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.count > 1:
            dist.barrier()


def join(device: torch.device) -> Processes:
    """Join the processes that torchrun started, until this one ends; without torchrun there is one.

    Args:
        device: Where this process computes.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Processes()
    if not dist.is_initialized():
        if device.type == "cuda":
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
        atexit.register(dist.destroy_process_group)
    return Processes(dist.get_rank(), dist.get_world_size())


def is_first_process() -> bool:
    """True if this is the one process of a run that prints; known before the processes are joined."""
    return int(os.environ.get("RANK", "0")) == 0


def local_device(name: str | torch.device) -> str | torch.device:
    """The device of this process: with several processes, "auto" and "cuda" are a CUDA device for each."""
    rank = os.environ.get("LOCAL_RANK")
    if rank is None or str(name) not in ("auto", "cuda") or not torch.cuda.is_available():
        return name
    return f"cuda:{rank}"


class _SumOverProcesses(torch.autograd.Function):
    """The sum of a tensor over all processes; so is its gradient."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        total: Tensor = args[0].clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Tensor:
        total: Tensor = grad_outputs[0].clone()
        dist.all_reduce(total)
        return total


class SharedBatchNorm(_BatchNorm):
    """BatchNorm with the statistics of all processes' batches, as torch's SyncBatchNorm, which needs CUDA.

    All processes must have batches of the same size.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        pass  # any number of dimensions

    def forward(self, input: Tensor) -> Tensor:
        """Normalise [N, C, ...]."""
        if not self.training:
            return super().forward(input)
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        axes = [axis for axis in range(input.ndim) if axis != 1]
        shape = [1, -1, *[1] * (input.ndim - 2)]
        count, x = dist.get_world_size(), input.float()
        total = x.numel() // x.shape[1] * count
        mean = cast(Tensor, _SumOverProcesses.apply(x.mean(axes))) / count
        centred = x - mean.view(shape)
        variance = cast(Tensor, _SumOverProcesses.apply(centred.square().mean(axes))) / count
        with torch.no_grad():
            self.num_batches_tracked += 1
            weight = self.momentum if self.momentum is not None else 1.0 / float(self.num_batches_tracked)
            self.running_mean.lerp_(mean, weight)
            self.running_var.lerp_(variance * (total / max(1, total - 1)), weight)
        y = centred * (variance + self.eps).rsqrt().view(shape)
        return (y * self.weight.view(shape) + self.bias.view(shape)).to(input.dtype)


def share_batchnorm(network: nn.Module) -> None:
    """Let all BatchNorm layers of a network share their statistics with the other processes."""
    for name, child in network.named_children():
        if not isinstance(child, _BatchNorm):
            share_batchnorm(child)
        elif not isinstance(child, SharedBatchNorm):
            shared = SharedBatchNorm(child.num_features, child.eps, child.momentum)
            shared.weight, shared.bias = child.weight, child.bias
            shared.running_mean, shared.running_var = child.running_mean, child.running_var
            shared.num_batches_tracked = child.num_batches_tracked
            setattr(network, name, shared.train(child.training))
