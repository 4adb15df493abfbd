"""Networks in OpenVINO, on the CPU. Needs ``pip install '.[openvino]'``.

They are ONNX files with dlshogi's inputs and outputs.
"""

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fukayomi._environment import without_openvino_telemetry
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import Plan, missing_library
from fukayomi.engine.evaluators.backends.machine import cpu_features
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.backends.onnx import CPU_BATCHES
from fukayomi.engine.evaluators.float_model import FLOATS, OUTPUTS, FloatModel, Port


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
        is_bf16 = plan.precision == "bf16" or (plan.precision == "int8" and "BF16" in cpu_features())
        return OpenVinoModel(
            network.of(plan.precision).path,
            precision="bf16" if is_bf16 else "f32",
            threads=plan.threads,
            streams=max(1, plan.slots),
        )


with without_openvino_telemetry():
    import openvino  # pyright: ignore[reportMissingTypeStubs]

ov = cast(Any, openvino)  # its types are incomplete
_LOADING = threading.Lock()


class OpenVinoModel(FloatModel):
    """A network compiled by OpenVINO for the CPU.

    Args:
        path: The ONNX file.
        precision: "f32" or "bf16": of what the file does not quantise. OpenVINO's own default depends on the CPU.
        threads: CPU threads for one batch; 0: all.
        streams: Batches in flight at once.

    Raises:
        EvaluatorError: The file is not a network for shogi.
    """

    library = "OpenVINO"

    def __init__(self, path: Path, *, precision: str, threads: int = 0, streams: int = 1) -> None:
        super().__init__(path)
        options = {
            "INFERENCE_PRECISION_HINT": precision,
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": str(streams),
            "INFERENCE_NUM_THREADS": str(threads * streams),
            # Pinned threads of two engines in a match would share one core and leave the other idle.
            "ENABLE_CPU_PINNING": False,
        }
        try:
            core = _the_core()
            model = core.read_model(str(path))
        except Exception as error:  # OpenVINO's errors have no common base
            raise EvaluatorError(f"{path}: OpenVINO cannot load it: {error}") from error
        self.declare(_ports(model.inputs), _ports(model.outputs))
        try:
            batch = self.fixed_batch or -1
            model.reshape({name: [batch, *shape] for name, shape in self.shapes.items()})
            self._compiled = core.compile_model(model, "CPU", options)
            self._outputs = [self._compiled.output(name) for name in OUTPUTS]
        except Exception as error:
            raise EvaluatorError(f"{path}: OpenVINO cannot load it: {error}") from error
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()  # requests that no batch uses now

    def forward(self, inputs: dict[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Policy and values of one batch."""
        try:
            request = self._idle.get_nowait()
        except queue.Empty:
            request = self._compiled.create_infer_request()
        found = request.infer(inputs, share_inputs=True)
        policy, values = (found[output] for output in self._outputs)
        self._idle.put(request)
        return policy, values


@cache
def _core() -> Any:
    """The process's one Core, which lives as long as the process.

    OpenVINO's CPU plugin gives the thread that loads it an alternative stack for signals, and unmaps it with the last
    Core, whichever thread that happens in. The next signal of the first thread, Ctrl-C perhaps, would then kill the
    process. So a thread that ends at once loads the plugin, and nothing unloads it.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_load_plugin).result()


def _the_core() -> Any:
    with _LOADING:  # two threads must not load two
        return _core()


def _load_plugin() -> Any:
    core = ov.Core()
    core.get_property("CPU", "FULL_DEVICE_NAME")
    return core


def _ports(ports: list[Any]) -> list[Port]:
    return [
        Port(
            port.get_any_name(),
            _type_name(port.element_type),
            [dimension.get_length() if dimension.is_static else None for dimension in port.partial_shape]
            if port.partial_shape.rank.is_static
            else [],
        )
        for port in ports
    ]


def _type_name(element_type: Any) -> str:
    name = np.dtype(element_type.to_dtype()).name
    return name if name in FLOATS else str(element_type)
