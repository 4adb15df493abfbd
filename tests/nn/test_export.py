"""Export: folded, self-contained, in agreement with torch, readable by anything that plays dlshogi's networks."""

import platform
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from network_samples import SHAPES, random_features, shaken, shaken_network

from fukayomi.nn import PolicyValueNetwork
from fukayomi.nn.export import Agreement, ExportError, check_agreement, compare, export_onnx
from fukayomi.nn.quantization import quantize_onnx


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], Path]:
    """Files of the shaken networks by activation and half storage."""
    folder = tmp_path_factory.mktemp("onnx")
    files: dict[tuple[str, bool], Path] = {}
    for activation, half in (("relu", False), ("relu", True), ("silu", False)):
        files[activation, half] = folder / f"{activation}-{half}.onnx"
        export_onnx(shaken_network(activation), files[activation, half], half=half)
    return files


@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_the_file_agrees_with_torch(exported, activation):
    agreement = compare(shaken_network(activation), exported[activation, False], *random_features(64))
    assert agreement.positions == 64
    assert agreement.max_logit_error < 1e-4
    assert agreement.max_value_error < 1e-5
    assert agreement.top1 == 1.0
    assert agreement.value_error <= agreement.max_value_error
    assert abs(agreement.kl) < 1e-9
    check_agreement(agreement, half=False)


@pytest.mark.parametrize("shape", ["pre-activation", "all but pre-activation"])
def test_networks_of_every_kind_are_exported_and_quantised(shape, tmp_path: Path):
    network = shaken(SHAPES[shape])
    planes2 = network.config.features2
    export_onnx(network, tmp_path / "network.onnx")
    agreement = compare(network, tmp_path / "network.onnx", *random_features(17, planes2=planes2))
    check_agreement(agreement, half=False)
    assert agreement.top1 == 1.0
    operators = [node.op_type for node in onnx.load(tmp_path / "network.onnx").graph.node]
    left = 3 if shape == "pre-activation" else 0  # before the first convolution of a block, and after the last block
    assert operators.count("BatchNormalization") == left
    features = [planes.numpy() for planes in random_features(64, planes2=planes2)]
    (tmp_path / "int8.onnx").write_bytes(quantize_onnx(tmp_path / "network.onnx", *features))
    agreement = compare(network, tmp_path / "int8.onnx", *random_features(64, seed=9, planes2=planes2))
    assert agreement.kl < 0.01
    assert agreement.value_error < 0.01


def test_the_second_network_of_a_shape_has_its_own_weights(exported, tmp_path: Path):
    """The graph is traced once for each shape; equal weights, as a network has that was never trained, stay apart."""
    network = PolicyValueNetwork(shaken_network("relu").config)
    export_onnx(network, tmp_path / "network.onnx")
    check_agreement(compare(network, tmp_path / "network.onnx", *random_features(8)), half=False)
    first, second = (onnx.load(path).graph for path in (exported["relu", False], tmp_path / "network.onnx"))
    assert [tensor.name for tensor in first.initializer] == [tensor.name for tensor in second.initializer]


def test_half_storage_is_half_the_size_and_computes_in_float32(exported):
    agreement = compare(shaken_network("relu"), exported["relu", True], *random_features(64))
    assert 1e-6 < agreement.max_logit_error < 2e-2
    assert agreement.max_value_error < 2e-3
    model = onnx.load(exported["relu", True])
    weights = [tensor for tensor in model.graph.initializer if len(tensor.dims) >= 2]
    assert {tensor.data_type for tensor in weights} == {onnx.TensorProto.FLOAT16}
    assert {node.type.tensor_type.elem_type for node in [*model.graph.input, *model.graph.output]} == {
        onnx.TensorProto.FLOAT
    }
    full = sum(tensor.ByteSize() for tensor in onnx.load(exported["relu", False]).graph.initializer)
    assert sum(tensor.ByteSize() for tensor in model.graph.initializer) < 0.6 * full


def test_the_batch_is_free(exported):
    session = onnxruntime.InferenceSession(str(exported["relu", False]), providers=["CPUExecutionProvider"])
    features1, features2 = (planes.numpy() for planes in random_features(17))
    whole = session.run(["output_policy", "output_value"], {"input1": features1, "input2": features2})
    assert [out.shape for out in whole] == [(17, 2187), (17, 1)]
    for row in (0, 16):
        one = {"input1": features1[row : row + 1], "input2": features2[row : row + 1]}
        for expected, out in zip(whole, session.run(["output_policy", "output_value"], one), strict=True):
            np.testing.assert_allclose(out[0], expected[row], atol=1e-5)


def test_the_file_is_self_contained_and_folded(exported):
    model = onnx.load(exported["relu", False], load_external_data=False)
    assert not any(tensor.external_data for tensor in model.graph.initializer)
    operators = [node.op_type for node in model.graph.node]
    assert "BatchNormalization" not in operators
    assert operators.count("Pad") == 2
    assert operators.count("Conv") == 2 + 2 * 2 + 2  # stem, two blocks, two heads
    assert {entry.key: entry.value for entry in model.metadata_props}["blocks"] == "2"
    assert not any(node.metadata_props or node.doc_string for node in model.graph.node)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="elsewhere ONNX Runtime has no such layout")
def test_onnx_runtime_fuses_the_additions(exported, tmp_path: Path):
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 3  # below it, a warning that such a file fits one kind of CPU
    onnxruntime.InferenceSession(str(exported["relu", True]), options, providers=["CPUExecutionProvider"])
    operators = [node.op_type for node in onnx.load(tmp_path / "optimized.onnx").graph.node]
    assert "Cast" not in operators
    assert operators.count("Add") == 1  # the policy's bias
    assert "Relu" not in operators


def test_weights_that_cannot_be_stored_are_refused(tmp_path: Path):
    network = shaken_network("relu", channels=4)
    with torch.no_grad():
        network.value.fc1.weight[0, 0] = 1e6
    with pytest.raises(ExportError, match="beyond 65504"):
        export_onnx(network, tmp_path / "network.onnx", half=True)
    with torch.no_grad():
        network.value.fc1.weight[0, 0] = float("nan")
    with pytest.raises(ExportError, match="not finite"):
        export_onnx(network, tmp_path / "network.onnx")
    assert list(tmp_path.iterdir()) == []


def test_disagreement_is_an_error():
    given = Agreement(positions=1, max_logit_error=0.02, value_error=0.001, max_value_error=0.001, top1=1.0, kl=0.0)
    check_agreement(given, half=True)
    with pytest.raises(ExportError, match="does not agree"):
        check_agreement(given, half=False)
    with pytest.raises(ExportError, match="does not agree"):
        check_agreement(replace(given, max_logit_error=float("nan")), half=False)
