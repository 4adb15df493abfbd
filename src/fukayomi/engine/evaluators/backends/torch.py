"""Networks of parameter files (.safetensors) in torch. Needs ``pip install '.[train]'``."""

from collections.abc import Sequence

from fukayomi.engine.evaluators.backends.backend import Model, Plan, missing_library
from fukayomi.engine.evaluators.backends.machine import cpu_features, gpu_names
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.backends.onnx import CPU_BATCHES, GPU_BATCHES

SUFFIX = ".safetensors"
REMEDY = "pip install '.[train]' in a checkout of fukayomi"


class TorchCpu:
    """Torch on the CPU."""

    name = "torch"
    title = "torch, CPU"
    on_gpu = False
    is_automatic = True
    libraries: Sequence[str] = ("torch",)
    batches: Sequence[int] = CPU_BATCHES

    def problem(self) -> str | None:
        """A library is not installed."""
        return missing_library("torch", REMEDY) or missing_library("safetensors", REMEDY)

    def precisions(self, network: NetworkFile) -> Sequence[str]:
        """fp32, and bf16 where the CPU computes in it."""
        if network.path.suffix != SUFFIX:
            return ()
        return ("fp32", "bf16") if "BF16" in cpu_features() else ("fp32",)

    def open(self, network: NetworkFile, plan: Plan) -> Model:
        """The network with its BatchNorm folded; the threads are those of the process."""
        from fukayomi.engine.evaluators.backends.torch_model import TorchCpuModel

        return TorchCpuModel(network.path, precision=plan.precision, threads=plan.threads)


class TorchCuda:
    """Torch on a GPU by CUDA, with a graph for each batch size."""

    name = "torch-cuda"
    title = "torch, CUDA"
    on_gpu = True
    is_automatic = True
    libraries: Sequence[str] = ("torch",)
    batches: Sequence[int] = GPU_BATCHES

    def problem(self) -> str | None:
        """No GPU, or torch without CUDA."""
        missing = TorchCpu().problem()
        if missing is not None:
            return missing
        if not gpu_names():
            return "there is no NVIDIA GPU, or its driver is not installed (nvidia-smi)"
        from fukayomi.engine.evaluators.backends.torch_model import has_cuda

        return (
            None if has_cuda() else "the installed torch has no CUDA: pip install torch from pytorch.org's CUDA index"
        )

    def precisions(self, network: NetworkFile) -> Sequence[str]:
        """fp32, fp16 and bf16."""
        return ("fp32", "fp16", "bf16") if network.path.suffix == SUFFIX else ()

    def open(self, network: NetworkFile, plan: Plan) -> Model:
        """The network on the plan's GPU."""
        from fukayomi.engine.evaluators.backends.torch_model import TorchCudaModel

        return TorchCudaModel(network.path, precision=plan.precision, gpu=plan.gpu)
