"""An ONNX file with dlshogi's inputs and outputs in ONNX Runtime."""

import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Protocol, cast

import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
from numpy.typing import NDArray

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.float_model import OUTPUTS, FloatModel, Port, next_power_of_two

ort = cast(Any, onnxruntime)  # it has no types
CPU = "CPUExecutionProvider"
TYPES = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64"}


class _Node(Protocol):
    """An input or output of a session; ONNX Runtime has no types for Python."""

    name: str
    type: str
    shape: list[int | str | None]


class _Session(Protocol):
    """The part of ort.InferenceSession that is used here."""

    def get_inputs(self) -> list[_Node]: ...
    def get_outputs(self) -> list[_Node]: ...
    def get_providers(self) -> list[str]: ...
    def run(self, names: list[str], feed: dict[str, NDArray[Any]]) -> list[NDArray[Any]]: ...


class OnnxModel(FloatModel):
    """A network in a session of ONNX Runtime.

    Args:
        path: The ONNX file.
        provider: ONNX Runtime's name of what runs it.
        provider_options: Its options.
        plugin: ONNX Runtime's object for the device of a provider that is a plug-in.
        threads: CPU threads for one batch; 0: all.
        batch: Batch size for which the network is compiled, where the file leaves it open; 0: it stays open.
        lock: Held while a batch is computed, for a provider that takes one at a time.

    Raises:
        EvaluatorError: The file is not a network for shogi, or the provider cannot be started.
    """

    library = "ONNX Runtime"

    def __init__(
        self,
        path: Path,
        *,
        provider: str = CPU,
        provider_options: dict[str, str] | None = None,
        plugin: Any = None,
        threads: int = 0,
        batch: int = 0,
        lock: "threading.Lock | None" = None,
    ) -> None:
        super().__init__(NetworkFile(path).path)
        self._is_on_cpu = provider == CPU
        self._lock = nullcontext() if lock is None else lock
        options = _options(threads)
        if batch:
            for name in _batch_names(path):
                options.add_free_dimension_override_by_name(name, batch)
        if lock is not None:
            options.enable_mem_pattern = False  # DirectML refuses to start with it
        with self._lock:
            self._session = _session(path, options, provider, provider_options or {}, plugin)
        if self._session.get_providers()[0] != provider:
            raise EvaluatorError(f"{provider} cannot be started; are its libraries installed?")
        self.declare(_ports(self._session.get_inputs()), _ports(self._session.get_outputs()))
        self.fixed_batch = self.fixed_batch or batch  # a batch size without a name stays open in the file

    def padded(self, n: int, capacity: int) -> int:
        """On a GPU a power of two."""
        return n if self._is_on_cpu else next_power_of_two(n, capacity)

    def forward(self, inputs: dict[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Policy and values of one batch."""
        with self._lock:
            policy, values = self._session.run(list(OUTPUTS), inputs)
        return policy, values


def _options(threads: int) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors come as exceptions, which say more
    return options


def _session(path: Path, options: Any, provider: str, provider_options: dict[str, str], plugin: Any) -> _Session:
    providers: list[Any] = [(provider, provider_options)]
    if provider != CPU:
        providers.append(CPU)
    try:
        if plugin is not None:
            options.add_provider_for_devices([plugin], provider_options)
            providers = []
        # Without a fallback: ONNX Runtime prints a line on stdout when it falls back, where USI has its answers.
        session = ort.InferenceSession(str(path), options, providers=providers, enable_fallback=False)
    except TypeError as error:
        raise EvaluatorError(f"{path}: the name is not UTF-8, and ONNX Runtime cannot open it: rename it") from error
    except Exception as error:  # ONNX Runtime's errors have no common base
        if "INVALID_PROTOBUF" in str(error):
            raise EvaluatorError(f"{path}: no ONNX file, or a damaged one: copy or export it again") from error
        raise EvaluatorError(f"{path}: ONNX Runtime cannot load it: {error}") from error
    return cast(_Session, session)


def _batch_names(path: Path) -> set[str]:
    """Names that a file gives to the open batch sizes of its inputs; planned for nothing, it loads at once."""
    options = _options(1)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    shapes = [node.shape for node in _session(path, options, CPU, {}, None).get_inputs()]
    return {shape[0] for shape in shapes if shape and isinstance(shape[0], str)}


def _ports(nodes: list[_Node]) -> list[Port]:
    return [Port(node.name, TYPES.get(node.type, node.type), node.shape) for node in nodes]
