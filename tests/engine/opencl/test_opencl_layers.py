"""Every kernel of the OpenCL backend against NumPy in float64, over odd shapes."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed: pip install 'pyopencl[pocl]'")

from fukayomi.engine.evaluators.backends.opencl.devices import OpenClDevice  # noqa: E402
from fukayomi.engine.evaluators.backends.opencl.layers import (  # noqa: E402
    Activation,
    Affine,
    Attention,
    Convolution,
    Excitation,
    Layer,
    Layers,
    Mean,
    Sum,
    Value,
)
from fukayomi.engine.evaluators.backends.opencl.network import (  # noqa: E402
    Compiler,
    Kernels,
    NetworkOnDevice,
    allocate,
)
from fukayomi.engine.evaluators.backends.opencl.parameters import Parameters, Registers, Tiled  # noqa: E402

Doubles = np.ndarray[Any, np.dtype[np.float64]]
DRAWING = np.random.default_rng(7)
PLAIN = Parameters(lanes=4, tiles=1)
TILED = Parameters(lanes=2, tiles=1, convolutions=Tiled(), direct=Tiled(KWI=1, VWM=1, VWN=1))
HALF = Parameters(lanes=4, tiles=1, storage16=True)
EXACT, ROUNDED = 2e-6, 5e-3  # half floats before and after Winograd's transforms
BOARDS = 2
PROGRAMS: dict[Any, Any] = {}
CONTEXTS: dict[str, Any] = {}
"""One context for all tests, whose programs are compiled once, by the device's name."""


