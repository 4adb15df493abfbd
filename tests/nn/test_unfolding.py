"""Networks from their ONNX files: they compute what the file does, and can be trained."""

from importlib.resources import files
from pathlib import Path

import onnx
import pytest
import torch
from network_samples import SHAPES, random_features, shaken, shaken_network
from torch import nn

from fukayomi.nn import ParameterFileError, export_onnx, load_onnx
from fukayomi.nn.quantization import quantize_onnx
from fukayomi.nn.unfolding import normalise


@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_the_network_of_a_file_computes_what_the_file_does(activation, tmp_path: Path):
    network = shaken_network(activation)
    export_onnx(network, tmp_path / "network.onnx")
    again = load_onnx(tmp_path / "network.onnx")
    assert again.config == network.config
    features = random_features(32)
    with torch.inference_mode():
        for wish, found in zip(network(*features), again(*features), strict=True):
            torch.testing.assert_close(found, wish, rtol=1e-4, atol=1e-4)


def test_weights_of_half_precision(tmp_path: Path):
    network = shaken_network("relu")
    export_onnx(network, tmp_path / "network.onnx", half=True)
    with torch.inference_mode():
        policy, _ = load_onnx(tmp_path / "network.onnx")(*random_features(32))
        wish, _ = network(*random_features(32))
    assert 0 < (policy - wish).abs().max() < 0.05


def test_a_normalised_network_computes_the_same_in_both_modes(tmp_path: Path):
    export_onnx(shaken_network("relu"), tmp_path / "network.onnx")
    network, features = load_onnx(tmp_path / "network.onnx"), random_features(64)
    before = network(*features)[0].detach()
    training_before = network.train()(*features)[0].detach()
    network = load_onnx(tmp_path / "network.onnx")
    normalise(network, *features)
    torch.testing.assert_close(network(*features)[0].detach(), before, rtol=1e-4, atol=1e-4)
    training = network.train()(*features)[0].detach()  # by the batch's own statistics
    torch.testing.assert_close(training, before, rtol=1e-3, atol=1e-3)
    assert (training_before - before).abs().max() > 0.01
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    assert all(bool((module.running_var != 1).all()) for module in norms if module.running_var is not None)


def test_the_embedded_network():
    network = load_onnx(str(files("fukayomi.engine.networks") / "fukayomi-5x64.onnx"))  # its heads have other names
    assert (network.config.blocks, network.config.channels) == (5, 64)


def test_what_cannot_be_read(tmp_path: Path):
    file = tmp_path / "network.onnx"
    with pytest.raises(ParameterFileError, match="no such file"):
        load_onnx(file)
    file.write_bytes(b"\x00\x01 no network")
    with pytest.raises(ParameterFileError, match=r"network\.onnx: (not an ONNX file|it does not say)"):
        load_onnx(file)
    export_onnx(shaken(SHAPES["all but pre-activation"]), file)
    with pytest.raises(ParameterFileError, match="use its checkpoint"):
        load_onnx(file)
    export_onnx(shaken_network("relu"), file)
    features = [planes.numpy() for planes in random_features(32)]
    (tmp_path / "int8.onnx").write_bytes(quantize_onnx(file, *features))
    with pytest.raises(ParameterFileError, match=r"this is an int8 file, .*: use the float32 file"):
        load_onnx(tmp_path / "int8.onnx")
    model = onnx.load(file)
    del model.metadata_props[:]
    onnx.save(model, file)
    with pytest.raises(ParameterFileError, match="does not say what network it is"):
        load_onnx(file)


def test_tensors_of_another_shape_are_refused(tmp_path: Path):
    file = tmp_path / "network.onnx"
    export_onnx(shaken_network("relu"), file)
    model = onnx.load(file)
    for item in model.metadata_props:
        if item.key == "value_hidden":
            item.value = "9"
    onnx.save(model, file)
    with pytest.raises(ParameterFileError, match=r"value\.fc1"):
        load_onnx(file)
