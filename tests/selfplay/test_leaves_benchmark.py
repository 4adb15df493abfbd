"""benchmarks/leaves.py keeps its contract: one JSON object with the figures."""

import pytest
from benchmark_figures import figures_of


@pytest.mark.parametrize("further", [[], ["--nodes", 60, "--searched", 8]])
def test_the_figures_of_leaves(further: list[object]) -> None:
    found = figures_of("leaves.py", "--model", "<hash>", "--positions", 3000, "--repeats", 1, *further)
    assert 0 < found["leaves_per_cpu_s"] <= found["evaluated_per_cpu_s"]
    assert found["games_evaluated_per_cpu_s"] > 0
    assert found["share_of_games"] > 0
