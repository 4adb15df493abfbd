"""Networks in torch: on the CPU, and on a GPU with everything between planes and logits of legal moves on the device.

The GPU's part has not been run yet: no GPU was at hand. Its arithmetic is tested on the CPU.
"""

# pyright: reportUnknownMemberType=false

import copy
import hashlib
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fukayomi._native import FEATURES1, FEATURES2, MAX_MOVES, PACKED1_BYTES, PACKED2_BYTES, POLICY_LABELS, PlaneInput
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import Plan
from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.engine.evaluators.float_model import INPUTS, INPUTS_WITH_COLOUR, FloatModel, next_power_of_two
from fukayomi.engine.evaluators.planes import PlaneEvaluator
from fukayomi.engine.evaluators.protocol import PlaneSlot, Slot
from fukayomi.files.sparse_network import SUFFIX as SPARSE_SUFFIX
from fukayomi.nn.folding import FoldedNetwork
from fukayomi.nn.parameters import ParameterFileError, load_parameters
from fukayomi.nn.sparse import SparseNetwork

TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
WARM_UP_RUNS = 3
"""Runs before a graph is captured: cuDNN measures its algorithms in them."""
_CAPTURING = threading.Lock()
"""Torch captures one graph at a time in a process, whichever GPU it is for."""


def has_cuda() -> bool:
    """True if torch can use a GPU."""
    return torch.cuda.is_available()


