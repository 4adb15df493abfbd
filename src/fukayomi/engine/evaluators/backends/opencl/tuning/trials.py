"""Kernels on a device with random numbers: how fast they are, and how exact."""

import time
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.opencl.layers import Activation, Convolution, Layers, Value
from fukayomi.engine.evaluators.backends.opencl.network import (
    Batch,
    Call,
    Compiler,
    NetworkOnDevice,
    Programs,
    allocate,
)
from fukayomi.engine.evaluators.backends.opencl.parameters import Parameters
from fukayomi.engine.evaluators.backends.opencl.tuning.configurations import Limits
from fukayomi.engine.evaluators.backends.opencl.tuning.reference import relative_error, transformed, untransformed
from fukayomi.engine.evaluators.backends.opencl.tuning.shapes import Shape
from fukayomi.engine.evaluators.backends.opencl.winograd import points_of

Part: TypeAlias = Literal["transform", "product", "untransform"]
"""A kernel of a layer. A layer that is no 3x3 convolution has only a product."""
PARTS: tuple[Part, ...] = ("transform", "product", "untransform")

REPEATS, MOST_REPEATS = 3, 40
"""The fastest of so many calls counts, after one that does not: a disturbance only makes slower."""
REPEATED_S = 0.03
"""More than the fewest are made until they have taken so long in all."""
SLOW = 3.0
"""A call that takes so many times as long as the best one is not repeated."""
LONGEST_S = 1.0
"""A call that is expected to take longer is not made."""
PROBED = 8
"""Share of a batch, as its denominator, that is computed first to see how long all of it takes."""
STALLED_S = 180.0
"""A call that is not done then will never be. PoCL compiles a kernel when it is first called."""
CPU_SUMS = 32
"""`Limits.sums` of CPUs, whose compilers unroll all work-items of a work-group: larger tiles take minutes."""


class StalledError(EvaluatorError):
    """The device does not come back from a kernel."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What was measured."""

    seconds: float
    """Of a call; infinite if it could not be run, or took too long."""
    error: float
    """Relative to float64, as a length; infinite if a number is not finite."""


FAILED = Trial(float("inf"), float("inf"))


class Bench(Protocol):
    """Where kernels are measured."""

    limits: Limits

    def measure(self, parameters: Parameters, shape: Shape, part: Part, best_s: float) -> Trial:
        """Measure a kernel of a layer.

        Args:
            parameters: How it is computed.
            shape: The layer.
            part: The kernel.
            best_s: Seconds of the best call so far; what is much slower is not measured exactly.
        """
        ...


