"""Which library keeps ONNX Runtime from a GPU, and how to get it. No GPU is needed: the libraries are fakes."""

import ctypes
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from fukayomi.engine.evaluators.backends import gpu_libraries, machine
from fukayomi.engine.evaluators.backends.backend import get_backend

PROVIDERS = ["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]
ABSENT = "cannot open shared object file: No such file or directory"
CUDA, TENSORRT = "libonnxruntime_providers_cuda.so", "libonnxruntime_providers_tensorrt.so"
Install = Callable[..., list[tuple[str, int]]]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs an ONNX Runtime whose libraries give these errors; returns what is loaded later, with the mode."""
    folder = tmp_path / "onnxruntime" / "capi"
    folder.mkdir(parents=True)
    for name in ("libonnxruntime_providers_shared.so", CUDA, TENSORRT):
        (folder / name).touch()
    monkeypatch.setattr(machine, "nvidia_driver_gpus", lambda: ("T4",))

    def installed(errors: dict[str, str], **attributes: object) -> list[tuple[str, int]]:
        loaded: list[tuple[str, int]] = []

        def load(path: str, mode: int = 0) -> None:
            loaded.append((Path(path).name, mode))
            if Path(path).name in errors:
                raise OSError(errors[Path(path).name])

        runtime = SimpleNamespace(
            __file__=str(folder.parent / "__init__.py"), get_available_providers=lambda: PROVIDERS, **attributes
        )
        monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
        monkeypatch.setattr(gpu_libraries, "ctypes", SimpleNamespace(CDLL=load, RTLD_GLOBAL=ctypes.RTLD_GLOBAL))
        gpu_libraries.library_problem.cache_clear()
        return loaded

    yield installed
    gpu_libraries.library_problem.cache_clear()


@pytest.mark.parametrize(
    ("missing", "remedy"),
    [
        ("libcudnn.so.9", 'pip install "onnxruntime-gpu[cuda,cudnn]>=1.21"'),
        ("libnvrtc.so.13", 'pip install "onnxruntime-gpu[cuda,cudnn]>=1.21"'),
        ("libnvinfer.so.10", 'pip install "tensorrt-cu13==10.*"'),
        ("libcuda.so.1", "it comes with NVIDIA's driver"),
        ("libgomp.so.1", "install it by the system's package manager"),
    ],
)
def test_the_library_that_is_missing_is_named_with_the_remedy(install: Install, missing: str, remedy: str) -> None:
    install({TENSORRT: f"{missing}: {ABSENT}"}, cuda_version="13.0")
    assert get_backend("tensorrt").problem() == f"the library {missing} is not installed: {remedy}"
    assert get_backend("cuda").problem() is None


def test_an_older_onnx_runtime_does_not_name_its_cuda(install: Install) -> None:
    install({TENSORRT: f"libnvinfer.so.10: {ABSENT}"})
    assert '"tensorrt-cu12==10.*"' in str(get_backend("tensorrt").problem())


def test_another_error_of_the_loader_is_passed_on(install: Install) -> None:
    install({CUDA: "/lib/libcublas.so.12: undefined symbol: cublasLt"})
    assert get_backend("cuda").problem() == (
        f"{CUDA} cannot be loaded: /lib/libcublas.so.12: undefined symbol: cublasLt"
    )


def test_what_pip_installed_is_loaded_first_once_and_silently(
    install: Install, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def preload() -> None:
        print("Failed to load libcublas.so.13")
        loaded.append(("preload_dlls", 0))

    loaded = install({}, preload_dlls=preload)
    (tmp_path / "tensorrt_libs.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    for _ in range(2):
        assert get_backend("tensorrt").problem() is None
    shared = ("libonnxruntime_providers_shared.so", ctypes.RTLD_GLOBAL)
    assert loaded == [("preload_dlls", 0), shared, (TENSORRT, 0)]
    assert "tensorrt_libs" in sys.modules
    monkeypatch.delitem(sys.modules, "tensorrt_libs")
    assert capfd.readouterr() == ("", "")


def test_without_a_gpu_or_such_a_file_nothing_is_loaded(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = install({CUDA: f"libcudnn.so.9: {ABSENT}"})
    (tmp_path / "onnxruntime" / "capi" / CUDA).unlink()  # as on Windows, where the files have other names
    assert get_backend("cuda").problem() is None
    monkeypatch.setattr(machine, "nvidia_driver_gpus", tuple)
    assert "no NVIDIA GPU" in str(get_backend("tensorrt").problem())
    assert not loaded