def computed(
    device: OpenClDevice, layers: Sequence[Layer], parameters: Parameters, inputs: Mapping[Value, np.ndarray]
) -> np.ndarray:
    """What layers make of one or two inputs [numbers, width], as [numbers, width]."""
    out = layers[-1].out
    first, second = next(iter(inputs)), list(inputs)[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context = CONTEXTS.setdefault(device.name, cl.Context([device.handle]))
        whole = Layers(first, second, layers, out, np.zeros(1, np.float32), out)
        network = NetworkOnDevice(device.handle, whole, parameters, context, PROGRAMS)
        batch = allocate(network, BOARDS * parameters.lanes)
        for value, values in inputs.items():
            cl.enqueue_copy(batch.queue, batch.numbers[value], values)
        for call in Compiler(network, batch, BOARDS).compile():
            call.enqueue(batch.queue)
    found = np.empty((out.numbers, BOARDS * parameters.lanes), stored(parameters))
    cl.enqueue_copy(batch.queue, found, batch.numbers[out])
    return found


def stored(parameters: Parameters) -> type:
    return np.float16 if parameters.storage16 else np.float32


def drawn(value: Value, parameters: Parameters) -> np.ndarray:
    return DRAWING.standard_normal((value.numbers, BOARDS * parameters.lanes)).astype(stored(parameters))


def activated(x: Doubles, activation: Activation) -> Doubles:
    if activation is Activation.RELU:
        return np.maximum(x, 0)
    if activation is Activation.NONE:
        return x
    sigmoid = 1 / (1 + np.exp(-x))
    return sigmoid if activation is Activation.SIGMOID else x * sigmoid


def convolved(board: np.ndarray, weights: np.ndarray) -> Doubles:
    """Convolution [C * 81, width] with [K, C, h, w], zeros beyond the edge."""
    outputs, inputs, height, width = weights.shape
    maps = board.astype(np.float64).reshape(inputs, 9, 9, -1)
    up, left = height // 2, width // 2
    padded = np.pad(maps, ((0, 0), (up, up), (left, left), (0, 0)))
    total = np.zeros((outputs, 9, 9, maps.shape[-1]))
    for y in range(height):
        for x in range(width):
            total += np.einsum("kc,cijn->kijn", weights[:, :, y, x], padded[:, y : y + 9, x : x + 9])
    return total.reshape(outputs * 81, -1)


def assert_near(found: np.ndarray, expected: Doubles, parameters: Parameters) -> None:
    error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
    assert error < (ROUNDED if parameters.storage16 else EXACT)


@pytest.mark.parametrize("parameters", [PLAIN, TILED, HALF], ids=["registers", "tiled", "half"])
@pytest.mark.parametrize(
    ("kernel", "has_residual"),
    [((3, 3), False), ((3, 3), True), ((1, 1), True), ((9, 1), False), ((1, 9), True)],
    ids=str,
)
def test_convolutions(
    opencl_device: OpenClDevice, kernel: tuple[int, int], parameters: Parameters, has_residual: bool
) -> None:
    source, out, residual = Value(5, 81), Value(11, 81), Value(11, 81)
    activation = Activation.SILU if has_residual else Activation.RELU
    weights = DRAWING.standard_normal((11, 5, *kernel)).astype(np.float32)
    bias = DRAWING.standard_normal(11).astype(np.float32)
    layer = Convolution(source, out, weights, bias, activation, residual if has_residual else None)
    inputs = {value: drawn(value, parameters) for value in (source, *([residual] if has_residual else []))}
    expected = convolved(inputs[source], weights) + np.repeat(bias, 81)[:, None]
    if has_residual:
        expected += inputs[residual]
    found = computed(opencl_device, [layer], parameters, inputs)
    assert_near(found, activated(expected, activation), parameters)


@pytest.mark.parametrize("parameters", [PLAIN, TILED, HALF], ids=["registers", "tiled", "half"])
def test_dense_layers(opencl_device: OpenClDevice, parameters: Parameters) -> None:
    source, out = Value(37, 1), Value(19, 1)
    weights = DRAWING.standard_normal((19, 37, 1, 1)).astype(np.float32)
    bias = DRAWING.standard_normal(19).astype(np.float32)
    layer = Convolution(source, out, weights, bias, Activation.SIGMOID)
    given = drawn(source, parameters)
    expected = weights[:, :, 0, 0].astype(np.float64) @ given + bias[:, None]
    found = computed(opencl_device, [layer], parameters, {source: given})
    assert_near(found, activated(expected, Activation.SIGMOID), parameters)


@pytest.mark.parametrize("kernel", [(1, 1), (9, 1), (1, 9)], ids=str)
@pytest.mark.parametrize(("rows", "columns"), [(1, 9), (5, 1), (12, 3)])
def test_blocks_in_registers(opencl_device: OpenClDevice, rows: int, columns: int, kernel: tuple[int, int]) -> None:
    parameters = Parameters(lanes=8, tiles=1, direct=Registers(rows, columns))
    source, out = Value(7, 81), Value(13, 81)
    weights = DRAWING.standard_normal((13, 7, *kernel)).astype(np.float32)
    layer = Convolution(source, out, weights, np.zeros(13, np.float32), Activation.NONE)
    given = drawn(source, parameters)
    found = computed(opencl_device, [layer], parameters, {source: given})
    assert_near(found, convolved(given, weights), parameters)


@pytest.mark.parametrize("parameters", [PLAIN, HALF], ids=["floats", "half"])
def test_channels_times_a_factor_sums_and_means(opencl_device: OpenClDevice, parameters: Parameters) -> None:
    source, other, out = Value(5, 81), Value(5, 81), Value(5, 81)
    scale, shift = (DRAWING.standard_normal(5).astype(np.float32) for _ in range(2))
    inputs = {value: drawn(value, parameters) for value in (source, other)}
    plain = inputs[source].astype(np.float64)
    found = computed(opencl_device, [Affine(source, out, scale, shift, Activation.RELU)], parameters, inputs)
    expected = plain * np.repeat(scale, 81)[:, None] + np.repeat(shift, 81)[:, None]
    assert_near(found, activated(expected, Activation.RELU), parameters)
    found = computed(opencl_device, [Sum(source, other, out, Activation.SILU)], parameters, inputs)
    assert_near(found, activated(plain + inputs[other], Activation.SILU), parameters)
    found = computed(opencl_device, [Mean(source, Value(5, 1))], parameters, inputs)
    assert_near(found, plain.reshape(5, 81, -1).mean(1), parameters)


@pytest.mark.parametrize("parameters", [PLAIN, HALF], ids=["floats", "half"])
@pytest.mark.parametrize("has_residual", [False, True])
def test_excitation(opencl_device: OpenClDevice, parameters: Parameters, has_residual: bool) -> None:
    source, other, factors, out = Value(5, 81), Value(5, 81), Value(5, 1), Value(5, 81)
    inputs = {value: drawn(value, parameters) for value in (source, other)}
    layers = [
        Mean(other, factors),
        Excitation(source, factors, out, Activation.RELU, other if has_residual else None),
    ]
    means = inputs[other].astype(np.float64).reshape(5, 81, -1).mean(1)
    expected = inputs[source] * np.repeat(means, 81, axis=0) + (inputs[other] if has_residual else 0)
    found = computed(opencl_device, layers, parameters, inputs)
    assert_near(found, activated(expected, Activation.RELU), parameters)


@pytest.mark.parametrize("parameters", [PLAIN, HALF], ids=["floats", "half"])
def test_attention(opencl_device: OpenClDevice, parameters: Parameters) -> None:
    heads, head = 3, 5
    channels = heads * head
    source, out = Value(3 * channels, 81), Value(channels, 81)
    given = drawn(source, parameters)
    q, k, v = given.astype(np.float64).reshape(3, heads, head, 81, -1)
    scores = np.einsum("hdqn,hdkn->hqkn", q, k) / np.sqrt(head)
    weights = np.exp(scores - scores.max(2, keepdims=True))
    weights /= weights.sum(2, keepdims=True)
    expected = np.einsum("hqkn,hdkn->hdqn", weights, v).reshape(channels * 81, -1)
    found = computed(opencl_device, [Attention(source, out, heads, Activation.NONE)], parameters, {source: given})
    assert_near(found, expected, parameters)


@pytest.mark.parametrize("storage16", [False, True])
def test_planes_are_unpacked_and_logits_gathered(opencl_device: OpenClDevice, storage16: bool) -> None:
    count, lanes, boards, planes2 = 3, 2, 2, 57
    width = lanes * boards
    kind = np.float16 if storage16 else np.float32
    context = cl.Context([opencl_device.handle])
    queue = cl.CommandQueue(context)
    kernels = Kernels(context, Parameters(lanes=lanes, storage16=storage16), {})

    alive: list[Any] = []  # a kernel does not keep its arguments

    def sent(values: np.ndarray) -> Any:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        alive.append(cl.Buffer(context, flags, hostbuf=values))
        return alive[-1]

    def received(buffer: Any, shape: tuple[int, ...], dtype: type) -> np.ndarray:
        found = np.empty(shape, dtype)
        cl.enqueue_copy(queue, found, buffer)
        return found

    squares = DRAWING.integers(0, 256, (count, 628), np.uint8)
    constants = DRAWING.integers(0, 256, (count, 8), np.uint8)
    map1, map2 = (sent(np.full((planes, 81, width), 9, kind)) for planes in (62, planes2))
    unpack = kernels.get(0, "layers.cl", "unpack", HEAD=0)
    unpack.enqueue(queue, (sent(squares), sent(constants), map1, map2, count, planes2, boards), (width, 62 + planes2))
    bits = np.unpackbits(squares, axis=1, bitorder="little")[:, : 62 * 81].reshape(count, 62, 81)
    flags = np.unpackbits(constants, axis=1, bitorder="little")[:, :planes2]
    found1, found2 = received(map1, (62, 81, width), kind), received(map2, (planes2, 81, width), kind)
    assert (found1[..., :count] == bits.transpose(1, 2, 0)).all()
    assert (found2[..., :count] == flags.T[:, None]).all()
    assert not found1[..., count:].any()
    assert not found2[..., count:].any()

    policy = DRAWING.standard_normal((2187, width)).astype(kind)
    bias = DRAWING.standard_normal(2187).astype(np.float32)
    labels = DRAWING.integers(0, 2187, (count, 10)).astype(np.uint16)
    counts = np.array([10, 3, 0], np.uint16)
    for broken in (False, True):
        if broken:
            policy[labels[1, 2], 1] = np.nan
        logits, good = sent(np.full((count, 10), 7, np.float32)), sent(np.ones(1, np.int32))
        gather = kernels.get(0, "layers.cl", "gather", HEAD=0)
        arguments = (sent(policy), sent(bias), sent(labels), sent(counts), logits, good, count, 10, boards)
        gather.enqueue(queue, arguments, (width, 10))
        found = received(logits, (count, 10), np.float32)
        assert received(good, (1,), np.int32)[0] == (not broken)
        for position, number in enumerate(counts):
            chosen = labels[position, :number]
            expected = policy[chosen, position].astype(np.float32) + bias[chosen]
            np.testing.assert_allclose(found[position, :number], expected, rtol=1e-6)
            assert (found[position, number:] == 7).all()


@pytest.mark.parametrize(("last", "is_good"), [(0.75, True), (1.5, False), (np.nan, False), (-0.25, False)])
def test_win_rates_are_probabilities(opencl_device: OpenClDevice, last: float, is_good: bool) -> None:
    context = cl.Context([opencl_device.handle])
    queue = cl.CommandQueue(context)
    kernel = Kernels(context, Parameters(lanes=4), {}).get(0, "layers.cl", "win_rates", HEAD=0)
    given = np.array([0.0, 1.0, last, 5.0], np.float32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    source, out, good = (
        cl.Buffer(context, flags, hostbuf=values) for values in (given, np.zeros(4, np.float32), np.ones(1, np.int32))
    )
    kernel.enqueue(queue, (source, out, good, 3), (4,))
    found, flag = np.empty(4, np.float32), np.empty(1, np.int32)
    cl.enqueue_copy(queue, found, out)
    cl.enqueue_copy(queue, flag, good)
    np.testing.assert_array_equal(found, [0.0, 1.0, last, 0.0])
    assert bool(flag[0]) is is_good
