"""The benchmark of the page measures what it says."""

import pytest
from benchmark_figures import figures_of


def test_benchmark_prints_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")  # without Chromium
    short = ["--seconds", "0.2", "--rounds", "1", "--moves", "5", "--watchers", "2"]
    found = figures_of("web.py", "--evaluator", "<hash>", *short)
    assert found.pop("ready_ms") is None
    assert set(found) == {"move_p95_ms", "first_report_ms", "search_loss", "watched_loss"}
    assert found["move_p95_ms"] > 0
    assert found["first_report_ms"] > 0
    assert found["search_loss"] < 1
