"""benchmarks/encode.py keeps its contract: one JSON object, and outputs that were compared."""

import json
import subprocess
import sys

from places import BENCHMARKS

BENCHMARK = BENCHMARKS / "encode.py"


def test_the_benchmark_prints_its_figures():
    command = [sys.executable, BENCHMARK, "--json", "--rounds", "1"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout)
    assert set(figures) == {"ours_positions_per_s", "cshogi_positions_per_s", "ratio"}
    assert all(figure > 0 for figure in figures.values())
