"""``fukayomi sprt``: the JSON object and the lines, from counts and from games; and errors."""

from functools import partial
from pathlib import Path

import command_runs
import pytest
from command_runs import write_pgn

run = partial(command_runs.invoke, "sprt")
run_json = partial(command_runs.run_json, "sprt")


def test_one_json_object_of_pairs() -> None:
    found = run_json(365, 16618, 36229, 16974, 390, "--elo0", 0, "--elo1", 2)
    assert found["llr"] == pytest.approx(2.250367703548933, abs=1e-6)
    assert (found["decision"], found["model"]) == ("continue", "normalized")
    assert (found["games"], found["pairs"]) == (141152, 70576)
    assert (found["lower"], found["upper"]) == pytest.approx((-2.944439, 2.944439), abs=1e-6)
    assert "wins" not in found
    assert found["elo"] == pytest.approx(0.999342812930731, abs=1e-6)
    assert set(found["stopped"]) == {"elo", "low", "high", "los"}


def test_one_json_object_of_games() -> None:
    found = run_json(20, 4, 76, "--model", "logistic", "--elo1", 20)
    assert (found["losses"], found["draws"], found["wins"], found["pairs"]) == (20, 4, 76, None)
    assert f"{found['win_rate_low']:.1%}-{found['win_rate_high']:.2%}" == "70.0%-86.09%"
    assert found["score"] == 0.78
    assert found["decision"] == "H1"


def test_the_lines_are_fastchess_s() -> None:
    lines = run(34, 54, 63, 64, 75, "--elo1", 5).stdout.splitlines()
    assert lines == [
        "Elo: 55.58 +/- 27.63, nElo: 57.94 +/- 28.28",
        "LOS: 100.00 %, DrawRatio: 21.72 %, PairsRatio: 1.58",
        "Games: 580, Points: 336.0 (57.93 %, a draw is half; 95 %: 54.01 to 61.75 %)",
        "Ptnml(0-2): [34, 54, 63, 64, 75]",
        "LLR: 1.30 (44.2%) (-2.94, 2.94) [0.00, 5.00] normalized",
        "Undecided: play on",
    ]


def test_the_lines_of_single_games() -> None:
    lines = run(20, 4, 76, "--elo0", -5, "--elo1", 50).stdout.splitlines()
    interval = "95 %: 69.17 to 84.85 %"
    assert f"Games: 100, Wins: 76, Losses: 20, Draws: 4, Points: 78.0 (78.00 %, a draw is half; {interval})" in lines
    assert "Win rate: 79.17% (70.00%-86.09%), draws left out" in lines
    assert lines[-2] == "H1 accepted: the difference is closer to 50 than to -5"
    assert lines[-1].startswith("Elo if stopped by the test: 209.19 [86.69, 414.46]")
    assert "H0 accepted" in run(60, 10, 40, "--elo1", 50).stdout


def test_the_odd_ends_are_told() -> None:
    swept = run(0, 0, 7).stdout
    assert "Elo: above 104.24 (95 %), nElo: " in swept
    assert "(all results are the same)" in swept
    assert "Elo: below -104.24 (95 %), nElo: -" in run(7, 0, 0).stdout
    assert "Elo: unknown, no game counts" in run(0, 0, 0, 0, 0).stdout
    found = run_json(0, 0, 0)
    assert (found["elo"], found["llr"], found["score"], found["stopped"]) == (None, 0.0, None, None)


def test_games_of_a_pgn_are_counted_singly(tmp_path: Path) -> None:
    games = [("new", "old", "1-0")] * 3 + [("old", "new", "1/2-1/2"), ("old", "new", "1-0"), ("other", "new", "1-0")]
    path = write_pgn(tmp_path / "games.pgn", [*games, ("new", "old", "*")])
    found = run_json("--games", path, "--players", "new", "old")
    assert found["counts"] == [1, 1, 3]
    assert (found["players"], found["failed_games"], found["unpaired_games"]) == (["new", "old"], 1, 0)
    assert found["llr"] == run_json(1, 1, 3)["llr"]
    text = run("--games", path, "--players", "old", "new").stdout
    assert "old vs new" in text
    assert "Wins: 1, Losses: 3, Draws: 1" in text


def test_the_only_two_players_need_no_names(tmp_path: Path) -> None:
    path = write_pgn(tmp_path / "games.pgn", [("a", "b", "1-0")])
    assert run_json("--games", path)["players"] == ["a", "b"]


@pytest.mark.parametrize(
    ("players", "said"),
    [
        ([], "choose two players (--players A B); the players are a, b, c"),
        (["--players", "a", "d"], "no game of 'd'"),
        (["--players", "a", "a"], "choose two different players, not 'a' twice"),
    ],
    ids=["unnamed", "unknown", "twice"],
)
def test_unclear_players_are_an_error(tmp_path: Path, players: list[str], said: str) -> None:
    path = write_pgn(tmp_path / "games.pgn", [("a", "b", "1-0"), ("c", "a", "1-0")])
    result = run("--games", path, *players)
    assert result.exit_code == 1
    assert said in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        ([], "give either COUNTS, or --games", 2),
        ([1, 2], "not [1, 2]", 1),
        ([1, 2, 3, "--games", "x"], "give either COUNTS, or --games", 2),
        ([1, 2, 3, "--elo0", 5, "--elo1", 5], "elo0 must be less than elo1", 1),
        ([1, 2, 3, "--alpha", 2], "--alpha: Input should be less than 0.5", 2),
        (["--games", "missing.db"], "missing.db", 1),
    ],
    ids=["nothing", "two", "both", "equal", "alpha", "missing"],
)
def test_what_cannot_be_tested_is_refused(arguments: list[object], said: str, code: int) -> None:
    result = run(*arguments)
    assert result.exit_code == code
    assert said in result.stderr
