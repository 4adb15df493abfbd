"""A stand-in for a GPU of torch, on the CPU, that is as strict as a GPU: see `FakeGpu`."""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fukayomi.engine.evaluators.backends.backend import Plan
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.backends.torch_gpu import TorchGpuModel
from fukayomi.engine.evaluators.protocol import NetworkEvaluator

FORBIDDEN = {"_local_scalar_dense", "item", "is_nonzero", "nonzero", "equal", "lift_fresh"}
"""Torch's names of what a stream that is captured does not take: the CPU waits for it, or gives a number."""


class FakeGpu:
    """A device whose work is done when it is waited for, as late as a GPU may do it.

    Graphs are recorded as lists of torch's basic operations with the tensors that they were called with. They are
    replayed without a line of the model's Python, on the same memory: what a real graph cannot do goes wrong here too.
    It is an error to

    - read memory that is not the device's own, in a graph or by a copy: of another device, of the computer, or what was
      allocated for the moment;
    - ask for a result while a graph is recorded;
    - put work in a queue that is not active, or from two threads at once.

    Args:
        number: Number of the GPU.
    """

    def __init__(self, number: int = 0) -> None:
        self.name = f"GPU {number} (Fake 1000)"
        self.captures = 0
        """Graphs recorded so far."""
        self.errors: dict[str, Exception] = {}
        """What the methods with these names raise: hold, zeros, pinned, capture, copy, replay, synchronize."""
        self._kept: dict[int, Tensor] = {}
        """Memory of the device that stays where it is, by its address."""
        self._pinned: dict[int, Tensor] = {}

    def hold(self, module: nn.Module) -> Any:
        self.check("hold")
        self._kept |= {memory(each): each for each in (*module.parameters(), *module.buffers())}
        return module

    def pinned(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        self.check("pinned")
        tensor = torch.zeros(tuple(shape), dtype=dtype)
        return self._pinned.setdefault(memory(tensor), tensor)

    def zeros(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        self.check("zeros")
        tensor = torch.zeros(tuple(shape), dtype=dtype)
        return self._kept.setdefault(memory(tensor), tensor)

    def queue(self) -> "FakeQueue":
        return FakeQueue(self)

    def architectures(self) -> tuple[str, Sequence[str]]:
        return "sm_10", ["sm_75", "sm_80"]

    def check(self, method: str) -> None:
        if method in self.errors:
            raise self.errors[method]

    def owns(self, tensor: Tensor) -> bool:
        return memory(tensor) in self._kept

    def shares(self, tensor: Tensor) -> bool:
        return memory(tensor) in self._pinned


class FakeQueue:
    """Work that waits for `synchronize`."""

    def __init__(self, device: FakeGpu) -> None:
        self._device = device
        self._work: list[Callable[[], object]] = []
        self._is_active = False
        self._lock = threading.Lock()

    @contextmanager
    def active(self) -> Generator[None]:
        assert self._lock.acquire(blocking=False), "two threads use a queue at once"
        self._is_active = True
        try:
            yield
        finally:
            self._is_active = False
            self._lock.release()

    def copy(self, target: Tensor, source: Tensor) -> None:
        self._device.check("copy")
        assert self._is_active, "a copy outside of its queue"
        assert target.is_contiguous(), "a copy to memory with gaps waits for the device"
        assert source.is_contiguous(), "a copy of memory with gaps waits for the device"
        sides = {(self._device.owns(each), self._device.shares(each)) for each in (target, source)}
        assert sides == {(True, False), (False, True)}, "a copy between the device and pinned memory"
        self._work.append(lambda: target.copy_(source))

    def capture(self, compute: Callable[[], None]) -> Callable[[], None]:
        self._device.check("capture")
        recorder = Recorder(self._device)
        with torch.inference_mode():
            compute()
            with recorder:
                compute()
        self._device.captures += 1

        def replay() -> None:
            self._device.check("replay")
            assert self._is_active, "a graph outside of its queue"
            self._work.append(recorder.replay)

        return replay

    def synchronize(self) -> None:
        self._device.check("synchronize")
        work, self._work = self._work, []
        for each in work:
            each()


class Recorder(TorchDispatchMode):
    """Records what torch does: its basic operations with their tensors."""

    def __init__(self, device: FakeGpu) -> None:
        super().__init__()
        self._device = device
        self._steps: list[tuple[Any, Any, Any, list[Tensor]]] = []
        self._made: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket.__name__ in FORBIDDEN:
            raise RuntimeError(f"CUDA error: operation not permitted when stream is capturing ({func})")
        for tensor in tensors_of((args, kwargs)):
            known = memory(tensor) in self._made or self._device.owns(tensor)
            assert known, f"{func} reads memory that will not be there when a graph is replayed"
        result = func(*args, **(kwargs or {}))
        outputs = tensors_of(result)
        self._made.update(map(memory, outputs))
        self._steps.append((func, args, kwargs or {}, outputs))
        return result

    def replay(self) -> None:
        with torch.inference_mode():
            for func, args, kwargs, outputs in self._steps:
                before = set(map(memory, tensors_of((args, kwargs))))
                results = tensors_of(func(*args, **kwargs))
                for output, result in zip(outputs, results, strict=True):
                    if memory(output) not in before:  # else a view, or computed in place
                        output.copy_(result)


def evaluator_of(
    path: Path, precision: str = "fp32", *, device: FakeGpu | None = None, batch: int = 16
) -> NetworkEvaluator:
    """A network on a stand-in."""
    model = TorchGpuModel(path, precision=precision, device=device or FakeGpu())
    plan = Plan("torch-cuda", precision, 1, 2, model.fixed_batch or batch)
    return NetworkEvaluator(NetworkFile(path), model, plan, "")


def tensors_of(values: Any) -> list[Tensor]:
    return [each for each in tree_leaves(values) if isinstance(each, Tensor)]


def memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
