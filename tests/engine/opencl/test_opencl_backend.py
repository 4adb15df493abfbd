"""Networks on OpenCL devices, here PoCL's: what they compute, which device they take, what is said when it fails."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S
from toy_network import write_network

from fukayomi import Engine, EvaluatorError, Move, Network
from fukayomi.engine.choice import divided, find_candidates, load
from fukayomi.engine.evaluation import compare
from fukayomi.engine.evaluators.backends.backend import Plan, get_backend
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.timing import probe_positions
from fukayomi.engine.network import embedded_networks
from fukayomi.engine.settings import UsiSettings

cl = pytest.importorskip("pyopencl")
if problem := get_backend("opencl").problem():
    pytest.skip(problem, allow_module_level=True)

from fukayomi.engine.evaluators.backends.opencl import devices  # noqa: E402  # imports pyopencl


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network of one layer."""
    return write_network(tmp_path_factory.mktemp("opencl") / "toy.onnx")


def run(code: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program of its own: drivers are found once in a process."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize(("precision", "top1", "value_error"), [("fp32", 0.999, 1e-5), ("fp16", 0.99, 1e-3)])
def test_the_embedded_network_is_the_same(precision: str, top1: float, value_error: float) -> None:
    with (
        Network("<5x64>", device="cpu", precision="fp32") as exact,
        Network("<5x64>", device="opencl", precision=precision, batch_size=16) as other,
    ):
        agreement = compare(other.evaluator, exact.evaluator, probe_positions())
    assert agreement.top1 >= top1
    assert agreement.value_error < value_error


def test_a_search_finds_the_same_moves() -> None:
    found: list[list[Move | None]] = []
    settings = UsiSettings(mate_root_plies=0, pv_mate_threads=0)
    for device in ("native", "opencl"):
        one_at_a_time = load(NetworkFile(embedded_networks()["<5x64>"]), Plan(device, "fp32", 1, 1, 8, 0))
        with Network([one_at_a_time]) as network, Engine(network, settings=settings) as engine:
            found.append([engine.search(position, nodes=100).best for position in list(probe_positions())[:6]])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("cpus", "speed", "slots"), [(16, 90_000, 2), (16, 110_000, 4), (3, 110_000, 3), (1, 110_000, 2)]
)
def test_a_device_faster_than_two_cpus_gather_has_more_batches_in_flight(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpus: int, speed: float, slots: int
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("fukayomi.engine.choice.usable_cpus", lambda: cpus)
    monkeypatch.setattr("fukayomi.engine.choice._batch_size", lambda _, __, model, ___: (16, speed, model))
    network, open_plan = NetworkFile(toy), Plan("opencl", "fp32", 0, 0, 0, 0)
    assert load(network, open_plan).slots == slots
    assert load(network, divided(network, open_plan, 2)).slots == 2
    assert load(network, Plan("opencl", "fp32", 0, 3, 0, 0)).slots == 3


def test_a_position_depends_on_nothing_else_in_its_batch(toy: Path) -> None:
    positions = list(probe_positions())[:21]
    with Network(toy, device="opencl", precision="fp32", batch_size=32) as network:
        together = network.evaluate(positions)
        apart = [network.evaluate(position) for position in positions]
    for number, alone in enumerate(apart):
        assert alone.winrates[0] == together.winrates[number]
        assert alone.policies[0] == together.policies[number]


def test_an_engine_plays(toy: Path) -> None:
    with Network(toy, device="opencl", batch_size=16) as network, Engine(network) as engine:
        assert engine.search("startpos", nodes=200).progress.nodes >= 200


TWO = """
import sys
from fukayomi import Engine, Network
from fukayomi.engine.evaluators.backends.opencl.devices import ranked
print(len(ranked()))
with Network(sys.argv[1:3], device="opencl", precision="fp32", batch_size=16) as both, Engine(both) as engine:
    print(*(evaluator.plan.gpu for evaluator in both.evaluators), engine.search("startpos", nodes=200).progress.nodes)
with Network(sys.argv[1], device="opencl", precision="fp32", batch_size=16, gpu=1) as second:
    print(second.evaluator.plan.gpu, second.evaluate("startpos").winrates[0])
"""


def test_each_device_has_a_network_of_its_own(toy: Path, tmp_path: Path) -> None:
    other = write_network(tmp_path / "other.onnx", scale=2.0)
    done = run(TWO, toy, other, POCL_DEVICES="pthread pthread")
    assert done.returncode == 0, done.stderr
    count, both, second = done.stdout.splitlines()
    assert int(count) % 2 == 0
    assert both.startswith("0 1 2")
    assert second.startswith("1 0.")


def test_a_device_that_is_not_there_is_named(toy: Path) -> None:
    with pytest.raises(EvaluatorError, match=r"OpenCL finds no device 9 \(from 0, the best first\); it has \d"):
        Network(toy, device="opencl", gpu=9)


def test_without_a_driver_it_is_said() -> None:
    code = (
        "from fukayomi.engine.evaluators.backends.backend import get_backend as g\n"
        "from fukayomi.engine.evaluators.backends.opencl import devices\n"
        "devices.cl.get_platforms = lambda: devices.cl.Context(dev_type=0)\n"  # any error of the loader
        "print(g('opencl').problem(), g('opencl').is_automatic)"
    )
    done = run(code)
    assert done.stdout.startswith("no device with an OpenCL driver was found: a graphics card's driver brings it"), done
    assert done.stdout.endswith("False\n")


def test_the_best_device_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(name: str, vendor: str, kind: int, version: str = "OpenCL 3.0 X") -> Any:
        values = {
            "name": name,
            "vendor": vendor,
            "type": kind,
            "version": version,
            "driver_version": "1",
            "extensions": "",
        }
        return type("Device", (), values)()

    class FakePlatform:
        name, vendor, version = "CUDA", "NVIDIA Corporation", "OpenCL 3.0 CUDA 12.4"

        def get_devices(self) -> list[Any]:
            return [
                fake("some CPU", "GenuineIntel", cl.device_type.CPU),
                fake("UHD Graphics", "Intel(R) Corporation", cl.device_type.GPU),
                fake("GeForce RTX 3090", "NVIDIA Corporation", cl.device_type.GPU, "OpenCL 1.2 CUDA"),
                fake("odd", "Somebody", cl.device_type.GPU),
            ]

    monkeypatch.setattr(devices.cl, "get_platforms", lambda: [FakePlatform()])
    devices.platforms.cache_clear()
    try:
        assert [device.name for device in devices.ranked()] == ["GeForce RTX 3090", "UHD Graphics", "odd", "some CPU"]
        assert devices.describe()[0] == "Found OpenCL Platform 0: CUDA (NVIDIA Corporation) (OpenCL 3.0 CUDA 12.4)"
        assert "Found OpenCL Device 0: GeForce RTX 3090 (NVIDIA Corporation) (score 11000102)" in devices.describe()
        assert get_backend("opencl").is_automatic, "on a GPU it may be chosen unasked"
    finally:
        devices.platforms.cache_clear()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (cl.MemoryError("no room"), r"has not enough memory for batches of \d+; set a smaller DNN_Batch_Size"),
        (
            cl.RuntimeError("DEVICE_NOT_AVAILABLE"),
            "failed: .*DEVICE_NOT_AVAILABLE.*; a newer driver may help, or another",
        ),
    ],
)
def test_what_fails_is_named_with_the_remedy(
    error: Exception, message: str, toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Network(toy, device="opencl", batch_size=16) as network:

        def fail(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(cl, "enqueue_nd_range_kernel", fail)
        with pytest.raises(EvaluatorError, match=message) as found:
            network.evaluate("startpos")
        assert str(toy) in str(found.value)


def test_a_batch_that_no_device_has_room_for(toy: Path) -> None:
    with (
        Network(toy, device="opencl", precision="fp32", batch_size=16) as network,
        pytest.raises(EvaluatorError, match=r"not enough memory for batches of 100000000; set a smaller"),
    ):
        network.evaluator.allocate(10**8)


def test_kernels_that_a_driver_cannot_compile_are_named(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fukayomi.engine.evaluators.backends.opencl import network

    monkeypatch.setattr(network, "source", lambda _: "this is no kernel")
    with pytest.raises(EvaluatorError, match=r"cannot compile the kernels: .*; a newer driver may help"):
        Network(toy, device="opencl", batch_size=16)


def test_where_no_gpu_can_compile_the_cpu_plays_unasked(toy: Path, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from fukayomi import Network\n"
        "from fukayomi.engine import choice\n"
        "choice.MEASURE_S = 0.005\n"
        "from fukayomi.engine.evaluators.backends.opencl.backend import OpenCl\n"
        "OpenCl.on_gpu = OpenCl.is_automatic = True\n"
        "from fukayomi.engine.evaluators.backends.opencl import network\n"
        "network.BUILD_OPTIONS = ('-cl-no-such-option',)\n"
        "with Network(sys.argv[1]) as found:\n"
        "    print(found.evaluator.describe(), '|', found.evaluate('startpos').winrates[0])\n"
    )
    done = run(code, toy, XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "no GPU is used: " in done.stdout
    assert "cannot compile the kernels" in done.stdout
    assert " on OpenCL in" not in done.stdout
    assert not (tmp_path / "fukayomi" / "choices").exists(), "it is not remembered: the GPU may work the next time"


def test_half_floats_are_taken_unasked_where_they_are_fast_alone(toy: Path) -> None:
    found = get_backend("opencl")
    if found.on_gpu or "cl_khr_fp16" in devices.ranked()[0].extensions:
        pytest.skip("the device has half floats")
    assert [precision for _, precision in find_candidates(NetworkFile(toy), Plan("opencl"))] == ["fp32"]
    assert [precision for _, precision in find_candidates(NetworkFile(toy), Plan("opencl", "fp16"))] == ["fp16"]


@pytest.mark.parametrize("scale", [float("inf"), float("nan")])
def test_numbers_that_are_none_are_found(scale: float, tmp_path: Path) -> None:
    with pytest.raises(EvaluatorError, match="a logit is not finite"):
        Network(write_network(tmp_path / "odd.onnx", scale=scale), device="opencl", batch_size=16)


def test_what_no_kernel_computes_is_named(tmp_path: Path) -> None:
    file = write_network(tmp_path / "odd.onnx", final="Softplus")
    with pytest.raises(
        EvaluatorError, match=r"odd\.onnx: .*the Softplus node .*no kernel computes Softplus here\. .* cpu runs any"
    ):
        Network(file, device="opencl", batch_size=16)
