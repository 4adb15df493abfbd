"""benchmarks/selfplay.py and network_matches.py keep their contract: one JSON object with the figures."""

import sys
from pathlib import Path

from benchmark_figures import figures_of


def test_the_figures_of_self_play() -> None:
    options = (
        "--model",
        "<hash>",
        "<uniform>",
        "--games",
        "4",
        "8",
        "--playouts",
        "8",
        "--seconds",
        "0.2",
        "--repeats",
        "1",
    )
    engine = Path(__file__).parents[1] / "helpers" / "random_engine.py"
    options += ("--league", f"{sys.executable} {engine}", "--league-ms", "10", "--league-share", "0.5")
    found = figures_of("selfplay.py", *options)
    assert found["left_out"] == []
    names = ["hash", "hash", "uniform", "uniform"]
    assert [(network["name"], network["games"]) for network in found["networks"]] == list(
        zip(names, [4, 8] * 2, strict=True)
    )
    for network in found["networks"]:
        assert network["cpu_us_a_leaf"] > 0
        assert network["share_of_evaluator"] > 0
        assert network["share_of_evaluator_by_cpu"] > 0
        assert network["moves_per_hour"] > 0
        assert network["league"]["share_of_selfplay"] > 0
        assert network["league"]["moves_per_hour_with_league"] > 0
    assert found["hash"]["share_of_engine"] > 0
    assert found["hash"]["bytes_a_game"] > 0


def test_a_match_in_a_pool_beside_one_of_engines() -> None:
    found = figures_of("network_matches.py", "--preset", "tiny", "--games", 2, "--playouts", 2, "--repeats", 1)
    assert found["games"] == 2
    assert all(found[kind]["seconds"] > 0 < found[kind]["cpu_seconds"] for kind in ("pool", "engines"))
    assert found["ratio"] > 0
