"""Networks in ONNX Runtime: any file with dlshogi's inputs and outputs.

    input1         float32 [N, 62, 9, 9]
    input2         float32 [N, 57, 9, 9]
    output_policy  float32 [N, 2187], logits
    output_value   float32 [N, 1], the win probability of the side to move

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
from typing import Any, Protocol, cast

import numpy as np
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
from numpy.typing import NDArray

from fukayomi._native import (
    FEATURES1,
    FEATURES2,
    POLICY_LABELS,
    encode_position,
    gather_logits,
    unpack_planes,
)
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.protocol import Slot
from fukayomi.shogi import Position

ort = cast(Any, onnxruntime)  # it has no types
INPUTS = {"input1": (FEATURES1, 9, 9), "input2": (FEATURES2, 9, 9)}
OUTPUTS = ("output_policy", "output_value")
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider", "tensorrt": "TensorrtExecutionProvider"}
CPU_BATCHES = (4, 8, 16, 32)
GPU_BATCHES = (32, 64, 128, 256)
MEASURE_S = 0.08
"""Duration of each measurement."""
GOOD_ENOUGH = 0.9
"""Share of the best speed at which a smaller batch, or fewer threads per batch, is preferred."""


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
    def run(self, names: list[str], feed: dict[str, NDArray[np.float32]]) -> list[NDArray[np.float32]]: ...


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
        digest = _digest(path)
        self._provider = _choose_provider(provider)
        self._fixed_batch = 0
        cpus = _usable_cpus()
        on_cpu = self._provider == PROVIDERS["cpu"]
        self._session = self._open(threads or (cpus if on_cpu else 1), strict=provider != "auto")
        on_cpu = self._provider == PROVIDERS["cpu"]  # "auto" may have fallen back to it
        self.threads = threads or (cpus if on_cpu else 1)
        self.slots = slots or (1 if on_cpu else 2)
        self._check_answers()
        if on_cpu and not threads and not slots and cpus > 1:
            self._choose_threads(cpus, batch_size or 8)
        self.batch_size = self._choose_batch_size(batch_size, CPU_BATCHES if on_cpu else GPU_BATCHES)
        precision = "fp16" if self._provider == PROVIDERS["tensorrt"] else "fp32"
        self.identity = f"{digest}-{precision}-{self._provider.removesuffix('ExecutionProvider').lower()}"

    # ------------------------------------------------------------------------------------------ the protocol

    def allocate(self, capacity: int) -> OnnxSlot:
        """Memory for a batch of up to ``capacity`` positions."""
        plain = Slot.zeros(max(capacity, self._fixed_batch))
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
        policy, values = self._forward(self._session, slot, n)
        self._check_numbers(policy, values)
        gather_logits(policy, slot.labels[:n], slot.counts[:n], slot.logits[:n])
        slot.values[:n] = values

    def close(self) -> None:
        """Nothing to do: the session is freed with the object."""

    def describe(self) -> str:
        """The chosen configuration, for an ``info string``."""
        return (
            f"{self.path.name} on {self._provider.removesuffix('ExecutionProvider')}: "
            f"{self.threads} threads, batch {self.batch_size}, {self.slots} in flight"
        )

    # ------------------------------------------------------------------------------------------ sessions

    def _open(self, threads: int, *, strict: bool) -> _Session:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors come as exceptions, which say more
        providers: list[Any] = [(self._provider, _provider_options(self._provider))]
        if self._provider != PROVIDERS["cpu"]:
            providers.append(PROVIDERS["cpu"])
        try:
            session = cast(_Session, ort.InferenceSession(str(self.path), options, providers=providers))
        except Exception as error:  # ONNX Runtime's errors have no common base
            raise EvaluatorError(f"{self.path}: ONNX Runtime cannot load it: {error}") from error
        used = session.get_providers()[0]
        if used != self._provider:
            if strict:
                raise EvaluatorError(f"{self._provider} cannot be started; are its libraries installed?")
            self._provider = used
        self._fixed_batch = _check_interface(self.path, session)
        return session

    def _forward(self, session: _Session, slot: OnnxSlot, n: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Policy [n, 2187] and values [n] of the features in the slot."""
        padded = self._fixed_batch or (n if self._provider == PROVIDERS["cpu"] else _bucket(n, slot.capacity))
        feed = {"input1": slot.features1[:padded], "input2": slot.features2[:padded]}
        try:
            policy, values = session.run(list(OUTPUTS), feed)
        except Exception as error:  # as above
            raise EvaluatorError(f"{self.path}: ONNX Runtime failed: {error}") from error
        return policy.reshape(padded, -1)[:n], values.reshape(-1)[:n]

    def _check_answers(self) -> None:
        """Run the network once: its output shows what the file does not declare."""
        slot = self.allocate(1)
        slot.planes1[0], slot.planes2[0] = encode_position(Position())
        unpack_planes(slot.planes1, slot.planes2, slot.features1, slot.features2)
        policy, values = self._forward(self._session, slot, 1)
        if policy.shape != (1, POLICY_LABELS) or values.shape != (1,):
            raise EvaluatorError(
                f"{self.path}: output_policy and output_value must be [N, {POLICY_LABELS}] and [N, 1]; "
                f"for one position they have {policy.size} and {values.size} numbers"
            )
        self._check_numbers(policy, values)

    def _check_numbers(self, policy: NDArray[np.float32], values: NDArray[np.float32]) -> None:
        if not np.isfinite(policy).all():
            raise EvaluatorError(f"{self.path}: the network's policy has a number that is not finite")
        if not ((values >= 0) & (values <= 1)).all():
            raise EvaluatorError(
                f"{self.path}: output_value must be a win probability, from 0 to 1; it is {values.min()} to "
                f"{values.max()}. A network that ends in a logit must be exported with a sigmoid"
            )

    # ------------------------------------------------------------------------------------------ measuring

    def _choose_threads(self, cpus: int, batch: int) -> None:
        """Choose two batches at once on half of the CPUs each, or one on all CPUs where that is clearly faster.

        Two batches need not wait for each other, and one is gathered while the other is evaluated. Where other programs
        use the CPUs too, threads that share a batch wait for the slowest of them, several times as long as they work.
        """
        half = self._open(cpus // 2, strict=False)
        batch = self._fixed_batch or batch
        together = self._speed([self._session], batch)
        apart = self._speed([half, half], batch)
        if apart > GOOD_ENOUGH * together:
            self._session, self.threads, self.slots = half, cpus // 2, 2

    def _choose_batch_size(self, batch_size: int, candidates: Sequence[int]) -> int:
        """The batch size: the file's, the given one, or the smallest that is about as fast as any."""
        if self._fixed_batch or batch_size:
            return self._fixed_batch or batch_size
        sessions = [self._session] * self.slots
        speeds = {size: self._speed(sessions, size) for size in candidates}
        enough = GOOD_ENOUGH * max(speeds.values())
        return min(size for size in candidates if speeds[size] >= enough)

    def _speed(self, sessions: Sequence[_Session], batch: int) -> float:
        """Positions per second when each session is run by a thread of its own."""
        slots = [self.allocate(batch) for _ in sessions]
        for session, slot in zip(sessions[:1], slots, strict=False):
            self._forward(session, slot, batch)  # the first run plans its memory
        runs: list[int] = []
        start = time.perf_counter()

        def work(session: _Session, slot: OnnxSlot) -> None:
            count = 0
            while count == 0 or time.perf_counter() - start < MEASURE_S:
                self._forward(session, slot, batch)
                count += 1
            runs.append(count)

        threads = [threading.Thread(target=work, args=pair) for pair in zip(sessions, slots, strict=True)]
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


def _check_interface(path: Path, session: _Session) -> int:
    """Check inputs and outputs.

    Returns:
        The fixed batch size of the file, or 0 if it takes any.

    Raises:
        EvaluatorError: The file is not a network for shogi.
    """
    inputs = {node.name: node for node in session.get_inputs()}
    outputs = [node.name for node in session.get_outputs()]
    if set(inputs) != set(INPUTS) or not set(OUTPUTS) <= set(outputs):
        raise EvaluatorError(
            f"{path}: a network for shogi has the inputs {', '.join(INPUTS)} and the outputs {', '.join(OUTPUTS)}; "
            f"this one has {', '.join(inputs)} and {', '.join(outputs)}"
        )
    fixed = 0
    for name, shape in INPUTS.items():
        node = inputs[name]
        batch, *rest = node.shape
        if tuple(rest) != shape or node.type != "tensor(float)":
            hint = "; it expects dlshogi's extra planes for entering kings" if rest[:1] == [119] else ""
            raise EvaluatorError(
                f"{path}: {name} must be float32 [N, {', '.join(map(str, shape))}]; "
                f"it is {node.type} {node.shape}{hint}"
            )
        fixed = batch if isinstance(batch, int) and batch > 0 else fixed
    return fixed


def _digest(path: Path) -> str:
    """The first 16 digits of the SHA-256 of the file, and of the weights if they are in a file beside it."""
    sha = hashlib.sha256()
    try:
        sha.update(path.read_bytes())
        weights = path.with_name(path.name + ".data")
        if weights.exists():
            sha.update(weights.read_bytes())
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
