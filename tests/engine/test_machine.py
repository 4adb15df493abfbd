"""What is known of the computer, and what depends on it."""

import re
import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from toy_network import write_network

from fukayomi.engine import EvaluatorError
from fukayomi.engine.evaluators.backends import machine, onnx, onnx_model
from fukayomi.engine.evaluators.backends.backend import Plan, get_backend
from fukayomi.engine.evaluators.backends.machine import Gpu
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.backends.onnx import OnnxTensorrt


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    functions = (machine.gpus, machine.nvidia_driver_gpus, machine.cpu_features)
    for function in functions:
        function.cache_clear()
    yield
    for function in functions:
        function.cache_clear()


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Installs a program, as a shell script, in place of all others."""
    if sys.platform == "win32":
        pytest.skip("the fake programs are shell scripts")
    folder = tmp_path / "programs"
    folder.mkdir()
    find = shutil.which
    monkeypatch.setattr(machine.shutil, "which", lambda name: find(name, path=str(folder)))

    def install(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return install


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("echo 'NVIDIA A100-SXM4-40GB'; echo 'NVIDIA T4'", ("NVIDIA A100-SXM4-40GB", "NVIDIA T4")),
        ("echo 'No devices were found'; exit 6", ()),
        ("printf '\\377\\n'; exit 1", ()),
    ],
)
def test_gpus_are_those_that_the_driver_names(
    programs: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch, script: str, names: tuple[str, ...]
) -> None:
    monkeypatch.setattr(machine, "system", lambda: "another")
    programs("nvidia-smi", script)
    assert machine.gpu_names() == names
    assert {gpu.vendor for gpu in machine.gpus()} <= {"NVIDIA"}


@pytest.fixture
def linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what Linux shows of a computer: cards of Intel, NVIDIA, AMD, a server's console, and sockets."""
    for number, (vendor, device) in enumerate((("8086", "46a6"), ("10de", "2684"), ("1002", "744c"), ("1a03", "2000"))):
        folder = tmp_path / "drm" / f"card{number}" / "device"
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(f"0x{vendor}\n")
        (folder / "device").write_text(f"0x{device}\n")
        (tmp_path / "drm" / f"card{number}-HDMI-A-1").mkdir()
    (tmp_path / "drm" / "card9" / "device").mkdir(parents=True)  # it went while it was looked at
    (tmp_path / "dri").mkdir()
    names = ("#", "1002  AMD", "\t73bf  Navi 21", "\t744c  Navi 31 [Radeon]", "10de  Others", "\t46a6  no")
    (tmp_path / "pci.ids").write_text("\n".join(names))
    monkeypatch.setattr(machine, "system", lambda: "Linux")
    monkeypatch.setattr(machine, "_CARDS", tmp_path / "drm")
    monkeypatch.setattr(machine, "_NODES", tmp_path / "dri")
    monkeypatch.setattr(machine, "_WSL_DEVICE", tmp_path / "dxg")
    monkeypatch.setattr(machine, "_PCI_NAMES", (tmp_path / "none", tmp_path / "pci.ids"))
    return tmp_path


def test_linux_knows_the_cards_by_their_numbers(linux: Path, programs: Callable[[str, str], None]) -> None:
    intel, amd = Gpu("Intel", "Intel GPU 8086:46a6"), Gpu("AMD", "AMD Navi 31 [Radeon]")
    assert machine.gpus() == (Gpu("NVIDIA", "NVIDIA GPU 10de:2684"), intel, amd)
    machine.gpus.cache_clear()
    machine.nvidia_driver_gpus.cache_clear()
    programs("nvidia-smi", "echo 'NVIDIA GeForce RTX 4090'")
    assert machine.gpus() == (Gpu("NVIDIA", "NVIDIA GeForce RTX 4090"), intel, amd)
    machine.gpus.cache_clear()
    (linux / "dri").rmdir()  # as in a container that has no device of them
    assert machine.gpu_names() == ("NVIDIA GeForce RTX 4090",)


def test_under_wsl_only_the_driver_of_nvidia_knows_names(linux: Path, programs: Callable[[str, str], None]) -> None:
    (linux / "dxg").touch()
    assert machine.gpus() == (Gpu("", "a GPU of Windows, under WSL"),)
    machine.gpus.cache_clear()
    machine.nvidia_driver_gpus.cache_clear()
    programs("nvidia-smi", "echo 'NVIDIA GeForce RTX 4090'")
    assert machine.gpu_names() == ("NVIDIA GeForce RTX 4090",)


ADAPTERS = {
    "0000": {"MatchingDeviceId": r"PCI\VEN_1002&DEV_744C&REV_C8", "DriverDesc": "AMD Radeon RX 7900 XTX"},
    "0001": {"MatchingDeviceId": r"pci\ven_8086&dev_46a6", "DriverDesc": "Intel(R) Iris(R) Xe Graphics"},
    "0002": {"MatchingDeviceId": r"ROOT\BasicDisplay", "DriverDesc": "Microsoft Basic Display Adapter"},
    "0003": {"DriverDesc": "a driver without a device"},
    "0004": {"MatchingDeviceId": r"ACPI\QCOM0C36", "DriverDesc": "Qualcomm(R) Adreno(TM) X1-85 GPU"},
    "0005": {"MatchingDeviceId": r"PCI\VEN_1002&DEV_744C", "DriverDesc": "AMD Radeon RX 7900 XTX"},
}


