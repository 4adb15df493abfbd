"""A network on an OpenCL device: its kernels, its weights there, and the batches of a slot.

Everything lies in memory as ``[numbers][positions]``: see ``native/opencl/common.cl``. A batch is padded to a whole
number of vectors. A slot has a kernel for each step, whatever the size of the batch; only arguments that change with
the size are set anew: to make a kernel takes PyOpenCL long.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from fukayomi._native import MAX_MOVES, PACKED1_BYTES, PACKED2_BYTES
from fukayomi.engine.evaluators.backends.opencl.layers import (
    Affine,
    Attention,
    Convolution,
    Excitation,
    Layer,
    Layers,
    Mean,
    Sum,
    Value,
    sources,
)
from fukayomi.engine.evaluators.backends.opencl.parameters import Parameters, Registers, Tiled, Wmma
from fukayomi.engine.evaluators.backends.opencl.winograd import points_of

SQUARES = 81
LINE = 9
BUILD_OPTIONS = ("-cl-std=CL1.2", "-cl-mad-enable")


@cache
def source(name: str) -> str:
    """The text of a file of kernels."""
    package = Path(__file__).parents[4]
    folder = next(path for path in (package / "opencl", package.parents[1] / "native" / "opencl") if path.is_dir())
    return (folder / name).read_text("utf-8")


Programs: TypeAlias = dict[tuple[str, tuple[tuple[str, int], ...]], Any]
"""Compiled programs by their file and macros."""


class Kernel:
    """A kernel of OpenCL that remembers its arguments: to set one takes longer than to compare it.

    Args:
        program: The compiled program.
        name: The kernel's name there.
    """

    def __init__(self, program: Any, name: str) -> None:
        self._kernel = cl.Kernel(program, name)
        self._arguments: dict[int, Any] = {}

    def enqueue(
        self, queue: Any, arguments: Sequence[Any], sizes: tuple[int, ...], local: tuple[int, ...] | None = None
    ) -> Any:
        """Enqueue the kernel; its event. One thread at a time may do so.

        Args:
            queue: Where.
            arguments: Buffers, and ints, which are 32 bits.
            sizes: Work-items.
            local: Those of a work-group; None: the driver chooses.
        """
        for place, argument in enumerate(arguments):
            if place not in self._arguments or self._arguments[place] != argument:
                self._kernel.set_arg(place, np.int32(argument) if isinstance(argument, int) else argument)
                self._arguments[place] = argument
        return cl.enqueue_nd_range_kernel(queue, self._kernel, sizes, local)


@dataclass(frozen=True, slots=True)
class Call:
    """A kernel, its arguments, and the sizes with which it is enqueued."""

    kernel: Kernel
    arguments: tuple[Any, ...]
    sizes: tuple[int, ...]
    local: tuple[int, ...] | None = None

    def enqueue(self, queue: Any) -> Any:
        """Enqueue it; the kernel's event."""
        return self.kernel.enqueue(queue, self.arguments, self.sizes, self.local)


class Kernels:
    """The kernels of a batch on a device, one for each step of a network.

    Args:
        context: OpenCL's context of the device.
        parameters: How they are compiled.
        programs: Compiled programs of that context, which are used and added to.
    """

    def __init__(self, context: Any, parameters: Parameters, programs: Programs) -> None:
        self._context = context
        self._parameters = parameters
        self._programs = programs
        self._kernels: dict[tuple[Any, ...], Kernel] = {}

    def get(self, step: str | int, file: str, name: str, **defines: int) -> Kernel:
        """The kernel of a step, compiled and made when it is first asked for."""
        parameters = self._parameters
        everywhere = {"LANES": parameters.lanes, "STORAGE16": int(parameters.storage16)}
        key = file, tuple(sorted((everywhere | defines).items()))
        if key not in self._programs:
            program = cl.Program(self._context, source("common.cl") + source(file))
            self._programs[key] = program.build([*BUILD_OPTIONS, *(f"-D{name}={value}" for name, value in key[1])])
        if (step, key, name) not in self._kernels:
            self._kernels[step, key, name] = Kernel(self._programs[key], name)
        return self._kernels[step, key, name]

    def gemm(self, step: int, shape: Registers | Tiled | Wmma, columns: int = 0, taps: int = 1) -> Kernel:
        """The product of matrices.

        Args:
            step: The step.
            shape: Family and parameters.
            columns: Vectors of a block in registers, in place of the shape's.
            taps: 9: a convolution along lines, by blocks in registers.
        """
        if isinstance(shape, Wmma):
            return self.get(step, "gemm_wmma.cl", "gemm", EMULATED=0, **shape.defines())
        if isinstance(shape, Tiled):
            return self.get(step, "gemm_tiled.cl", "gemm", COMPUTE16=int(self._parameters.compute16), **shape.defines())
        return self.get(step, "gemm_registers.cl", "gemm", **(shape.defines() | {"COLUMNS": columns, "TAPS": taps}))


