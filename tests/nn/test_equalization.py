"""Equalisation of channels: no answer changes, and the channels of quantised tensors become alike."""

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from network_samples import random_features, shaken_network
from onnx import helper

from fukayomi.nn import export_onnx
from fukayomi.nn.equalization import equalize

TENSORS = ["relu", "relu_1", "relu_2"]


def outputs(model, names):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    planes = (features.numpy() for features in random_features(32))
    return session.run(names, dict(zip(("input1", "input2"), planes, strict=True)))


def spread(model):
    """How much larger the largest channel of each tensor is than the average one."""
    watched = onnx.ModelProto()
    watched.CopyFrom(model)
    watched.graph.output.extend(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in TENSORS)
    largest = [np.abs(values).max(axis=(0, 2, 3)) for values in outputs(watched, TENSORS)]
    return [sizes.max() / np.exp(np.log(np.maximum(sizes, 1e-3 * sizes.max())).mean()) for sizes in largest]


@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_answers_stay_and_channels_become_alike(activation, tmp_path):
    network = shaken_network(activation)
    with torch.no_grad():  # channels of very different sizes
        for block in network.residual_blocks():
            block.norm1.weight.mul_(torch.logspace(-1, 1, 16))
            block.norm1.bias.mul_(torch.logspace(-1, 1, 16))
        network.stem.norm.weight.mul_(torch.logspace(1, -1, 16))
        network.stem.norm.bias.mul_(torch.logspace(1, -1, 16))
    export_onnx(network, tmp_path / "network.onnx")
    model = onnx.load(tmp_path / "network.onnx")
    before = outputs(model, ["output_policy", "output_value"])
    weights = {tensor.name: tensor.raw_data for tensor in model.graph.initializer}
    uneven = spread(model) if activation == "relu" else []
    trunk = [node.name for node in model.graph.node if node.op_type == "Conv" and "blocks" in node.input[1]]
    batch = dict(zip(("input1", "input2"), (features.numpy() for features in random_features(32)), strict=True))
    equalize(model, trunk, [batch])
    for expected, got in zip(before, outputs(model, ["output_policy", "output_value"]), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-3 * np.abs(expected).max())
    changed = {tensor.name for tensor in model.graph.initializer if tensor.raw_data != weights[tensor.name]}
    if activation == "silu":
        assert not changed, "SiLU does not pass factors on"
        return
    assert {"input1.weight", "blocks.0.conv1.weight", "blocks.1.conv2.bias", "policy.conv.weight"} <= changed
    assert "value.fc1.weight" not in changed
    assert all(after < before for before, after in zip(uneven, spread(model), strict=True))
