"""What the doctor says of backends, as a library and as a command."""

import json
from pathlib import Path

import pytest
import sparse_files
from fake_computer import fake_computer
from toy_network import write_network
from typer.testing import CliRunner

from fukayomi.cli.main import make_app
from fukayomi.engine import EvaluatorError, Network
from fukayomi.engine.evaluators.backends import torch as torch_backends
from fukayomi.engine.evaluators.backends.machine import Gpu
from fukayomi.engine.evaluators.backends.network_file import int8_path
from fukayomi.engine.evaluators.backends.opencl.backend import OpenCl
from fukayomi.engine.evaluators.backends.openvino import OpenVino
from fukayomi.engine.measuring import doctor
from fukayomi.engine.measuring.doctor import diagnose


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SECONDS", 0.001)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return write_network(tmp_path / "toy.onnx")


def test_backends_are_measured_or_untested_with_the_remedy(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_network(int8_path(network))
    monkeypatch.setattr(OpenVino, "problem", lambda _: "the library openvino is not installed: pip install it")
    diagnosis = diagnose(network)
    rows = {(row.backend, row.precision): row for row in diagnosis.backends}
    exact, lower = rows["cpu", "fp32"], rows["cpu", "int8"]
    assert exact.ratio == 1.0
    assert exact.top1 is None
    assert lower.top1 == 1.0
    assert lower.value_error == 0.0
    assert lower.evaluations_per_s is not None
    missing = rows["openvino", None]
    assert missing.evaluations_per_s is None
    assert "pip install" in missing.problem
    assert rows["native", None].problem.startswith("only residual networks: ")
    assert diagnosis.to_polars().height == len(diagnosis.backends)
    assert diagnosis.plan is not None
    assert diagnosis.plan.backend == "cpu"
    assert diagnosis.int8 == str(int8_path(network))
    assert doctor.missing_int8(diagnosis) is None


def test_the_engine_takes_what_the_doctor_says(network: Path) -> None:
    diagnosis = diagnose(network)
    assert "fukayomi export --int8" in str(doctor.missing_int8(diagnosis))
    with Network(network) as loaded:
        assert loaded.evaluator.plan == diagnosis.plan


def test_there_is_one_rate_for_what_is_taken(network: Path) -> None:
    diagnosis = diagnose(network)
    assert diagnosis.plan is not None
    taken = (diagnosis.plan.backend, diagnosis.plan.precision)
    (row,) = (row for row in diagnosis.backends if (row.backend, row.precision) == taken)
    assert row.evaluations_per_s == diagnosis.evaluations_per_s


def test_a_network_that_nothing_can_run_is_not_usable(tmp_path: Path) -> None:
    diagnosis = diagnose(write_network(tmp_path / "bad.onnx", labels=1496))
    assert not diagnosis.is_usable
    assert "1496" in diagnosis.reason
    assert all(row.evaluations_per_s is None and row.problem for row in diagnosis.backends)
    with pytest.raises(EvaluatorError, match="no file"):
        diagnose(tmp_path / "none.onnx")


def test_what_the_engine_says_of_a_file_is_said_here_too(tmp_path: Path) -> None:
    path = tmp_path / "network.safetensors"
    path.write_bytes(b"parameters")
    (row,) = (row for row in diagnose(path).backends if row.backend == "cpu")
    with pytest.raises(EvaluatorError) as refused:
        Network(path, device="cpu")
    assert row.problem == str(refused.value)
    assert 'DNN_Provider cpu cannot read it. Set DNN_Provider torch (pip install "fukayomi[torch]")' in row.problem
    assert f"or export it: fukayomi export {path} {path.with_suffix('.onnx')}" in row.problem


@pytest.mark.parametrize("name", ["cut.onnx", "checkpoint.pt"])
def test_int8_is_no_remedy_for_a_file_that_nothing_can_run(network: Path, name: str) -> None:
    file = network.with_name(name)
    file.write_bytes(network.read_bytes()[:1000])
    diagnosis = diagnose(file)
    assert not diagnosis.is_usable
    assert doctor.missing_int8(diagnosis) is None


def test_the_command_prints_what_is_taken_and_what_is_untested(network: Path) -> None:
    result = CliRunner().invoke(make_app(["doctor"]), ["doctor", str(network)])
    assert result.exit_code == 0, result.output
    for text in ("CPU:", "Taken:", "Why:", "fp32", "Untested:  int8: toy.int8.onnx is missing"):
        assert text in result.stdout
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("Taken:"))
    assert "positions/s" not in line, "its rate stands in the table alone"
    assert "of CPU time" in result.stdout


