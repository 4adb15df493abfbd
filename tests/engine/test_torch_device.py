"""What is asked of torch on a GPU, with a stand-in for torch.cuda; what is known of GPUs without importing torch."""

import subprocess
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends import backend as backend_table
from fukayomi.engine.evaluators.backends import machine, torch_build
from fukayomi.engine.evaluators.backends import torch as torch_backend
from fukayomi.engine.evaluators.backends.backend import get_backend

torch = pytest.importorskip("torch")

from fukayomi.engine.evaluators.backends import torch_device  # noqa: E402

NO_TORCH = """
import sys
from fukayomi.engine.choice import find_candidates
from fukayomi.engine.evaluators.backends.backend import Plan
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.network import embedded_network
found = find_candidates(NetworkFile(embedded_network()), Plan())
print([backend.name for backend, _ in found], "torch" in sys.modules)
"""


SETTINGS = """
import torch
from fukayomi.engine.evaluators.backends.torch_device import arithmetic
cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul

def read():
    return cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision, matmul.fp32_precision, cudnn.benchmark

def check():
    before = read()
    with arithmetic():
        assert cudnn.conv.fp32_precision in ("none", "ieee") and matmul.fp32_precision in ("none", "ieee"), read()
        assert cudnn.benchmark
    assert read() == before, (read(), before)

check()
assert cudnn.allow_tf32
torch.set_float32_matmul_precision("high")
check()
assert torch.get_float32_matmul_precision() == "high"
cudnn.conv.fp32_precision = matmul.fp32_precision = "ieee"
check()
cudnn.conv.fp32_precision = matmul.fp32_precision = "tf32"
check()
"""


class FakeCuda:
    """torch.cuda of a computer with two GPUs, as far as it is used; it writes down what happens."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.error: Exception | None = None
        """What capturing raises."""
        self.streams = 0
        self.pools = 0
        self.failed_pools: set[str] = set()
        self.current = "default"
        self.Stream = self.stream_of
        self.CUDAGraph = lambda: SimpleNamespace(replay=lambda: self.log.append("replay"))

    def is_available(self) -> bool:
        return True

    def device_count(self) -> int:
        return 2

    def get_device_name(self, target: Any) -> str:
        return "Fake 1000"

    def get_device_capability(self, target: Any) -> tuple[int, int]:
        return 6, 1

    def get_device_properties(self, target: Any) -> Any:
        return SimpleNamespace(gcnArchName="gfx1100")

    def get_arch_list(self) -> list[str]:
        return ["sm_75", "sm_80"]

    def stream_of(self, target: Any) -> Any:
        self.streams += 1
        return SimpleNamespace(
            number=target.index,
            synchronize=lambda: self.log.append("synchronize"),
            wait_stream=lambda other: self.log.append(f"wait for {other}"),
        )

    def current_stream(self) -> str:
        return self.current

    def graph_pool_handle(self) -> str:
        self.pools += 1
        return f"pool {self.pools}"

    @contextmanager
    def _context(self, name: str) -> Generator[None]:
        self.log.append(f"begin {name}")
        yield
        self.log.append(f"end {name}")

    def device(self, target: Any) -> Any:
        return self._context(f"GPU {target.index}")

    @contextmanager
    def stream(self, stream: Any) -> Any:
        before, self.current = self.current, f"stream {stream.number}"
        with self._context(self.current):
            yield
        self.current = before

    @contextmanager
    def graph(self, graph: Any, *, pool: str, stream: Any, capture_error_mode: str) -> Generator[None]:
        if pool in self.failed_pools:
            raise RuntimeError("beginAllocateToPool: already recording to mempool_id")
        with self._context(f"graph {pool} {stream.number} {capture_error_mode}"):
            self.current = f"stream {stream.number}"
            yield
            if self.error is not None:  # as in torch, the pool and the current stream stay as they are
                self.failed_pools.add(pool)
                raise self.error


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    fake = FakeCuda()
    torch_device._unused_streams.cache_clear()
    names = ("backends", "inference_mode", "is_inference_mode_enabled", "device", "OutOfMemoryError", "__version__")
    replaced = {name: getattr(torch, name) for name in names}
    monkeypatch.setattr(
        torch_device, "torch", SimpleNamespace(cuda=fake, version=SimpleNamespace(hip=None), **replaced)
    )
    return fake


def flags() -> tuple[Any, ...]:
    backends = torch.backends
    return backends.cudnn.conv.fp32_precision, backends.cuda.matmul.fp32_precision, backends.cudnn.benchmark


def test_a_graph_is_captured_after_warming_up_in_its_own_stream_with_exact_arithmetic(cuda: FakeCuda) -> None:
    before = flags()
    seen: list[Any] = []

    def compute() -> None:
        cuda.log.append("compute")
        seen.append((flags(), torch.backends.cudnn.allow_tf32, torch.is_inference_mode_enabled()))

    queue = torch_device.Gpu(1, Path("a.onnx")).queue()
    cuda.log.clear()
    replay = queue.capture(compute)
    warm_up = ["compute"] * torch_device.WARM_UP_RUNS
    assert cuda.log == [
        "begin GPU 1", "wait for default", "begin stream 1", *warm_up, "synchronize",
        "begin graph pool 1 1 thread_local", "compute", "end graph pool 1 1 thread_local", "end stream 1", "end GPU 1",
    ]  # fmt: skip
    assert set(seen) == {(("none", "none", True), False, True)}
    assert flags() == before
    cuda.log.clear()
    with queue.active():
        replay()
    queue.synchronize()
    assert cuda.log == ["begin stream 1", "replay", "end stream 1", "synchronize"]


def test_settings_of_a_program_are_as_they_were() -> None:
    """Also where it uses torch's newer ones."""
    subprocess.run([sys.executable, "-W", "error", "-c", SETTINGS], check=True, timeout=600)


