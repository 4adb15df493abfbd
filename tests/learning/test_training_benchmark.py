"""benchmarks/training.py keeps its contract: one JSON object, losses that were compared, networks left out by name."""

import json
import runpy
import sys
from pathlib import Path

import pytest
from places import BENCHMARKS

BENCHMARK = BENCHMARKS / "training.py"


def test_the_benchmark_prints_its_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.chdir(tmp_path)
    small = ["--games", "3", "--seconds", "0.1", "--rounds", "2", "--batch", "8", "--threads", "1", "--device", "cpu"]
    monkeypatch.setattr(sys, "argv", [str(BENCHMARK), "--json", "--networks", "1x8", "resnet2x8", *small])
    runpy.run_path(str(BENCHMARK), run_name="__main__")
    report = json.loads(capsys.readouterr().out)
    assert (report["device"], report["threads"], report["left_out"]) == ("cpu", 1, [])
    assert report["loader"]["positions_per_cpu_s"] > 0
    assert [each["network"] for each in report["networks"]] == ["1x8", "resnet2x8"]
    for each in report["networks"]:
        assert each["batch"] == 8
        assert len(each["ratios"]) == 2
        assert each["ratio_to_bare_loop"] > 0
        assert 0 < each["share_of_peak"] < 2
    # A block has two convolutions of 3x3: 2 operations, 81 squares, 9 weights, 64 pairs of channels; backwards twice.
    more = report["networks"][1]["gflop_per_position"] - report["networks"][0]["gflop_per_position"]
    assert more == pytest.approx(3 * 2 * 2 * 81 * 9 * 64 / 1e9, abs=0.01)
    assert not list(tmp_path.iterdir())


def test_sparse_networks_have_a_row(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    small = ["--games", "3", "--seconds", "0.1", "--rounds", "2", "--sparse-batch", "16", "--device", "cpu"]
    monkeypatch.setattr(sys, "argv", [str(BENCHMARK), "--json", "--networks", "sparse-64x64", *small])
    runpy.run_path(str(BENCHMARK), run_name="__main__")
    (row,) = json.loads(capsys.readouterr().out)["networks"]
    assert (row["network"], row["batch"], row["threads"]) == ("sparse-64x64", 16, 1)
    assert len(row["rates"]) == 2
    assert row["positions_per_cpu_s"] > 0


def test_no_time_left_leaves_networks_out(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    arguments = ["--json", "--networks", "1x8", "--games", "3", "--seconds", "0.1", "--device", "cpu", "--minutes", "0"]
    monkeypatch.setattr(sys, "argv", [str(BENCHMARK), *arguments])
    runpy.run_path(str(BENCHMARK), run_name="__main__")
    report = json.loads(capsys.readouterr().out)
    assert (report["networks"], report["left_out"]) == ([], ["1x8"])
