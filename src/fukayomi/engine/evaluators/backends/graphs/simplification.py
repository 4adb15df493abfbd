"""Fewer operations for the same numbers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fukayomi.engine.evaluators.backends.graphs.graph import Floats, Operation


def simplified(
    operations: Sequence[Operation], constants: dict[str, Floats], outputs: Sequence[str]
) -> list[Operation]:
    """The operations that the outputs need, with BatchNorm in the convolution before it, and x * sigmoid(x) as one."""
    needed = set[str]().union(*(needed_for(operations, output) for output in outputs))
    kept = {operation.output: operation for operation in operations if operation.output in needed}
    uses: dict[str, int] = dict.fromkeys(outputs, 1)
    for operation in kept.values():
        for name in operation.inputs:
            uses[name] = uses.get(name, 0) + 1
    for operation in list(kept.values()):
        source = kept.get(operation.inputs[0])
        if operation.kind == "Affine" and source is not None and source.kind == "Conv" and uses[source.output] == 1:
            kept[operation.output] = _folded(source, operation, constants)
            del kept[source.output]
        elif operation.kind == "Mul":
            for x, gate in (operation.inputs, operation.inputs[::-1]):
                maker = kept.get(gate)
                if maker is not None and maker.kind == "Sigmoid" and maker.inputs == (x,) and uses[gate] == 1:
                    kept[operation.output] = replace(operation, kind="Silu", inputs=(x,))
                    del kept[gate]
                    break
    return list(kept.values())


def _folded(conv: Operation, norm: Operation, constants: dict[str, Floats]) -> Operation:
    """A convolution with the factors and shifts that follow it, in place of both."""
    kernels, bias = (constants[name].astype(np.float64) for name in conv.inputs[1:])
    factor, shift = (constants[name].astype(np.float64) for name in norm.inputs[1:])
    folded = {"kernels": kernels * factor[:, None, None, None], "bias": bias * factor + shift}
    for role, array in folded.items():
        constants[f"{norm.output}/{role}"] = array.astype(np.float32)
    inputs = (conv.inputs[0], *(f"{norm.output}/{role}" for role in folded))
    return replace(conv, inputs=inputs, output=norm.output)


def needed_for(operations: Sequence[Operation], output: str) -> set[str]:
    """Outputs of the operations on which an output depends, itself among them."""
    needed, names = set[str](), {output}
    for operation in reversed(operations):
        if operation.output in names:
            needed.add(operation.output)
            names.update(operation.inputs)
    return needed
