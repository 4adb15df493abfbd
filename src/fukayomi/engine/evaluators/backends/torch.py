"""Networks in torch, of ONNX files and of parameter files (.safetensors). Needs the extra torch."""

from collections.abc import Sequence

from fukayomi.engine.evaluators.backends import machine
from fukayomi.engine.evaluators.backends.backend import Model, Plan, broken_library, missing_library
from fukayomi.engine.evaluators.backends.machine import cpu_features
from fukayomi.engine.evaluators.backends.network_file import SAFETENSORS_SUFFIX, NetworkFile
from fukayomi.engine.evaluators.backends.onnx import CPU_BATCHES
from fukayomi.engine.evaluators.backends.torch_build import gpu_build, has_gpu_driver
from fukayomi.engine.evaluators.library_calls import load_library
from fukayomi.errors import by_extra

CUDA, ROCM = "build for CUDA", "build for ROCm"
GPU_BATCHES = (32, 64, 104, 128, 208, 256)
"""104 and 208 boards of 81 squares fill the 132 processors of a large GPU once and twice with tiles of 128 rows, where
256 channels are two tiles wide: 104 * 81 / 128 * 2 = 132."""


def reads(network: NetworkFile) -> bool:
    """True if torch reads a file."""
    return network.is_onnx or network.path.suffix == SAFETENSORS_SUFFIX


def _fitting_build() -> str:
    """The build of torch for the GPUs of this computer; "" where none is of NVIDIA or AMD."""
    vendors = {gpu.vendor for gpu in machine.gpus()}
    return CUDA if "NVIDIA" in vendors else ROCM if "AMD" in vendors else ""


class TorchCpu:
    """Torch on the CPU. Chosen unasked for parameter files alone, which nothing else reads: others are faster."""

    name = "torch"
    title = "torch, CPU"
    on_gpu = False
    is_automatic = False
    libraries: Sequence[str] = ("torch",)
    batches: Sequence[int] = CPU_BATCHES

    def problem(self) -> str | None:
        """A library is not installed."""
        return missing_library("torch", by_extra("torch")) or missing_library("safetensors", by_extra("torch"))

    def precisions(self, network: NetworkFile) -> Sequence[str]:
        """fp32, and bf16 where the CPU computes in it."""
        if not reads(network):
            return ()
        return ("fp32", "bf16") if "BF16" in cpu_features() else ("fp32",)

    def open(self, network: NetworkFile, plan: Plan) -> Model:
        """The network with its BatchNorm folded; the threads are those of the process."""
        load_library("onnx")
        from fukayomi.engine.evaluators.backends.torch_model import TorchCpuModel

        return TorchCpuModel(network.path, precision=plan.precision, threads=plan.threads)


class TorchCuda:
    """Torch on a GPU, with a graph for each batch size: NVIDIA's by CUDA, AMD's by ROCm, which torch calls CUDA too."""

    name = "torch-cuda"
    title = "torch, GPU"
    on_gpu = True
    is_automatic = True
    libraries: Sequence[str] = ("torch",)
    batches: Sequence[int] = GPU_BATCHES

    def problem(self) -> str | None:
        """No GPU, or torch without code for it. Imports torch only where both are there."""
        build, fitting = gpu_build(), _fitting_build()
        remedy = f"pytorch.org names the pip install of its {fitting or 'builds for CUDA (NVIDIA) and ROCm (AMD)'}"
        is_in_pypi = machine.system() == "Linux" and fitting != ROCM
        extra = by_extra("torch")
        missing = missing_library("torch", extra if is_in_pypi else f"{remedy}, then {extra}") or TorchCpu().problem()
        if missing is not None:
            return missing
        if not build:
            return f"the installed torch has no code for GPUs: {remedy}"
        if not has_gpu_driver():
            return "there is no GPU of NVIDIA or AMD, or its driver is not installed"
        broken = broken_library("torch", "fukayomi.engine.evaluators.backends.torch_device")
        if broken is not None:
            return broken
        from fukayomi.engine.evaluators.backends.torch_device import gpu_problem

        problem = gpu_problem(build)
        if problem is not None and fitting and not fitting.endswith(build.partition(" ")[0]):
            return f"the installed torch is built for {build}: {remedy}"
        return problem

    def precisions(self, network: NetworkFile) -> Sequence[str]:
        """fp32, fp16 and bf16. fp32 is computed as such, not as TF32."""
        return ("fp32", "fp16", "bf16") if reads(network) else ()

    def open(self, network: NetworkFile, plan: Plan) -> Model:
        """The network on the plan's GPU."""
        load_library("onnx")
        from fukayomi.engine.evaluators.backends.torch_device import Gpu
        from fukayomi.engine.evaluators.backends.torch_gpu import TorchGpuModel

        return TorchGpuModel(network.path, precision=plan.precision, device=Gpu(plan.gpu, network.path))
