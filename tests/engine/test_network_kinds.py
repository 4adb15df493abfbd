"""Networks of every kind of block, in the libraries that run all of them on the CPU, beside ONNX Runtime."""

from pathlib import Path

import pytest

from fukayomi.engine.choice import load
from fukayomi.engine.evaluation import Agreement, Evaluation, compare, evaluate
from fukayomi.engine.evaluators.backends.backend import Plan, get_backend
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.timing import probe_positions

KINDS = ["pre-activation", "all but pre-activation", "residual, silu", "Transformer"]
CASES = [
    ("openvino", "fp32", ".onnx"),
    ("torch", "fp32", ".onnx"),
    ("torch", "bf16", ".onnx"),
    ("torch", "fp32", ".safetensors"),
    ("torch", "bf16", ".safetensors"),
    ("opencl", "fp32", ".onnx"),
    ("opencl", "fp16", ".onnx"),
]

PRECISIONS = {"fp32": (1.0, 1e-6, 1e-5), "fp16": (0.9, 1e-4, 1e-3), "bf16": (0.9, 1e-3, 1e-2)}
"""The least share of equal best moves, the largest divergence of the policy, and of a value's error."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """ONNX files of networks that are not at their start, with parameter files beside them."""
    pytest.importorskip("torch")
    from network_samples import SHAPES, shaken

    from fukayomi.nn import export_onnx, save_parameters

    folder = tmp_path_factory.mktemp("networks")
    files = {kind: folder / f"{number}.onnx" for number, kind in enumerate(KINDS)}
    for kind, file in files.items():
        network = shaken(SHAPES[kind])
        export_onnx(network, file, half=kind == "Transformer")
        save_parameters(network, file.with_suffix(".safetensors"))
    return files


@pytest.fixture(scope="module")
def exact(files: dict[str, Path]) -> dict[str, Evaluation]:
    """What ONNX Runtime says of the positions in fp32."""
    plan = Plan("cpu", "fp32", 1, 1, 16)
    return {kind: evaluate(load(NetworkFile(file), plan), probe_positions()) for kind, file in files.items()}


def require(agreement: Agreement, precision: str) -> None:
    top1, kl, value_error = PRECISIONS[precision]
    assert agreement.top1 >= top1
    assert agreement.kl < kl
    assert agreement.max_value_error < value_error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("backend", "precision", "suffix"), CASES)
def test_all_libraries_compute_the_same(
    kind: str, backend: str, precision: str, suffix: str, files: dict[str, Path], exact: dict[str, Evaluation]
) -> None:
    file = files[kind].with_suffix(suffix)
    if problem := get_backend(backend).problem():
        pytest.skip(problem)
    if precision not in get_backend(backend).precisions(NetworkFile(file)):
        pytest.skip(f"the CPU has no {precision}")
    other = load(NetworkFile(file), Plan(backend, precision, 1, 1, 16))
    require(compare(other, exact[kind], probe_positions()), precision)
    other.close()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("suffix", [".onnx", ".safetensors"])
@pytest.mark.parametrize("kind", KINDS)
def test_torch_computes_the_same_in_graphs(
    kind: str, suffix: str, precision: str, files: dict[str, Path], exact: dict[str, Evaluation]
) -> None:
    from fake_gpu import evaluator_of

    in_graphs = evaluator_of(files[kind].with_suffix(suffix), precision)
    require(compare(in_graphs, exact[kind], probe_positions()), precision)


def test_a_file_says_whether_it_takes_the_colour_to_move(files: dict[str, Path]) -> None:
    assert [NetworkFile(files[kind]).has_colour_plane for kind in KINDS] == [False, True, False, False]
