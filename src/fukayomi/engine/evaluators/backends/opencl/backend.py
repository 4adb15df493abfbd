"""Networks of ONNX files on any device with an OpenCL driver. Needs the extra opencl."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import Model, Plan, cache_folder, missing_library
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.library_calls import load_library
from fukayomi.errors import by_extra

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.backends.opencl.devices import OpenClDevice

NO_DEVICE = "no device with an OpenCL driver was found: a graphics card's driver brings it; for a CPU there is PoCL"


def opencl_devices() -> "tuple[OpenClDevice, ...]":
    """All devices, the best first; none without the library."""
    if missing_library("pyopencl", by_extra("opencl")):
        return ()
    load_library("pyopencl")
    from fukayomi.engine.evaluators.backends.opencl.devices import ranked

    return ranked()


class OpenCl:
    """OpenCL with kernels of our own: only a driver must be installed. Chosen unasked on GPUs alone."""

    name = "opencl"
    title = "OpenCL"
    libraries: Sequence[str] = ("pyopencl",)
    has_devices = True

    @property
    def on_gpu(self) -> bool:
        """True if the best device is no CPU."""
        return any(device.is_gpu for device in opencl_devices())

    @property
    def is_automatic(self) -> bool:
        """As `on_gpu`: on a CPU others are faster."""
        return self.on_gpu

    @property
    def batches(self) -> Sequence[int]:
        """Whole vectors of boards on a CPU."""
        return (32, 64, 128, 256) if self.on_gpu else (16, 32, 64)

    @property
    def only_named(self) -> Sequence[str]:
        """fp16 where the best device has no instructions for it: CPUs are slower with it, and compile for seconds."""
        is_fast = any(device.is_gpu or "cl_khr_fp16" in device.extensions.split() for device in opencl_devices())
        return () if is_fast else ("fp16",)

    def problem(self) -> str | None:
        """The library is not installed, or there is no device."""
        missing = missing_library("pyopencl", by_extra("opencl"))
        if missing is not None:
            return missing
        return None if opencl_devices() else NO_DEVICE

    def tuned(self) -> str:
        """Names and times of the files that the tuner keeps, of any device and network."""
        found: list[str] = []
        with suppress(OSError, RuntimeError):  # the latter where there is no home
            files = sorted((cache_folder() / "opencl").glob("*.json"))
            found += [f"{path.stem} {path.stat().st_mtime_ns}" for path in files]
        return ", ".join(found)

    def precisions(self, network: NetworkFile) -> Sequence[str]:
        """fp32, and fp16: activations and weights as half floats in memory, sums in fp32."""
        return ("fp32", "fp16") if network.is_onnx else ()

    def open(self, network: NetworkFile, plan: Plan) -> Model:
        """The network on a device: the plan's GPU counts from the best one."""
        load_library("onnx")
        devices = opencl_devices()
        if plan.gpu >= len(devices):
            raise EvaluatorError(f"OpenCL finds no device {plan.gpu} (from 0, the best first); it has {len(devices)}")
        from fukayomi.engine.evaluators.backends.opencl.model import open_network

        return open_network(network.path, devices[plan.gpu], precision=plan.precision)
