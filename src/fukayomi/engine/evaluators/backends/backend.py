"""Backends: the libraries that run networks, each on one kind of device. Their names are the values of DNN_Provider.

A backend opens a network file as a `Model`, which evaluates batches. `choice.py` in the package above measures which
backend, precision, threads and batch size are the fastest; docs/how-to-add-a-backend.md adds one.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module, util
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from fukayomi.engine.evaluators.library_calls import load_library

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.backends.network_file import NetworkFile
    from fukayomi.engine.evaluators.protocol import Slot

PRECISIONS = ("fp32", "fp16", "bf16", "int16", "int8")
"""Precisions in which a network is computed, the most exact one first."""

# Where the class of each backend is, in the order of preference: of two that are about as fast the first is taken.
BACKENDS = {
    "cpu": "fukayomi.engine.evaluators.backends.onnx:OnnxCpu",
    "native": "fukayomi.engine.evaluators.backends.native:Native",
    "openvino": "fukayomi.engine.evaluators.backends.openvino:OpenVino",
    "cuda": "fukayomi.engine.evaluators.backends.onnx:OnnxCuda",
    "tensorrt": "fukayomi.engine.evaluators.backends.onnx:OnnxTensorrt",
    "directml": "fukayomi.engine.evaluators.backends.onnx:OnnxDirectMl",
    "migraphx": "fukayomi.engine.evaluators.backends.onnx:OnnxMigraphx",
    "coreml": "fukayomi.engine.evaluators.backends.onnx:OnnxCoreMl",
    "webgpu": "fukayomi.engine.evaluators.backends.onnx:OnnxWebGpu",
    "openvino-gpu": "fukayomi.engine.evaluators.backends.openvino:OpenVinoGpu",
    "openvino-npu": "fukayomi.engine.evaluators.backends.openvino:OpenVinoNpu",
    "torch": "fukayomi.engine.evaluators.backends.torch:TorchCpu",
    "torch-cuda": "fukayomi.engine.evaluators.backends.torch:TorchCuda",
    "opencl": "fukayomi.engine.evaluators.backends.opencl.backend:OpenCl",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan for running a network. In what a user asks for, "auto" and 0 leave the choice to measurements."""

    backend: str = "auto"
    """Name of a backend."""
    precision: str = "auto"
    """One of `PRECISIONS`."""
    threads: int = 0
    """CPU threads for one batch."""
    slots: int = 0
    """Batches in flight at once."""
    batch_size: int = 0
    """Positions per batch."""
    gpu: int = 0
    """Number of the GPU, where it is run on one, from 0."""


class Model(Protocol):
    """A network that a backend has opened."""

    fixed_batch: int
    """The only batch size that the file takes; 0: any. A model may also have `batches`, in place of the backend's."""

    def allocate(self, capacity: int) -> "Slot":
        """Memory for a batch of up to ``capacity`` positions."""
        ...

    def run(self, slot: "Slot", n: int) -> None:
        """Evaluate the first n positions of a slot, as `Evaluator.run` does; several slots may run at once."""
        ...

    def close(self) -> None:
        """Free all resources."""
        ...


class Backend(Protocol):
    """A library on a kind of device.

    One that compiles a network for the plan's batch size, to which it fills smaller batches up, also has
    `has_fixed_batch`, True; one whose devices may be CPUs, among which the plan's number of the GPU chooses,
    `has_devices`; one whose kernels the user may tune, `tuned()`, a text that is another one after each tuning; one
    with precisions that are not worth measuring unasked, `only_named`, their names.
    """

    name: str
    """Value of DNN_Provider."""
    title: str
    """The library's name, with the device: "ONNX Runtime, CPU"."""
    on_gpu: bool
    """True if it needs a GPU."""
    is_automatic: bool
    """True if it may be chosen without being named. The others are chosen only for files that none of these can run."""
    libraries: Sequence[str]
    """Distributions whose versions decide how fast it is."""
    batches: Sequence[int]
    """Batch sizes to choose from, ascending."""

    def problem(self) -> str | None:
        """Reason why it cannot run on this computer, with the remedy; None: it can."""
        ...

    def precisions(self, network: "NetworkFile") -> Sequence[str]:
        """The precisions in which it can run a network on this computer; none for files that it cannot read."""
        ...

    def open(self, network: "NetworkFile", plan: Plan) -> Model:
        """Open a network.

        Args:
            network: The file.
            plan: Nothing in it is open, but other batch sizes of `batches` may be tried on the model, unless it
                `has_fixed_batch`.

        Raises:
            EvaluatorError: It is no network for shogi, or the library failed.
        """
        ...


def get_backend(name: str) -> Backend:
    """The backend with this name. Imports its module, which does not import its library."""
    module, _, cls = BACKENDS[name].partition(":")
    return cast("Backend", getattr(import_module(module), cls)())


def has_devices(backend: Backend) -> bool:
    """True if the plan's number of the GPU chooses among devices, and threads are the library's affair."""
    return backend.on_gpu or getattr(backend, "has_devices", False)


def missing_library(library: str, remedy: str) -> str | None:
    """The problem of a library that is not installed; None if it is. Does not import it."""
    return None if util.find_spec(library) else f"the library {library} is not installed: {remedy}"


def broken_library(library: str, module: str) -> str | None:
    """The problem of a library that is installed but cannot be loaded; None if it can.

    Args:
        library: Its name.
        module: The module of this package that imports it, which is imported.
    """
    load_library(module)  # a Ctrl-C amid the library's C++ would look like a library that is broken
    try:
        import_module(module)
    except (ImportError, OSError) as error:
        return f"the library {library} is installed, but cannot be loaded: {str(error).partition(chr(10))[0]}"
    return None


def versions(libraries: Sequence[str]) -> dict[str, str]:
    """Versions of the distributions that are installed."""
    from importlib import metadata  # takes longer to import than all of this package

    found: dict[str, str] = {}
    for library in libraries:
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return found


def cache_folder() -> Path:
    """The folder for what can be measured or compiled again: ``XDG_CACHE_HOME/fukayomi``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fukayomi"
