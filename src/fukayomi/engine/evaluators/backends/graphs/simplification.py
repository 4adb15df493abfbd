"""Fewer operations for the same numbers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fukayomi.engine.evaluators.backends.graphs.graph import Floats, Operation


def simplified(
    operations: Sequence[Operation], constants: dict[str, Floats], outputs: Sequence[str]
) -> list[Operation]:
    """The operations that the outputs need, with what follows a convolution in it, and x * sigmoid(x) as one."""
    needed = set[str]().union(*(needed_for(operations, output) for output in outputs))
    kept = {operation.output: operation for operation in operations if operation.output in needed}
    uses: dict[str, int] = dict.fromkeys(outputs, 1)
    for operation in kept.values():
        for name in operation.inputs:
            uses[name] = uses.get(name, 0) + 1
    for output in list(kept):
        if output in kept and kept[output].kind == "Mul":
            _join_gate(kept[output], kept, uses)
    for operation in list(kept.values()):
        for number, name in enumerate(operation.inputs):
            source = kept.get(name)
            if source is None or source.kind != "Conv" or uses[name] > 1:
                continue
            joined = _joined(source, operation, number, kept, constants)
            if joined is not None:
                kept[operation.output] = joined
                del kept[name]
                break
    return list(kept.values())


def _join_gate(product: Operation, kept: dict[str, Operation], uses: dict[str, int]) -> None:
    """Make a product Silu, if it is one; the sigmoid is then gone."""
    for x, gate in (product.inputs, product.inputs[::-1]):
        maker = kept.get(gate)
        if maker is not None and maker.kind == "Sigmoid" and maker.inputs == (x,) and uses[gate] == 1:
            del kept[gate]
            uses[x] -= 1
            kept[product.output] = replace(product, kind="Silu", inputs=(x,))
            return


def _joined(
    conv: Operation, after: Operation, number: int, kept: dict[str, Operation], constants: dict[str, Floats]
) -> Operation | None:
    """A convolution with an operation that takes its output as the input of this number; None: it does not fit."""
    if conv.settings["activation"]:
        return None
    if after.kind == "Affine" and len(conv.inputs) == 3:
        return _folded(conv, after, constants)
    if after.kind in ("Relu", "Silu"):
        return replace(conv, output=after.output, settings={**conv.settings, "activation": after.kind})
    if after.kind == "Add" and len(conv.inputs) == 3:
        other = kept.get(after.inputs[1 - number])
        if other is not None and other.shape == conv.shape:
            return replace(conv, inputs=(*conv.inputs, other.output), output=after.output)
    return None


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
