"""Weights rounded together: sums of real inputs keep more of their value than if each weight is rounded by itself."""

import numpy as np
import onnx
import pytest
from network_samples import random_features, shaken_network
from onnx import numpy_helper

from fukayomi.nn import QuantizationError, export_onnx, quantize_onnx
from fukayomi.nn.rounding import rounded_together


def correlated_inputs(random, rows, inputs):
    """Inputs of which each depends on a few common causes, as neighbouring squares do."""
    causes = random.normal(size=(rows, inputs // 4))
    return np.maximum(causes @ random.normal(size=(inputs // 4, inputs)) + 0.3 * random.normal(size=(rows, inputs)), 0)


def sum_errors(inputs, weights, scales, integers):
    return np.mean((inputs @ (weights - scales[:, None] * integers).T) ** 2, axis=0)


@pytest.mark.parametrize("inputs", [20, 64, 100, 200])
def test_sums_of_other_inputs_are_closer_than_with_each_weight_rounded_by_itself(inputs):
    random = np.random.default_rng(inputs)
    measured, others = np.split(correlated_inputs(random, 4000, inputs), 2)
    weights = random.normal(size=(12, inputs))
    scales = np.abs(weights).max(axis=1) / 15  # coarse, so that errors are plain to see
    together = rounded_together(weights, scales, measured.T @ measured)
    alone = np.rint(weights / scales[:, None])
    assert together.dtype == np.int8
    assert np.abs(together).max() <= 127
    better = sum_errors(others, weights, scales, together) / sum_errors(others, weights, scales, alone)
    assert better.mean() < 0.8


def test_inputs_that_are_independent_or_never_set_change_nothing():
    random = np.random.default_rng(0)
    weights = random.normal(size=(4, 30))
    weights[2] = 0  # a dead channel, whose scale may be anything
    scales = np.abs(weights).max(axis=1) / 127
    alone = np.rint(weights / np.where(scales > 0, scales, 1)[:, None])
    for products in (np.zeros((30, 30)), np.eye(30)):
        np.testing.assert_array_equal(rounded_together(weights, scales, products), alone)


def test_a_network_whose_weights_are_not_finite_is_refused(tmp_path):
    export_onnx(shaken_network("relu"), tmp_path / "network.onnx")
    model = onnx.load(tmp_path / "network.onnx")
    kernel = next(tensor for tensor in model.graph.initializer if tensor.name == "blocks.0.conv2.weight")
    values = numpy_helper.to_array(kernel).copy()
    values[0, 0, 0, 0] = np.nan
    kernel.CopyFrom(numpy_helper.from_array(values, kernel.name))
    onnx.save(model, tmp_path / "damaged.onnx")
    with pytest.raises(QuantizationError, match=r"damaged\.onnx: some weights are not finite"):
        quantize_onnx(tmp_path / "damaged.onnx", *(planes.numpy() for planes in random_features(20)))
