"""The benchmark of the page measures what it says."""

import json
import os
import subprocess
import sys

from patience import PATIENCE_S
from places import BENCHMARKS


def test_benchmark_prints_its_figures() -> None:
    short = ["--seconds", "0.2", "--rounds", "1", "--moves", "5", "--watchers", "2"]
    run = subprocess.run(
        [sys.executable, str(BENCHMARKS / "web.py"), "--json", "--evaluator", "<hash>", *short],
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": ""},  # without Chromium
        timeout=10 * PATIENCE_S,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found.pop("ready_ms") is None
    assert set(found) == {"move_p95_ms", "first_report_ms", "search_loss", "watched_loss"}
    assert found["move_p95_ms"] > 0
    assert found["first_report_ms"] > 0
    assert found["search_loss"] < 1
