"""Networks in torch on a GPU, with everything between planes and the logits of legal moves on the device.

636 bytes of bit-packed planes and the labels of the legal moves go to the device for each position; their logits and
the value come back. Each slot has a queue of work of its own (a stream), so that one is copied while another is
computed, and a graph for each of `SIZES`: the kernels of a whole network are started at once.
"""

# pyright: reportUnknownMemberType=false

import threading
import weakref
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fukayomi._native import FEATURES1, FEATURES2, MAX_MOVES, PACKED1_BYTES, PACKED2_BYTES, PlaneInput
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.torch_device import Device, Queue, gpu_error
from fukayomi.engine.evaluators.backends.torch_network import open_network
from fukayomi.engine.evaluators.float_model import check_values
from fukayomi.engine.evaluators.protocol import PlaneSlot, Slot

SIZES = (1, 4, 16, 32, 64, 104, 128, 208, 256, 416, 512)
"""Batch sizes with a graph; a batch is filled up to the next one. Beyond them are the powers of two."""
ARRAYS: dict[str, tuple[tuple[int, ...], torch.dtype]] = {
    "planes1": ((PACKED1_BYTES,), torch.uint8),
    "planes2": ((PACKED2_BYTES,), torch.uint8),
    "labels": ((MAX_MOVES,), torch.uint16),
    "logits": ((MAX_MOVES,), torch.float32),
    "values": ((), torch.float32),
    "is_finite": ((), torch.bool),
}
"""Shapes and types of what a position has on both sides. `is_finite`: all of its 2187 logits are finite numbers."""
SENT, FETCHED = ("planes1", "planes2", "labels"), ("logits", "values", "is_finite")


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Lane:
    """What a slot has on the device. It is used again by another slot when its own is gone."""

    queue: Queue
    arrays: dict[str, Tensor]
    """By the names of `ARRAYS`, one row for each position."""
    graphs: dict[int, Callable[[], None]]
    """By batch size."""

    @property
    def capacity(self) -> int:
        """Rows of the arrays."""
        return len(self.arrays["values"])


@dataclass(frozen=True, slots=True, weakref_slot=True)
class GpuSlot(PlaneSlot):
    """A slot in pinned memory."""

    host: dict[str, Tensor]
    """The arrays of the slot, by the names of `ARRAYS`."""
    lane: Lane


