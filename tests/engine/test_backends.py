"""Backends that read any ONNX file, with a toy network whose answers are known; torch, with parameter files too."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_network import write_network

from fukayomi._native import encode_position, unpack_planes
from fukayomi.engine.choice import load
from fukayomi.engine.evaluation import evaluate
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import BACKENDS, Plan, get_backend
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.protocol import NetworkEvaluator, PlaneSlot
from fukayomi.shogi import Position

onnx = pytest.importorskip("onnx")

CLOSED_ELSEWHERE = """
import signal, sys, threading
from fukayomi import Network
network = Network(sys.argv[1], device="openvino", precision="fp32", batch_size=4)
closing = threading.Thread(target=network.close)
closing.start()
closing.join()
del network, closing
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""
SFENS = (
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
)
READERS = (
    "cpu", "openvino", "cuda", "directml", "coreml", "migraphx", "webgpu", "openvino-gpu", "torch", "torch-cuda",
    "opencl",
)  # fmt: skip
"""Backends that read any ONNX file and compute in fp32; skipped where they are not there."""


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return write_network(tmp_path / "toy.onnx")


def fill(slot: PlaneSlot, sfens: Sequence[str]) -> None:
    for i, sfen in enumerate(sfens):
        position = Position.from_sfen(sfen)
        slot.input.planes1[i], slot.input.planes2[i] = encode_position(position)
        labels = position.legal_labels()
        slot.input.counts[i] = len(labels)
        slot.input.labels[i, : len(labels)] = labels


def expected(path: Path, slot: PlaneSlot, i: int) -> tuple[np.ndarray, float]:
    """The toy's answer, computed by numpy."""
    features1, features2 = np.zeros((1, 62, 9, 9), np.float32), np.zeros((1, 57, 9, 9), np.float32)
    unpack_planes(slot.input.planes1[i : i + 1], slot.input.planes2[i : i + 1], features1, features2)
    (tensor,) = (each for each in onnx.load(path).graph.initializer if each.name == "weights")
    weights = onnx.numpy_helper.to_array(tensor)[:, :, 0, 0]
    policy = np.einsum("oc,cxy->oxy", weights, features1[0]).reshape(-1)
    return policy[slot.input.labels[i, : slot.input.counts[i]]], float(1 / (1 + np.exp(-features2.mean())))


def opened(path: Path, backend: str = "cpu", **plan: Any) -> NetworkEvaluator:
    """The network in this backend, in fp32 and with one thread unless the plan says otherwise."""
    problem = get_backend(backend).problem()
    if problem is not None:
        pytest.skip(problem)
    return load(NetworkFile(path), Plan(backend, **({"precision": "fp32", "threads": 1, "batch_size": 8} | plan)))


@pytest.mark.parametrize("batch", ["batch", 4])
@pytest.mark.parametrize("backend", READERS)
def test_answers_as_the_network_does(tmp_path: Path, batch: int | str, backend: str) -> None:
    path = write_network(tmp_path / "toy.onnx", batch=batch)
    evaluator = opened(path, backend)
    assert evaluator.batch_size == (4 if batch == 4 else 8)
    slot = evaluator.allocate(4)
    fill(slot, SFENS)
    evaluator.run(slot, len(SFENS))
    error = 0.02 if get_backend(backend).on_gpu else 1e-4  # ONNX Runtime rounds to TF32 on a GPU
    for i in range(len(SFENS)):
        logits, value = expected(path, slot, i)
        np.testing.assert_allclose(slot.logits[i, : slot.input.counts[i]], logits, atol=error)
        assert slot.values[i] == pytest.approx(value, abs=error / 100)


@pytest.mark.parametrize("backend", READERS)
def test_the_plane_of_the_colour_to_move_reaches_a_network_that_asks_for_it(tmp_path: Path, backend: str) -> None:
    evaluator = opened(write_network(tmp_path / "toy.onnx", planes=((62, 9, 9), (58, 9, 9))), backend)
    slot = evaluator.allocate(4)
    fill(slot, [SFENS[0], SFENS[0].replace(" b ", " w ")])
    evaluator.run(slot, 2)
    assert slot.values[:2] == pytest.approx([0.5, 1 / (1 + np.exp(-1 / 58))], abs=1e-6)


