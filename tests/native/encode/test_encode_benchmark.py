"""benchmarks/encode.py keeps its contract: one JSON object, and outputs that were compared."""

from benchmark_figures import figures_of


def test_the_benchmark_prints_its_figures():
    figures = figures_of("encode.py", "--rounds", 1)
    assert set(figures) == {"ours_positions_per_s", "cshogi_positions_per_s", "ratio"}
    assert all(figure > 0 for figure in figures.values())
