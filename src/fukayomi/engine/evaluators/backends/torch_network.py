"""Networks as modules in torch: those of ONNX files, and those of parameter files.

The trunk is computed in the type that is asked for, the heads always in float32: they are cheap, and a lower precision
would cost the value its digits.
"""

# pyright: reportUnknownMemberType=false

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fukayomi._native import POLICY_LABELS
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.graphs.graph import Graph, GraphError, Operation
from fukayomi.engine.evaluators.backends.graphs.reader import read_graph
from fukayomi.engine.evaluators.backends.network_file import SAFETENSORS_SUFFIX
from fukayomi.engine.evaluators.backends.torch_operations import Compute, function_of, to_float32
from fukayomi.engine.evaluators.float_model import Port
from fukayomi.files.sparse_network import SUFFIX as SPARSE_SUFFIX
from fukayomi.nn.folding import FoldedNetwork
from fukayomi.nn.parameters import ParameterFileError, load_parameters
from fukayomi.nn.sparse import SparseNetwork

TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


class TorchNetwork(nn.Module):
    """A network for inference: planes of its type to the policy's logits and the win probability.

    Args:
        dtype: The type of the trunk, and of the planes.
    """

    constants: int
    """Constant planes that it reads: 57 or 58."""
    fixed_batch = 0
    """The only N that it takes; 0: any."""
    ports: tuple[Sequence[Port], Sequence[Port]] | None = None
    """Inputs and outputs that the file declares, if it does."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    @abstractmethod
    def forward(self, features1: Tensor, features2: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluate N positions.

        Args:
            features1: [N, 62, 9, 9], in the layout channels_last.
            features2: [N, 57, 9, 9] or 58 planes, the same.

        Returns:
            Logits [N, 2187] and probabilities [N], float32.
        """


def open_network(path: Path, precision: str) -> TorchNetwork:
    """The network of a file, on the CPU.

    Args:
        path: An ONNX file, or a parameter file.
        precision: A key of `TYPES`.

    Raises:
        EvaluatorError: The file holds no network that torch runs.
    """
    dtype = TYPES[precision]
    if path.suffix == SAFETENSORS_SUFFIX:
        return ParameterNetwork(_load_parameters(path), dtype)
    try:
        graph = read_graph(path)
    except GraphError as error:
        raise EvaluatorError(f"{path}: torch cannot load it: {error}. DNN_Provider cpu runs any ONNX file") from error
    return GraphNetwork(graph, dtype)


def _load_parameters(path: Path) -> Any:
    """The network of a parameter file."""
    try:
        loaded = load_parameters(path)
    except ParameterFileError as error:
        raise EvaluatorError(str(error)) from error
    if isinstance(loaded, SparseNetwork):
        export = f"fukayomi export {path} {path.with_suffix(SPARSE_SUFFIX)}"
        raise EvaluatorError(f"{path} holds a sparse network, which plays as a file of its own, not by torch: {export}")
    return loaded


class ParameterNetwork(TorchNetwork):
    """The network of a parameter file, with its BatchNorm folded."""

    def __init__(self, network: Any, dtype: torch.dtype) -> None:
        super().__init__(dtype)
        self.folded = FoldedNetwork(network)
        self.folded.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue] - missing in annotations
        self.folded.lower_trunk(dtype)
        self.folded.requires_grad_(False)
        self.constants = self.folded.config.features2

    def forward(self, features1: Tensor, features2: Tensor) -> tuple[Tensor, Tensor]:
        policy, values = self.folded.heads(self.folded.trunk(features1, features2).float())
        return policy, values.flatten()


@dataclass(frozen=True)
class _Step:
    """An operation with its function in torch."""

    compute: Compute
    inputs: tuple[str, ...]
    output: str
    spent: tuple[str, ...]
    """Arrays that no later step reads."""


class GraphNetwork(TorchNetwork):
    """The network of an ONNX file, operation by operation."""

    def __init__(self, graph: Graph, dtype: torch.dtype) -> None:
        super().__init__(dtype)
        self.constants = graph.inputs["input2"][1]
        self.fixed_batch = graph.batch
        self.ports = graph.ports
        self._policy, self._value = (self._in_float32(graph, name) for name in (graph.policy, graph.value))
        self._names: dict[str, str] = {}
        self._steps = self._ordered(graph)

    def forward(self, features1: Tensor, features2: Tensor) -> tuple[Tensor, Tensor]:
        n = len(features1)
        arrays: dict[str, Tensor] = {"input1": features1, "input2": features2}
        arrays |= {name: getattr(self, own) for name, own in self._names.items()}
        for step in self._steps:
            arrays[step.output] = step.compute(n, [arrays[name] for name in step.inputs])
            for name in step.spent:
                del arrays[name]
        policy, value = arrays[self._policy], arrays[self._value]
        return policy.float().reshape(n, POLICY_LABELS), value.float().reshape(n)

    def _in_float32(self, graph: Graph, name: str) -> str:
        """Name of an array as the heads read it."""
        is_lower = self.dtype != torch.float32 and (name in graph.trunk or name in graph.inputs)
        return f"{name} float32" if is_lower else name

    def _ordered(self, graph: Graph) -> list[_Step]:
        """The steps, with the casts between trunk and heads."""
        steps: list[tuple[Compute, tuple[str, ...], str]] = []
        made = {"input1", "input2"}

        def cast(name: str) -> None:
            if (lifted := self._in_float32(graph, name)) not in made:
                steps.append((to_float32, (name,), lifted))
                made.add(lifted)

        for operation in graph.operations:
            is_trunk = operation.output in graph.trunk
            inputs: list[str] = []
            for number, name in enumerate(operation.inputs):
                if name in graph.constants:
                    inputs.append(self._constant(graph, operation, number, self.dtype if is_trunk else torch.float32))
                elif is_trunk:
                    inputs.append(name)
                else:
                    inputs.append(self._in_float32(graph, name))
                    cast(name)
            steps.append((function_of(operation), tuple(inputs), operation.output))
            made.add(operation.output)
        cast(graph.policy)
        cast(graph.value)
        last = {name: number for number, (_, inputs, _) in enumerate(steps) for name in inputs}
        kept = {self._policy, self._value, *self._names}
        return [
            _Step(compute, inputs, output, tuple(n for n in set(inputs) if last[n] == number and n not in kept))
            for number, (compute, inputs, output) in enumerate(steps)
        ]

    def _constant(self, graph: Graph, operation: Operation, number: int, dtype: torch.dtype) -> str:
        """Make a buffer of a constant in the type of its operation; returns its name among the arrays."""
        key = f"{operation.inputs[number]} {dtype}"
        if key not in self._names:
            tensor = torch.tensor(graph.constants[operation.inputs[number]], dtype=dtype)
            if operation.kind == "Conv" and number == 1:
                tensor = tensor.contiguous(memory_format=torch.channels_last)
            self._names[key] = f"constant{len(self._names)}"
            self.register_buffer(self._names[key], tensor)
        return key
