"""Reads ONNX files as `Graph`: constants folded, shapes known, BatchNorm put into the convolutions before it.

Each node is translated where it stands; `operators.py` has those that are known. A free N is `BATCH` in all shapes, so
that the arithmetic on shapes which exporters leave in files comes out by itself.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.external_data_helper import load_external_data_for_tensor

from fukayomi._native import FEATURES2, POLICY_LABELS
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.graphs.builder import Array, Builder, Node, Value, shape_text
from fukayomi.engine.evaluators.backends.graphs.constants import compute
from fukayomi.engine.evaluators.backends.graphs.graph import BATCH, Graph, GraphError, Shape
from fukayomi.engine.evaluators.backends.graphs.operators import OPERATORS
from fukayomi.engine.evaluators.backends.graphs.simplification import needed_for, simplified
from fukayomi.engine.evaluators.backends.network_file import LARGEST_FILE
from fukayomi.engine.evaluators.float_model import INPUTS, OUTPUTS, Port, check_interface

DAMAGE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""Exceptions from reading nodes that have too few inputs, or tensors with odd shapes."""


def read_graph(path: Path) -> Graph:
    """The network of an ONNX file.

    Raises:
        GraphError: The file is damaged, or has a node that is not known here; the message names the node.
        EvaluatorError: Its inputs and outputs are not those of a network for shogi.
    """
    try:
        model = onnx.load(path, load_external_data=False)  # pyright: ignore[reportUnknownMemberType]
    except Exception as error:  # protobuf's and the operating system's errors have no common base
        raise GraphError(f"this is not an ONNX file, or it is damaged: {error}") from error
    try:
        _load_weights(model, path)
        return _read(model, path)
    except GraphError:
        raise
    except DAMAGE as error:
        raise GraphError(f"its graph is damaged: {error}") from error


def _load_weights(model: onnx.ModelProto, path: Path) -> None:
    """Load the weights of a file that has them in another one beside it, NAME.onnx.data, as torch's exporter does."""
    beside = path.with_name(path.name + ".data")
    for tensor in model.graph.initializer:
        if tensor.data_location != tensor.EXTERNAL:
            continue
        location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
        if location != beside.name:
            raise GraphError(f"its weights are in the file {location!r}; only {beside.name} beside it is read")
        try:
            if beside.stat().st_size > LARGEST_FILE:
                raise GraphError(f"{beside.name} is larger than {LARGEST_FILE >> 30} GiB")
            load_external_data_for_tensor(tensor, str(path.parent))
        except GraphError:
            raise
        except Exception as error:  # onnx's and the operating system's errors have no common base
            raise GraphError(f"its weights cannot be read from {beside.name}: {error}") from error
        tensor.data_location = tensor.DEFAULT


def _read(model: onnx.ModelProto, path: Path) -> Graph:
    graph = model.graph
    tensors = {tensor.name for tensor in graph.initializer}  # older files name them as inputs too
    ports = [_port(value) for value in graph.input if value.name not in tensors], [_port(o) for o in graph.output]
    batch = check_interface(path, *ports)[1]
    builder = Builder(batch, max((opset.version for opset in model.opset_import if not opset.domain), default=1))
    inputs = {port.name: (batch or BATCH, *_planes(port)) for port in ports[0]}
    for name, shape in inputs.items():
        builder.let(name, Value(name, shape))
    for tensor in graph.initializer:
        builder.let(tensor.name, numpy_helper.to_array(tensor))
    for node in graph.node:
        _translate(Node(builder, node), has_functions=bool(model.functions))
    outputs = [_output(builder, name) for name in OUTPUTS]
    n = batch or BATCH
    if any(
        output.shape[:1] != (n,) or math.prod(output.shape) != n * numbers
        for output, numbers in zip(outputs, (POLICY_LABELS, 1), strict=True)
    ):
        raise EvaluatorError(
            f"{path}: output_policy and output_value must be [N, {POLICY_LABELS}] and [N, 1]; they are "
            f"{' and '.join(shape_text(output.shape) for output in outputs)}"
        )
    policy, value = (output.name for output in outputs)
    operations = simplified(builder.operations, builder.constants, (policy, value))
    used = {name for operation in operations for name in operation.inputs}
    return Graph(
        inputs=inputs,
        policy=policy,
        value=value,
        operations=operations,
        constants={name: array for name, array in builder.constants.items() if name in used},
        trunk=frozenset(needed_for(operations, policy) & needed_for(operations, value)),
        ports=ports,
        batch=batch,
    )


def _translate(node: Node, *, has_functions: bool) -> None:
    """Add what a node computes."""
    try:
        if node.domain not in ("", "ai.onnx") or has_functions:
            raise GraphError("its operators are not ONNX's own")
        if any(map(node.builder.knows, node.outputs)) or len(set(node.outputs)) < len(node.outputs):
            raise GraphError("another node has the same output")
        result = _constant(node)
        if result is not None:
            node.builder.let(node.outputs[0], result)
        elif node.operator in OPERATORS:
            OPERATORS[node.operator](node)
        else:
            raise GraphError("this operator is not known here")
    except DAMAGE as error:
        raise GraphError(f"{node.place}: {str(error) or type(error).__name__}") from error


def _constant(node: Node) -> Array | None:
    """What a node of constants computes; None: it is none."""
    if node.operator == "Constant":
        return _number(node)
    found = [node.builder.find(name) for name in node.inputs if name]
    if node.operator == "Shape" and isinstance(found[0], Value):
        return np.array(found[0].shape[node.attribute("start", 0) : node.attribute("end", None)], np.int64)
    arrays = [each for each in found if not isinstance(each, Value)]
    if len(arrays) < len(found):
        return None
    result = compute(node.operator, arrays, node.attributes)
    if result is None:
        raise GraphError("this operator is not known for constants")
    return result


def _number(node: Node) -> Array:
    """The number or tensor of a Constant node."""
    if "value" in node.attributes:
        return numpy_helper.to_array(node.attributes["value"])
    kinds: dict[str, Any] = {
        "value_int": np.int64, "value_ints": np.int64, "value_float": np.float32, "value_floats": np.float32,
    }  # fmt: skip
    for name, kind in kinds.items():
        if name in node.attributes:
            return np.array(node.attributes[name], kind)
    raise GraphError("it holds no numbers")


def _output(builder: Builder, name: str) -> Value:
    """An output of the network."""
    value = builder.find(name) if builder.knows(name) else None
    if not isinstance(value, Value) or value.name in INPUTS:
        raise GraphError(f"{name} is not computed from the inputs")
    return value


def _port(value: onnx.ValueInfoProto) -> Port:
    tensor = value.type.tensor_type
    kind = onnx.TensorProto.DataType.Name(tensor.elem_type).lower() if tensor.elem_type else "nothing"
    name = {"float": "float32", "double": "float64"}.get(kind, kind)
    shape = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in tensor.shape.dim]
    return Port(value.name, name, shape)


def _planes(port: Port) -> Shape:
    """The shape of an input without N."""
    count, *_ = INPUTS[port.name]
    return (FEATURES2 + 1 if list(port.shape[1:2]) == [FEATURES2 + 1] else count, 9, 9)
