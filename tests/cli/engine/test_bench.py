"""``fukayomi bench`` and benchmarks/search.py: their output, and the memory of a node."""

import json
import subprocess
import sys

from command_app import app
from places import BENCHMARKS
from typer.testing import CliRunner

from fukayomi.cli.engine.bench import DROPS_SFEN

BENCHMARK = BENCHMARKS / "search.py"


def test_one_json_object() -> None:
    arguments = ["bench", "--evaluator", "hash", "--sfen", DROPS_SFEN, "--nodes", "20000", "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert set(figures) == {"nodes", "nodes_per_cpu_s", "nodes_per_s", "bytes_per_node"}
    assert figures["nodes"] == 20_000
    assert 0 < figures["bytes_per_node"] <= 500
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


def test_the_benchmark_prints_its_figures() -> None:
    command = [sys.executable, BENCHMARK, "--json", "--nodes", "2000", "--repeats", "1"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert set(report) == {"start", "drops"}
    for figures in report.values():
        assert figures["nodes"] == 2000
        assert figures["ratio"] > 0
        assert figures["peers"]["fukauraou"]["nodes_per_cpu_s"] > 0
