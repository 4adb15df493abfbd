"""Libraries that report to their makers are kept from it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPORTS = ("CI", "ORT_DISABLE_TELEMETRY", "TF_BUILD", "JENKINS_URL", "RAY_USAGE_STATS_ENABLED")
"""Variables with which libraries are silent anyway."""


def run(code: str, home: Path) -> str:
    """What a program prints that has never run before."""
    environment = {name: value for name, value in os.environ.items() if name not in REPORTS}
    environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "USERPROFILE": str(home)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True, timeout=120
    ).stdout


@pytest.mark.parametrize("device", ["cpu", "openvino"])
def test_a_network_leaves_no_trace_but_its_own(device: str, tmp_path: Path) -> None:
    if device == "openvino":
        pytest.importorskip("openvino")

    printed = run(
        "import sys, fukayomi\n"
        f"with fukayomi.Network(device={device!r}, precision='fp32', threads=1, batch_size=8) as network:\n"
        "    network.evaluate(fukayomi.Position())\n"
        "print('openvino_telemetry' in sys.modules)",
        tmp_path,
    )

    assert printed.split() == ["False"]
    assert {path.name for path in tmp_path.iterdir()} <= {"cache"}
    assert {path.name for path in (tmp_path / "cache").glob("*")} <= {"fukayomi"}


def test_looking_for_a_gpu_leaves_none_either(tmp_path: Path) -> None:
    pytest.importorskip("openvino")

    printed = run(
        "import sys\n"
        "from fukayomi.engine.evaluators.backends.backend import get_backend\n"
        "get_backend('openvino-gpu').problem()\n"
        "print('openvino' in sys.modules, 'openvino_telemetry' in sys.modules)",
        tmp_path,
    )

    assert printed.split() == ["True", "False"]


def test_the_library_itself_would_have_left_one(tmp_path: Path) -> None:
    run("import onnxruntime", tmp_path)

    assert list(tmp_path.rglob("deviceid"))


def test_the_user_may_decide_otherwise(tmp_path: Path) -> None:
    name = "ORT_DISABLE_TELEMETRY"
    code = f"import os; os.environ[{name!r}] = '0'; import fukayomi; print(os.environ[{name!r}])"

    assert run(code, tmp_path).split() == ["0"]
