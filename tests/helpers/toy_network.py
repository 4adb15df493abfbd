"""A small ONNX network whose answers are known, for the tests of whatever loads networks; and many that are odd."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")


def write_network(
    path: Path,
    *,
    planes: tuple[Sequence[int | str], Sequence[int | str]] = ((62, 9, 9), (57, 9, 9)),
    batch: int | str = "batch",
    batch2: int | str | None = None,
    inputs: Sequence[str] = ("input1", "input2"),
    outputs: Sequence[str] = ("output_policy", "output_value"),
    types: tuple[str, str, str] = ("FLOAT", "FLOAT", "FLOAT"),
    final: str = "Sigmoid",
    scale: float = 1.0,
    value_scale: float = 1.0,
    labels: int = 2187,
    policy_shape: Sequence[int] = (0, -1),
    value_shape: Sequence[int] = (-1, 1),
    value_columns: int = 1,
) -> Path:
    """A network whose policy is a 1x1 convolution of input1, and whose value is a mean over input2.

    Args:
        path: File to write.
        planes: Shapes of the inputs without N, as the file declares them.
        batch: N; a number is a fixed batch size.
        batch2: N of the second input, if it differs.
        inputs: Names of the inputs; a third one is not used.
        outputs: Names of policy and value.
        types: Types of the inputs, of the policy and of the value.
        final: Operator of the value.
        scale: Size of the policy's weights.
        value_scale: Size of the value's argument.
        labels: Logits of the policy.
        policy_shape: Shape of the policy, as for Reshape.
        value_shape: Shape of a column of the value.
        value_columns: Columns of the value.
    """
    random = np.random.default_rng(5)
    first = planes[0][0]
    weights = (scale * random.normal(size=(27, first if isinstance(first, int) else 62, 1, 1))).astype(np.float32)
    helper, kinds = onnx.helper, [getattr(onnx.TensorProto, name) for name in types]
    node = helper.make_node
    float32 = onnx.TensorProto.FLOAT
    nodes = [
        node("Cast", [inputs[0]], ["planes1"], to=float32),
        node("Cast", [inputs[1]], ["planes2"], to=float32),
        node("Conv", ["planes1", "weights"], ["conv"]),
        node("Flatten", ["conv"], ["flat"], axis=1),
        node("Slice", ["flat", "zero", "labels", "one"], ["logits"]),
        node("Reshape", ["logits", "policy_shape"], ["shaped"]),
        node("Cast", ["shaped"], [outputs[0]], to=kinds[1]),
        node("ReduceMean", ["planes2"], ["mean"], axes=[1, 2, 3], keepdims=0),
        node("Mul", ["mean", "value_scale"], ["scaled"]),
        node("Reshape", ["scaled", "value_shape"], ["column"]),
        node("Concat", ["column"] * value_columns, ["columns"], axis=-1),
        node(final, ["columns"], ["final"]),
        node("Cast", ["final"], [outputs[1]], to=kinds[2]),
    ]
    constants = {
        "weights": weights,
        "value_scale": np.array([value_scale], np.float32),
        **{name: np.array([number], np.int64) for name, number in (("zero", 0), ("labels", labels), ("one", 1))},
        "policy_shape": np.array(policy_shape, np.int64),
        "value_shape": np.array(value_shape, np.int64),
    }
    batches = (batch, batch if batch2 is None else batch2, batch)
    graph = helper.make_graph(
        nodes,
        "toy",
        [
            helper.make_tensor_value_info(name, kinds[0], [n, *shape])
            for name, n, shape in zip(inputs, batches, (*planes, (1,)), strict=False)
        ],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(outputs, kinds[1:], strict=True)],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path
