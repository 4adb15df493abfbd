"""Networks in ONNX Runtime: on the CPU, and on whatever else its execution providers reach.

A provider is a row of the table of backends: a class of attributes that says where it runs, which package has it, and
with which options it computes each precision. Of GPUs `webgpu` has run on an H200, the others on none.
"""

import hashlib
import json
import platform
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends import machine
from fukayomi.engine.evaluators.backends.backend import Model, Plan, cache_folder, missing_library, versions
from fukayomi.engine.evaluators.backends.gpu_libraries import find_plugin, library_problem
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.library_calls import load_library
from fukayomi.errors import by_pip

CPU_BATCHES = (4, 8, 16, 32)
GPU_BATCHES = (32, 64, 128, 256)
RUNTIMES = tuple(f"onnxruntime{kind}" for kind in ("", "-directml", "-gpu", "-migraphx", "-openvino", "-qnn", "-rocm"))
"""Distributions that install ONNX Runtime, all into one folder: with two of them the files of one are lost."""


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
        load_library("onnxruntime")
        from fukayomi.engine.evaluators.backends.onnx_model import OnnxModel

        return OnnxModel(network.of(plan.precision).path, threads=plan.threads)


class OnnxProvider:
    """An execution provider of ONNX Runtime. A subclass sets the attributes."""

    name: str
    title: str
    on_gpu = True
    is_automatic: bool = True
    batches: Sequence[int] = GPU_BATCHES
    provider: str
    """ONNX Runtime's name of it."""
    package: str
    """Distribution that has it."""
    further_libraries: Sequence[str] = ()
    """Other distributions that decide how fast it is."""
    system: str = ""
    """The only system on which it runs, as `machine.system` names it; "" for any."""
    precision_options: ClassVar[Mapping[str, Mapping[str, str]]]
    """Its precisions, each with the options that ask for it."""
    device_option: str = "device_id"
    """Option that takes the number of the GPU; "" where it has one device."""
    folder_option: str = ""
    """Option that takes the folder for compiled networks; "" where it keeps none."""
    has_fixed_batch: bool = False
    """True if it compiles a network for one batch size, to which smaller batches are filled up."""

    @property
    def libraries(self) -> Sequence[str]:
        """Distributions whose versions decide how fast it is."""
        return (self.package, *self.further_libraries)

    def problem(self) -> str | None:
        """Another system, no such hardware, ONNX Runtime without the provider, or a library that is missing."""
        if self.system and machine.system() != self.system:
            return f"it reaches GPUs under {self.system} alone"
        return self.hardware_problem() or self.package_problem()

    def hardware_problem(self) -> str | None:
        """Reason why the computer lacks what it runs on, as far as is known without ONNX Runtime."""
        return None

    def package_problem(self) -> str | None:
        """ONNX Runtime lacks the provider, or the provider a library."""
        load_library("onnxruntime")
        import onnxruntime  # pyright: ignore[reportMissingTypeStubs]

        if self.provider in cast("Any", onnxruntime).get_available_providers():
            return None
        installed = [*versions(RUNTIMES)] or ["onnxruntime"]
        if self.package not in installed:
            reason = f"the installed ONNX Runtime has no {self.name}"
        elif len(installed) > 1:
            reason = f"{' and '.join(installed)} are both installed, into one folder"
        else:
            return f"the installed {self.package} has no {self.name}: {by_pip(f'install -U {self.package}')}"
        swap = by_pip(f"uninstall -y {' '.join(installed)}, then pip install {self.package}")
        return f"{reason}: {swap}"

    def precisions(self, network: NetworkFile) -> Sequence[str]:
        """Those for which it has options."""
        return tuple(self.precision_options) if network.is_onnx else ()

    def open(self, network: NetworkFile, plan: Plan) -> Model:
        """A session on the plan's GPU, and the folder for what it compiles: ONNX Runtime makes one level at most."""
        from fukayomi.engine.evaluators.backends.onnx_model import OnnxModel

        if plan.gpu and not self.device_option:
            raise EvaluatorError(f"DNN_Provider {self.name} has one device: there is no device {plan.gpu + 1}")
        if self.folder_option:
            folder = self.folder(network, plan)
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                reason = error.strerror or error
                raise EvaluatorError(f"cannot create the folder for compiled networks {folder}: {reason}") from error
        return OnnxModel(
            network.path,
            provider=self.provider,
            provider_options=self.options(network, plan),
            plugin=self.plugin(),
            threads=1,
            batch=plan.batch_size if self.has_fixed_batch else 0,
            lock=self.lock(),
        )

    def options(self, network: NetworkFile, plan: Plan) -> dict[str, str]:
        """Options of ONNX Runtime's provider."""
        options = {self.device_option: str(plan.gpu)} if self.device_option else {}
        if self.folder_option:
            options[self.folder_option] = str(self.folder(network, plan))
        return options | dict(self.precision_options[plan.precision])

    def folder(self, network: NetworkFile, plan: Plan) -> Path:
        """Folder of the compiled network.

        What is compiled is good for one network on one kind of GPU with one version of the libraries and of the system.
        ONNX Runtime does not check all of that, so each has a folder of its own.
        """
        known = (network.digest, machine.gpu_names(), versions(self.libraries), platform.release(), plan.precision)
        key = json.dumps([*known, self.largest_batch(plan)])
        return cache_folder() / self.name / hashlib.sha256(key.encode()).hexdigest()[:32]

    def largest_batch(self, plan: Plan) -> int:
        """The batch size for which a network is compiled."""
        return plan.batch_size

    def plugin(self) -> Any:
        """ONNX Runtime's object for the device of a provider that is a plug-in; None for one that is built in."""
        return None

    def lock(self) -> "threading.Lock | None":
        """Held while a batch is computed; None where several may be computed at once."""
        return None


