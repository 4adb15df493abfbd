"""Networks in ONNX Runtime: any file with dlshogi's inputs and outputs (onnx_model.py).

Threads and batch size are measured for about half a second when the file is loaded. The best values differ so much
between computers and networks that no rule would find them, and of batches with the same speed the small ones make the
better search.
"""

import hashlib
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
from numpy.typing import NDArray

from fukayomi._native import encode_position, gather_logits, unpack_planes
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.onnx_model import CPU, INPUTS, OnnxModel
from fukayomi.engine.evaluators.protocol import Slot
from fukayomi.shogi import Position
from fukayomi.tabular import counted

ort = cast(Any, onnxruntime)  # it has no types
PROVIDERS = {"cpu": CPU, "cuda": "CUDAExecutionProvider", "tensorrt": "TensorrtExecutionProvider"}
CPU_BATCHES = (4, 8, 16, 32)
GPU_BATCHES = (32, 64, 128, 256)
MEASURE_S = 0.08
"""Duration of each measurement."""
GOOD_ENOUGH = 0.9
"""Share of the best speed at which a smaller batch, or fewer threads per batch, is preferred."""
PROBES = (
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
    "lnsgkgsnl/1r5b1/p1ppppppp/1p7/9/2P4P1/PP1PPPP1P/1B5R1/LNSGKGSNL w - 4",
    "lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "4k4/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL b RGgsn5p 1",
    "4k4/9/9/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b RB2G2S2N2L9P 1",
    "4k4/9/9/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w RB2G2S2N2L9P 1",
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/9/9/4K4 w rb2g2s2n2l9p 1",
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/9/9/4K4 b rb2g2s2n2l9p 1",
    "7k1/9/7P1/9/9/9/9/9/K8 b G2r2b3g4s4n4l17p 1",
    "7k1/7G1/7P1/9/9/9/9/9/K8 w 2r2b3g4s4n4l17p 2",
)
"""Positions on which a network is tried: even ones, handicaps, and some that are won for either side."""


@dataclass(frozen=True, slots=True)
class OnnxSlot(Slot):
    """A slot with room for the planes as floats."""

    features1: NDArray[np.float32]
    """[C, 62, 9, 9]"""
    features2: NDArray[np.float32]
    """[C, 57, 9, 9]"""


