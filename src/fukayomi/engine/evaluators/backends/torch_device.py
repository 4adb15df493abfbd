"""A GPU as torch has it: memory, queues of work, graphs. All that needs a card is here, behind `Device` and `Queue`.

The tests run `TorchGpuModel` on a stand-in for this module; with a card those of `pytest -m gpu` run all of it.

NVIDIA's and AMD's GPUs are the same to torch: its builds for ROCm have AMD's under the names of CUDA.
"""

# pyright: reportUnknownMemberType=false

import threading
import warnings
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import torch
from torch import Tensor, nn

from fukayomi.engine.evaluators import EvaluatorError

ModuleT = TypeVar("ModuleT", bound=nn.Module)
WARM_UP_RUNS = 3
"""Runs before a graph is captured: libraries measure their algorithms and reserve memory in them."""
_CAPTURING = threading.Lock()
"""Torch captures one graph at a time in a process, whichever GPU it is for."""


class Queue(Protocol):
    """Work on a device, done in order and beside the work of other queues; a stream, for torch."""

    def active(self) -> AbstractContextManager[object]:
        """A context in which `copy` and what `capture` has returned may be called."""
        ...

    def copy(self, target: Tensor, source: Tensor) -> None:
        """Copy between the device and pinned memory, at some time before `synchronize` returns."""
        ...

    def capture(self, compute: Callable[[], None]) -> Callable[[], None]:
        """Run a function, and record the work that it puts in the queue.

        Args:
            compute: It reads and writes memory of the device that stays where it is, and asks for no result.

        Returns:
            A function that does the same work again at less cost.
        """
        ...

    def synchronize(self) -> None:
        """Wait until all of the work is done."""
        ...


