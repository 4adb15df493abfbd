"""The tuner: goes through the sections, each building on what those before it have found.

Half floats and tensor cores are taken where they are faster by the factors of KataGo's tuner, of what was measured: a
device's list of extensions tells too little.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.opencl.devices import OpenClDevice, starting_parameters
from fukayomi.engine.evaluators.backends.opencl.parameters import Parameters, Registers, Tiled, Wmma
from fukayomi.engine.evaluators.backends.opencl.tuning.configurations import (
    DIRECT,
    GEMM,
    REGISTERS,
    TRANSFORM,
    UNTRANSFORM,
    WMMA,
    Configuration,
    Space,
    direct_configuration,
    direct_tile,
    gemm_configuration,
    transform_configuration,
    transform_group,
    untransform_configuration,
    untransform_group,
)
from fukayomi.engine.evaluators.backends.opencl.tuning.listener import TuningListener
from fukayomi.engine.evaluators.backends.opencl.tuning.search import Best, Search, Section
from fukayomi.engine.evaluators.backends.opencl.tuning.shapes import Shapes
from fukayomi.engine.evaluators.backends.opencl.tuning.trials import PARTS, Bench, DeviceBench, Part
from fukayomi.engine.evaluators.backends.opencl.tuning.tuned import Tuned
from fukayomi.listener import SILENT, Listener, of_kind

BUDGET_S = 60.0
CPU_POSITIONS, GPU_POSITIONS = 16, 64
"""Positions of the batches that are measured."""

CLEARLY = 0.95
"""Share of the seconds of a layer below which another layout is taken."""
TENSOR_FACTOR = 0.9
"""Speed of tensor cores over that of floats from which they are taken: half floats make the rest faster too."""
HALF_FACTOR = 1.2
"""The same of half floats, in memory or in products."""
# Shares of the time that is left, by section. Tiles with barriers are slow on CPUs, blocks in registers on GPUs.
CPU_SHARES = {
    "layout": 10, "xGemmDirect": 8, "xGemm": 12, "direct registers": 10, "registers": 25, "xGemm16": 5, "hGemmWmma": 5,
    "transform": 8, "untransform": 12,
}  # fmt: skip
GPU_SHARES = {
    "layout": 5, "xGemmDirect": 15, "xGemm": 25, "direct registers": 2, "registers": 3, "xGemm16": 15, "hGemmWmma": 20,
    "transform": 7, "untransform": 8,
}  # fmt: skip


class TuningError(EvaluatorError):
    """A device on which not even the plainest kernels run."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What decides what is tried on a device."""

    name: str
    is_cpu: bool
    start: Parameters
    """What it begins with."""
    has_fp16: bool = False
    """True if it lists cl_khr_fp16: arithmetic in half floats."""
    may_have_tensor_cores: bool = False
    """True if the kernel with NVIDIA's instructions is worth a try."""

    @classmethod
    def of_device(cls, device: OpenClDevice) -> "Facts":
        """Facts of a device."""
        return cls(
            name=device.name,
            is_cpu=not device.is_gpu,
            start=starting_parameters(device),
            has_fp16="cl_khr_fp16" in device.extensions.split(),
            may_have_tensor_cores="nvidia" in device.vendor.lower(),
        )


def tune(
    device: OpenClDevice,
    shapes: Shapes,
    *,
    budget_s: float = BUDGET_S,
    is_full: bool = False,
    seed: int = 0,
    listener: Listener = SILENT,
) -> Tuned:
    """Find the fastest parameters of a network on a device, by measuring.

    Args:
        device: The device.
        shapes: The network's products.
        budget_s: Seconds, about: each section tries the reference and the default in any case, until twice the time is
            over; then what is left stays as it is. Compiling a kernel is not interrupted.
        is_full: Search larger ranges.
        seed: Seed of the order and the numbers.
        listener: Hears of it; a `TuningListener` of everything.

    Raises:
        TuningError: Not even the reference of a section runs.
        EvaluatorError: The device does not come back from a kernel.
    """
    facts = Facts.of_device(device)
    bench = DeviceBench(device.handle, CPU_POSITIONS if facts.is_cpu else GPU_POSITIONS, seed)
    return Tuner(bench, facts, shapes, budget_s=budget_s, is_full=is_full, seed=seed, listener=listener).tune()


