"""Networks in ONNX Runtime, with a toy network whose answers are known."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from toy_network import write_network

from fukayomi._native import encode_position, unpack_planes
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.onnx import OnnxEvaluator
from fukayomi.engine.evaluators.protocol import Slot
from fukayomi.shogi import Position

onnx = pytest.importorskip("onnx")

SFENS = (
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return write_network(tmp_path / "toy.onnx")


def fill(slot: Slot, sfens: Sequence[str]) -> None:
    for i, sfen in enumerate(sfens):
        position = Position.from_sfen(sfen)
        slot.planes1[i], slot.planes2[i] = encode_position(position)
        labels = position.legal_labels()
        slot.counts[i] = len(labels)
        slot.labels[i, : len(labels)] = labels


def expected(path: Path, slot: Slot, i: int) -> tuple[np.ndarray, float]:
    """The toy's answer, computed by numpy."""
    features1, features2 = np.zeros((1, 62, 9, 9), np.float32), np.zeros((1, 57, 9, 9), np.float32)
    unpack_planes(slot.planes1[i : i + 1], slot.planes2[i : i + 1], features1, features2)
    (tensor,) = (each for each in onnx.load(path).graph.initializer if each.name == "weights")
    weights = onnx.numpy_helper.to_array(tensor)[:, :, 0, 0]
    policy = np.einsum("oc,cxy->oxy", weights, features1[0]).reshape(-1)
    return policy[slot.labels[i, : slot.counts[i]]], float(1 / (1 + np.exp(-features2.mean())))


@pytest.mark.parametrize("batch", ["batch", 4])
def test_answers_as_the_network_does(tmp_path: Path, batch: int | str) -> None:
    path = write_network(tmp_path / "toy.onnx", batch=batch)
    evaluator = OnnxEvaluator(path, provider="cpu", threads=1, batch_size=8)
    assert evaluator.batch_size == (4 if batch == 4 else 8)
    slot = evaluator.allocate(4)
    fill(slot, SFENS)
    evaluator.run(slot, len(SFENS))
    for i in range(len(SFENS)):
        logits, value = expected(path, slot, i)
        np.testing.assert_allclose(slot.logits[i, : slot.counts[i]], logits, atol=1e-4)
        assert slot.values[i] == pytest.approx(value, abs=1e-6)


def test_chooses_by_measuring_and_says_what(network: Path) -> None:
    evaluator = OnnxEvaluator(network)
    assert evaluator.batch_size in {4, 8, 16, 32}
    assert evaluator.slots >= 1
    assert "toy.onnx on CPU" in evaluator.describe()


def test_identity_is_of_the_weights_not_of_the_name(network: Path, tmp_path: Path) -> None:
    def identity(path: Path) -> str:
        return OnnxEvaluator(path, threads=1, batch_size=1).identity

    copy = tmp_path / "copy.onnx"
    copy.write_bytes(network.read_bytes())
    assert identity(copy) == identity(network)
    assert identity(write_network(tmp_path / "other.onnx", scale=2)) != identity(network)


def test_refuses_what_is_no_network(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.onnx"
    garbage.write_bytes(b"not a network")
    cases = {
        garbage: "cannot load",
        tmp_path / "missing.onnx": "cannot read",
        write_network(tmp_path / "names.onnx", outputs=("policy", "value")): "outputs output_policy, output_value",
        write_network(tmp_path / "planes.onnx", planes=((62, 9, 9), (119, 9, 9))): "entering kings",
        write_network(tmp_path / "nan.onnx", scale=float("nan")): "finite",
    }
    for path, reason in cases.items():
        with pytest.raises(EvaluatorError, match=reason) as error:
            OnnxEvaluator(path, provider="cpu", threads=1, batch_size=1)
        assert str(path) in str(error.value)


def test_more_threads_than_cpus_are_not_used(network: Path) -> None:
    evaluator = OnnxEvaluator(network, provider="cpu", threads=512)
    assert 1 <= evaluator.threads < 512
    assert "Threads is 512" in evaluator.describe()


def test_a_provider_that_is_not_there_is_an_error(network: Path) -> None:
    import onnxruntime

    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has CUDA")
    with pytest.raises(EvaluatorError, match="onnxruntime-gpu"):
        OnnxEvaluator(network, provider="cuda")