class TorchCpuModel(FloatModel):
    """A network in torch on the CPU.

    Args:
        path: A parameter file.
        precision: A key of `TYPES`; the heads are computed in float32.
        threads: CPU threads for one batch. Torch has one number for all networks of a process.

    Raises:
        EvaluatorError: The file holds no network.
    """

    library = "torch"

    def __init__(self, path: Path, *, precision: str, threads: int) -> None:
        super().__init__(path)
        self._threads = max(1, threads)
        self._dtype = TYPES[precision]
        self._network = _folded(path, self._dtype)
        self.shapes = INPUTS_WITH_COLOUR if self._network.config.colour_plane else INPUTS

    def forward(self, inputs: dict[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Policy and values of one batch."""
        if torch.get_num_threads() != self._threads:  # of this thread of Python
            torch.set_num_threads(self._threads)
        with torch.inference_mode():
            planes = [_channels_last(torch.from_numpy(inputs[name]).to(self._dtype)) for name in INPUTS]
            policy, values = self._network.heads(self._network.trunk(*planes).float())
        return policy.numpy(), values.numpy()


class TorchModuleEvaluator(PlaneEvaluator):
    """A module in torch that maps planes to logits of policy [N, 2187] and value [N, 1], where its parameters are.

    It is copied: training it further changes nothing here.

    Args:
        module: The module; in one with an attribute `features2`, that is the number of constant planes that it reads.
        plan: Threads and batch size; 0: all, 16 on the CPU and 256 elsewhere. Nothing else may be asked for.

    Raises:
        EvaluatorError: It is a sparse network, cannot be copied, or a device or precision is asked for.
    """

    def __init__(self, module: nn.Module, plan: Plan) -> None:
        name = type(module).__name__
        if isinstance(module, SparseNetwork):
            raise EvaluatorError(f"{name}: a sparse network plays as a file: export_network(network, 'my.sparse')")
        if (plan.backend, plan.precision) != ("auto", "auto"):
            raise EvaluatorError(f"{name}: a module in torch runs as it is: move it by .to(), or export it to ONNX")
        try:
            self._module = copy.deepcopy(module).eval().requires_grad_(False)
        except Exception as error:
            raise EvaluatorError(f"{name}: the module cannot be copied: {error}") from error
        parameter = next((each for each in self._module.parameters() if each.is_floating_point()), torch.zeros(1))
        self._device, self._dtype = parameter.device, parameter.dtype
        on_cpu = self._device.type == "cpu"
        self._threads = (plan.threads or usable_cpus()) if on_cpu else 0
        self.batch_size = plan.batch_size or (16 if on_cpu else 256)
        self.constants = int(getattr(module, "features2", FEATURES2))
        digest = hashlib.sha256(repr(self._module).encode())
        for key, tensor in self._module.state_dict().items():
            digest.update(key.encode())
            if isinstance(tensor, Tensor):
                digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        self.identity = f"{digest.hexdigest()[:16]}-{name}-torch"

    def evaluate(
        self, features1: NDArray[np.float32], features2: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Logits of the policy, and the value as a win probability."""
        if self._threads and torch.get_num_threads() != self._threads:  # of this thread of Python
            torch.set_num_threads(self._threads)
        with torch.inference_mode():
            planes = [torch.from_numpy(each).to(self._device, self._dtype) for each in (features1, features2)]
            policy, value = self._module(*planes)[:2]
            count = len(features1)
            if policy.numel() != count * POLICY_LABELS or value.numel() != count:
                raise EvaluatorError(
                    f"a network returns the logits of a policy [N, {POLICY_LABELS}] and of a value [N, 1]; for {count} "
                    f"positions this one returns {list(policy.shape)} and {list(value.shape)}"
                )
            return policy.float().flatten(1).cpu().numpy(), torch.sigmoid(value.float()).flatten().cpu().numpy()


@dataclass(frozen=True, slots=True)
class CudaSlot(PlaneSlot):
    """A slot in pinned memory, with its copy on the GPU, and a stream and graphs of its own."""

    host: dict[str, Tensor]
    """The arrays of the slot as tensors."""
    device: dict[str, Tensor]
    """The same on the GPU."""
    is_finite: Tensor
    """bool [1], pinned: whether all logits of the last batch are finite numbers and the values are probabilities."""
    stream: "torch.cuda.Stream"
    graphs: dict[int, "torch.cuda.CUDAGraph"] = field(default_factory=dict[int, "torch.cuda.CUDAGraph"])
    """By batch size."""


class TorchCudaModel:
    """A network in torch on a GPU. Several GPUs are untested.

    636 bytes of bit-packed planes and the labels of the legal moves go to the device, their logits and the value come
    back. Batch sizes are rounded up to powers of two; each has a CUDA graph, which is captured at its first use.

    Args:
        path: A parameter file.
        precision: A key of `TYPES`; the heads are computed in float32.
        gpu: Number of the GPU, from 0.

    Raises:
        EvaluatorError: The file holds no network, or there is no such GPU.
    """

    fixed_batch = 0

    def __init__(self, path: Path, *, precision: str, gpu: int = 0) -> None:
        if gpu >= torch.cuda.device_count():
            raise EvaluatorError(f"torch finds no GPU {gpu} (from 0); it has {torch.cuda.device_count()}")
        torch.backends.cudnn.benchmark = True
        self._path = path
        self._dtype = TYPES[precision]
        self._device = torch.device("cuda", gpu)
        self._network = _folded(path, self._dtype).to(self._device)

    def allocate(self, capacity: int) -> CudaSlot:
        """Pinned memory for a batch of up to ``capacity`` positions."""
        shapes = {
            "planes1": ((capacity, PACKED1_BYTES), torch.uint8),
            "planes2": ((capacity, PACKED2_BYTES), torch.uint8),
            "labels": ((capacity, MAX_MOVES), torch.uint16),
            "logits": ((capacity, MAX_MOVES), torch.float32),
            "values": ((capacity,), torch.float32),
        }
        host = {name: torch.zeros(shape, dtype=dtype, pin_memory=True) for name, (shape, dtype) in shapes.items()}
        return CudaSlot(
            input=PlaneInput(
                host["planes1"].numpy(), host["planes2"].numpy(), host["labels"].numpy(), np.zeros(capacity, np.uint16)
            ),
            logits=host["logits"].numpy(),
            values=host["values"].numpy(),
            host=host,
            device={name: tensor.to(self._device) for name, tensor in host.items()}
            | {"ok": torch.ones(1, device=self._device)},
            is_finite=torch.ones(1, pin_memory=True),
            stream=torch.cuda.Stream(self._device),
        )

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot that `allocate` made."""
        assert isinstance(slot, CudaSlot)
        size = next_power_of_two(n, slot.capacity)
        try:
            graph = slot.graphs.get(size) or self._capture(slot, size)
            with torch.cuda.device(self._device), torch.cuda.stream(slot.stream):
                for name in ("planes1", "planes2", "labels"):
                    slot.device[name][:n].copy_(slot.host[name][:n], non_blocking=True)
                graph.replay()
                for name in ("logits", "values"):
                    slot.host[name][:n].copy_(slot.device[name][:n], non_blocking=True)
                slot.is_finite.copy_(slot.device["ok"], non_blocking=True)
            slot.stream.synchronize()
        except RuntimeError as error:
            raise EvaluatorError(f"{self._path}: torch failed: {error}") from error
        if not slot.is_finite.item():
            raise EvaluatorError(f"{self._path}: a logit is not finite, or a value is no probability")

    def close(self) -> None:
        """Nothing to do: torch frees the network with the object."""

    def _capture(self, slot: CudaSlot, size: int) -> "torch.cuda.CUDAGraph":
        with _CAPTURING, torch.cuda.device(self._device), torch.inference_mode():
            with torch.cuda.stream(slot.stream):
                for _ in range(WARM_UP_RUNS):
                    self._compute(slot, size)
            slot.stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=slot.stream, capture_error_mode="thread_local"):
                self._compute(slot, size)
            slot.graphs[size] = graph
        return graph

    def _compute(self, slot: CudaSlot, size: int) -> None:
        """From planes and labels to logits and values, all on the device."""
        device = slot.device
        constants = self._network.config.features2
        features1, features2 = unpack(device["planes1"][:size], device["planes2"][:size], self._dtype, constants)
        x = self._network.trunk(_channels_last(features1), _channels_last(features2))
        policy, values = self._network.heads(x.float())
        values = values.flatten()
        device["logits"][:size] = gather(policy, device["labels"][:size])
        device["values"][:size] = values
        device["ok"][0] = policy.isfinite().all() & ((values >= 0) & (values <= 1)).all()


def unpack(planes1: Tensor, planes2: Tensor, dtype: torch.dtype, constants: int = FEATURES2) -> tuple[Tensor, Tensor]:
    """Bit-packed planes, uint8 [N, 628] and [N, 8], as zeros and ones [N, 62, 9, 9] and [N, constants, 9, 9]."""
    features1 = _bits(planes1)[:, : FEATURES1 * 81].to(dtype).view(-1, FEATURES1, 9, 9)
    features2 = _bits(planes2)[:, :constants].to(dtype).view(-1, constants, 1, 1).expand(-1, -1, 9, 9)
    return features1, features2


def gather(policy: Tensor, labels: Tensor) -> Tensor:
    """The logits of the legal moves: policy [N, 2187] at labels, uint16 [N, 593], gives [N, 593]."""
    index = labels.view(torch.int16).to(torch.int64)  # labels are below 2187; torch has little for uint16
    return policy.gather(1, index)


def _bits(packed: Tensor) -> Tensor:
    """The bits of bytes, the lowest first: uint8 [N, B] to [N, 8 * B]."""
    shifts = torch.arange(8, dtype=torch.uint8, device=packed.device)
    return ((packed.unsqueeze(-1) >> shifts) & 1).flatten(1)


def _folded(path: Path, dtype: torch.dtype) -> FoldedNetwork:
    try:
        loaded = load_parameters(path)
    except ParameterFileError as error:
        raise EvaluatorError(str(error)) from error
    if isinstance(loaded, SparseNetwork):
        export = f"fukayomi export {path} {path.with_suffix(SPARSE_SUFFIX)}"
        raise EvaluatorError(f"{path} holds a sparse network, which plays as a file of its own, not by torch: {export}")
    network = FoldedNetwork(loaded)
    network.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue] - missing in torch's annotations
    network.lower_trunk(dtype)
    return network.requires_grad_(False)


def _channels_last(planes: Tensor) -> Tensor:
    return planes.contiguous(memory_format=torch.channels_last)
