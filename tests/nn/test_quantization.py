"""Quantisation to int8: what is quantised, how well it agrees, and what is refused."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from network_samples import random_features, shaken_network
from toy_network import write_network

from fukayomi.nn import NetworkConfig, QuantizationError, export_onnx, quantize_onnx

OUTPUTS = ["output_policy", "output_value"]


def planes(count, seed=0):
    return tuple(features.numpy() for features in random_features(count, seed))


def answers(model, count=64, tensors=()):
    """The outputs of a network, or tensors inside it, whose content is given then."""
    if tensors:
        watched = onnx.load_from_string(model)
        watched.graph.output.extend(
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in tensors
        )
        model = watched.SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(list(tensors) or OUTPUTS, dict(zip(("input1", "input2"), planes(count, seed=9), strict=True)))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported network of two blocks, stored as float16."""
    path = tmp_path_factory.mktemp("networks") / "network.onnx"
    export_onnx(shaken_network("relu"), path, half=True)
    return path


@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_the_trunk_is_int8_and_agrees_with_float32(activation, network: Path, tmp_path: Path):
    path = network
    if activation != "relu":
        path = tmp_path / "network.onnx"
        export_onnx(shaken_network(activation), path)
    content = quantize_onnx(path, *planes(64))
    for expected, got in zip(answers(path), answers(content), strict=True):
        assert got.shape == expected.shape
        assert np.corrcoef(got.ravel(), expected.ravel())[0, 1] > 0.99
        # 0.10 on CPUs with VNNI, 0.13 on one with AVX2 alone, whose sums are coarser.
        assert 0 < np.abs(got - expected).mean() < 0.2 * np.abs(expected - expected.mean()).mean()
    model = onnx.load_from_string(content)
    kinds = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    quantized = {node.input[0] for node in model.graph.node if node.op_type == "DequantizeLinear"}
    kernels = {name for name in quantized if kinds.get(name) == onnx.TensorProto.INT8}
    assert len(kernels) == 2 * 2
    assert all("blocks" in name for name in kernels)


@pytest.mark.parametrize(("activation", "outputs"), [("relu", ["conv2d_5"]), ("silu", ["conv2d_3", "conv2d_5"])])
def test_small_channels_of_what_is_added_in_float32_are_as_exact_as_large_ones(activation, outputs, tmp_path: Path):
    network = shaken_network(activation)
    with torch.no_grad():  # the largest channel that a block adds is a thousand times the smallest
        for block in network.residual_blocks():
            block.norm2.weight.mul_(torch.logspace(-1.5, 1.5, 16))
            block.norm2.bias.mul_(torch.logspace(-1.5, 1.5, 16))
    path = tmp_path / "network.onnx"
    export_onnx(network, path)
    content = quantize_onnx(path, *planes(256))

    int8 = answers(content, 64, [f"{name}_DequantizeLinear_Output" for name in outputs])
    for expected, got in zip(answers(path.read_bytes(), 64, outputs), int8, strict=True):
        alike = [np.corrcoef(expected[:, n].ravel(), got[:, n].ravel())[0, 1] for n in range(16)]
        assert min(alike) > 0.98, alike


def test_the_same_planes_give_the_same_bytes_with_their_origin(network: Path):
    content = quantize_onnx(network, *planes(100))
    assert content == quantize_onnx(network, *planes(100))
    model = onnx.load_from_string(content)
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    assert metadata["blocks"] == "2"
    assert metadata["fukayomi.precision"] == "int8"
    assert metadata["fukayomi.calibration_positions"] == "100"
    assert len(metadata["fukayomi.fp32_sha256"]) == 64
    assert set(metadata) == set(NetworkConfig().as_dict()) | {
        f"fukayomi.{key}" for key in ("precision", "calibration_positions", "fp32_sha256")
    }


def test_a_fixed_batch_is_kept(network: Path, tmp_path: Path):
    model = onnx.load(network)
    for node in [*model.graph.input, *model.graph.output]:
        node.type.tensor_type.shape.dim[0].dim_value = 24
    path = tmp_path / "fixed.onnx"
    onnx.save(model, path)
    content = quantize_onnx(path, *planes(50))
    assert [out.shape for out in answers(content, 24)] == [(24, 2187), (24, 1)]
    metadata = {entry.key: entry.value for entry in onnx.load_from_string(content).metadata_props}
    assert metadata["fukayomi.calibration_positions"] == "48", "in full batches"
    with pytest.raises(QuantizationError, match="at least 24 positions, not 20"):
        quantize_onnx(path, *planes(20))


def test_what_cannot_be_quantised_is_refused(network: Path, tmp_path: Path):
    with pytest.raises(QuantizationError, match="at least 16 positions, not 15"):
        quantize_onnx(network, *planes(15))
    again = tmp_path / "again.onnx"
    again.write_bytes(quantize_onnx(network, *planes(16)))
    with pytest.raises(QuantizationError, match="quantised already"):
        quantize_onnx(again, *planes(16))
    with pytest.raises(QuantizationError, match="no convolutions between"):
        quantize_onnx(write_network(tmp_path / "toy.onnx"), *planes(16))
    with pytest.raises(QuantizationError, match="float32"):
        quantize_onnx(write_network(tmp_path / "half.onnx", types=("FLOAT16", "FLOAT", "FLOAT")), *planes(16))
    with pytest.raises(QuantizationError, match=r"input1 must be \[N, 62, 9, 9\]"):
        quantize_onnx(write_network(tmp_path / "planes.onnx", planes=((119, 9, 9), (57, 9, 9))), *planes(16))
    with pytest.raises(QuantizationError, match="the inputs input1, input2"):
        quantize_onnx(write_network(tmp_path / "inputs.onnx", inputs=("input1", "other")), *planes(16))
    text = tmp_path / "text.onnx"
    text.write_text("no network")
    with pytest.raises(QuantizationError, match=r"text\.onnx: not a network"):
        quantize_onnx(text, *planes(16))
    with pytest.raises(FileNotFoundError):
        quantize_onnx(tmp_path / "none.onnx", *planes(16))