def test_the_command_s_json_and_exit_code(network: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    result = run(make_app(["doctor"]), ["doctor", str(network), "--json"])
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["plan"]["backend"] in ("cpu", "openvino")
    assert {"cpu", "openvino", "cuda", "tensorrt"} <= {row["backend"] for row in document["backends"]}
    bad = write_network(tmp_path / "bad.onnx", scale=float("nan"))
    result = run(make_app(["doctor"]), ["doctor", str(bad)])
    assert result.exit_code == 1
    assert "nothing can run this network" in result.stdout
    assert run(make_app(["doctor"]), ["doctor", str(tmp_path / "none.onnx")]).exit_code == 1


NVIDIA, AMD, INTEL = Gpu("NVIDIA", "GeForce RTX 4090"), Gpu("AMD", "Radeon RX 7900"), Gpu("Intel", "Arc B580")
SWAP = "the installed ONNX Runtime has no directml: pip uninstall -y onnxruntime, then pip install onnxruntime-directml"


def leave_to_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the advice alone counts, ONNX Runtime's is the only backend of the CPU: it is soon measured."""
    for other in (OpenVino, OpenCl, torch_backends.TorchCpu):
        monkeypatch.setattr(other, "problem", lambda _: "not here")


@pytest.mark.parametrize(
    ("system", "gpus", "advice"),
    [
        ("Linux", (), None),
        ("Linux", (NVIDIA, INTEL), "GeForce RTX 4090: DNN_Provider torch-cuda can play on it, but pip install torch"),
        ("Windows", (NVIDIA, AMD), "GeForce RTX 4090: DNN_Provider torch-cuda can play on it, but pip install torch"),
        ("Linux", (AMD,), "Radeon RX 7900: DNN_Provider torch-cuda can play on it, but pip install torch"),
        ("Windows", (AMD, INTEL), f"Radeon RX 7900: DNN_Provider directml can play on it, but {SWAP}"),
        ("Windows", (Gpu("Qualcomm", "Adreno"),), f"Adreno: DNN_Provider directml can play on it, but {SWAP}"),
        (
            "Linux",
            (INTEL,),
            "Arc B580: DNN_Provider openvino-gpu can play on it, but OpenVINO finds no GPU of Intel's: install Intel's "
            "driver, on Linux the package intel-opencl-icd",
        ),
        (
            "macOS",
            (Gpu("Apple", "Apple M2"),),
            "Apple M2: DNN_Provider coreml can play on it, but the installed onnxruntime has no coreml: pip install -U "
            "onnxruntime",
        ),
        (
            "Linux",
            (Gpu("", "a GPU under WSL"),),
            "a GPU under WSL: DNN_Provider directml can play on it, but it reaches GPUs under Windows alone",
        ),
    ],
)
def test_the_one_package_that_makes_a_gpu_play_is_named(
    network: Path, monkeypatch: pytest.MonkeyPatch, system: str, gpus: tuple[Gpu, ...], advice: str | None
) -> None:
    monkeypatch.setattr(torch_backends.TorchCuda, "problem", lambda _: "pip install torch")
    fake_computer(monkeypatch, system=system, gpus=gpus)
    leave_to_the_cpu(monkeypatch)
    said = CliRunner().invoke(make_app(["doctor"]), ["doctor", str(network)]).stdout
    assert [line for line in said.splitlines() if line.startswith("Advice:")] == (
        [] if advice is None else [f"Advice:    {advice}"]
    )


def test_a_sparse_network_needs_no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sparse_files.write(tmp_path, sparse_files.SMALL).path
    apple = Gpu("Apple", "Apple M2")
    fake_computer(monkeypatch, system="macOS", gpus=(apple,), providers=("CoreMLExecutionProvider",))
    assert diagnose(path).advice is None
    fake_computer(monkeypatch, system="macOS", gpus=(apple,))
    assert "the installed onnxruntime has no coreml" in str(diagnose(path).advice)


def test_a_gpu_that_plays_needs_no_advice(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_computer(monkeypatch, gpus=(NVIDIA,), providers=("CUDAExecutionProvider",))
    leave_to_the_cpu(monkeypatch)
    found = diagnose(network)
    assert found.plan is not None
    assert found.plan.backend == "cuda"
    assert found.machine.gpus == ("GeForce RTX 4090",)
    assert found.advice is None


@pytest.mark.parametrize(("rate", "times"), [(105, None), (300, "3.0")])
def test_a_backend_that_must_be_named_is_named_if_it_is_clearly_faster(
    network: Path, monkeypatch: pytest.MonkeyPatch, rate: float, times: str | None
) -> None:
    rates = {"coreml fp32": rate, "coreml fp16": rate - 1}
    apple = Gpu("Apple", "Apple M2")
    fake_computer(monkeypatch, system="macOS", gpus=(apple,), providers=("CoreMLExecutionProvider",))
    monkeypatch.setattr(
        doctor.choice, "_speed", lambda _, plan, *__, **___: rates.get(f"{plan.backend} {plan.precision}", 100.0)
    )
    found = diagnose(network)
    assert found.plan is not None
    assert found.plan.backend in ("cpu", "openvino")
    expected = f"ONNX Runtime, Core ML in fp32 is {times} times as fast; it is taken where DNN_Provider is coreml"
    assert found.advice == (None if times is None else expected)
    assert found.as_dict()["advice"] == found.advice
