"""What is known of the computer, and what depends on it."""

import os
import re
import sys
from pathlib import Path

import pytest
from toy_network import write_network

from fukayomi.engine import EvaluatorError
from fukayomi.engine.evaluators.backends import machine, onnx, onnx_model
from fukayomi.engine.evaluators.backends.backend import Plan, get_backend
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.backends.onnx import OnnxTensorrt


@pytest.fixture(autouse=True)
def _asked_anew() -> None:
    for function in (machine.gpu_names, machine.cpu_features):
        function.cache_clear()


@pytest.mark.skipif(sys.platform != "linux", reason="the fake driver is a shell script")
@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("echo 'NVIDIA A100-SXM4-40GB'; echo 'NVIDIA T4'", ("NVIDIA A100-SXM4-40GB", "NVIDIA T4")),
        ("echo 'No devices were found'; exit 6", ()),
        ("printf '\\377\\n'; exit 1", ()),
    ],
)
def test_gpus_are_those_that_the_driver_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, names: tuple[str, ...]
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert machine.gpu_names() == names
    machine.gpu_names.cache_clear()


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
        monkeypatch.setattr(onnx, "gpu_names", lambda: (gpu,))
        monkeypatch.setattr(onnx, "versions", lambda _: {"tensorrt": version})
        options = OnnxTensorrt().options(network, Plan("tensorrt", "fp16", 1, 2, batch))
        assert options["trt_profile_max_shapes"].startswith(f"input1:{max(batch, 256)}x62x9x9")
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
    assert opened[0] == opened[1] == OnnxTensorrt().engine_folder(network, plan)
    monkeypatch.setenv("XDG_CACHE_HOME", str(network.path))  # a file
    folder = OnnxTensorrt().engine_folder(network, plan)
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
