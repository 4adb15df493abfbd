"""Networks in ONNX Runtime, on the CPU and on NVIDIA's GPUs."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import Model, Plan, cache_folder, versions
from fukayomi.engine.evaluators.backends.gpu_libraries import library_problem
from fukayomi.engine.evaluators.backends.machine import gpu_names
from fukayomi.engine.evaluators.backends.network_file import NetworkFile

CPU_BATCHES = (4, 8, 16, 32)
GPU_BATCHES = (32, 64, 128, 256)
GPU_LIBRARY = "pip install onnxruntime-gpu in place of onnxruntime"


class OnnxCpu:
    """ONNX Runtime on the CPU; installed with fukayomi."""

    name = "cpu"
    title = "ONNX Runtime, CPU"
    on_gpu = False
    is_automatic = True
    libraries = ("onnxruntime",)
    batches = CPU_BATCHES

    def problem(self) -> None:
        """None: it runs everywhere."""

    def precisions(self, network: NetworkFile) -> Sequence[str]:
        """fp32, and int8 where the file is there."""
        if not network.is_onnx:
            return ()
        return ("fp32",) if network.int8 is None else ("fp32", "int8")

    def open(self, network: NetworkFile, plan: Plan) -> Model:
        """A session with the threads of the plan."""
        from fukayomi.engine.evaluators.backends.onnx_model import OnnxModel

        return OnnxModel(network.of(plan.precision).path, threads=plan.threads)


class OnnxCuda:
    """ONNX Runtime on a GPU by CUDA."""

    name = "cuda"
    title = "ONNX Runtime, CUDA"
    on_gpu = True
    is_automatic = True
    libraries = ("onnxruntime-gpu",)
    batches = GPU_BATCHES
    provider = "CUDAExecutionProvider"

    def problem(self) -> str | None:
        """ONNX Runtime without CUDA, no GPU, or a library that is missing."""
        import onnxruntime  # pyright: ignore[reportMissingTypeStubs]

        if self.provider not in cast("Any", onnxruntime).get_available_providers():
            return f"the installed ONNX Runtime has no {self.name}: {GPU_LIBRARY}"
        if not gpu_names():
            return "there is no NVIDIA GPU, or its driver is not installed (nvidia-smi)"
        return library_problem(self.name)

    def precisions(self, network: NetworkFile) -> Sequence[str]:
        """fp32 alone."""
        return ("fp32",) if network.is_onnx else ()

    def open(self, network: NetworkFile, plan: Plan) -> Model:
        """A session on the plan's GPU."""
        from fukayomi.engine.evaluators.backends.onnx_model import OnnxModel

        return OnnxModel(network.path, provider=self.provider, provider_options=self.options(network, plan), threads=1)

    def options(self, network: NetworkFile, plan: Plan) -> dict[str, str]:  # TensorRT needs the network
        """Options of ONNX Runtime's provider."""
        return {"device_id": str(plan.gpu)}


class OnnxTensorrt(OnnxCuda):
    """ONNX Runtime with TensorRT, in float16. Never chosen unasked: compiling a network takes minutes."""

    name = "tensorrt"
    title = "ONNX Runtime, TensorRT"
    is_automatic = False
    libraries = ("onnxruntime-gpu", "tensorrt", "tensorrt-cu12", "tensorrt-cu13")
    provider = "TensorrtExecutionProvider"

    def precisions(self, network: NetworkFile) -> Sequence[str]:
        """fp16 alone."""
        return ("fp16",) if network.is_onnx else ()

    def open(self, network: NetworkFile, plan: Plan) -> Model:
        """A session on the plan's GPU, and the folder for its engine: ONNX Runtime makes one level of it at most."""
        folder = self.engine_folder(network, plan)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise EvaluatorError(f"cannot create the folder for TensorRT's engines {folder}: {reason}") from error
        return super().open(network, plan)

    def options(self, network: NetworkFile, plan: Plan) -> dict[str, str]:
        """One compiled engine for all batches that are measured, or up to the plan's, kept for the next start."""
        from fukayomi.engine.evaluators.float_model import INPUTS, INPUTS_WITH_COLOUR

        inputs = INPUTS_WITH_COLOUR if network.has_colour_plane else INPUTS
        batch = self._largest_batch(plan)

        def shapes(n: int) -> str:
            return ",".join(f"{name}:{n}x{'x'.join(map(str, shape))}" for name, shape in inputs.items())

        return {
            **super().options(network, plan),
            "trt_fp16_enable": "1",
            "trt_engine_cache_enable": "1",
            "trt_engine_cache_path": str(self.engine_folder(network, plan)),
            "trt_profile_min_shapes": shapes(1),
            "trt_profile_opt_shapes": shapes(batch),
            "trt_profile_max_shapes": shapes(batch),
        }

    def engine_folder(self, network: NetworkFile, plan: Plan) -> Path:
        """Folder of the compiled engine.

        A compiled engine is good for one network on one kind of GPU with one version of the libraries. ONNX Runtime
        does not check all of that, so each has a folder of its own.
        """
        key = json.dumps([network.digest, gpu_names(), versions(self.libraries), self._largest_batch(plan)])
        return cache_folder() / "tensorrt" / hashlib.sha256(key.encode()).hexdigest()[:32]

    def _largest_batch(self, plan: Plan) -> int:
        return max(plan.batch_size, self.batches[-1])
