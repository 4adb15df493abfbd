"""benchmarks/leaves.py keeps its contract: one JSON object with the figures."""

import json
import subprocess
import sys

import pytest
from places import BENCHMARKS


@pytest.mark.parametrize("further", [[], ["--nodes", "60", "--searched", "8"]])
def test_the_figures_of_leaves(further: list[str]) -> None:
    options = ("--json", "--model", "<hash>", "--positions", "3000", "--repeats", "1", *further)
    command = [sys.executable, str(BENCHMARKS / "leaves.py"), *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert 0 < found["leaves_per_cpu_s"] <= found["evaluated_per_cpu_s"]
    assert found["games_evaluated_per_cpu_s"] > 0
    assert found["share_of_games"] > 0
