"""Products of matrices and transforms in every family, as the tuner measures them, against NumPy in float64."""

import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyopencl", reason="pyopencl is not installed: pip install 'pyopencl[pocl]'")

from fukayomi.engine.evaluators.backends.opencl.devices import OpenClDevice
from fukayomi.engine.evaluators.backends.opencl.network import Kernels
from fukayomi.engine.evaluators.backends.opencl.parameters import Parameters, Tiled, Wmma
from fukayomi.engine.evaluators.backends.opencl.tuning.configurations import (
    GEMM,
    Limits,
    is_valid_tiled,
    is_valid_wmma,
)
from fukayomi.engine.evaluators.backends.opencl.tuning.reference import transformed, untransformed
from fukayomi.engine.evaluators.backends.opencl.tuning.shapes import Shape
from fukayomi.engine.evaluators.backends.opencl.tuning.trials import DeviceBench
from fukayomi.engine.evaluators.backends.opencl.winograd import points_of

EXACT, ROUNDED = 1e-6, 5e-4
TILES = [
    Tiled(**GEMM.reference),
    Tiled(16, 32, 8, 8, 8, 8, 8, 2, 2, 4, 0, 0, 1, 0),
    Tiled(32, 16, 16, 8, 8, 8, 8, 1, 4, 2, 1, 0, 0, 1),
    Tiled(16, 16, 16, 4, 8, 8, 8, 4, 2, 2, 1, 1, 1, 1, 1, 1),
]
FRAGMENTS = [
    Wmma(),
    Wmma(MWG=32, NWG=32, KWG=16, MWAVE=32, NWAVE=8, MWARP=32, NWARP=8, VWM=4, SA=1),
    Wmma(MWG=32, NWG=64, KWG=32, MWAVE=16, NWAVE=64, MWARP=8, NWARP=32, VWM=4, VWN=8, SA=1, SB=1),
]


@pytest.fixture(scope="module")
def bench(opencl_device: OpenClDevice) -> DeviceBench:
    """Six positions: no multiple of any tile."""
    return DeviceBench(opencl_device.handle, 6)


def error_of(bench: DeviceBench, parameters: Parameters, shape: Shape, part: Any = "product") -> float:
    trial = bench.measure(parameters, shape, part, 0.0)
    assert math.isfinite(trial.seconds)
    return trial.error


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_tiles(bench: DeviceBench, tile: Tiled) -> None:
    assert is_valid_tiled(tile, Limits())
    parameters = Parameters(lanes=2, tiles=1, convolutions=tile, direct=tile)
    for shape in (Shape(3, 19, 35), Shape(1, 21, 13), Shape(1, 35, 17, 1)):
        assert error_of(bench, parameters, shape) < EXACT


def test_tiles_of_half_floats_in_memory(bench: DeviceBench) -> None:
    parameters = Parameters(lanes=2, tiles=1, storage16=True, convolutions=TILES[1])
    assert 0 < error_of(bench, parameters, Shape(3, 19, 35)) < ROUNDED


@pytest.mark.parametrize("output", [3, 4])
@pytest.mark.parametrize("storage16", [False, True])
def test_transforms(bench: DeviceBench, output: int, storage16: bool) -> None:
    parameters = Parameters(
        lanes=2,
        output=output,
        tiles=1,  # nine take long to compile; a CPU begins with them, as the backend is tested
        storage16=storage16,
        transform=(2, 1, 4),
        untransform=(1, 4, 2),
    )
    for part in ("transform", "untransform"):
        assert error_of(bench, parameters, Shape(3, 5, 3), part) < (ROUNDED if storage16 else EXACT)


@pytest.mark.parametrize("fragments", FRAGMENTS, ids=str)
def test_all_of_the_kernel_for_tensor_cores_but_their_instructions(
    bench: DeviceBench, monkeypatch: pytest.MonkeyPatch, fragments: Wmma
) -> None:
    """Where the instructions are ordinary code; they themselves need a card."""
    assert is_valid_wmma(fragments, Limits())
    monkeypatch.setattr(
        Kernels,
        "gemm",
        lambda self, step, shape, *_: self.get(step, "gemm_wmma.cl", "gemm", EMULATED=1, **shape.defines()),
    )
    parameters = Parameters(lanes=2, tiles=1, storage16=True, convolutions=fragments)
    assert 0 < error_of(bench, parameters, Shape(3, 19, 35)) < ROUNDED  # tiles beyond the matrices' edges
    assert 0 < error_of(bench, parameters, Shape(3, 32, 32)) < ROUNDED


@pytest.mark.parametrize("output", [3, 4])
def test_the_reference_is_a_convolution(output: int) -> None:
    drawing = np.random.default_rng(3)
    board, weights = drawing.standard_normal((2, 81, 3)), drawing.standard_normal((4, 2, 3, 3))
    points = transformed(board, output)
    kernels = points_of(weights, output)  # pyright: ignore[reportArgumentType]
    products = np.einsum("pkc,pctn->pktn", kernels, points)
    padded = np.pad(board.reshape(2, 9, 9, 3), ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected = sum(
        np.einsum("kc,cijn->kijn", weights[:, :, y, x], padded[:, y : y + 9, x : x + 9])
        for y in range(3)
        for x in range(3)
    )
    np.testing.assert_allclose(untransformed(products, output), np.reshape(expected, (4, 81, 3)), atol=1e-12)


def test_what_cannot_be_run_has_failed(bench: DeviceBench) -> None:
    too_large = Parameters(lanes=2, tiles=1, convolutions=Tiled(MDIMC=512, NDIMC=512))
    assert bench.measure(too_large, Shape(3, 3, 3), "product", 1.0).seconds == math.inf
