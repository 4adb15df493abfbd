"""benchmarks/csa.py keeps its contract: one JSON object, and games that were compared."""

from benchmark_figures import figures_of


def test_the_benchmark_prints_its_figures() -> None:
    figures = figures_of("csa.py", "--rounds", 1, "--games", 8)
    assert (figures["games"], figures["left_out"]) == (8, 0)
    assert all(figures[name] > 0 for name in ("ours_games_per_s", "cshogi_games_per_s", "ratio"))
