"""A small ONNX network whose answers are known, for the tests of whatever loads networks."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")


def write_network(
    path: Path,
    *,
    channels2: int = 57,
    batch: int | str = "batch",
    outputs: Sequence[str] = ("output_policy", "output_value"),
    final: str = "Sigmoid",
    scale: float = 1.0,
) -> Path:
    """A network whose policy is a 1x1 convolution of input1, and whose value is a sum over input2."""
    random = np.random.default_rng(5)
    weights = (scale * random.normal(size=(27, 62, 1, 1))).astype(np.float32)
    tensor, helper = onnx.numpy_helper.from_array, onnx.helper
    nodes = [
        helper.make_node("Conv", ["input1", "w"], ["conv"]),
        helper.make_node("Flatten", ["conv"], [outputs[0]], axis=1),
        helper.make_node("ReduceMean", ["input2"], ["mean"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Reshape", ["mean", "shape"], ["column"]),
        helper.make_node(final, ["column"], [outputs[1]]),
    ]
    floats = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "toy",
        [
            helper.make_tensor_value_info("input1", floats, [batch, 62, 9, 9]),
            helper.make_tensor_value_info("input2", floats, [batch, channels2, 9, 9]),
        ],
        [
            helper.make_tensor_value_info(outputs[0], floats, [batch, 2187]),
            helper.make_tensor_value_info(outputs[1], floats, [batch, 1]),
        ],
        [tensor(weights, "w"), tensor(np.array([-1, 1], np.int64), "shape")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path