class OnnxEvaluator:
    """A network in ONNX Runtime.

    Args:
        path: The ONNX file.
        provider: "auto" (CUDA where it is installed, else CPU), "cpu", "cuda" or "tensorrt".
        threads: CPU threads for one batch; 0 measures.
        batch_size: Positions per batch; 0 measures.
        slots: Batches in flight; 0 measures.

    Raises:
        EvaluatorError: The file is not a network for shogi, or the provider is not available.
    """

    def __init__(
        self, path: Path, *, provider: str = "auto", threads: int = 0, batch_size: int = 0, slots: int = 0
    ) -> None:
        self.path = path
        self._provider = _choose_provider(provider)
        cpus = _usable_cpus()
        self._threads_asked = threads
        threads = min(threads, cpus)  # more would only wait for each other: 64 on two CPUs take seconds for a batch
        self._model = self._open(threads or (cpus if self._provider == CPU else 1))
        if self._model.provider != self._provider:
            if provider != "auto":
                raise EvaluatorError(f"{self._provider} cannot be started; are its libraries installed?")
            self._provider = self._model.provider
        on_cpu = self._provider == CPU
        self.threads = threads or (cpus if on_cpu else 1)
        self.slots = slots or (1 if on_cpu else 2)
        self._try()
        if on_cpu and not threads and not slots and cpus > 1:
            self._choose_threads(cpus, min(batch_size or 8, CPU_BATCHES[-1]))
        self.batch_size = self._choose_batch_size(batch_size, CPU_BATCHES if on_cpu else GPU_BATCHES)
        precision = "fp16" if self._provider == PROVIDERS["tensorrt"] else "fp32"
        self.identity = f"{_digest(path)}-{precision}-{self._provider.removesuffix('ExecutionProvider').lower()}"

    # ------------------------------------------------------------------------------------------ the protocol

    def allocate(self, capacity: int) -> OnnxSlot:
        """Memory for a batch of up to ``capacity`` positions."""
        plain = Slot.zeros(max(capacity, self._model.fixed_batch))
        return OnnxSlot(
            planes1=plain.planes1,
            planes2=plain.planes2,
            labels=plain.labels,
            counts=plain.counts,
            logits=plain.logits,
            values=plain.values,
            features1=np.zeros((plain.capacity, *INPUTS["input1"]), np.float32),
            features2=np.zeros((plain.capacity, *INPUTS["input2"]), np.float32),
        )

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot."""
        assert isinstance(slot, OnnxSlot)
        unpack_planes(slot.planes1[:n], slot.planes2[:n], slot.features1[:n], slot.features2[:n])
        policy, values = self._forward(self._model, slot, n)
        self._model.check_numbers(policy, values)
        gather_logits(policy, slot.labels[:n], slot.counts[:n], slot.logits[:n])
        slot.values[:n] = values

    def close(self) -> None:
        """Nothing to do: the session is freed with the object."""

    def describe(self) -> str:
        """The chosen configuration, for an ``info string``."""
        asked = self._threads_asked
        limited = f" (Threads is {asked}, but there are no more CPUs)" if asked > self.threads else ""
        return (
            f"{self.path.name} on {self._provider.removesuffix('ExecutionProvider')}: "
            f"{counted(self.threads, 'thread')}{limited}, batch {self.batch_size}, {self.slots} in flight"
        )

    # ------------------------------------------------------------------------------------------ sessions

    def _open(self, threads: int) -> OnnxModel:
        return OnnxModel(
            self.path, provider=self._provider, provider_options=_provider_options(self._provider), threads=threads
        )

    def _forward(self, model: OnnxModel, slot: OnnxSlot, n: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Policy [n, 2187] and values [n] of the features in the slot."""
        padded = model.fixed_batch or (n if self._provider == CPU else _bucket(n, slot.capacity))
        padded = max(n, padded)
        policy, values = model.run(slot.features1[:padded], slot.features2[:padded])
        return policy[:n], values[:n]

    def _try(self) -> None:
        """Run the network on some positions: its outputs show what the file does not declare."""
        slot = self.allocate(len(PROBES))
        for i, sfen in enumerate(PROBES):
            slot.planes1[i], slot.planes2[i] = encode_position(Position.from_sfen(sfen))
        self.run(slot, len(PROBES))

    # ------------------------------------------------------------------------------------------ measuring

    def _choose_threads(self, cpus: int, batch: int) -> None:
        """Choose two batches at once on half of the CPUs each, or one on all CPUs where that is clearly faster.

        Two batches need not wait for each other, and one is gathered while the other is evaluated. Where other programs
        use the CPUs too, threads that share a batch wait for the slowest of them, several times as long as they work.
        """
        half = self._open(cpus // 2)
        batch = self._model.fixed_batch or batch
        together = self._speed([self._model], batch)
        apart = self._speed([half, half], batch)
        if apart > GOOD_ENOUGH * together:
            self._model, self.threads, self.slots = half, cpus // 2, 2

    def _choose_batch_size(self, batch_size: int, candidates: Sequence[int]) -> int:
        """The batch size: the file's, the given one, or the smallest that is about as fast as any."""
        if self._model.fixed_batch or batch_size:
            return self._model.fixed_batch or batch_size
        models = [self._model] * self.slots
        speeds = {size: self._speed(models, size) for size in candidates}
        enough = GOOD_ENOUGH * max(speeds.values())
        return min(size for size in candidates if speeds[size] >= enough)

    def _speed(self, models: Sequence[OnnxModel], batch: int) -> float:
        """Positions per second when each model is run by a thread of its own."""
        slots = [self.allocate(batch) for _ in models]
        for model, slot in zip(models[:1], slots, strict=False):
            self._forward(model, slot, batch)  # the first run plans its memory
        runs: list[int] = []
        start = time.perf_counter()

        def work(model: OnnxModel, slot: OnnxSlot) -> None:
            count = 0
            while count == 0 or time.perf_counter() - start < MEASURE_S:
                self._forward(model, slot, batch)
                count += 1
            runs.append(count)

        threads = [threading.Thread(target=work, args=pair) for pair in zip(models, slots, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(runs) * batch / (time.perf_counter() - start)


def _choose_provider(provider: str) -> str:
    available = cast("list[str]", ort.get_available_providers())
    if provider == "auto":
        return PROVIDERS["cuda"] if PROVIDERS["cuda"] in available else PROVIDERS["cpu"]
    if PROVIDERS[provider] not in available:
        have = ", ".join(name for name, long in PROVIDERS.items() if long in available)
        raise EvaluatorError(
            f"the installed ONNX Runtime has no {provider}, only {have}: "
            "pip install onnxruntime-gpu in place of onnxruntime"
        )
    return PROVIDERS[provider]


def _provider_options(provider: str) -> dict[str, str]:
    if provider != PROVIDERS["tensorrt"]:
        return {}
    # Building an engine takes minutes, so it is kept; one engine must serve every batch size.
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fukayomi" / "tensorrt"

    def shapes(n: int) -> str:
        return ",".join(f"{name}:{n}x{'x'.join(map(str, shape))}" for name, shape in INPUTS.items())

    return {
        "trt_fp16_enable": "1",
        "trt_engine_cache_enable": "1",
        "trt_engine_cache_path": str(cache),
        "trt_profile_min_shapes": shapes(1),
        "trt_profile_opt_shapes": shapes(GPU_BATCHES[2]),
        "trt_profile_max_shapes": shapes(GPU_BATCHES[-1]),
    }


def _digest(path: Path) -> str:
    """The first 16 digits of the SHA-256 of the file, and of the weights if they are in a file beside it."""
    sha = hashlib.sha256()
    try:
        for part in (path, path.with_name(path.name + ".data")):
            if part == path or part.exists():
                with part.open("rb") as file:
                    while block := file.read(1 << 20):
                        sha.update(block)
    except OSError as error:
        raise EvaluatorError(f"cannot read the network {path}: {error.strerror}") from error
    return sha.hexdigest()[:16]


def _usable_cpus() -> int:
    """CPUs that this process may use, which in a container may be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _bucket(n: int, capacity: int) -> int:
    """The next power of two: a GPU plans again for each new batch size."""
    return min(capacity, 1 << (n - 1).bit_length())
