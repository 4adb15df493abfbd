"""The tuner: its printout on a device that is not there, and for real for a few seconds."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest

pytest.importorskip("pyopencl", reason="pyopencl is not installed: pip install 'pyopencl[pocl]'")

from fukayomi.engine.evaluators.backends.opencl.devices import OpenClDevice
from fukayomi.engine.evaluators.backends.opencl.parameters import Parameters, Registers, Tiled, Wmma
from fukayomi.engine.evaluators.backends.opencl.tuning.configurations import DIRECT, GEMM, Limits
from fukayomi.engine.evaluators.backends.opencl.tuning.printout import LINE, TuningPrinter
from fukayomi.engine.evaluators.backends.opencl.tuning.search import score_of
from fukayomi.engine.evaluators.backends.opencl.tuning.shapes import Shape, Shapes
from fukayomi.engine.evaluators.backends.opencl.tuning.trials import FAILED, DeviceBench, Part, Trial
from fukayomi.engine.evaluators.backends.opencl.tuning.tuned import Tuned
from fukayomi.engine.evaluators.backends.opencl.tuning.tuner import Facts, Tuner, TuningError

SHAPES = Shapes(((Shape(3, 224, 224), 30), (Shape(3, 62, 224), 1), (Shape(1, 224, 27), 2)))
GPU = Parameters(lanes=4, tiles=1, convolutions=Tiled(), direct=Tiled())
PLAIN = Facts("GeForce RTX 3090", is_cpu=False, start=GPU)


class FakeBench:
    """A device on which larger tiles are faster, and time passes as it is told."""

    limits = Limits(local=48 * 1024)

    def __init__(
        self, *, wmma: float = 1.0, half: float = 1.0, storage: float = 1.0, call_s: float = 0.0, error: float = 0.0
    ) -> None:
        self.now = 0.0
        self.count = 0
        self._factors = wmma, half, storage
        self._call_s, self._error = call_s, error

    def clock(self) -> float:
        return self.now

    def measure(self, parameters: Parameters, shape: Shape, part: Part, best_s: float) -> Trial:
        self.now += self._call_s
        self.count += 1
        wmma, half, storage = self._factors
        speed = (storage if parameters.storage16 else 1.0) * (1.5 if parameters.output == 3 else 1.0)
        if part == "transform":
            speed *= sum(parameters.transform)
        elif part == "untransform":
            speed *= sum(parameters.untransform)
        else:
            family = parameters.convolutions if shape.kernel == 3 else parameters.direct
            if isinstance(family, Wmma):
                if not wmma:
                    return FAILED
                speed *= wmma * 100 * (1 + family.MWG / 1e4)
            elif isinstance(family, Tiled):
                if family.SA:
                    speed *= 50 * (1 + family.MWG / 100)
                speed *= half if parameters.compute16 else 1.0
            else:
                speed *= family.rows
        return Trial(1 / (1000 * speed), self._error)


def tuned(bench: FakeBench, facts: Facts = PLAIN, budget_s: float = 60.0) -> tuple[Tuned, list[str]]:
    lines: list[str] = []
    tuner = Tuner(bench, facts, SHAPES, budget_s=budget_s, listener=TuningPrinter(lines.append), clock=bench.clock)
    return tuner.tune(), lines


def test_sections_come_in_the_order_and_words_of_katago() -> None:
    found, lines = tuned(FakeBench(), replace(PLAIN, has_fp16=True, may_have_tensor_cores=True))
    assert lines[:2] == [
        "Beginning GPU tuning for GeForce RTX 3090 channels 224",
        "Setting winograd3x3TileSize = 3",
    ]
    assert LINE == "------------------------------------------------------"
    sections = [after for line, after in pairwise(lines) if line == LINE]
    assert sections == [
        "Tuning xGemmDirect for 1x1 convolutions and matrix mult",
        "Tuning xGemm for convolutions",
        "Tuning registers for 1x1 convolutions and matrix mult",
        "Tuning registers for convolutions",
        "Tuning xGemm16 for convolutions",
        "Tuning hGemmWmma for convolutions",
        "Using FP16 storage!",
        "Tuning winograd transform for convolutions",
        "Tuning winograd untransform for convolutions",
    ]
    assert lines[-2:] == ["Done tuning", LINE]
    assert "Testing 56 different configs" in lines  # as many as KataGo's
    assert "Testing 70 different configs" in lines
    assert isinstance(found.parameters(half=False).convolutions, Tiled)


def test_lines_of_configurations() -> None:
    _, lines = tuned(FakeBench())
    first = lines.index("Testing 56 different configs") + 1
    reference = "WGD=8 MDIMCD=1 NDIMCD=1 MDIMAD=1 NDIMBD=1 KWID=1 VWMD=1 VWND=1 PADA=1 PADB=1"
    assert lines[first] == f"Tuning 0/56 (reference) Calls/sec 81000 L2Error 0 {reference}"
    assert lines[first + 1].startswith("Tuning 3/56 Calls/sec 87000 L2Error 0 WGD=16 MDIMCD=8 ")
    assert lines[first + 2].startswith("Tuning 4/56 Calls/sec 99000 L2Error 0 WGD=32 MDIMCD=8 ")
    assert lines[first + 3 : first + 5] == ["Tuning 20/56 ...", "Tuning 40/56 ..."]
    assert any(line.endswith("  transLocalSize0=1 transLocalSize1=1") for line in lines)


@pytest.mark.parametrize(
    ("wmma", "half", "storage", "flags", "text"),
    [
        (0.95, 1.0, 1.0, (True, False, True), "Enabling FP16 tensor cores due to better performance"),
        (0.5, 1.3, 1.0, (True, True, False), "Enabling FP16 compute due to better performance"),
        (0.5, 1.1, 1.3, (True, False, False), "Enabling FP16 storage due to better performance"),
        (0.5, 1.1, 1.1, (False, False, False), "FP16 tensor cores not faster enough, not enabling"),
        (0.0, 1.1, 1.1, (False, False, False), "FP16 tensor cores failed, not enabling"),
    ],
)
def test_half_floats_are_taken_where_they_are_faster(
    wmma: float, half: float, storage: float, flags: tuple[bool, bool, bool], text: str
) -> None:
    # Wmma is as fast as the best tile at 0.82 of the fake's factor; storage counts for it too.
    bench = FakeBench(wmma=wmma / storage * 0.82, half=half / storage, storage=storage)
    found, lines = tuned(bench, replace(PLAIN, has_fp16=True, may_have_tensor_cores=True))
    assert (found.fp16_storage, found.fp16_compute, found.fp16_tensor_cores) == flags
    assert text in lines
    assert f"Using FP{16 if flags[0] else 32} storage!" in lines
    assert f"Using FP{16 if flags[1] else 32} compute!" in lines
    assert ("Using FP16 tensor cores!" in lines) == flags[2]
    halves = found.parameters(half=True)
    assert halves.storage16
    assert isinstance(halves.convolutions, Wmma if flags[2] else Tiled)
    assert not found.parameters(half=False).storage16


def test_a_cpu_takes_blocks_in_registers_if_they_are_faster() -> None:
    facts = Facts("PoCL", is_cpu=True, start=Parameters())
    bench = FakeBench()
    bench.limits = Limits(local=16)  # no tile goes through local memory: all are slow
    found, _ = tuned(bench, facts)
    assert found.registers == Registers(16, 3)
    assert found.parameters().convolutions == Registers(16, 3)
    assert found.lanes == 16


def test_no_section_exceeds_its_time_and_each_tries_the_default() -> None:
    bench = FakeBench(call_s=1.0)
    found, lines = tuned(bench, budget_s=20.0)
    assert bench.now < 60  # each section tries two at least, each in up to two shapes
    assert sum("stopped: the time of this section is over" in line for line in lines) >= 4
    assert found.x_gemm == Tiled()


def test_a_device_without_exact_results_is_refused() -> None:
    with pytest.raises(TuningError, match="GeForce RTX 3090 runs no kernel"):
        tuned(FakeBench(error=math.inf))


def test_errors_cost_speed() -> None:
    assert score_of(100.0, 0.0, 0.005) == 100.0
    assert score_of(100.0, 1e-6, 0.005) == pytest.approx(98.6, abs=0.1)
    assert score_of(100.0, 0.005, 0.005) == pytest.approx(0.9 * 29.3, abs=0.1)


@pytest.mark.parametrize("space", [DIRECT, GEMM], ids=["xGemmDirect", "xGemm"])
def test_configurations_are_each_once_in_an_order_of_the_seed(space: object) -> None:
    assert isinstance(space, type(GEMM))
    first, second, other = (space.configurations(Limits(), is_full=False, seed=seed) for seed in (1, 1, 2))
    assert first == second != other
    assert first[0] == first[1] == space.reference
    assert len({tuple(each.items()) for each in first}) == len(first) - 1
    assert len(space.configurations(Limits(), is_full=True, seed=1)) > 10 * len(first)


def test_when_twice_the_time_is_over_all_stays_as_it_was() -> None:
    found, _ = tuned(FakeBench(call_s=100.0), Facts("PoCL", is_cpu=True, start=Parameters()), budget_s=1.0)
    assert found.parameters() == replace(Parameters(), direct=Registers())


def test_for_real(opencl_device: OpenClDevice) -> None:
    """For a moment, with kernels that are compiled soon; how fast they are is not certain, but that they are exact."""
    block = Registers(4, 1)
    facts = Facts(opencl_device.name, is_cpu=True, start=Parameters(lanes=4, tiles=1, convolutions=block, direct=block))
    bench = DeviceBench(opencl_device.handle, 4)
    lines: list[str] = []
    shapes = Shapes(((Shape(3, 8, 8), 2), (Shape(1, 8, 27), 1)))
    found = Tuner(bench, facts, shapes, budget_s=4.0, listener=TuningPrinter(lines.append)).tune()
    assert lines[0] == f"Beginning GPU tuning for {opencl_device.name} channels 8"
    tried = [line.split() for line in lines if "Calls/sec" in line]
    assert tried[0][2] == "(reference)"
    for words in tried:
        place = words.index("Calls/sec") + 1
        assert float(words[place]) > 0
        assert float(words[place + 2]) < 1e-6
    assert lines[-2:] == ["Done tuning", LINE]
    trial = bench.measure(found.parameters(half=False), Shape(3, 8, 8), "product", 0.0)
    assert trial.error < 1e-6
