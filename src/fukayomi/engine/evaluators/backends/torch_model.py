"""Networks in torch on the CPU, and modules in torch where their parameters are."""

# pyright: reportUnknownMemberType=false

import copy
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fukayomi._native import FEATURES2, POLICY_LABELS
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import Plan
from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.engine.evaluators.backends.torch_network import open_network
from fukayomi.engine.evaluators.float_model import INPUTS, INPUTS_WITH_COLOUR, FloatModel
from fukayomi.engine.evaluators.planes import PlaneEvaluator
from fukayomi.nn.sparse import SparseNetwork


class TorchCpuModel(FloatModel):
    """A network in torch on the CPU.

    Args:
        path: An ONNX file, or a parameter file.
        precision: A key of `TYPES`; the heads are computed in float32.
        threads: CPU threads for one batch. Torch has one number for all networks of a process.

    Raises:
        EvaluatorError: The file holds no network that torch runs.
    """

    library = "torch"

    def __init__(self, path: Path, *, precision: str, threads: int) -> None:
        super().__init__(path)
        self._threads = max(1, threads)
        self._network = open_network(path, precision)
        if self._network.ports is not None:
            self.declare(*self._network.ports)
        self.shapes = INPUTS if self._network.constants == FEATURES2 else INPUTS_WITH_COLOUR

    def forward(self, inputs: dict[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Policy and values of one batch."""
        if torch.get_num_threads() != self._threads:  # of this thread of Python
            torch.set_num_threads(self._threads)
        with torch.inference_mode():
            planes = [
                torch.from_numpy(inputs[name]).to(self._network.dtype, memory_format=torch.channels_last)
                for name in INPUTS
            ]
            policy, values = self._network(*planes)
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
