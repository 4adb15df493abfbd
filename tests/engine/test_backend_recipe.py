"""docs/how-to-add-a-backend.md, followed step by step with the code on the page."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from fake_computer import fake_computer
from toy_network import write_network

from fukayomi.engine import EvaluatorError
from fukayomi.engine.choice import load
from fukayomi.engine.evaluators.backends import onnx
from fukayomi.engine.evaluators.backends.backend import BACKENDS, Plan
from fukayomi.engine.evaluators.backends.network_file import NetworkFile

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to-add-a-backend.md"
CODE = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
AFTERWARDS = """
import fukayomi.engine.measuring.doctor as doctor
doctor.SECONDS = doctor.choice.MEASURE_S = 0.001
for other in ("native", "openvino", "torch", "opencl"):  # others of the CPU take long to be measured
    del BACKENDS[other]
(row,) = (row for row in doctor.diagnose(path).backends if row.backend == "NAME")
print(row.precision, row.top1, row.problem)
try:
    Network(bad, device="NAME")
except fukayomi.EvaluatorError as error:
    print(error)
"""


def test_a_backend_is_added_by_the_steps_of_the_page(tmp_path: Path) -> None:
    module, line, _, check = CODE
    found = re.fullmatch(r'    "(\w+)": "fukayomi\.engine\.evaluators\.backends\.(\w+):\w+",\n', line)
    assert found is not None
    name, file = found.groups()
    (tmp_path / f"{file}.py").write_text(module, encoding="utf-8")
    network = write_network(tmp_path / "toy.onnx")
    bad = write_network(tmp_path / "bad.onnx", planes=((62, 9, 9), (119, 9, 9)))
    script = [
        "import fukayomi",
        "import fukayomi.engine.evaluators.backends as backends",
        "from fukayomi.engine.evaluators.backends.backend import BACKENDS",
        f"backends.__path__.append({str(tmp_path)!r})",  # the module is imported as if it were in the package
        f"BACKENDS.update({{{line.strip()}}})",  # before the options are made
        f"path, bad = {str(network)!r}, {str(bad)!r}",
        check,
        AFTERWARDS.replace("NAME", name),
    ]
    (tmp_path / "main.py").write_text("\n".join(script), encoding="utf-8")
    done = subprocess.run([sys.executable, tmp_path / "main.py"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    measured, refused = done.stdout.splitlines()
    assert measured.split() == ["fp32", "1.0"]
    assert "entering kings" in refused


def test_a_provider_of_onnx_runtime_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found: dict[str, type] = {}
    exec(CODE[2], vars(onnx), found)  # as if it stood in the module
    ((cls, row),) = found.items()
    monkeypatch.setattr(onnx, cls, row, raising=False)
    monkeypatch.setitem(BACKENDS, "onnx-openvino", f"{onnx.__name__}:{cls}")
    network = NetworkFile(write_network(tmp_path / "toy.onnx"))
    fake_computer(monkeypatch)
    with pytest.raises(EvaluatorError, match="pip uninstall -y onnxruntime, then pip install onnxruntime-openvino"):
        load(network, Plan("onnx-openvino"))
    computer = fake_computer(monkeypatch, providers=("OpenVINOExecutionProvider",))
    assert load(network, Plan("onnx-openvino", "fp16")).batch_size == 32
    provider, options, _ = computer.sessions[0]
    assert provider == "OpenVINOExecutionProvider"
    assert options["precision"] == "FP16"
    assert Path(options["cache_dir"]).is_dir()