class OnnxCuda(OnnxProvider):
    """ONNX Runtime on NVIDIA's GPUs by CUDA."""

    name = "cuda"
    title = "ONNX Runtime, CUDA"
    provider = "CUDAExecutionProvider"
    package = "onnxruntime-gpu"
    precision_options: ClassVar = {"fp32": {}}

    def hardware_problem(self) -> str | None:
        """No GPU of NVIDIA's."""
        if machine.nvidia_driver_gpus():
            return None
        return "there is no NVIDIA GPU, or its driver is not installed (nvidia-smi)"

    def package_problem(self) -> str | None:
        """ONNX Runtime without CUDA, or a library that is missing."""
        return super().package_problem() or library_problem(self.name)


class OnnxTensorrt(OnnxCuda):
    """ONNX Runtime with TensorRT. Never chosen unasked: compiling a network takes minutes."""

    name = "tensorrt"
    title = "ONNX Runtime, TensorRT"
    is_automatic = False
    provider = "TensorrtExecutionProvider"
    further_libraries = ("tensorrt", "tensorrt-cu12", "tensorrt-cu13")
    folder_option = "trt_engine_cache_path"
    precision_options: ClassVar = {"fp16": {"trt_fp16_enable": "True", "trt_engine_cache_enable": "True"}}

    def options(self, network: NetworkFile, plan: Plan) -> dict[str, str]:
        """One compiled engine for all batches that are measured, or up to the plan's, kept for the next start."""
        from fukayomi.engine.evaluators.float_model import INPUTS, INPUTS_WITH_COLOUR

        inputs = INPUTS_WITH_COLOUR if network.has_colour_plane else INPUTS
        batch = self.largest_batch(plan)

        def shapes(n: int) -> str:
            return ",".join(f"{name}:{n}x{'x'.join(map(str, shape))}" for name, shape in inputs.items())

        return {
            **super().options(network, plan),
            "trt_profile_min_shapes": shapes(1),
            "trt_profile_opt_shapes": shapes(batch),
            "trt_profile_max_shapes": shapes(batch),
        }

    def largest_batch(self, plan: Plan) -> int:
        """All that are measured, or the plan's."""
        return max(plan.batch_size, self.batches[-1])


