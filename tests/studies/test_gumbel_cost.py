"""studies/gumbel_cost.py with a few positions, games and steps: tables, resuming, errors."""

import json
from pathlib import Path

import gumbel_cost
import pytest


def run(what: str, out: Path, *arguments: str) -> None:
    openings = out.with_suffix(".sfen")
    openings.write_text("startpos moves 7g7f 3c3d\nstartpos moves 2g2f 8c8d\n", encoding="utf-8")
    gumbel_cost.main([what, "--out", str(out), "--openings", str(openings), "--network", "<hash>", *arguments])


def test_each_player_s_teaching_is_compared_with_a_long_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    players = ("gumbel-8", "puct-8,forced_playouts=2", "puct-800")
    run("teach", tmp_path / "out", "--positions", "6", "--json", "--players", *players)
    rows = json.loads(capsys.readouterr().out)
    assert [(row["player"], row["calls"]) for row in rows] == list(
        zip(("policy", *players), (1, 9, 9, 801), strict=True)
    )
    assert all(row["cross_entropy"] > 0 and 0 < row["highest"] <= 1 and row["positions"] <= 6 for row in rows)
    assert min(rows, key=lambda row: row["cross_entropy"])["player"] == "puct-800"


def test_rules_play_matches_that_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--players", "gumbel-4", "puct-2", "gumbel-4,gumbel_c_scale=1", "--seeds", "1", "2")
    run("play", tmp_path / "out", *arguments, "--games", "2", "--json")
    rows = json.loads(capsys.readouterr().out)
    assert [(row["calls"], row["games"]) for row in rows] == [(5, 8), (3, 8), (5, 8)]
    assert sum(row["points"] for row in rows) == 12
    assert all(set(row["elo_by_seed"]) == {"1", "2"} for row in rows)
    run("play", tmp_path / "out", *arguments, "--games", "2")
    again = capsys.readouterr().out
    assert again.startswith("| player | calls a position | games |")
    assert "gumbel-4,gumbel_c_scale=1" in again


@pytest.mark.parametrize(
    ("players", "message"),
    [
        (["gumbel-16"], "two different players"),
        (["gumbel", "puct-16"], "'gumbel' is not a rule"),
        (["gumbel-16,depth=3", "puct-16"], "'depth' is no option"),
        (["gumbel-16,gumbel_moves=0", "puct-16"], "gumbel_moves is 0"),
    ],
)
def test_mistakes_are_named(
    tmp_path: Path, players: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    openings = tmp_path / "openings.sfen"
    openings.write_text("startpos\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        gumbel_cost.main(["play", "--out", str(tmp_path), "--openings", str(openings), "--players", *players])
    assert message in capsys.readouterr().err
