"""benchmarks/training.py keeps its contract: one JSON object, losses that were compared, networks left out by name."""

from pathlib import Path

import pytest
from benchmark_figures import figures_of


def test_the_benchmark_prints_its_figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["--games", "3", "--seconds", "0.1", "--rounds", "2", "--batch", "8", "--threads", "1", "--device", "cpu"]
    report = figures_of("training.py", "--networks", "1x8", "sparse-64x64", "resnet2x8", "--sparse-batch", "16", *small)
    assert (report["device"], report["threads"], report["left_out"]) == ("cpu", 1, [])
    assert report["loader"]["positions_per_cpu_s"] > 0
    one, sparse, two = report["networks"]
    assert [each["network"] for each in report["networks"]] == ["1x8", "sparse-64x64", "resnet2x8"]
    for each in (one, two):
        assert each["batch"] == 8
        assert len(each["ratios"]) == 2
        assert each["ratio_to_bare_loop"] > 0
        assert 0 < each["share_of_peak"] < 2
    # A block has two convolutions of 3x3: 2 operations, 81 squares, 9 weights, 64 pairs of channels; backwards twice.
    more = two["gflop_per_position"] - one["gflop_per_position"]
    assert more == pytest.approx(3 * 2 * 2 * 81 * 9 * 64 / 1e9, abs=0.01)
    assert (sparse["batch"], sparse["threads"], len(sparse["rates"])) == (16, 1, 2)
    assert sparse["positions_per_cpu_s"] > 0
    assert not list(tmp_path.iterdir())


def test_no_time_left_leaves_networks_out() -> None:
    small = ["--games", 3, "--seconds", 0.1, "--device", "cpu", "--minutes", 0]
    report = figures_of("training.py", "--networks", "1x8", *small)
    assert (report["networks"], report["left_out"]) == ([], ["1x8"])
