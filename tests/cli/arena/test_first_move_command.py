"""``fukayomi first-move``: the lines and the JSON object."""

import json
from pathlib import Path

import pytest
from command_app import app
from typer.testing import CliRunner

CSA = "V2.2\nN+{}\nN-{}\nPI\n+\n+7776FU\n-3334FU\n%TORYO\n"  # White's win: Black resigns


def write_games(folder: Path) -> None:
    for number, (black, white) in enumerate([("a", "b"), ("a", "b"), ("b", "a"), ("c\x1b[31m", "a")]):
        (folder / f"{number}.csa").write_text(CSA.format(black, white), encoding="utf-8")


def test_all_games_and_distinct_ones(tmp_path: Path) -> None:
    write_games(tmp_path)
    everything = CliRunner().invoke(app, ["first-move", str(tmp_path)])
    assert everything.exit_code == 0, everything.output
    lines = everything.stdout.splitlines()
    assert lines[:6] == [
        "a vs b: 1-2-0 (33.3%)",
        "Black vs White: 0-3-0 (0.0%)",
        "a playing Black: 0-2-0 (0.0%)",
        "a playing White: 1-0-0 (100.0%)",
        "b playing Black: 0-1-0 (0.0%)",
        "b playing White: 2-0-0 (100.0%)",
    ]
    assert lines[6:8] == ["95 % interval of Black vs White: 0.0% to 56.1%", ""]
    assert "a, mean over 2 opponents: Black vs White 0.00%, playing Black 0.00%, playing White 100.00%" in lines
    assert "All games, Black vs White: 0-4-0 (0.0%)" in lines
    assert "4 games, a draw is half a win" in lines[-1]
    assert "1 repeats the moves of an earlier game" in lines[-1]
    assert "\x1b" not in everything.stdout
    distinct = CliRunner().invoke(app, ["first-move", str(tmp_path), "--distinct"])
    assert "a vs b: 1-1-0 (50.0%)" in distinct.stdout


def test_one_json_object(tmp_path: Path) -> None:
    write_games(tmp_path)
    result = CliRunner().invoke(app, ["first-move", str(tmp_path), "--distinct", "--json"])
    found = json.loads(result.stdout)
    assert (found["games"], found["identical"], found["distinct"]) == (3, 1, True)
    black = found["pairings"][0]["black"]
    assert (black.pop("low"), black.pop("high")) == (0.0, pytest.approx(0.6576, abs=1e-4))
    assert (found["black"]["low"], found["black"]["high"]) == (0.0, pytest.approx(0.5615, abs=1e-4))
    for score in found["pairings"][0].values():
        if isinstance(score, dict) and score is not black:
            assert 0 <= score.pop("low") < score.pop("high") <= 1
    assert found["pairings"][0] == {
        "players": ["a", "b"],
        "first": {"wins": 1, "losses": 1, "draws": 0, "rate": 0.5},
        "black": {"wins": 0, "losses": 2, "draws": 0, "rate": 0.0},
        "first_as_black": {"wins": 0, "losses": 1, "draws": 0, "rate": 0.0},
        "first_as_white": {"wins": 1, "losses": 0, "draws": 0, "rate": 1.0},
        "second_as_black": {"wins": 0, "losses": 1, "draws": 0, "rate": 0.0},
        "second_as_white": {"wins": 1, "losses": 0, "draws": 0, "rate": 1.0},
    }
    (mean,) = found["means"]
    assert (mean["player"], mean["opponents"], mean["black"]) == ("a", 2, 0.0)


def test_a_source_without_games_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["first-move", str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
