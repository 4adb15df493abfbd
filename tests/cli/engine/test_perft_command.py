"""`fukayomi perft`: counts, one JSON object, errors."""

import json
from functools import partial

import command_runs

run = partial(command_runs.invoke, "perft")


def test_counts_positions() -> None:
    assert run(3).stdout.startswith("25,470 positions in ")
    figures = json.loads(run(2, "--json").stdout)
    assert set(figures) == {"nodes", "seconds"}
    assert figures["nodes"] == 900


def test_counts_from_any_position() -> None:
    run_mated = run(1, "--sfen", "7k1/7G1/7P1/9/9/9/9/9/K8 w - 2", "--json")
    assert json.loads(run_mated.stdout)["nodes"] == 0


def test_a_bad_sfen_is_quoted() -> None:
    result = run(1, "--sfen", "nonsense")
    assert result.exit_code == 2
    assert "nonsense" in result.stderr