class NetworkOnDevice:
    """A network's part that is the same for all of its batches: compiled programs and weights.

    Args:
        device: OpenCL's device.
        layers: The network.
        parameters: How it is computed.
        context: OpenCL's context of the device; None: one of its own.
        programs: Compiled programs of that context, which are used and added to.
    """

    def __init__(
        self,
        device: Any,
        layers: Layers,
        parameters: Parameters,
        context: Any = None,
        programs: Programs | None = None,
    ) -> None:
        self.context = cl.Context([device]) if context is None else context
        self.layers = layers
        self.parameters = parameters
        self.programs: Programs = {} if programs is None else programs
        self._stored = np.float16 if parameters.storage16 else np.float32
        self._queue = cl.CommandQueue(self.context)
        self.weights = {id(layer): self._weights(layer) for layer in layers.layers}
        self.policy_bias = self.floats(layers.policy_bias)

    def buffer(self, numbers: int) -> Any:
        """Memory for activations."""
        return cl.Buffer(self.context, cl.mem_flags.READ_WRITE, max(1, numbers) * np.dtype(self._stored).itemsize)

    def floats(self, values: NDArray[Any]) -> Any:
        """Numbers that stay floats."""
        return self._upload(np.ascontiguousarray(values, np.float32))

    def _upload(self, values: NDArray[Any]) -> Any:
        return cl.Buffer(self.context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=values)

    def _weights(self, layer: Layer) -> tuple[Any, ...]:
        if isinstance(layer, Affine):
            return self.floats(layer.scale), self.floats(layer.shift)
        if not isinstance(layer, Convolution):
            return ()
        is_winograd = layer.weights.shape[2:] == (3, 3)
        shape = self.parameters.convolutions if is_winograd else self.parameters.direct
        if is_winograd:
            matrices = points_of(layer.weights, self.parameters.output)  # [points, K, C]
        else:
            matrices = layer.weights.transpose(0, 2, 3, 1).reshape(1, len(layer.weights), -1)  # taps before channels
        return self._upload(_packed(matrices, shape).astype(self._stored)), self.floats(layer.bias)


def _packed(matrices: NDArray[Any], shape: Registers | Tiled | Wmma) -> NDArray[Any]:
    """Matrices [z, rows, depth] as a family reads them."""
    count, rows, depth = matrices.shape
    padded = _multiple(rows, _block(shape))
    padded_depth = _multiple(depth, shape.KWG) if isinstance(shape, Wmma) else depth
    filled = np.zeros((count, padded, padded_depth), np.float64)
    filled[:, :rows, :depth] = matrices
    if isinstance(shape, Registers):
        return np.ascontiguousarray(filled.reshape(count, -1, shape.rows, depth).transpose(0, 1, 3, 2))
    return np.ascontiguousarray(filled.transpose(0, 2, 1))


def _block(shape: Registers | Tiled | Wmma) -> int:
    """What the rows of weights are padded to a multiple of."""
    if isinstance(shape, Registers):
        return shape.rows
    return shape.MWG if isinstance(shape, Wmma) else shape.VWM


