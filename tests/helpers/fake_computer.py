"""A computer with GPUs that is not there: what the system, the libraries and the package manager say is made up.

What a library computes, it computes on the CPU, with the network and the batch sizes that it was given.
"""

import sys
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from fukayomi.engine.evaluators.backends import gpu_libraries, machine, onnx, onnx_model, openvino_model
from fukayomi.engine.evaluators.backends.machine import Gpu

ort: Any = onnx_model.ort


@dataclass
class FakeComputer:
    """What was asked of the libraries."""

    sessions: list[tuple[str, dict[str, str], bool]] = field(default_factory=list[Any])
    """Provider, options and memory patterns of each of ONNX Runtime's sessions on a GPU."""
    compiled: list[tuple[str, dict[str, Any], list[int]]] = field(default_factory=list[Any])
    """Device, options and shape of input1 of each network that OpenVINO compiled for a GPU or an NPU."""
    batches: list[int] = field(default_factory=list[int])
    """Sizes of the batches on a GPU."""
    at_once: list[int] = field(default_factory=list[int])
    """Batches that were computed at once whenever one began."""


def fake_computer(
    monkeypatch: pytest.MonkeyPatch,
    *,
    system: str = "Linux",
    gpus: tuple[Gpu, ...] = (),
    has_driver: bool = True,
    installed: tuple[str, ...] = ("onnxruntime",),
    providers: tuple[str, ...] = (),
    devices: tuple[str, ...] = ("CPU",),
) -> FakeComputer:
    """Make fukayomi believe in a computer.

    Args:
        monkeypatch: Undoes it.
        system: As `machine.system` names it.
        gpus: The GPUs.
        has_driver: False: NVIDIA's driver is not installed.
        installed: Distributions of ONNX Runtime.
        providers: Those of ONNX Runtime beside the CPU.
        devices: Those of OpenVINO.
    """
    computer = FakeComputer()
    driven = tuple(gpu.name for gpu in gpus if gpu.vendor == "NVIDIA" and has_driver)
    monkeypatch.setattr(machine, "system", lambda: system)
    monkeypatch.setattr(machine, "gpus", lambda: gpus)
    monkeypatch.setattr(machine, "nvidia_driver_gpus", lambda: driven)
    monkeypatch.setattr(onnx, "versions", lambda names: {name: "1.31" for name in names if name in installed})
    monkeypatch.setattr(onnx, "library_problem", lambda _: None)
    monkeypatch.setattr(ort, "get_available_providers", lambda: [*providers, "CPUExecutionProvider"])
    monkeypatch.setattr(onnx_model, "ort", _fake_runtime(computer))
    real = openvino_model.the_core()
    monkeypatch.setattr(openvino_model, "the_core", lambda: _FakeCore(computer, real, list(devices)))
    gpu_libraries.find_plugin.cache_clear()
    return computer


def fake_plugin(monkeypatch: pytest.MonkeyPatch, *, devices: int = 1, error: str = "") -> None:
    """Install ONNX Runtime's plug-in for WebGPU, which finds so many devices, or fails to be loaded."""

    def register(_: str, path: str) -> None:
        assert path == "libwebgpu.so"
        if error:
            raise RuntimeError(error)

    plugin = ModuleType("onnxruntime_ep_webgpu")
    plugin.__spec__ = ModuleSpec("onnxruntime_ep_webgpu", None)
    vars(plugin).update(get_library_path=lambda: "libwebgpu.so", get_ep_name=lambda: "WebGpuExecutionProvider")
    monkeypatch.setitem(sys.modules, plugin.__name__, plugin)
    monkeypatch.setattr(ort, "register_execution_provider_library", register)
    names = ("CPUExecutionProvider", *("WebGpuExecutionProvider",) * devices)
    monkeypatch.setattr(ort, "get_ep_devices", lambda: [SimpleNamespace(ep_name=name) for name in names])
    gpu_libraries.find_plugin.cache_clear()


def _fake_runtime(computer: FakeComputer) -> Any:
    """ONNX Runtime with sessions of any provider, which compute on the CPU."""

    class Options(ort.SessionOptions):
        plugin: tuple[str, dict[str, str]] | None = None

        def add_provider_for_devices(self, devices: list[Any], options: dict[str, str]) -> None:
            self.plugin = devices[0].ep_name, options

    class Session:
        def __init__(self, path: str, options: Options, *, providers: list[Any], enable_fallback: bool) -> None:
            assert not enable_fallback
            self.provider, given = options.plugin or providers[0]
            self.is_gpu = self.provider != "CPUExecutionProvider"
            if self.is_gpu:
                computer.sessions.append((self.provider, given, options.enable_mem_pattern))
            self.session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])

        def get_providers(self) -> list[str]:
            return [self.provider, "CPUExecutionProvider"]

        def run(self, names: list[str], feed: dict[str, Any]) -> list[Any]:
            if not self.is_gpu:
                return self.session.run(names, feed)
            computer.batches.append(len(feed["input1"]))
            running.append(self)
            computer.at_once.append(len(running))
            found = self.session.run(names, feed)
            running.remove(self)
            return found

        def __getattr__(self, name: str) -> Any:
            return getattr(self.session, name)

    running: list[Session] = []
    return SimpleNamespace(**(vars(ort) | {"SessionOptions": Options, "InferenceSession": Session}))


class _FakeCore:
    """OpenVINO's core with other devices, which compute on the CPU."""

    def __init__(self, computer: FakeComputer, core: Any, devices: list[str]) -> None:
        self.computer, self.core, self.available_devices = computer, core, devices

    def compile_model(self, model: Any, device: str, options: dict[str, Any]) -> Any:
        if device == "CPU":
            return self.core.compile_model(model, device, options)
        assert device in self.available_devices
        shape = [each.get_length() if each.is_static else -1 for each in model.inputs[0].partial_shape]
        self.computer.compiled.append((device, options, shape))
        return self.core.compile_model(model, "CPU")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.core, name)