class Tuner:
    """One tuning of a device. Arguments are those of `tune`.

    Args:
        bench: Where kernels are measured.
        facts: Of the device.
        shapes: The network's products.
        budget_s: Seconds.
        is_full: Search larger ranges.
        seed: Seed of the order.
        listener: Hears of it.
        clock: Seconds, for tests.
    """

    def __init__(
        self,
        bench: Bench,
        facts: Facts,
        shapes: Shapes,
        *,
        budget_s: float,
        is_full: bool = False,
        seed: int = 0,
        listener: Listener = SILENT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bench, self._facts, self._shapes = bench, facts, shapes
        self._is_full, self._seed = is_full, seed
        self._listener = of_kind(listener, TuningListener)
        self._clock = clock
        self._end = clock() + budget_s
        self._last = self._end + budget_s
        self._shares = dict(CPU_SHARES if facts.is_cpu else GPU_SHARES)
        for name, is_tried in (("xGemm16", facts.has_fp16), ("hGemmWmma", facts.may_have_tensor_cores)):
            if not is_tried:
                del self._shares[name]
        self._parameters = facts.start

    def tune(self) -> Tuned:
        """Go through all sections.

        Raises:
            TuningError: Not even the reference of a section runs.
        """
        self._listener.began(self._facts.name, self._shapes.channels)
        defaults = self._parameters
        begun = Tuned(transform=defaults.transform, untransform=defaults.untransform)
        found = self._products(self._laid_out(begun))
        found = self._in_half_floats(found)
        self._parameters = found.parameters()
        found = self._transforms(found)
        self._listener.ended()
        return found

    def _laid_out(self, tuned: Tuned) -> Tuned:
        """Choose the size of Winograd's tiles, the boards in a vector, and the tiles of a work-item."""
        facts, deadline = self._facts, self._deadline("layout")
        choices: list[list[dict[str, int]]] = (
            [[{"output": 4}], [{"lanes": max(4, facts.start.lanes // 2)}], [{"tiles": 1}]]
            if facts.is_cpu
            else [[{"output": 4}], [{"lanes": 1}, {"lanes": 2}]]
        )
        best_s = self._layer_s(self._parameters)
        for others in choices:
            for other in others:
                if self._clock() > deadline or not self._shapes.cases(3):
                    continue
                changed = replace(self._parameters, **other)
                seconds = self._layer_s(changed)
                if seconds < CLEARLY * best_s:  # once more, side by side: the device may have been busy
                    best_s = min(best_s, self._layer_s(self._parameters))
                    seconds = min(seconds, self._layer_s(changed))
                if seconds < CLEARLY * best_s:
                    best_s, self._parameters = seconds, changed
        found = self._parameters
        self._listener.layout(found.output, found.lanes, found.tiles)
        return replace(tuned, output=found.output, lanes=found.lanes, tiles=found.tiles)

    def _products(self, tuned: Tuned) -> Tuned:
        """Tune products in floats, in both families, and choose the faster one for each kind."""
        parameters = self._parameters
        direct = self._search(
            Section(
                "xGemmDirect",
                "xGemmDirect for 1x1 convolutions and matrix mult",
                DIRECT,
                lambda c: replace(parameters, direct=direct_tile(c)),
                direct_configuration(tuned.x_gemm_direct),
                kernel=1,
                tolerance=0.01,
            )
        )
        gemm = self._search(_gemm("xGemm", parameters))
        direct_block = self._search(
            Section(
                "direct registers",
                "registers for 1x1 convolutions and matrix mult",
                REGISTERS,
                lambda c: replace(parameters, direct=_registers(c)),
                _block(parameters.direct),
                kernel=1,
                tolerance=0.01,
            )
        )
        block = self._search(
            Section(
                "registers",
                "registers for convolutions",
                REGISTERS,
                lambda c: replace(parameters, convolutions=_registers(c)),
                _block(parameters.convolutions),
            )
        )
        if direct:
            tuned = replace(tuned, x_gemm_direct=direct_tile(direct.configuration))
        if gemm:
            tile = Tiled(**gemm.configuration)
            tuned = replace(tuned, x_gemm=tile, x_gemm16=tile)
        return replace(
            tuned,
            direct_registers=self._faster(direct_block, direct, self._facts.start.direct),
            registers=self._faster(block, gemm, self._facts.start.convolutions),
        )

    def _faster(self, block: Best | None, tile: Best | None, start: Registers | Tiled | Wmma) -> Registers | None:
        """The block, where it is faster than the tile; that with which the device begins, where one was not tried."""
        if block is None or tile is None:
            return start if isinstance(start, Registers) else None
        if not block.calls_per_s and not tile.calls_per_s:
            raise TuningError(f"{self._facts.name} runs no kernel: update its driver, or choose another device")
        return _registers(block.configuration) if block.calls_per_s > tile.calls_per_s else None

    def _in_half_floats(self, tuned: Tuned) -> Tuned:
        """Tune products in half floats, and decide what is done in them."""
        floats = tuned.parameters(half=False)
        halves = replace(floats, storage16=True)
        product_s = self._kernel_s(floats, "product")
        compute = tensor = storage = False
        if self._facts.has_fp16:
            best = self._search(_gemm("xGemm16", replace(halves, compute16=True)))
            compute = self._decide("FP16 compute", best, product_s, HALF_FACTOR)
            if best and best.calls_per_s:
                tuned = replace(tuned, x_gemm16=Tiled(**best.configuration))
        if self._facts.may_have_tensor_cores:
            best = self._search(
                Section(
                    "hGemmWmma",
                    "hGemmWmma for convolutions",
                    WMMA,
                    lambda c: replace(halves, convolutions=Wmma(**c)),
                    tuned.wmma.defines(),
                    tolerance=0.002,
                )
            )
            tensor = self._decide("FP16 tensor cores", best, product_s, TENSOR_FACTOR)
            if best:
                tuned = replace(tuned, wmma=Wmma(**best.configuration))
        if not compute and not tensor and self._shapes.cases(3):
            storage = self._clock() < self._end and self._layer_s(halves) * HALF_FACTOR <= self._layer_s(floats)
            if storage:
                self._listener.decided("Enabling FP16 storage due to better performance")
        storage = storage or compute or tensor
        self._listener.uses(storage=storage, compute=compute, tensor_cores=tensor)
        return replace(tuned, fp16_storage=storage, fp16_compute=compute, fp16_tensor_cores=tensor)

    def _decide(self, what: str, best: Best | None, floats_s: float, factor: float) -> bool:
        if best is None:
            return False
        if not best.calls_per_s:
            self._listener.decided(f"{what} failed, not enabling")
            return False
        is_faster = best.calls_per_s * floats_s >= factor
        self._listener.decided(
            f"Enabling {what} due to better performance" if is_faster else f"{what} not faster enough, not enabling"
        )
        return is_faster

    def _transforms(self, tuned: Tuned) -> Tuned:
        parameters = self._parameters
        transform = self._search(
            Section(
                "transform",
                "winograd transform for convolutions",
                self._confined(TRANSFORM),
                lambda c: replace(parameters, transform=transform_group(c)),
                transform_configuration(parameters.transform),
                part="transform",
            )
        )
        untransform = self._search(
            Section(
                "untransform",
                "winograd untransform for convolutions",
                self._confined(UNTRANSFORM),
                lambda c: replace(parameters, untransform=untransform_group(c)),
                untransform_configuration(parameters.untransform),
                part="untransform",
            )
        )
        if transform:
            tuned = replace(tuned, transform=transform_group(transform.configuration))
        return replace(tuned, untransform=untransform_group(untransform.configuration)) if untransform else tuned

    def _confined(self, space: Space) -> Space:
        """The space without work-groups that would be idle for the most part: more than there are tiles, or boards."""
        most = {name: 1 for name in ("untransLocalSize1",) if self._parameters.tiles > 1}
        if self._facts.is_cpu:
            most |= {"transLocalSize0": 4, "untransLocalSize0": 4}
        return replace(
            space, ranges={name: [v for v in values if v <= most.get(name, v)] for name, values in space.ranges.items()}
        )

    def _layer_s(self, parameters: Parameters) -> float:
        """Seconds of all kernels of a 3x3 convolution, over the shapes."""
        return sum(self._kernel_s(parameters, part) for part in PARTS)

    def _kernel_s(self, parameters: Parameters, part: Part) -> float:
        return sum(
            share * self._bench.measure(parameters, shape, part, math.inf).seconds
            for shape, share in self._shapes.cases(3)
        )

    def _deadline(self, name: str) -> float:
        """When a section has to end; time that it leaves is that of those after it."""
        now = self._clock()
        left, total = max(0.0, self._end - now), sum(self._shares.values())
        return now + left * self._shares.pop(name) / total

    def _search(self, section: Section) -> Best | None:
        """Try the configurations of a section; None if the network has no such layer, or the time is over."""
        deadline = self._deadline(section.name)
        cases = self._shapes.cases(section.kernel)
        if not cases:
            return None
        configurations = section.space.configurations(self._bench.limits, is_full=self._is_full, seed=self._seed)
        count = len(configurations)
        self._listener.section(section.title, count)
        if self._clock() > self._last:
            self._listener.cut(0, count)
            return None
        search = Search(self._bench, section, cases)
        tried: list[Configuration] = []
        for number, configuration in enumerate(configurations):
            if number > 0 and self._clock() > deadline:
                if section.default not in tried:
                    self._listener.tried(search.attempt(number, count, section.default))
                self._listener.cut(number, count)
                break
            self._listener.tried(search.attempt(number, count, configuration))
            tried.append(configuration)
            self._listener.progress(section.title, number + 1, count)
        return search.best or Best(section.default, 0.0)


def _gemm(name: str, base: Parameters) -> Section:
    """The section of tiles of 3x3 convolutions."""
    return Section(
        name,
        f"{name} for convolutions",
        GEMM,
        lambda c: replace(base, convolutions=Tiled(**c)),
        gemm_configuration(Tiled()),
    )


def _registers(configuration: Configuration) -> Registers:
    return Registers(configuration["ROWS"], configuration["COLUMNS"])


def _block(family: Registers | Tiled | Wmma) -> Configuration:
    """The block with which a device begins, if it begins with one."""
    return (family if isinstance(family, Registers) else Registers()).defines()