def test_where_nothing_can_be_captured_networks_run_without_graphs(cuda: FakeCuda) -> None:
    queue = torch_device.Gpu(0, Path("a.onnx")).queue()
    runs: list[bool] = []
    cuda.error = RuntimeError("HIP error: operation not permitted when stream is capturing")
    with pytest.warns(UserWarning, match="without a graph, more slowly: HIP error"):
        replay = queue.capture(lambda: runs.append(torch.is_inference_mode_enabled()))
    before = len(runs)
    replay()
    assert runs[before:] == [True]
    assert torch.backends.cudnn.allow_tf32
    assert cuda.current == "default"
    queue.capture(lambda: None)()  # the next batch size
    cuda.error = torch.OutOfMemoryError("CUDA out of memory")
    with pytest.raises(torch.OutOfMemoryError):
        torch_device.Gpu(0, Path("a.onnx")).queue().capture(lambda: None)


def test_a_queue_has_a_stream_of_its_own_and_leaves_it_to_the_next(cuda: FakeCuda) -> None:
    """Torch gives out 32 in turn: otherwise what one queue does would get into the graph that another captures."""
    gpus = [torch_device.Gpu(number, Path("a.onnx")) for number in (0, 1)]
    kept = [gpus[0].queue(), gpus[0].queue(), gpus[1].queue()]
    assert cuda.streams == 3
    for _ in range(40):
        gpus[0].queue()
        gpus[1].queue()
    assert cuda.streams == 5
    del kept[:2]
    kept += [gpus[0].queue(), gpus[0].queue(), gpus[0].queue()]
    assert cuda.streams == 5


def test_a_gpu_that_is_not_there_is_named(cuda: FakeCuda) -> None:
    with pytest.raises(EvaluatorError, match=r"a\.onnx: torch finds no GPU 2 \(from 0\); it has 2"):
        torch_device.Gpu(2, Path("a.onnx"))


def test_architectures_of_both_makers(cuda: FakeCuda) -> None:
    gpu = torch_device.Gpu(0, Path("a.onnx"))
    assert gpu.name == "GPU 0 (Fake 1000)"
    assert gpu.architectures() == ("sm_61", ["sm_75", "sm_80"])
    torch_device.torch.version.hip = "7.1"
    assert gpu.architectures()[0] == "gfx1100"


# ------------------------------------------------------------------------------------------------- without torch


