"""``fukayomi bench`` and benchmarks/search.py: their output, and the memory of a node."""

import json
from functools import partial
from pathlib import Path

import pytest
from benchmark_figures import figures_of
from command_app import app
from typer.testing import CliRunner

from fukayomi.cli.engine.bench import DROPS_SFEN
from fukayomi.engine.measuring import speed


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network alone is measured for a moment, not for 5 seconds."""
    monkeypatch.setattr(speed, "measure_speed", partial(speed.measure_speed, seconds=0.05))


def test_one_json_object() -> None:
    arguments = ["bench", "--evaluator", "hash", "--sfen", DROPS_SFEN, "--nodes", "20000", "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert set(figures) == {"nodes", "nodes_per_cpu_s", "nodes_per_s", "bytes_per_node"}
    assert figures["nodes"] == 20_000
    assert 0 < figures["bytes_per_node"] <= 430, "426 each time, and less in larger trees"
    assert figures["nodes_per_cpu_s"] > 20_000, "far below the speed of any computer"


def test_the_table_shows_both_positions() -> None:
    result = CliRunner().invoke(app, ["bench", "--nodes", "500", "--batch", "8"])
    assert result.exit_code == 0
    assert "start" in result.stdout
    assert "many drops" in result.stdout


def test_a_bad_sfen_is_quoted() -> None:
    result = CliRunner().invoke(app, ["bench", "--sfen", "nonsense"])
    assert result.exit_code == 2
    assert "nonsense" in result.output


def test_a_decided_position_ends_early() -> None:
    result = CliRunner().invoke(app, ["bench", "--sfen", "4k4/9/9/9/9/9/4g4/4g4/4K4 b - 1", "--nodes", "500", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["nodes"] == 0


@pytest.mark.usefixtures("quickly")
def test_the_embedded_network_is_measured() -> None:
    result = CliRunner().invoke(app, ["bench", "--evaluator", "network", "--nodes", "20", "--batch", "4"])
    assert result.exit_code == 0, result.output
    for text in ("start", "middle game", "many drops", "embedded network", "evaluations/s alone, batch 4"):
        assert text in result.stdout


@pytest.mark.usefixtures("quickly")
def test_a_network_is_measured_as_json(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from toy_network import write_network

    path = write_network(tmp_path / "toy.onnx")
    result = CliRunner().invoke(app, ["bench", "--model", str(path), "--nodes", "50", "--sfen", DROPS_SFEN, "--json"])
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert set(figures) == {"network", "identity", "batch_size", "slots", "evaluations_per_s", "searches"}
    assert figures["network"] == "toy.onnx"
    assert figures["evaluations_per_s"] > 0
    (search,) = figures["searches"]
    assert set(search) == {"position", "nodes", "evaluations", "seconds", "nodes_per_s"}
    assert (search["position"], search["nodes"]) == ("given", 50)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--model", "none.onnx"], "no file"),
        (["--evaluator", "network", "--sfen", "7k1/7G1/7P1/9/9/9/9/9/K8 w - 2"], "legal move"),
        (["--evaluator", "network", "--batch", "2000"], "DNN_Batch_Size takes 0 to 1024"),
    ],
)
def test_what_cannot_be_measured_is_one_line(arguments: list[str], reason: str) -> None:
    result = CliRunner().invoke(app, ["bench", *arguments])
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert reason in line


def test_the_benchmark_prints_its_figures() -> None:
    report = figures_of("search.py", "--nodes", 2000, "--repeats", 1)
    assert set(report) == {"start", "drops", "workers", "boundary"}
    assert report["workers"]["ratio"] > 0
    assert report["boundary"]["us_per_position"] > 0
    for figures in (report["start"], report["drops"]):
        assert figures["play_nodes_per_cpu_s"] > 0
        assert figures["nodes"] == 2000
        assert figures["ratio"] > 0
        assert figures["peers"]["fukauraou"]["nodes_per_cpu_s"] > 0