class Device(Protocol):
    """A GPU."""

    name: str
    """For messages: "GPU 0 (NVIDIA H200)"."""

    def hold(self, module: ModuleT) -> ModuleT:
        """The module with its parameters in the device's memory."""
        ...

    def pinned(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Zeros in the computer's memory, where the device can read and write them by itself."""
        ...

    def zeros(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Zeros in the device's memory."""
        ...

    def queue(self) -> Queue:
        """A new queue."""
        ...

    def architectures(self) -> tuple[str, Sequence[str]]:
        """The device's, and those that torch has code for: "sm_61", ["sm_75", "sm_80"]."""
        ...


def gpu_problem(build: str) -> str | None:
    """Reason why torch finds no GPU; None: it finds one.

    Args:
        build: What torch is built for.
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        if torch.cuda.is_available():
            return None
    reason = "".join(f" ({str(each.message).splitlines()[0]})" for each in said[:1])
    return f"torch, built for {build}, finds no GPU that it can use; its driver may be too old{reason}"


class Gpu:
    """A GPU.

    Args:
        number: Number of the GPU, from 0.
        path: The network's file, for messages.

    Raises:
        EvaluatorError: There is no such GPU, or it cannot be used.
    """

    def __init__(self, number: int, path: Path) -> None:
        count = torch.cuda.device_count()
        if number >= count:
            raise EvaluatorError(f"{path}: torch finds no GPU {number} (from 0); it has {count}")
        self._target = torch.device("cuda", number)
        self.name = f"GPU {number}"
        try:
            self.name += f" ({torch.cuda.get_device_name(self._target)})"
        except RuntimeError as error:
            raise gpu_error(path, self, error) from error

    def hold(self, module: ModuleT) -> ModuleT:
        """The module on the GPU."""
        return module.to(self._target)

    def pinned(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Zeros in pinned memory."""
        with torch.cuda.device(self._target):
            return torch.zeros(shape, dtype=dtype, pin_memory=True)

    def zeros(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Zeros on the GPU."""
        return torch.zeros(shape, dtype=dtype, device=self._target)

    def queue(self) -> "GpuQueue":
        """A new stream."""
        return GpuQueue(self._target)

    def architectures(self) -> tuple[str, Sequence[str]]:
        """The GPU's architecture, and those that torch has code for."""
        major, minor = torch.cuda.get_device_capability(self._target)
        own = f"sm_{major}{minor}"
        if torch.version.hip:
            own = str(cast("Any", torch.cuda.get_device_properties(self._target)).gcnArchName)
        return own, torch.cuda.get_arch_list()


class GpuQueue:
    """A stream, with the memory that its graphs share: one of them runs at a time."""

    def __init__(self, target: torch.device) -> None:
        self._target = target
        unused = _unused_streams(target)
        with torch.cuda.device(target):
            try:
                self._stream = unused.pop()
            except IndexError:
                self._stream = torch.cuda.Stream(target)
            self._pool: Any = torch.cuda.graph_pool_handle()
        self._failed: Any = None
        """A graph that could not be captured. Torch's allocator still asks it, and takes no other in the same pool."""
        weakref.finalize(self, unused.append, self._stream).atexit = False

    def active(self) -> AbstractContextManager[object]:
        """A context with the stream, and its GPU, as torch's current ones."""
        return torch.cuda.stream(self._stream)

    def copy(self, target: Tensor, source: Tensor) -> None:
        """Put a copy in the stream."""
        target.copy_(source, non_blocking=True)

    def capture(self, compute: Callable[[], None]) -> Callable[[], None]:
        """Run a function in the stream, then capture it as a graph.

        Where it cannot be captured, what is returned calls the function: more slowly, but it plays.
        """
        with _CAPTURING, torch.cuda.device(self._target), torch.inference_mode(), arithmetic():
            self._stream.wait_stream(torch.cuda.current_stream())  # which makes the zeros that it works on
            # Around all of it: a capture that fails leaves its stream the current one of the thread.
            with torch.cuda.stream(self._stream):
                for _ in range(WARM_UP_RUNS):  # in the same stream: ROCm's libraries set themselves up for each
                    compute()
                self._stream.synchronize()
                replay = None if self._failed else self._captured(compute)
        return replay or torch.inference_mode()(compute)

    def _captured(self, compute: Callable[[], None]) -> Callable[[], None] | None:
        """The work of a function as a graph; None if it cannot be captured."""
        graph = torch.cuda.CUDAGraph()
        try:
            # Other threads go on to use the GPU, which the default mode forbids.
            with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
                compute()
        except RuntimeError as error:
            if "captur" not in str(error):
                raise
            warnings.warn(f"torch runs the network without a graph, more slowly: {error}", stacklevel=3)
            self._failed = graph
            return None
        return graph.replay

    def synchronize(self) -> None:
        """Wait for the stream."""
        self._stream.synchronize()


@cache
def _unused_streams(target: torch.device) -> list[Any]:
    """The streams of a GPU that a queue has had and none has now.

    Torch gives out the same 32 streams of a GPU in turn. If each queue took the next one, two would soon share one,
    and what the one does while it plays would become part of the graph that the other captures.
    """
    return []


@contextmanager
def arithmetic() -> Generator[None]:
    """While a graph is captured: float32 is computed as such, not as TF32, and cuDNN measures its algorithms.

    The settings are torch's for the whole process, where a training may have others.
    """
    backends: Any = torch.backends
    cudnn = backends.cudnn
    is_measured = torch.version.hip is None  # AMD's MIOpen takes minutes for it
    matmul = backends.cuda.matmul
    settings = [
        (cudnn, "benchmark", is_measured),
        *_exact(cudnn, getattr(cudnn, "conv", None)),
        *_exact(matmul, matmul),
    ]
    before = [getattr(owner, name) for owner, name, _ in settings]
    try:
        for owner, name, value in settings:
            setattr(owner, name, value)
        yield
    finally:
        for (owner, name, _), value in zip(settings, before, strict=True):
            setattr(owner, name, value)


def _exact(older: Any, newer: Any) -> list[tuple[Any, str, Any]]:
    """What must be set against TF32: torch's older setting, unless the newer one is in use; they may not be mixed."""
    try:
        return [(older, "allow_tf32", False)] if older.allow_tf32 else []
    except RuntimeError:
        return [(newer, "fp32_precision", "ieee")]


# --------------------------------------------------------------------------------------------------- errors

_FULL = ("out of memory", "ALLOC_FAILED")
_NO_CODE = ("no kernel image", "no binary for gpu", "invalid device function", "hipErrorNoBinaryForGpu")
_LOST = (
    "unspecified launch failure", "illegal memory access", "misaligned address", "device-side assert", "is lost",
    "device unavailable", "ECC", "launch timed out", "illegal instruction", "unknown error", "context is destroyed",
    "hardware stack error", "devices unavailable",
)  # fmt: skip
"""Parts of the messages of CUDA and HIP after which a process can do nothing more with a GPU."""


def gpu_error(path: Path, device: Device, error: Exception) -> EvaluatorError:
    """An error of torch on a GPU, with the remedy.

    Args:
        path: The network's file.
        device: The GPU.
        error: What torch has raised.
    """
    text = str(error).strip()
    first = text.splitlines()[0] if text else type(error).__name__
    where = f"{path}: {device.name}"
    if isinstance(error, torch.OutOfMemoryError) or any(sign in text for sign in _FULL):
        return EvaluatorError(
            f"{where} has too little free memory: use a smaller DNN_Batch_Size or fewer UCT_Threads, or end other "
            f"programs that use it ({first})"
        )
    if any(sign in text for sign in _NO_CODE):
        return EvaluatorError(
            f"{where}: the installed torch {torch.__version__} has no code for this GPU ({_code(device)}): install a "
            "build of torch that has, as pytorch.org says, or set DNN_Provider to another backend"
        )
    if any(sign in text for sign in _LOST):
        return EvaluatorError(
            f"{where} has failed and cannot be used any more: start the program again; if it fails again, the reason "
            f"is in the driver's messages (dmesg on Linux) ({first})"
        )
    return EvaluatorError(f"{where}: torch failed: {first}")


def _code(device: Device) -> str:
    """The architecture of a device and those of torch, where they can be asked for."""
    try:
        own, known = device.architectures()
    except RuntimeError:
        return "of an unknown architecture"
    return f"{own}; it has {', '.join(known) or 'none'}"