def _multiple(number: int, of: int) -> int:
    """The least multiple that is not smaller."""
    return -(-number // of) * of


@dataclass(frozen=True, slots=True)
class Batch:
    """Memory of a batch on the device, its queue, and its kernels."""

    queue: Any
    kernels: Kernels
    squares: Any
    constants: Any
    labels: Any
    counts: Any
    logits: Any
    values: Any
    good: Any
    numbers: dict[Value, Any]
    points: tuple[Any, Any]
    lines: Any
    calls: dict[int, list[Call]] = field(default_factory=dict[int, list[Call]])
    """By the number of vectors."""


def allocate(device: NetworkOnDevice, capacity: int) -> Batch:
    """Memory for a batch of up to ``capacity`` positions."""
    lanes = device.parameters.lanes
    width = -(-capacity // lanes) * lanes
    read, write = cl.mem_flags.READ_ONLY, cl.mem_flags.READ_WRITE
    context, layers = device.context, device.layers
    convolutions = [layer for layer in layers.layers if isinstance(layer, Convolution)]
    wide = [layer for layer in convolutions if layer.weights.shape[2:] == (3, 3)]
    points = (device.parameters.output + 2) ** 2 * LINE * width
    lines = [layer.source.rows for layer in convolutions if _is_copied(layer, device.parameters)]
    return Batch(
        queue=cl.CommandQueue(context),
        kernels=Kernels(context, device.parameters, device.programs),
        squares=cl.Buffer(context, read, capacity * PACKED1_BYTES),
        constants=cl.Buffer(context, read, capacity * PACKED2_BYTES),
        labels=cl.Buffer(context, read, capacity * MAX_MOVES * 2),
        counts=cl.Buffer(context, read, capacity * 2),
        logits=cl.Buffer(context, write, capacity * MAX_MOVES * 4),
        values=cl.Buffer(context, write, capacity * 4),
        good=cl.Buffer(context, write, 4),
        numbers=_shared(layers, lambda numbers: device.buffer(numbers * width)),
        points=(
            device.buffer(max((layer.source.rows for layer in wide), default=0) * points),
            device.buffer(max((layer.out.rows for layer in wide), default=0) * points),
        ),
        lines=device.buffer(max(lines, default=0) * LINE * SQUARES * width),
    )


def _shared(layers: Layers, make: Callable[[int], Any]) -> dict[Value, Any]:
    """Memory for every value; what is no longer read gives its place to later ones of the same size."""
    last: dict[Value, int] = {layers.policy: len(layers.layers), layers.value: len(layers.layers)}
    for number, layer in enumerate(layers.layers):
        for value in sources(layer):
            last[value] = max(number, last.get(value, 0))
    found: dict[Value, Any] = {value: make(value.numbers) for value in (layers.input1, layers.input2)}
    free: dict[int, list[Any]] = {}
    for number, layer in enumerate(layers.layers):
        rest = free.get(layer.out.numbers)
        found[layer.out] = rest.pop() if rest else make(layer.out.numbers)
        for value in sources(layer):
            if last[value] == number:
                free.setdefault(value.numbers, []).append(found[value])
                last[value] = -1
    return found


def _is_copied(layer: Convolution, parameters: Parameters) -> bool:
    """True if lines are copied for a 9x1 or 1x9 convolution: tiles compute products alone."""
    return LINE in layer.weights.shape[2:] and not isinstance(parameters.direct, Registers)


class Compiler:
    """The calls of a network for one number of vectors in a batch's memory."""

    def __init__(self, device: NetworkOnDevice, batch: Batch, boards: int) -> None:
        self._device = device
        self._batch = batch
        self._boards = boards
        self._lanes = device.parameters.lanes
        self.calls: list[Call] = []

    def compile(self) -> list[Call]:
        """The calls of all layers."""
        for layer in self._device.layers.layers:
            match layer:
                case Convolution():
                    self._convolution(layer)
                case Affine():
                    size = layer.source.squares * self._boards
                    self._plain(
                        "affine",
                        (size, layer.source.rows),
                        layer.source,
                        *self._device.weights[id(layer)],
                        layer.out,
                        layer.activation,
                        layer.source.rows,
                        size,
                    )
                case Sum():
                    size = layer.out.numbers * self._boards
                    self._plain("add", (size,), layer.source, layer.residual, layer.out, layer.activation, size)
                case Mean():
                    rows = layer.source.rows
                    self._plain("mean", (self._boards, rows), layer.source, layer.out, rows, self._boards)
                case Excitation():
                    rows = layer.source.rows
                    residual = layer.residual or layer.source
                    self._plain(
                        "excite",
                        (SQUARES * self._boards, rows),
                        layer.source,
                        layer.factors,
                        residual,
                        layer.out,
                        layer.residual is not None,
                        layer.activation,
                        rows,
                        self._boards,
                    )
                case Attention():
                    rows = layer.out.rows
                    self._plain(
                        "attention",
                        (SQUARES * self._boards, layer.heads),
                        layer.source,
                        layer.out,
                        layer.activation,
                        rows,
                        self._boards,
                        head=rows // layer.heads,
                    )
        return self.calls

    def _plain(self, name: str, sizes: tuple[int, ...], *arguments: Any, head: int = 0) -> None:
        """Append a call of a kernel of ``layers.cl``."""
        self._append(self._batch.kernels.get(len(self.calls), "layers.cl", name, HEAD=head), sizes, *arguments)

    def _append(
        self, kernel: Any, sizes: tuple[int, ...], *arguments: Any, local: tuple[int, ...] | None = None
    ) -> None:
        if local is not None:
            sizes = tuple(-(-size // each) * each for size, each in zip(sizes, local, strict=True))
        self.calls.append(Call(kernel, tuple(map(self._argument, arguments)), sizes, local))

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Value):
            return self._batch.numbers[value]
        return int(value) if isinstance(value, bool) else value

    def _convolution(self, layer: Convolution) -> None:
        weights, bias = self._device.weights[id(layer)]
        outputs, inputs, *kind = layer.weights.shape
        if kind == [3, 3]:
            self._winograd(layer, weights, bias)
            return
        source: Any = layer.source
        taps, step = max(kind), LINE if kind[0] == LINE else 1
        if _is_copied(layer, self._device.parameters):
            source = self._batch.lines
            self._plain("lines", (SQUARES * self._boards, inputs), layer.source, source, step, inputs, self._boards)
            inputs, taps = taps * inputs, 1
        self._product(
            self._device.parameters.direct,
            weights,
            source,
            layer.out,
            1,
            outputs,
            layer.out.squares,
            inputs,
            bias=bias,
            residual=layer.residual,
            activation=layer.activation,
            taps=taps,
            step=step,
        )

    def _winograd(self, layer: Convolution, weights: Any, bias: Any) -> None:
        parameters, (before, after) = self._device.parameters, self._batch.points
        defines = {"OUTPUT": parameters.output, "TILES": parameters.tiles}
        tiles = LINE // parameters.tiles
        inputs, outputs = layer.source.rows, layer.out.rows
        get = self._batch.kernels.get
        self._append(
            get(len(self.calls), "winograd.cl", "winograd_transform", **defines),
            (self._boards, tiles, inputs),
            layer.source,
            before,
            inputs,
            self._boards,
            local=parameters.transform,
        )
        self._product(
            parameters.convolutions, weights, before, after, (parameters.output + 2) ** 2, outputs, LINE, inputs
        )
        residual = layer.residual or layer.source
        self._append(
            get(len(self.calls), "winograd.cl", "winograd_untransform", **defines),
            (self._boards, tiles, outputs),
            after,
            bias,
            residual,
            layer.out,
            layer.residual is not None,
            layer.activation,
            outputs,
            self._boards,
            local=parameters.untransform,
        )

    def _product(
        self,
        shape: Registers | Tiled | Wmma,
        weights: Any,
        source: Any,
        out: Any,
        count: int,
        rows: int,
        squares: int,
        depth: int,
        *,
        bias: Any = None,
        residual: Value | None = None,
        activation: int = 0,
        taps: int = 1,
        step: int = 1,
    ) -> None:
        columns = squares * self._boards
        if isinstance(shape, Wmma):
            self._wmma_product(shape, weights, source, out, count, rows, columns * self._lanes, depth)
            return
        arguments = (
            weights,
            source,
            weights if bias is None else bias,
            residual or source,
            out,
            bias is not None,
            residual is not None,
            activation,
            rows,
        )
        if isinstance(shape, Registers):
            width = shape.columns if squares % shape.columns == 0 else 1
            kernel = self._batch.kernels.gemm(len(self.calls), shape, width, taps)
            sizes = (-(-rows // shape.rows), columns // width, count)
            self._append(kernel, sizes, *arguments, columns, depth, step, local=(1, 1, 1))
        else:
            columns *= self._lanes
            sizes = (-(-rows // shape.MWG) * shape.MDIMC, -(-columns // shape.NWG) * shape.NDIMC, count)
            padded = _multiple(rows, shape.VWM)
            self._append(
                self._batch.kernels.gemm(len(self.calls), shape),
                sizes,
                *arguments,
                columns,
                depth,
                padded,
                local=(shape.MDIMC, shape.NDIMC, 1),
            )

    def _wmma_product(
        self, shape: Wmma, weights: Any, source: Any, out: Any, count: int, rows: int, columns: int, depth: int
    ) -> None:
        """A product by tensor cores; `columns` counts numbers."""
        padded, padded_depth = _multiple(rows, shape.MWG), _multiple(depth, shape.KWG)
        self._append(
            self._batch.kernels.gemm(len(self.calls), shape),
            (padded // shape.MWG * shape.workers, -(-columns // shape.NWG), count),
            weights,
            source,
            out,
            rows,
            columns,
            depth,
            padded,
            padded_depth,
            local=(shape.workers, 1, 1),
        )
