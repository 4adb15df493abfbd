"""Networks in OpenVINO, on the CPU. Needs ``pip install '.[openvino]'``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fukayomi.engine.evaluators.backends.backend import Plan, missing_library
from fukayomi.engine.evaluators.backends.machine import cpu_features
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.backends.onnx import CPU_BATCHES

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.backends.openvino_model import OpenVinoModel


class OpenVino:
    """OpenVINO on the CPU."""

    name = "openvino"
    title = "OpenVINO, CPU"
    on_gpu = False
    is_automatic = True
    libraries = ("openvino",)
    batches = CPU_BATCHES

    def problem(self) -> str | None:
        """The library is not installed."""
        return missing_library("openvino", "pip install '.[openvino]' in a checkout of fukayomi")

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
        return OpenVinoModel(
            network.of(plan.precision).path,
            precision="bf16" if is_bf16 else "f32",
            threads=plan.threads,
            streams=max(1, plan.slots),
        )
