"""Networks in OpenVINO: on the CPU, and on Intel's GPUs and NPUs. Needs the extra openvino.

The GPU and the NPU have not been tried: none was at hand.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import Plan, broken_library, cache_folder, missing_library
from fukayomi.engine.evaluators.backends.machine import cpu_features
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.backends.onnx import CPU_BATCHES
from fukayomi.errors import by_extra

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.backends.openvino_model import OpenVinoModel


class OpenVino:
    """OpenVINO on the CPU."""

    name = "openvino"
    title = "OpenVINO, CPU"
    on_gpu = False
    is_automatic = True
    libraries = ("openvino",)
    batches: Sequence[int] = CPU_BATCHES

    def problem(self) -> str | None:
        """The library is not installed."""
        return missing_library("openvino", by_extra("openvino"))

    def precisions(self, network: NetworkFile) -> Sequence[str]:
        """fp32, bf16 where the CPU computes in it, int8 where the file is there."""
        if not network.is_onnx:
            return ()
        return (
            "fp32",
            *(("bf16",) if "BF16" in cpu_features() else ()),
            *(("int8",) if network.int8 is not None else ()),
        )

    def open(self, network: NetworkFile, plan: Plan) -> "OpenVinoModel":
        """A compiled network with a stream for each batch in flight.

        What an int8 file leaves in floating point is computed in bf16 where the CPU can: faster, and as close to
        fp32.
        """
        from fukayomi.engine.evaluators.backends.openvino_model import OpenVinoModel

        is_bf16 = plan.precision == "bf16" or (plan.precision == "int8" and "BF16" in cpu_features())
        streams = max(1, plan.slots)
        options = {
            "INFERENCE_PRECISION_HINT": "bf16" if is_bf16 else "f32",  # OpenVINO's own default depends on the CPU
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": str(streams),
            "INFERENCE_NUM_THREADS": str(plan.threads * streams),
            # Pinned threads of two engines in a match would share one core and leave the other idle.
            "ENABLE_CPU_PINNING": False,
        }
        return OpenVinoModel(network.of(plan.precision).path, device="CPU", options=options)


class OpenVinoGpu:
    """OpenVINO on Intel's GPUs. Never chosen unasked: one inside a processor may be slower than the processor itself.

    It compiles a network for one batch size, to which smaller batches are filled up.
    """

    name = "openvino-gpu"
    title = "OpenVINO, GPU"
    on_gpu = True
    is_automatic = False
    libraries = ("openvino",)
    batches: Sequence[int] = (8, 16, 32, 64)
    has_fixed_batch = True
    kind = "GPU"
    """OpenVINO's name of such devices, which a dot and a number follow where there are several."""
    driver = "install Intel's driver, on Linux the package intel-opencl-icd"
    precision_options: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "fp32": {"INFERENCE_PRECISION_HINT": "f32"},
        "fp16": {"INFERENCE_PRECISION_HINT": "f16"},
    }

    def problem(self) -> str | None:
        """The library is not installed, or finds no such device."""
        missing = missing_library("openvino", by_extra("openvino"))
        missing = missing or broken_library("openvino", "fukayomi.engine.evaluators.backends.openvino_model")
        if missing is not None:
            return missing
        return None if self.devices() else f"OpenVINO finds no {self.kind} of Intel's: {self.driver}"

    def precisions(self, network: NetworkFile) -> Sequence[str]:
        """Those of the device, and int8 where the file is there."""
        if not network.is_onnx:
            return ()
        return (*self.precision_options, *(("int8",) if network.int8 is not None else ()))

    def open(self, network: NetworkFile, plan: Plan) -> "OpenVinoModel":
        """A network compiled for the plan's device and batch size; what int8 leaves in floating point is in float16."""
        from fukayomi.engine.evaluators.backends.openvino_model import OpenVinoModel

        devices = self.devices()
        if plan.gpu >= len(devices):
            raise EvaluatorError(f"OpenVINO finds no {self.kind} {plan.gpu} (from 0); it has {len(devices)}")
        precision = "fp16" if plan.precision == "int8" else plan.precision
        options = {"PERFORMANCE_HINT": "LATENCY", "CACHE_DIR": str(cache_folder() / "openvino")}
        return OpenVinoModel(
            network.of(plan.precision).path,
            device=devices[plan.gpu],
            options=options | dict(self.precision_options[precision]),
            batch=plan.batch_size,
        )

    def devices(self) -> Sequence[str]:
        """OpenVINO's names of the devices."""
        from fukayomi.engine.evaluators.backends.openvino_model import available_devices

        return [name for name in available_devices() if name.partition(".")[0] == self.kind]


class OpenVinoNpu(OpenVinoGpu):
    """OpenVINO on the NPUs of Intel's processors, which compute in float16. Never chosen unasked: none was tried."""

    name = "openvino-npu"
    title = "OpenVINO, NPU"
    batches = (16,)
    kind = "NPU"
    driver = "install Intel's driver for it, on Linux intel-level-zero-npu; Core Ultra processors have one"
    precision_options: ClassVar = {"fp16": {}}
