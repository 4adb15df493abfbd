"""benchmarks/batches.py and gpu_play.py keep their contract: one JSON object with the figures, on a CPU too."""

import json
import subprocess
import sys
from typing import Any

import pytest
from places import BENCHMARKS


def figures(name: str, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, str(BENCHMARKS / name), "--json", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_searches_at_once_beside_searches_in_turn() -> None:
    found = figures("batches.py", "--model", "<hash>", "--positions", "3", "--visits", "20", "--repeats", "1")
    assert set(found["per_s"]) == {"alone", "at_once", "in_turn", "small"}
    assert all(rate > 0 for rate in (*found["per_s"].values(), *found["per_cpu_s"].values()))
    assert found["positions"] == 3


def test_a_tiny_network_is_measured_as_large_ones_on_a_gpu() -> None:
    pytest.importorskip("torch")
    arguments = ("--shapes", "1x8", "2x8", "--device", "torch", "--seconds", "0.05", "--repeats", "1")
    found = figures("gpu_play.py", *arguments, "--minutes", "0.0001")
    assert (found["device"], found["left_out"]) == ("torch", ["2x8"])
    (network,) = found["networks"]
    assert network["network"] == "1x8"
    for name in ("ceiling_per_s", "search_per_s", "at_once_per_s"):
        assert network[name] > 0