class FakeRegistry:
    """The part of winreg that is used, for `ADAPTERS`."""

    HKEY_LOCAL_MACHINE = "HKLM"

    @contextmanager
    def OpenKey(self, key: object, name: str) -> Generator[object]:  # noqa: N802  # winreg's names
        yield ADAPTERS if key == "HKLM" else ADAPTERS[name]

    def QueryInfoKey(self, key: dict[str, object]) -> tuple[int]:  # noqa: N802
        return (len(key) + 1,)  # one more than can be read

    def EnumKey(self, key: dict[str, object], index: int) -> str:  # noqa: N802
        if index == len(key):
            raise PermissionError
        return list(key)[index]

    def QueryValueEx(self, key: dict[str, str], name: str) -> tuple[str, int]:  # noqa: N802
        if name not in key:
            raise FileNotFoundError
        return key[name], 1


@pytest.mark.usefixtures("programs")
def test_windows_knows_the_adapters_in_its_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "system", lambda: "Windows")
    monkeypatch.setitem(sys.modules, "winreg", FakeRegistry())
    assert machine.gpus() == (
        Gpu("AMD", "AMD Radeon RX 7900 XTX"),
        Gpu("Intel", "Intel(R) Iris(R) Xe Graphics"),
        Gpu("Qualcomm", "Qualcomm(R) Adreno(TM) X1-85 GPU"),
    )


def test_a_mac_has_a_gpu_in_apple_s_own_processor(
    programs: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "system", lambda: "macOS")
    monkeypatch.setattr(machine.platform, "machine", lambda: "x86_64")
    assert machine.gpus() == ()
    machine.gpus.cache_clear()
    monkeypatch.setattr(machine.platform, "machine", lambda: "arm64")
    assert machine.gpus() == (Gpu("Apple", "Apple GPU"),)
    machine.gpus.cache_clear()
    programs("sysctl", "echo 'Apple M2 Pro'")
    assert machine.gpus() == (Gpu("Apple", "Apple M2 Pro"),)


def test_instructions_are_those_that_the_kernel_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for flags, features in (
        ("sse4_2 avx2", ("AVX2",)),
        ("avx2 avx_vnni", ("AVX2", "VNNI")),
        ("avx2 avx512f avx512_vnni avx512_bf16", ("AVX2", "AVX-512", "VNNI", "BF16")),
        ("", ()),
    ):
        monkeypatch.setattr(machine, "_cpu_field", {"flags": flags, "model name": "fast"}.get)
        machine.cpu_features.cache_clear()
        assert machine.cpu_features() == features
        assert machine.this_machine().cpu == "fast"
    machine.cpu_features.cache_clear()


def test_a_compiled_engine_is_kept_for_one_network_gpu_library_and_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one, other = (NetworkFile(write_network(tmp_path / f"{n}.onnx", scale=n)) for n in (1, 2))

    def folder(network: NetworkFile, batch: int, gpu: str = "T4", version: str = "1") -> str:
        monkeypatch.setattr(machine, "gpu_names", lambda: (gpu,))
        monkeypatch.setattr(onnx, "versions", lambda _: {"tensorrt": version})
        options = OnnxTensorrt().options(network, Plan("tensorrt", "fp16", 1, 2, batch))
        assert options["trt_profile_max_shapes"].startswith(f"input1:{max(batch, 256)}x62x9x9")
        assert options["trt_fp16_enable"] == "True"  # ONNX Runtime refuses "1" here
        assert options["trt_engine_cache_path"].startswith(str(tmp_path / "fukayomi" / "tensorrt"))
        return options["trt_engine_cache_path"]

    folders = [
        folder(one, 512),
        folder(one, 64),
        folder(other, 64),
        folder(one, 64, gpu="A100"),
        folder(one, 64, version="2"),
    ]
    assert len(set(folders)) == len(folders)
    assert folder(one, 64) == folder(one, 0) == folders[1]


def test_the_folder_of_a_compiled_engine_is_there_before_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, plan = NetworkFile(write_network(tmp_path / "toy.onnx")), Plan("tensorrt", "fp16", 1, 2, 64)
    opened: list[Path] = []

    def session(path: Path, *, provider_options: dict[str, str], **_: object) -> None:
        assert path == network.path
        opened.append(Path(provider_options["trt_engine_cache_path"]))
        assert opened[-1].is_dir()

    monkeypatch.setattr(onnx_model, "OnnxModel", session)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not" / "there"))
    for _ in range(2):
        OnnxTensorrt().open(network, plan)
    assert opened[0] == opened[1] == OnnxTensorrt().folder(network, plan)
    monkeypatch.setenv("XDG_CACHE_HOME", str(network.path))  # a file
    folder = OnnxTensorrt().folder(network, plan)
    with pytest.raises(EvaluatorError, match=f"{re.escape(str(folder))}: .+"):
        OnnxTensorrt().open(network, plan)
    assert len(opened) == 2


def test_bf16_is_offered_where_the_cpu_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = NetworkFile(write_network(tmp_path / "toy.onnx"))
    for flags, precisions in (("avx2", ["fp32"]), ("avx512_bf16", ["fp32", "bf16"])):
        monkeypatch.setattr(machine, "_cpu_field", lambda _, flags=flags: flags)
        machine.cpu_features.cache_clear()
        assert list(get_backend("openvino").precisions(network)) == precisions
    machine.cpu_features.cache_clear()