@pytest.mark.parametrize(
    ("text", "build"),
    [
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n", ""),
        ("__version__ = '2.13.0'\ncuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n", "CUDA 13.0"),
        (
            "debug = False\ncuda: Optional[str] = None\nhip: Optional[str] = '7.1.2'\nrocm: Optional[str] = None",
            "ROCm 7.1.2",
        ),
        ('cuda = "12.6"\n', "CUDA 12.6"),
        ("", ""),
    ],
)
def test_the_build_is_known_without_importing_torch(
    text: str, build: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "version.py").write_text(text)
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(torch_build, "util", SimpleNamespace(find_spec=lambda _: spec))
    assert torch_build.gpu_build.__wrapped__() == build


def test_the_problem_of_a_gpu_comes_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = get_backend("torch-cuda")
    for build, has_driver, problem in (
        ("", True, "the installed torch has no code for GPUs: pytorch.org"),
        ("CUDA 13.0", False, "there is no GPU of NVIDIA or AMD, or its driver is not installed"),
    ):
        monkeypatch.setattr(torch_backend, "gpu_build", lambda build=build: build)
        monkeypatch.setattr(torch_backend, "has_gpu_driver", lambda has_driver=has_driver: has_driver)
        assert str(backend.problem()).startswith(problem)

    def is_available() -> bool:
        warnings.warn("CUDA initialization: the driver is too old (found version 11040).\nMore", stacklevel=1)
        return False

    monkeypatch.setattr(torch_backend, "has_gpu_driver", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", is_available)
    assert backend.problem() == (
        "torch, built for CUDA 13.0, finds no GPU that it can use; its driver may be too old "
        "(CUDA initialization: the driver is too old (found version 11040).)"
    )
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert backend.problem() is None


NAMED = "pytorch.org names the pip install of its build for "
NOT_INSTALLED = "the library torch is not installed: "
PIP = 'pip install "fukayomi[torch]"'


@pytest.mark.parametrize(
    ("system", "vendor", "build", "problem"),
    [
        ("Linux", "NVIDIA", None, f"{NOT_INSTALLED}{PIP}"),
        ("Windows", "NVIDIA", None, f"{NOT_INSTALLED}{NAMED}CUDA, then {PIP}"),
        ("Linux", "AMD", None, f"{NOT_INSTALLED}{NAMED}ROCm, then {PIP}"),
        ("Windows", "NVIDIA", "", f"the installed torch has no code for GPUs: {NAMED}CUDA"),
        ("Linux", "AMD", "", f"the installed torch has no code for GPUs: {NAMED}ROCm"),
        ("Linux", "AMD", "CUDA 13.0", f"the installed torch is built for CUDA 13.0: {NAMED}ROCm"),
        ("Linux", "NVIDIA", "ROCm 7.1", f"the installed torch is built for ROCm 7.1: {NAMED}CUDA"),
        (
            "Linux",
            "NVIDIA",
            "CUDA 13.0",
            "torch, built for CUDA 13.0, finds no GPU that it can use; its driver may be too old",
        ),
    ],
)
def test_the_build_that_fits_the_gpu_is_named(
    monkeypatch: pytest.MonkeyPatch, system: str, vendor: str, build: str | None, problem: str
) -> None:
    monkeypatch.setattr(machine, "system", lambda: system)
    monkeypatch.setattr(machine, "gpus", lambda: (machine.Gpu(vendor, "Card 9000"),))
    monkeypatch.setattr(torch_backend, "gpu_build", lambda: build)
    monkeypatch.setattr(torch_backend, "has_gpu_driver", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    if build is None:
        monkeypatch.setattr(backend_table, "util", SimpleNamespace(find_spec=lambda _: None))
    assert get_backend("torch-cuda").problem() == problem


def test_torch_for_cpus_is_not_imported_for_a_network_in_onnx() -> None:
    if torch_build.gpu_build():
        pytest.skip("this torch has code for GPUs")
    done = subprocess.run([sys.executable, "-c", NO_TORCH], capture_output=True, text=True, timeout=600, check=True)
    names, _, is_loaded = done.stdout.strip().rpartition(" ")
    assert "cpu" in names
    assert "torch" not in names
    assert is_loaded == "False"