class OnnxDirectMl(OnnxProvider):
    """ONNX Runtime on any GPU with DirectX 12, under Windows. A session computes one batch at a time."""

    name = "directml"
    title = "ONNX Runtime, DirectML"
    provider = "DmlExecutionProvider"
    package = "onnxruntime-directml"
    system = "Windows"
    batches = (16, 32, 64, 128)
    has_fixed_batch = True
    precision_options: ClassVar = {"fp32": {}}

    def lock(self) -> threading.Lock:
        """One for each session."""
        return threading.Lock()


class OnnxMigraphx(OnnxProvider):
    """ONNX Runtime on AMD's GPUs by ROCm. Never chosen unasked: compiling a network takes minutes."""

    name = "migraphx"
    title = "ONNX Runtime, MIGraphX"
    is_automatic = False
    provider = "MIGraphXExecutionProvider"
    package = "onnxruntime-migraphx"
    system = "Linux"
    batches = (128,)
    has_fixed_batch = True
    folder_option = "migraphx_model_cache_dir"
    precision_options: ClassVar = {"fp32": {}, "fp16": {"migraphx_fp16_enable": "True"}}

    def hardware_problem(self) -> str | None:
        """No GPU of AMD's; under WSL only Windows knows them."""
        has_one = any(gpu.vendor in ("AMD", "") for gpu in machine.gpus())
        return None if has_one else "there is no AMD GPU, or its driver is not loaded (/dev/dri)"

    def package_problem(self) -> str | None:
        """ONNX Runtime without MIGraphX, or a library that is missing."""
        return super().package_problem() or library_problem(self.name)


class OnnxCoreMl(OnnxProvider):
    """ONNX Runtime on what a Mac has: GPU and Neural Engine. Never chosen unasked: no Mac has shown it to be faster.

    Core ML computes an ML Program in the types of the file, and a network in the older format in float16 wherever it
    does not run on the CPU.
    """

    name = "coreml"
    title = "ONNX Runtime, Core ML"
    is_automatic = False
    provider = "CoreMLExecutionProvider"
    package = "onnxruntime"
    system = "macOS"
    batches = (16, 32, 64)
    has_fixed_batch = True
    device_option = ""
    folder_option = "ModelCacheDirectory"
    precision_options: ClassVar = {
        "fp32": {"ModelFormat": "MLProgram", "MLComputeUnits": "CPUAndGPU", "RequireStaticInputShapes": "1"},
        "fp16": {"ModelFormat": "NeuralNetwork", "MLComputeUnits": "ALL", "RequireStaticInputShapes": "1"},
    }


class OnnxWebGpu(OnnxProvider):
    """ONNX Runtime by WebGPU: on Vulkan, Direct3D 12 or Metal, whichever the system has.

    A plug-in beside the plain ONNX Runtime. Never chosen unasked: a driver may compute on the CPU. Sessions of one
    process must not compute at once.
    """

    name = "webgpu"
    title = "ONNX Runtime, WebGPU"
    is_automatic = False
    provider = "WebGpuExecutionProvider"
    package = "onnxruntime-ep-webgpu"
    further_libraries = ("onnxruntime",)
    device_option = ""
    precision_options: ClassVar = {"fp32": {}}
    _lock = threading.Lock()

    def package_problem(self) -> str | None:
        """The plug-in is not installed, does not fit ONNX Runtime, or finds no GPU."""
        missing = missing_library("onnxruntime_ep_webgpu", by_pip(f"install {self.package}"))
        if missing is not None:
            return missing
        found = find_plugin("onnxruntime_ep_webgpu")
        return found if isinstance(found, str) else None

    def plugin(self) -> Any:
        """The first GPU that the plug-in finds."""
        found = find_plugin("onnxruntime_ep_webgpu")
        if isinstance(found, str):
            raise EvaluatorError(f"DNN_Provider {self.name}: {found}")
        return found

    def lock(self) -> threading.Lock:
        """One for the process."""
        return self._lock
