"""An ONNX file with dlshogi's inputs and outputs in OpenVINO."""

import queue
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fukayomi._environment import without_openvino_telemetry
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.float_model import FLOATS, OUTPUTS, FloatModel, Port
from fukayomi.engine.evaluators.library_calls import load_library

with without_openvino_telemetry():
    load_library("openvino")
    import openvino  # pyright: ignore[reportMissingTypeStubs]

ov = cast(Any, openvino)  # its types are incomplete
_LOADING = threading.Lock()


class OpenVinoModel(FloatModel):
    """A network compiled by OpenVINO.

    Args:
        path: The ONNX file.
        device: OpenVINO's name of a device.
        options: Options of the device.
        batch: Batch size for which the network is compiled, where the file leaves it open; 0: it stays open.

    Raises:
        EvaluatorError: The file is not a network for shogi, or the device cannot run it.
    """

    library = "OpenVINO"

    def __init__(self, path: Path, *, device: str, options: Mapping[str, Any], batch: int = 0) -> None:
        super().__init__(path)
        try:
            core = the_core()
            model = core.read_model(str(path))
        except Exception as error:  # OpenVINO's errors have no common base
            raise EvaluatorError(f"{path}: OpenVINO cannot load it: {error}") from error
        self.declare(_ports(model.inputs), _ports(model.outputs))
        try:
            self.fixed_batch = self.fixed_batch or batch
            model.reshape({name: [self.fixed_batch or -1, *shape] for name, shape in self.shapes.items()})
            self._compiled = core.compile_model(model, device, dict(options))
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


def available_devices() -> Sequence[str]:
    """OpenVINO's names of the devices that it finds: "CPU", "GPU" or "GPU.0" and "GPU.1", "NPU"."""
    return cast("list[str]", the_core().available_devices)


@cache
def _core() -> Any:
    """The process's one Core, which lives as long as the process.

    OpenVINO's CPU plugin gives the thread that loads it an alternative stack for signals, and unmaps it with the last
    Core, whichever thread that happens in. The next signal of the first thread, Ctrl-C perhaps, would then kill the
    process. So a thread that ends at once loads the plugin, and nothing unloads it.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_load_plugin).result()


def the_core() -> Any:
    """OpenVINO's Core, one for the process."""
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
