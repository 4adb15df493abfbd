"""A network on an OpenCL device as the search sees it: slots of bit-packed planes in, logits of the legal moves out."""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from fukayomi._native import MAX_MOVES
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.graphs.graph import GraphError
from fukayomi.engine.evaluators.backends.graphs.reader import read_graph
from fukayomi.engine.evaluators.backends.opencl.devices import OpenClDevice, starting_parameters
from fukayomi.engine.evaluators.backends.opencl.layers import Layers
from fukayomi.engine.evaluators.backends.opencl.network import Batch, Call, Compiler, NetworkOnDevice, allocate
from fukayomi.engine.evaluators.backends.opencl.parameters import Parameters
from fukayomi.engine.evaluators.backends.opencl.translation import translate
from fukayomi.engine.evaluators.backends.opencl.tuning.kept import load
from fukayomi.engine.evaluators.protocol import PlaneSlot, Slot

GOOD = np.ones(1, np.int32)
LONGEST_ERROR = 400
"""Characters of a driver's message, whose end has the reason."""


@dataclass(frozen=True, slots=True)
class OpenClSlot(PlaneSlot):
    """A slot with its memory on the device."""

    batch: Batch
    good: np.ndarray[Any, Any]
    """int32 [1]: 1 where all numbers of the last batch are finite, and win rates are probabilities."""


def open_network(path: Path, device: OpenClDevice, *, precision: str) -> "OpenClModel":
    """A network of an ONNX file on a device.

    Args:
        path: The file.
        device: The device.
        precision: "fp32" or "fp16".

    Raises:
        EvaluatorError: The file holds no network that the kernels compute, or the driver failed.
    """
    try:
        graph = read_graph(path)
        layers = translate(graph)
    except GraphError as error:
        raise EvaluatorError(f"{path}: OpenCL cannot load it: {error}. DNN_Provider cpu runs any ONNX file") from error
    half = precision == "fp16"
    parameters = load(device, layers, half=half) or replace(starting_parameters(device), storage16=half)
    model = OpenClModel(path, layers, device, parameters)
    model.fixed_batch = graph.batch
    return model


class OpenClModel:
    """A network on an OpenCL device.

    Args:
        path: Its file, for messages.
        layers: The network.
        device: The device.
        parameters: How it is computed.

    Raises:
        EvaluatorError: The driver failed; the message says what helps.
    """

    fixed_batch = 0

    def __init__(self, path: Path, layers: Layers, device: OpenClDevice, parameters: Parameters) -> None:
        self._path = path
        self._name = device.name
        with self._errors():
            self._network = NetworkOnDevice(device.handle, layers, parameters)

    def allocate(self, capacity: int) -> OpenClSlot:
        """Memory for a batch of up to ``capacity`` positions, here and on the device."""
        with self._errors(capacity):
            batch = allocate(self._network, capacity)
        return OpenClSlot.zeros(capacity, batch=batch, good=np.ones(1, np.int32))

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot that `allocate` made."""
        assert isinstance(slot, OpenClSlot)
        with self._errors(slot.capacity):
            try:
                self._run(slot, n)
            except BaseException:
                with suppress(cl.Error):
                    slot.batch.queue.finish()  # what was enqueued still writes into the slot
                raise
        if not slot.good[0]:
            raise EvaluatorError(f"{self._path}: a logit is not finite, or a value is no probability")

    def _run(self, slot: OpenClSlot, n: int) -> None:
        batch, planes = slot.batch, slot.input
        calls = self._calls(batch, n)
        queue = batch.queue
        for buffer, values in (
            (batch.squares, planes.planes1),
            (batch.constants, planes.planes2),
            (batch.labels, planes.labels),
            (batch.counts, planes.counts),
        ):
            cl.enqueue_copy(queue, buffer, values[:n], is_blocking=False)
        cl.enqueue_copy(queue, batch.good, GOOD, is_blocking=False)
        for call in calls:
            call.enqueue(queue)
        for values, buffer in (
            (slot.logits[:n], batch.logits),
            (slot.values[:n], batch.values),
            (slot.good, batch.good),
        ):
            cl.enqueue_copy(queue, values, buffer, is_blocking=False)
        queue.finish()

    @contextmanager
    def _errors(self, capacity: int = 0) -> Generator[None]:
        """Errors of the driver as EvaluatorErrors that say what helps."""
        try:
            yield
        except cl.Error as error:
            raise EvaluatorError(f"{self._path}: {self._reason(error, capacity)}") from error

    def _reason(self, error: cl.Error, capacity: int) -> str:
        """What failed, and what helps."""
        text = " ".join(str(error).split())
        if isinstance(error, cl.MemoryError) or "INVALID_BUFFER_SIZE" in text:
            batches = f" for batches of {capacity}" if capacity else ""
            remedy = "; set a smaller DNN_Batch_Size, or fewer UCT_Threads" if capacity else ""
            return f"{self._name} has not enough memory{batches}{remedy}"
        end = text if len(text) <= LONGEST_ERROR else f"... {text[-LONGEST_ERROR:]}"
        kind = "cannot compile the kernels" if "BUILD" in text else "failed"
        remedy = "a newer driver may help, or another DNN_Provider (fukayomi doctor lists them)"
        return f"OpenCL on {self._name} {kind}: {end}; {remedy}"

    def close(self) -> None:
        """Nothing to do: memory on the device is freed with the object."""

    def _calls(self, batch: Batch, n: int) -> list[Call]:
        """All kernels for a batch of n positions, in order."""
        device, numbers, kernels = self._network, batch.numbers, batch.kernels
        layers, lanes = device.layers, device.parameters.lanes
        boards, planes2 = -(-n // lanes), layers.input2.rows
        if boards not in batch.calls:
            batch.calls[boards] = Compiler(device, batch, boards).compile()
        width = boards * lanes
        inputs = (batch.squares, batch.constants, numbers[layers.input1], numbers[layers.input2])
        moves = (batch.labels, batch.counts, batch.logits, batch.good, n, MAX_MOVES, boards)
        heads = {
            "unpack": ((*inputs, n, planes2, boards), (width, layers.input1.rows + planes2)),
            "gather": ((numbers[layers.policy], device.policy_bias, *moves), (width, MAX_MOVES)),
            "win_rates": ((numbers[layers.value], batch.values, batch.good, n), (width,)),
        }
        unpack, *outputs = (
            Call(kernels.get(name, "layers.cl", name, HEAD=0), arguments, sizes)
            for name, (arguments, sizes) in heads.items()
        )
        return [unpack, *batch.calls[boards], *outputs]
