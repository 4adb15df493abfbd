"""benchmarks/csa.py keeps its contract: one JSON object, and games that were compared."""

import json
import subprocess
import sys

from places import BENCHMARKS

BENCHMARK = BENCHMARKS / "csa.py"


def test_the_benchmark_prints_its_figures() -> None:
    command = [sys.executable, BENCHMARK, "--json", "--rounds", "1", "--games", "8"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout)
    assert (figures["games"], figures["left_out"]) == (8, 0)
    assert all(figures[name] > 0 for name in ("ours_games_per_s", "cshogi_games_per_s", "ratio"))
