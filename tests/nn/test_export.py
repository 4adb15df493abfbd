"""Export: folded, self-contained, in agreement with torch, readable by anything that plays dlshogi's networks."""

import platform
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from network_samples import random_features, shaken_network

from fukayomi.nn.export import Agreement, ExportError, check_agreement, compare, export_onnx
from fukayomi.nn.folding import FoldedNetwork


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
def test_folding_changes_nothing_but_rounding(activation):
    network = shaken_network(activation)
    features = random_features(16)
    with torch.inference_mode():
        policy, logit = network(*features)
        folded_policy, probability = FoldedNetwork(network)(*features)
    torch.testing.assert_close(folded_policy, policy, atol=1e-4, rtol=0)
    torch.testing.assert_close(probability, torch.sigmoid(logit), atol=1e-5, rtol=0)


@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_the_file_agrees_with_torch(exported, activation):
    agreement = compare(shaken_network(activation), exported[activation, False], *random_features(64))
    assert agreement.positions == 64
    assert agreement.max_logit_error < 1e-4
    assert agreement.max_value_error < 1e-5
    assert agreement.top1 == 1.0
    check_agreement(agreement, half=False)


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
    check_agreement(Agreement(1, 0.02, 0.001, 1.0), half=True)
    with pytest.raises(ExportError, match="does not agree"):
        check_agreement(Agreement(1, 0.02, 0.001, 1.0), half=False)
    with pytest.raises(ExportError, match="does not agree"):
        check_agreement(Agreement(1, float("nan"), 0.0, 1.0), half=False)