class TorchGpuModel:
    """A network in torch on a GPU.

    Args:
        path: An ONNX file, or a parameter file.
        precision: A key of `TYPES`; the heads are computed in float32.
        device: The GPU. Each has a model of its own.

    Raises:
        EvaluatorError: The file holds no network that torch runs, or the GPU cannot be used.
    """

    def __init__(self, path: Path, *, precision: str, device: Device) -> None:
        self._path = path
        self._device = device
        network = open_network(path, precision)
        self.fixed_batch = network.fixed_batch
        try:
            self._network = device.hold(network)
        except RuntimeError as error:
            raise gpu_error(path, device, error) from error
        self._free: list[Lane] = []
        self._lock = threading.Lock()

    def allocate(self, capacity: int) -> GpuSlot:
        """Pinned memory for a batch of up to ``capacity`` positions, with graphs for all sizes of its batches.

        Capturing them takes a moment, which a search must not wait for.

        Raises:
            EvaluatorError: The GPU has too little memory, or cannot run the network.
        """
        try:
            lane = self._lane(self._rounded(capacity))
            for size in self._sizes(capacity):
                if size not in lane.graphs:
                    lane.graphs[size] = self._capture(lane, size)
            host = {name: self._device.pinned((capacity, *shape), dtype) for name, (shape, dtype) in ARRAYS.items()}
        except RuntimeError as error:
            raise self._explained(error) from error
        planes1, planes2, labels = (host[name].numpy() for name in SENT)
        slot = GpuSlot(
            input=PlaneInput(planes1, planes2, labels, np.zeros(capacity, np.uint16)),
            logits=host["logits"].numpy(),
            values=host["values"].numpy(),
            host=host,
            lane=lane,
        )
        weakref.finalize(slot, self._free.append, lane).atexit = False
        return slot

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot that `allocate` made.

        Raises:
            EvaluatorError: The GPU has failed, or the outputs are no logits and probabilities.
        """
        assert isinstance(slot, GpuSlot)
        lane, step = slot.lane, self.fixed_batch or max(n, 1)
        try:
            for start in range(0, n, step):
                self._run_rows(slot, start, min(step, n - start))
            lane.queue.synchronize()
        except RuntimeError as error:
            raise self._explained(error) from error
        check_values(self._path, is_finite=bool(slot.host["is_finite"][:n].all()), values=slot.values[:n])

    def close(self) -> None:
        """Free the graphs; the rest goes with the object."""
        self._free.clear()

    def _run_rows(self, slot: GpuSlot, start: int, count: int) -> None:
        """Queue the work for some rows of a slot."""
        queue, device = slot.lane.queue, slot.lane.arrays
        rows = slice(start, start + count)
        with queue.active():
            for name in SENT:
                queue.copy(device[name][:count], slot.host[name][rows])
            slot.lane.graphs[self._rounded(count)]()
            for name in FETCHED:
                queue.copy(slot.host[name][rows], device[name][:count])

    def _explained(self, error: RuntimeError) -> EvaluatorError:
        return error if isinstance(error, EvaluatorError) else gpu_error(self._path, self._device, error)

    def _lane(self, rows: int) -> Lane:
        """A lane with so many rows that no slot uses, or a new one."""
        with self._lock:
            for lane in self._free:
                if lane.capacity >= rows:
                    self._free.remove(lane)
                    return lane
            self._free.clear()  # smaller ones, whose memory is worth more than their graphs
        arrays = {name: self._device.zeros((rows, *shape), dtype) for name, (shape, dtype) in ARRAYS.items()}
        return Lane(self._device.queue(), arrays, {})

    def _rounded(self, n: int) -> int:
        """The batch size with which n positions are computed."""
        if self.fixed_batch:
            return self.fixed_batch
        return SIZES[bisect_left(SIZES, n)] if n <= SIZES[-1] else 1 << (n - 1).bit_length()

    def _sizes(self, capacity: int) -> list[int]:
        """All batch sizes of a slot, the largest first: memory for it is enough for the others."""
        largest = self._rounded(capacity)
        sizes = [largest] if self.fixed_batch else [size for size in SIZES if size <= largest]
        while sizes[-1] < largest:
            sizes.append(2 * sizes[-1])
        return sizes[::-1]

    def _capture(self, lane: Lane, size: int) -> Callable[[], None]:
        """The graph for a batch size."""
        arrays = {name: tensor[:size] for name, tensor in lane.arrays.items()}
        return lane.queue.capture(lambda: self._compute(arrays))

    def _compute(self, arrays: dict[str, Tensor]) -> None:
        """From planes and labels to logits and values, all on the device."""
        planes = unpack(arrays["planes1"], arrays["planes2"], self._network.dtype, self._network.constants)
        policy, values = self._network(*planes)
        arrays["logits"].copy_(gather(policy, arrays["labels"]))
        arrays["values"].copy_(values)
        arrays["is_finite"].copy_(policy.isfinite().all(1))


def unpack(planes1: Tensor, planes2: Tensor, dtype: torch.dtype, constants: int = FEATURES2) -> tuple[Tensor, Tensor]:
    """Bit-packed planes, uint8 [N, 628] and [N, 8], as zeros and ones [N, 62, 9, 9] and [N, constants, 9, 9].

    They are in the layout channels_last.
    """
    features1 = _bits(planes1)[:, : FEATURES1 * 81].view(-1, FEATURES1, 9, 9)
    features2 = _bits(planes2)[:, :constants].view(-1, constants, 1, 1).expand(-1, -1, 9, 9)
    layout = torch.channels_last
    return features1.to(dtype, memory_format=layout), features2.to(dtype, memory_format=layout)


def gather(policy: Tensor, labels: Tensor) -> Tensor:
    """The logits of the legal moves: policy [N, 2187] at labels, uint16 [N, 593], gives [N, 593]."""
    index = labels.view(torch.int16).to(torch.int64)  # labels are below 2187; torch has little for uint16
    return policy.gather(1, index)


def _bits(packed: Tensor) -> Tensor:
    """The bits of bytes, the lowest first: uint8 [N, B] to [N, 8 * B]."""
    shifts = torch.arange(8, dtype=torch.uint8, device=packed.device)
    return ((packed.unsqueeze(-1) >> shifts) & 1).flatten(1)