class DeviceBench:
    """Kernels on a device.

    Args:
        device: OpenCL's device.
        positions: Positions of a batch, a multiple of 16.
        seed: Seed of the numbers.
    """

    def __init__(self, device: Any, positions: int, seed: int = 0) -> None:
        self._device = device
        self._positions = positions
        self._seed = seed
        self._context = cl.Context([device])
        self._queue = cl.CommandQueue(self._context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self._programs: Programs = {}
        self._problems: dict[tuple[Any, ...], _Problem] = {}
        self.limits = limits_of(device)

    def measure(self, parameters: Parameters, shape: Shape, part: Part, best_s: float) -> Trial:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what compilers have to say
                return self._measure(parameters, shape, part, best_s)
        except (cl.Error, MemoryError):
            return FAILED

    def _measure(self, parameters: Parameters, shape: Shape, part: Part, best_s: float) -> Trial:
        problem = self._problem(parameters, shape, part)
        device = NetworkOnDevice(self._device, problem.layers, parameters, self._context, self._programs)
        batch = allocate(device, self._positions)
        boards = self._positions // parameters.lanes
        call = self._call(device, batch, boards, part, shape)
        source, out = problem.buffers(batch, part)
        cl.enqueue_copy(self._queue, source, problem.source)
        if boards >= PROBED:
            probe = self._call(device, batch, boards // PROBED, part, shape)
            self._seconds(probe)
            if self._seconds(probe) * PROBED > LONGEST_S:
                return FAILED
        seconds = self._seconds(call)
        found = np.empty(problem.expected.shape, problem.source.dtype)
        cl.enqueue_copy(self._queue, found, out)
        error = relative_error(found, problem.expected)
        if seconds <= SLOW * best_s:
            times = [self._seconds(call) for _ in range(REPEATS)]
            while sum(times) < REPEATED_S and len(times) < MOST_REPEATS:
                times.append(self._seconds(call))
            seconds = min(times)
        return Trial(seconds, error)

    def _call(self, device: NetworkOnDevice, batch: Batch, boards: int, part: Part, shape: Shape) -> Call:
        calls = Compiler(device, batch, boards).compile()
        return calls[PARTS.index(part)] if shape.kernel == 3 else calls[0]

    def _seconds(self, call: Call) -> float:
        event = call.enqueue(self._queue)
        self._queue.flush()
        until, pause = time.monotonic() + STALLED_S, 1e-5
        while (status := event.command_execution_status) > cl.command_execution_status.COMPLETE:
            if time.monotonic() > until:
                raise StalledError(
                    f"{self._device.name.strip()} does not come back from a kernel: restart the computer, "
                    "or update its driver"
                )
            time.sleep(pause)
            pause = min(2 * pause, 1e-3)
        if status < 0:
            raise cl.RuntimeError(f"the kernel failed with {status}")
        return (event.profile.end - event.profile.start) * 1e-9

    def _problem(self, parameters: Parameters, shape: Shape, part: Part) -> "_Problem":
        stored = np.float16 if parameters.storage16 else np.float32
        output = parameters.output if shape.kernel == 3 else 0
        key = shape, part, output, stored
        if key not in self._problems:
            self._problems[key] = _Problem(shape, part, output, stored, self._positions, self._seed)
        return self._problems[key]


class _Problem:
    """A kernel's random numbers, and what it should make of them."""

    def __init__(self, shape: Shape, part: Part, output: int, stored: Any, width: int, seed: int) -> None:
        drawing = np.random.default_rng(seed)
        side = shape.kernel if shape.kernel == 3 else 1
        scale = 1 / np.sqrt(shape.inputs * side * side)
        weights = drawing.standard_normal((shape.outputs, shape.inputs, side, side), np.float32) * np.float32(scale)
        self._layer = Convolution(
            Value(shape.inputs, shape.squares),
            Value(shape.outputs, shape.squares),
            weights,
            np.zeros(shape.outputs, np.float32),
            Activation.NONE,
        )
        self._is_winograd = side == 3
        self._output, self._stored = output, stored
        tiles = (output + 2) ** 2
        rows = shape.outputs if part == "untransform" else shape.inputs
        reads_map = part == "transform" or not self._is_winograd
        size = (rows, shape.squares, width) if reads_map else (tiles, rows, 9, width)
        self.source: NDArray[Any] = drawing.standard_normal(size, np.float32).astype(stored)
        self.expected = self._expected(part)

    @cached_property
    def layers(self) -> Layers:
        """The layer as a network."""
        source, out = self._layer.source, self._layer.out
        return Layers(source, source, [self._layer], out, np.zeros(1, np.float32), out)

    def buffers(self, batch: Batch, part: Part) -> tuple[Any, Any]:
        """Where the kernel reads and writes."""
        source, out = batch.numbers[self._layer.source], batch.numbers[self._layer.out]
        if not self._is_winograd:
            return source, out
        before, after = batch.points
        return {"transform": (source, before), "product": (before, after), "untransform": (after, out)}[part]

    def _expected(self, part: Part) -> NDArray[np.float64]:
        source = self.source.astype(np.float64)
        if not self._is_winograd:
            weights = self._layer.weights[:, :, 0, 0].astype(self._stored).astype(np.float64)
            return np.tensordot(weights, source, 1)
        if part == "transform":
            return transformed(source, self._output)
        if part == "untransform":
            return untransformed(source, self._output)
        weights = points_of(self._layer.weights, self._output).astype(self._stored).astype(np.float64)
        points, inputs, tiles, width = source.shape
        product = weights @ source.reshape(points, inputs, tiles * width)
        return product.reshape(points, -1, tiles, width)


def limits_of(device: Any) -> Limits:
    """What a device can run."""
    limits = Limits(device.max_work_group_size, tuple(device.max_work_item_sizes), device.local_mem_size)
    return replace(limits, sums=CPU_SUMS) if device.type & cl.device_type.CPU else limits
