"""`fukayomi worth`: tables, JSON, pictures, two positions, errors."""

import json
from functools import partial
from pathlib import Path

import command_runs
import pytest
from places import ROOT

run = partial(command_runs.invoke, "worth", "--evaluator", "hash")
GAME = ROOT / "examples" / "game.csa"


def test_table_of_a_position() -> None:
    printed = run("startpos moves 7g7f 3c3d 8h2b+", "--together", "2b,B*").stdout
    assert "After 3 plies: ☗" in printed
    assert "☗２二馬" in printed
    assert "☗持駒角" in printed
    assert "☗２二馬 ☗持駒角" in printed


def test_json_of_two_plies_of_a_game() -> None:
    document = json.loads(run(GAME, "--ply", 40, "--ply", 50, "--json").stdout)
    assert [each["ply"] for each in document["positions"]] == [40, 50]
    for each in document["positions"]:
        assert 0 < each["win_rate"] < 1
        assert len(each["pieces"]) > 20
        assert any(piece["change_cp"] is not None for piece in each["pieces"])
    row = document["differences"][0]
    assert row["difference_cp"] == row["second_cp"] - row["first_cp"]
    assert document["files"] == []


def test_a_mate_problem_lacks_a_king(tmp_path: Path) -> None:
    found = run("8l/6lpk/7n1/6S1P/9/9/9/9/9 b RN 1", "--svg", tmp_path / "board.svg", "--json")
    (worth,) = json.loads(found.stdout)["positions"]
    assert len(worth["pieces"]) == 8
    assert any(piece["worth_cp"] for piece in worth["pieces"])
    assert (tmp_path / "board.svg").exists()


def test_pictures(tmp_path: Path) -> None:
    svg, png = tmp_path / "board.svg", tmp_path / "board.png"
    found = run(GAME, "--ply", 40, "--svg", svg, "--png", png, "--view", "relative", "--json")
    assert json.loads(found.stdout)["files"] == [str(svg), str(png)]
    assert svg.read_text(encoding="utf-8").startswith("<svg ")
    assert png.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["startpos", "--view", "heat"], 2, "'heat' is not one of worth, relative, change"),
        (["startpos", "--ply", 1], 1, "no position after 1 ply: the game has 0"),
        (["startpos", "--ply", 0, "--ply", 0, "--ply", 0], 2, "at most 2 positions"),
        (["startpos", "--together", "5e,8h"], 1, "no piece at '5e'"),
        (["startpos", "--png", "board.jpg"], 2, "must end with .png"),
        (["startpos", "--game", 2], 1, "no game 2 in startpos"),
        (["missing.kif"], 1, "missing.kif"),
    ],
)
def test_errors(arguments: list[object], code: int, message: str) -> None:
    found = run(*arguments)
    assert found.exit_code == code
    assert message in found.stderr
    assert "Traceback" not in found.stderr
