"""benchmarks/selfplay.py keeps its contract: one JSON object with the figures."""

import json
import subprocess
import sys

from places import BENCHMARKS


def test_the_figures_of_self_play() -> None:
    options = ("--model", "<hash>", "--games", "4", "8", "--playouts", "8", "--seconds", "0.05", "--repeats", "1")
    command = [sys.executable, str(BENCHMARKS / "selfplay.py"), "--json", *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["left_out"] == []
    assert [network["games"] for network in found["networks"]] == [4, 8]
    for network in found["networks"]:
        assert network["share_of_evaluator"] > 0
        assert network["share_of_evaluator_by_cpu"] > 0
        assert network["moves_per_hour"] > 0
    assert found["hash"]["share_of_engine"] > 0
    assert found["hash"]["bytes_a_game"] > 0
