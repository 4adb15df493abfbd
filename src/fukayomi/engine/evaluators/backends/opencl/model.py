"""A network on an OpenCL device as the search sees it: slots of bit-packed planes in, logits of the legal moves out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyopencl as cl

from fukayomi._native import MAX_MOVES
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.opencl.layers import Layers
from fukayomi.engine.evaluators.backends.opencl.network import Batch, Call, Compiler, Device, allocate
from fukayomi.engine.evaluators.backends.opencl.parameters import Parameters
from fukayomi.engine.evaluators.protocol import PlaneSlot, Slot

GOOD = np.ones(1, np.int32)


@dataclass(frozen=True, slots=True)
class OpenClSlot(PlaneSlot):
    """A slot with its memory on the device."""

    batch: Batch
    good: np.ndarray[Any, Any]
    """int32 [1]: 1 where all numbers of the last batch are finite, and win rates are probabilities."""


class OpenClModel:
    """A network on an OpenCL device.

    Args:
        name: The network's file, for messages.
        layers: The network.
        device: OpenCL's device.
        parameters: How it is computed.
    """

    fixed_batch = 0

    def __init__(self, name: str, layers: Layers, device: Any, parameters: Parameters) -> None:
        self._name = name
        self._device = Device(device, layers, parameters)

    def allocate(self, capacity: int) -> OpenClSlot:
        """Memory for a batch of up to ``capacity`` positions, here and on the device."""
        return OpenClSlot.zeros(capacity, batch=allocate(self._device, capacity), good=np.ones(1, np.int32))

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot that `allocate` made."""
        assert isinstance(slot, OpenClSlot)
        batch, planes = slot.batch, slot.input
        boards = -(-n // self._device.parameters.lanes)
        if boards not in batch.calls:
            batch.calls[boards] = self._prepare(batch, boards)
        queue = batch.queue
        for buffer, values in (
            (batch.squares, planes.planes1),
            (batch.constants, planes.planes2),
            (batch.labels, planes.labels),
            (batch.counts, planes.counts),
        ):
            cl.enqueue_copy(queue, buffer, values[:n], is_blocking=False)
        cl.enqueue_copy(queue, batch.good, GOOD, is_blocking=False)
        unpack, *between, gather, win_rates = batch.calls[boards]
        unpack.kernel.set_arg(4, np.int32(n))
        gather.kernel.set_arg(6, np.int32(n))
        win_rates.kernel.set_arg(3, np.int32(n))
        for call in (unpack, *between, gather, win_rates):
            cl.enqueue_nd_range_kernel(queue, call.kernel, call.sizes, call.local)
        cl.enqueue_copy(queue, slot.logits[:n], batch.logits, is_blocking=False)
        cl.enqueue_copy(queue, slot.values[:n], batch.values, is_blocking=False)
        cl.enqueue_copy(queue, slot.good, batch.good, is_blocking=False)
        queue.finish()
        if not slot.good[0]:
            raise EvaluatorError(f"{self._name}: a logit is not finite, or a value is no probability")

    def close(self) -> None:
        """Nothing to do: memory on the device is freed with the object."""

    def _prepare(self, batch: Batch, boards: int) -> list[Call]:
        device = self._device
        layers, numbers, kernels = device.layers, batch.numbers, device.kernels
        width = boards * device.parameters.lanes
        planes2 = layers.input2.rows
        unpack, gather, win_rates = (
            kernels.get("layers.cl", name, HEAD=0) for name in ("unpack", "gather", "win_rates")
        )
        unpack.set_args(
            batch.squares,
            batch.constants,
            numbers[layers.input1],
            numbers[layers.input2],
            np.int32(0),
            np.int32(planes2),
            np.int32(boards),
        )
        gather.set_args(
            numbers[layers.policy],
            device.policy_bias,
            batch.labels,
            batch.counts,
            batch.logits,
            batch.good,
            np.int32(0),
            np.int32(MAX_MOVES),
            np.int32(boards),
        )
        win_rates.set_args(numbers[layers.value], batch.values, batch.good, np.int32(0))
        return [
            Call(unpack, (width, layers.input1.rows + planes2), None),
            *Compiler(device, batch, boards).compile(),
            Call(gather, (width, MAX_MOVES), None),
            Call(win_rates, (width,), None),
        ]
