"""Backends on GPUs and NPUs: where each may run, what is missing, what is asked of the library, on made-up hardware."""

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fake_computer import FakeComputer, fake_computer, fake_plugin
from toy_network import write_network

from fukayomi.engine import EvaluatorError, Network, choice
from fukayomi.engine.choice import find_candidates
from fukayomi.engine.evaluators.backends import gpu_libraries
from fukayomi.engine.evaluators.backends.backend import Model, Plan, get_backend
from fukayomi.engine.evaluators.backends.machine import Gpu
from fukayomi.engine.evaluators.backends.network_file import NetworkFile, int8_path
from fukayomi.engine.evaluators.timing import filled_slot, probe_positions
from fukayomi.shogi import Position

NVIDIA, AMD, INTEL, APPLE = (
    Gpu("NVIDIA", "NVIDIA GeForce RTX 4090"),
    Gpu("AMD", "AMD Radeon RX 7900 XTX"),
    Gpu("Intel", "Intel Arc B580"),
    Gpu("Apple", "Apple M2"),
)
SWAP = "the installed ONNX Runtime has no {0}: pip uninstall -y onnxruntime, then pip install {1}"
COMPUTERS = {
    "directml": {"system": "Windows", "gpus": (AMD,), "providers": ("DmlExecutionProvider",)},
    "migraphx": {"gpus": (AMD,), "providers": ("MIGraphXExecutionProvider",)},
    "coreml": {"system": "macOS", "gpus": (APPLE,), "providers": ("CoreMLExecutionProvider",)},
    "cuda": {"gpus": (NVIDIA,), "providers": ("CUDAExecutionProvider",)},
    "openvino-gpu": {"gpus": (INTEL,), "devices": ("CPU", "GPU.0", "GPU.1", "NPU")},
    "openvino-npu": {"gpus": (INTEL,), "devices": ("CPU", "GPU", "NPU")},
}
"""A computer for each of these backends, with what it needs."""


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    yield
    gpu_libraries.find_plugin.cache_clear()


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return write_network(tmp_path / "toy.onnx")


@pytest.mark.parametrize(
    ("backend", "computer", "problem"),
    [
        ("directml", {"gpus": (AMD,)}, "it reaches GPUs under Windows alone"),
        ("directml", {"system": "Windows"}, SWAP.format("directml", "onnxruntime-directml")),
        ("coreml", {"system": "Windows"}, "it reaches GPUs under macOS alone"),
        ("coreml", {"system": "macOS"}, "the installed onnxruntime has no coreml: pip install -U onnxruntime"),
        ("migraphx", {"system": "Windows", "gpus": (AMD,)}, "it reaches GPUs under Linux alone"),
        ("migraphx", {"gpus": (INTEL,)}, "there is no AMD GPU, or its driver is not loaded (/dev/dri)"),
        ("migraphx", {"gpus": (AMD,)}, SWAP.format("migraphx", "onnxruntime-migraphx")),
        ("migraphx", {"gpus": (Gpu("", "WSL"),)}, SWAP.format("migraphx", "onnxruntime-migraphx")),
        ("cuda", {"gpus": (AMD,)}, "there is no NVIDIA GPU, or its driver is not installed (nvidia-smi)"),
        (
            "cuda",
            {"gpus": (NVIDIA,), "has_driver": False},
            "there is no NVIDIA GPU, or its driver is not installed (nvidia-smi)",
        ),
        ("cuda", {"gpus": (NVIDIA,)}, SWAP.format("cuda", "onnxruntime-gpu")),
        (
            "tensorrt",
            {"gpus": (NVIDIA,), "installed": ("onnxruntime", "onnxruntime-gpu")},
            "onnxruntime and onnxruntime-gpu are both installed, into one folder: pip uninstall -y onnxruntime "
            "onnxruntime-gpu, then pip install onnxruntime-gpu",
        ),
        (
            "directml",
            {"system": "Windows", "installed": ("onnxruntime", "onnxruntime-directml")},
            "onnxruntime and onnxruntime-directml are both installed, into one folder: pip uninstall -y onnxruntime "
            "onnxruntime-directml, then pip install onnxruntime-directml",
        ),
        ("webgpu", {}, "the library onnxruntime_ep_webgpu is not installed: pip install onnxruntime-ep-webgpu"),
        (
            "openvino-gpu",
            {},
            "OpenVINO finds no GPU of Intel's: install Intel's driver, on Linux the package intel-opencl-icd",
        ),
        (
            "openvino-npu",
            {"devices": ("CPU", "GPU")},
            "OpenVINO finds no NPU of Intel's: install Intel's driver for it, on Linux intel-level-zero-npu; Core "
            "Ultra processors have one",
        ),
    ],
)
def test_what_keeps_a_backend_from_running_is_named_with_the_remedy(
    network: Path, monkeypatch: pytest.MonkeyPatch, backend: str, computer: dict[str, object], problem: str
) -> None:
    fake_computer(monkeypatch, **computer)  # pyright: ignore[reportArgumentType]
    with pytest.raises(EvaluatorError) as error:
        Network(network, device=backend)
    assert str(error.value) == f"DNN_Provider {backend}: {problem}"
    found = [candidate.name for candidate, _ in find_candidates(NetworkFile(network), Plan())]
    assert backend not in found


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        ({"devices": 0}, "it finds no GPU: install the driver of the GPU, on Linux with Vulkan (libvulkan1)"),
        ({"error": "libvulkan.so.1 is not there"}, "ONNX Runtime cannot load it: libvulkan.so.1 is not there"),
    ],
)
def test_a_plugin_that_finds_no_gpu_says_why(
    network: Path, monkeypatch: pytest.MonkeyPatch, plugin: dict[str, object], problem: str
) -> None:
    fake_computer(monkeypatch)
    fake_plugin(monkeypatch, **plugin)  # pyright: ignore[reportArgumentType]
    with pytest.raises(EvaluatorError) as error:
        Network(network, device="webgpu")
    assert str(error.value) == f"DNN_Provider webgpu: {problem}"