def test_identity_is_of_the_weights_not_of_the_name(network: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.onnx"
    copy.write_bytes(network.read_bytes())
    assert opened(copy).identity == opened(network).identity
    assert opened(write_network(tmp_path / "other.onnx", scale=2)).identity != opened(network).identity


@pytest.mark.parametrize("backend", READERS)
def test_refuses_what_is_no_network(tmp_path: Path, backend: str) -> None:
    garbage = tmp_path / "garbage.onnx"
    garbage.write_bytes(b"not a network")
    cases = {
        garbage: "cannot load|no ONNX file, or a damaged one",
        tmp_path / "missing.onnx": "cannot read",
        write_network(tmp_path / "names.onnx", outputs=("policy", "value")): "outputs output_policy, output_value",
        write_network(tmp_path / "planes.onnx", planes=((62, 9, 9), (119, 9, 9))): "entering kings",
        write_network(
            tmp_path / "type.onnx", types=("FLOAT", "INT64", "FLOAT")
        ): r"output_policy must be float16.*int64",
        write_network(tmp_path / "nan.onnx", scale=float("nan")): "finite",
    }
    for path, reason in cases.items():
        with pytest.raises(EvaluatorError, match=reason) as error:
            opened(path, backend)
        assert str(path) in str(error.value)


def test_openvino_takes_floats_of_all_sizes(tmp_path: Path) -> None:
    half = write_network(tmp_path / "half.onnx", types=("FLOAT16", "FLOAT16", "DOUBLE"), batch=3)
    plain, odd = opened(write_network(tmp_path / "toy.onnx")), opened(half, "openvino")
    given = [Position.from_sfen(sfen) for sfen in SFENS] * 4
    np.testing.assert_allclose(evaluate(odd, given).winrates, evaluate(plain, given).winrates, atol=2e-3)


@pytest.fixture(scope="module")
def parameters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A parameter file of a small network with random parameters."""
    torch = pytest.importorskip("torch")
    from fukayomi.nn import NetworkConfig, PolicyValueNetwork, save_parameters

    torch.manual_seed(1)
    path = tmp_path_factory.mktemp("torch") / "tiny.safetensors"
    save_parameters(PolicyValueNetwork(NetworkConfig(blocks=2, channels=16, activation="relu", value_hidden=8)), path)
    return path


@pytest.mark.parametrize(("precision", "error"), [("fp32", 1e-4), ("bf16", 0.05)])
def test_torch_answers_as_the_network_does(parameters: Path, precision: str, error: float) -> None:
    import torch

    from fukayomi.nn import load_parameters

    network, evaluator = load_parameters(parameters), opened_in(parameters, precision)
    slot = evaluator.allocate(4)
    fill(slot, SFENS)
    evaluator.run(slot, len(SFENS))
    features1, features2 = np.zeros((2, 62, 9, 9), np.float32), np.zeros((2, 57, 9, 9), np.float32)
    unpack_planes(slot.input.planes1[:2], slot.input.planes2[:2], features1, features2)
    with torch.inference_mode():
        policy, value = network(torch.from_numpy(features1), torch.from_numpy(features2))
    for i in range(len(SFENS)):
        count = slot.input.counts[i]
        np.testing.assert_allclose(
            slot.logits[i, :count], policy[i, slot.input.labels[i, :count].astype(int)], atol=error
        )
        assert slot.values[i] == pytest.approx(torch.sigmoid(value[i]).item(), abs=error)


def opened_in(path: Path, precision: str) -> NetworkEvaluator:
    """The network in torch in this precision, or a skip where the CPU does not compute in it."""
    if precision not in get_backend("torch").precisions(NetworkFile(path)):
        pytest.skip(f"the CPU has no {precision}")
    return opened(path, "torch", precision=precision)


def test_what_the_gpu_computes_around_the_network() -> None:
    torch = pytest.importorskip("torch")
    from fukayomi.engine.evaluators.backends.torch_gpu import gather, unpack

    slot = PlaneSlot.zeros(2)
    fill(slot, SFENS)
    expected1, expected2 = np.zeros((2, 62, 9, 9), np.float32), np.zeros((2, 57, 9, 9), np.float32)
    unpack_planes(slot.input.planes1, slot.input.planes2, expected1, expected2)
    found1, found2 = unpack(torch.from_numpy(slot.input.planes1), torch.from_numpy(slot.input.planes2), torch.bfloat16)
    np.testing.assert_array_equal(found1.float(), expected1)
    np.testing.assert_array_equal(found2.float(), expected2)
    policy = torch.rand(2, 2187)
    gathered = gather(policy, torch.from_numpy(slot.input.labels))
    for i, count in enumerate(slot.input.counts):
        np.testing.assert_array_equal(gathered[i, :count], policy[i, slot.input.labels[i, :count].astype(int)])


def test_torch_names_a_gpu_that_is_not_there(parameters: Path) -> None:
    import torch

    absent = torch.cuda.device_count()
    with pytest.raises(EvaluatorError, match=rf"no GPU {absent} \(from 0\); it has {absent}"):
        get_backend("torch-cuda").open(NetworkFile(parameters), Plan("torch-cuda", "fp32", 1, 2, 32, gpu=absent))


def test_a_parameter_file_is_played_by_torch_alone(parameters: Path, tmp_path: Path) -> None:
    assert load(NetworkFile(parameters), Plan(precision="fp32", threads=1, batch_size=4)).plan.backend == "torch"
    with pytest.raises(EvaluatorError, match=r"DNN_Provider torch .*fukayomi export .*tiny\.safetensors .*tiny\.onnx"):
        load(NetworkFile(parameters), Plan("cpu"))
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(parameters.read_bytes()[:200])
    with pytest.raises(EvaluatorError, match=r"damaged\.safetensors"):
        opened(damaged, "torch")


def test_a_checkpoint_is_no_network(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint.pt"
    checkpoint.write_bytes(b"")
    for backend in ("torch", "auto"):
        with pytest.raises(
            EvaluatorError, match=r"is a checkpoint, .* fukayomi export .*checkpoint\.pt .*checkpoint\.onnx"
        ):
            load(NetworkFile(checkpoint), Plan(backend))


def test_more_threads_than_cpus_are_not_used(network: Path) -> None:
    evaluator = opened(network, threads=512, batch_size=0)
    assert 1 <= evaluator.plan.threads < 512
    assert "Threads is 512" in evaluator.describe()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backend_that_is_not_there_is_an_error_with_the_remedy(network: Path, backend: str) -> None:
    if get_backend(backend).problem() is None:
        pytest.skip(f"{backend} is there")
    with pytest.raises(EvaluatorError, match=r"pip install|GPU|NPU"):
        load(NetworkFile(network), Plan(backend))


BROKEN = """
import sys
from fukayomi import Network, Position
from fukayomi.engine.evaluators.backends import torch as torch_backend
from fukayomi.engine.evaluators.backends.backend import get_backend
torch_backend.has_gpu_driver = lambda: True
for name in ("torch-cuda", "openvino-gpu"):
    print(get_backend(name).problem())
with Network(sys.argv[1]) as network:
    print(network.evaluate(Position()).winrates)
for name in ("torch", "openvino"):
    try:
        Network(sys.argv[1], device=name)
    except RuntimeError as error:
        print(error)
"""


def test_libraries_that_cannot_be_loaded_are_a_problem_of_their_backends_alone(network: Path, tmp_path: Path) -> None:
    for library, built_for in (("torch", "cuda = '13.0'"), ("openvino", "")):
        folder = tmp_path / "broken" / library
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(f"raise OSError('lib{library}.so.1: cannot open shared object file')")
        (folder / "version.py").write_text(built_for)
    path = os.pathsep.join([str(tmp_path / "broken"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", BROKEN, network], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
        timeout=600, check=True,
    )  # fmt: skip
    problems = done.stdout.splitlines()
    for line, library in zip(problems[:2], ("torch", "openvino"), strict=True):
        reason = f"lib{library}.so.1: cannot open shared object file"
        assert line == f"the library {library} is installed, but cannot be loaded: {reason}"
    assert "0." in problems[2]
    for line, library in zip(problems[3:], ("torch", "openvino"), strict=True):
        assert line.startswith(f"DNN_Provider {library} cannot be loaded: lib{library}.so.1")


def test_ctrl_c_works_after_openvino(network: Path) -> None:
    pytest.importorskip("openvino")
    done = subprocess.run(
        [sys.executable, "-c", CLOSED_ELSEWHERE, network], capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