def test_an_older_onnx_runtime_takes_no_plugins(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime  # pyright: ignore[reportMissingTypeStubs]

    fake_computer(monkeypatch)
    fake_plugin(monkeypatch)
    monkeypatch.delattr(onnxruntime, "register_execution_provider_library")
    with pytest.raises(EvaluatorError, match=r"takes no plug-ins: pip install -U onnxruntime$"):
        Network(network, device="webgpu")


@pytest.mark.parametrize(
    ("backend", "precision", "options"),
    [
        ("directml", "fp32", {"device_id": "1"}),
        ("cuda", "fp32", {"device_id": "1"}),
        ("migraphx", "fp32", {"device_id": "1", "migraphx_model_cache_dir": "FOLDER"}),
        ("migraphx", "fp16", {"device_id": "1", "migraphx_model_cache_dir": "FOLDER", "migraphx_fp16_enable": "True"}),
    ],
)
def test_a_session_is_on_the_gpu_with_the_options_of_its_precision(
    network: Path, monkeypatch: pytest.MonkeyPatch, backend: str, precision: str, options: dict[str, str]
) -> None:
    computer = fake_computer(monkeypatch, **COMPUTERS[backend])  # pyright: ignore[reportArgumentType]
    plan = Plan(backend, precision, 1, 2, 16, gpu=1)
    get_backend(backend).open(NetworkFile(network), plan)
    ((provider, given, has_patterns),) = computer.sessions
    assert (provider,) == COMPUTERS[backend]["providers"]
    assert has_patterns == (backend != "directml")
    for name, value in options.items():
        if value == "FOLDER":
            assert Path(given[name]).is_dir()
            options[name] = given[name]
    assert given == options


@pytest.mark.parametrize(("precision", "model_format"), [("fp32", "MLProgram"), ("fp16", "NeuralNetwork")])
def test_a_mac_keeps_what_it_compiles_apart(
    network: Path, monkeypatch: pytest.MonkeyPatch, precision: str, model_format: str
) -> None:
    computer = fake_computer(monkeypatch, **COMPUTERS["coreml"])  # pyright: ignore[reportArgumentType]
    other = write_network(network.with_name("other.onnx"), scale=2)
    for path in (network, other):
        get_backend("coreml").open(NetworkFile(path), Plan("coreml", precision, 1, 2, 16))
    assert [given["ModelFormat"] for _, given, _ in computer.sessions] == [model_format] * 2
    folders = {given["ModelCacheDirectory"] for _, given, _ in computer.sessions}
    assert len(folders) == 2
    assert all(Path(folder).is_dir() for folder in folders)
    with pytest.raises(EvaluatorError, match="DNN_Provider coreml has one device: there is no device 2"):
        get_backend("coreml").open(NetworkFile(network), Plan("coreml", precision, 1, 2, 16, gpu=1))


COMPILING = ("directml", "coreml", "migraphx", "openvino-gpu", "openvino-npu")


@pytest.mark.parametrize("batch", ["batch", "", 4])
@pytest.mark.parametrize("backend", COMPILING)
def test_one_batch_size_is_compiled_and_filled_up(
    network: Path, monkeypatch: pytest.MonkeyPatch, backend: str, batch: int | str
) -> None:
    path = write_network(network, batch=batch)
    with Network(path, device="cpu", precision="fp32", threads=1, batch_size=8) as exact:
        expected = exact.evaluate([Position()] * 3)
    computer = fake_computer(monkeypatch, **COMPUTERS[backend])  # pyright: ignore[reportArgumentType]
    precision = get_backend(backend).precisions(NetworkFile(path))[0]
    with Network(path, device=backend, precision=precision, batch_size=200) as found:
        assert found.evaluator.batch_size == (4 if batch == 4 else 200)
        np.testing.assert_allclose(found.evaluate([Position()] * 3).winrates, expected.winrates, atol=1e-3)
    sizes = {shape[0] for _, _, shape in computer.compiled} or set(computer.batches)
    assert sizes == {4 if batch == 4 else 200}


@pytest.mark.parametrize("backend", COMPILING)
def test_the_batch_size_that_is_compiled_is_measured(
    network: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    computer = fake_computer(monkeypatch, **COMPUTERS[backend])  # pyright: ignore[reportArgumentType]
    precisions = get_backend(backend).precisions(NetworkFile(network))
    batches = get_backend(backend).batches

    def speed(model: Model, plan: Plan, *_: object, **__: object) -> float:
        assert model.fixed_batch == plan.batch_size
        return 2e4 if plan.batch_size >= batches[len(batches) // 2] else 1e4

    monkeypatch.setattr(choice, "_speed", speed)
    for _ in range(2):  # measured, then remembered
        with Network(network, device=backend) as found:
            assert found.evaluator.batch_size == batches[len(batches) // 2]
            assert found.evaluator.plan.precision == precisions[0]
            computer.batches.clear()
            found.evaluate([Position()])
        assert set(computer.batches) <= {found.evaluator.batch_size}
    with Network(network, device=backend, batch_size=200) as found:  # more than any that is measured
        assert found.evaluator.batch_size == 200


def test_the_gpus_of_openvino_are_those_of_its_list(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_network(int8_path(network))
    computer = fake_computer(monkeypatch, **COMPUTERS["openvino-gpu"])  # pyright: ignore[reportArgumentType]
    file = NetworkFile(network)
    assert get_backend("openvino-gpu").precisions(file) == ("fp32", "fp16", "int8")
    assert get_backend("openvino-npu").precisions(file) == ("fp16", "int8")
    for plan in (
        Plan("openvino-gpu", "fp32", 1, 2, 16),
        Plan("openvino-gpu", "int8", 1, 2, 16, gpu=1),
        Plan("openvino-npu", "fp16", 1, 2, 16),
    ):
        get_backend(plan.backend).open(file, plan)
    hints = [(device, options.get("INFERENCE_PRECISION_HINT")) for device, options, _ in computer.compiled]
    assert hints == [("GPU.0", "f32"), ("GPU.1", "f16"), ("NPU", None)]
    with pytest.raises(EvaluatorError, match=r"OpenVINO finds no GPU 2 \(from 0\); it has 2"):
        get_backend("openvino-gpu").open(file, Plan("openvino-gpu", "fp32", 1, 2, 16, gpu=2))


@pytest.mark.parametrize("backend", ["directml", "webgpu", "cuda"])
def test_batches_are_computed_one_by_one_where_the_provider_asks_for_it(
    network: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    computer: FakeComputer = fake_computer(monkeypatch, **COMPUTERS.get(backend, {}))  # pyright: ignore[reportArgumentType]
    if backend == "webgpu":
        fake_plugin(monkeypatch)
    models = [get_backend(backend).open(NetworkFile(network), Plan(backend, "fp32", 1, 2, 16)) for _ in range(2)]
    shared = models if backend == "webgpu" else models[:1]
    slots = [(model, filled_slot(model, 16, probe_positions())) for model in shared for _ in range(4)]

    def evaluate(number: int) -> None:
        for _ in range(20):
            slots[number][0].run(slots[number][1], 16)

    threads = [threading.Thread(target=evaluate, args=(number,)) for number in range(len(slots))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(computer.at_once) == 20 * len(slots)
    if backend != "cuda":
        assert max(computer.at_once) == 1


def test_what_compiles_for_minutes_or_is_untried_is_not_chosen_unasked(
    network: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, computer in COMPUTERS.items():
        fake_computer(monkeypatch, **computer)  # pyright: ignore[reportArgumentType]
        found = {backend.name for backend, _ in find_candidates(NetworkFile(network), Plan())}
        assert (name in found) == (name in ("directml", "cuda"))
        assert {backend.name for backend, _ in find_candidates(NetworkFile(network), Plan(name))} == {name}
