"""``fukayomi match networks``: networks against each other, many games at once."""

import json
import shutil
from functools import partial
from pathlib import Path

import command_runs
import pytest

from fukayomi.arena.results.sources import read_games
from fukayomi.engine.network import find_network

run = partial(command_runs.run, "match", "networks")
SHORT = ("--playouts", 2, "--max-plies", 24, "--precision", "fp32")


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A network of another name."""
    return Path(shutil.copy(find_network("embedded"), tmp_path / "other.onnx"))


def test_a_match_is_played_stored_and_extended(network: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, printed, said = run("embedded", network, "--games", 4, *SHORT, "--out", out)
    assert code == 0, said
    assert "embedded" in printed
    assert "4 distinct games of 4" not in printed, "the second of a pair is the first, for the networks are the same"
    code, printed, said = run("embedded", network, "--games", 6, *SHORT, "--out", out, "--json")
    assert code == 0, said
    assert said.count("game ") == 2, "those of the first run are there"
    found = json.loads(printed)
    assert found["games"] == 6
    assert {engine["name"] for engine in found["players"]} == {"embedded", "other"}
    assert len(list(read_games([out]))) == 6
    assert (out / "games.pgn").exists()


def test_one_game_is_one_game(network: Path, tmp_path: Path) -> None:
    fewest = "--games", 2, "--playouts", 1, "--max-plies", 34, "--precision", "fp32"
    code, printed, said = run("embedded", network, *fewest, "--out", tmp_path / "out")
    assert code == 0, said
    assert "1 distinct game of 2, 1 distinct position of 2 at ply 32\n" in printed, "the networks are the same"


def test_openings_may_be_cut(network: Path, tmp_path: Path) -> None:
    openings = tmp_path / "openings.sfen"
    openings.write_text(
        "startpos moves 7g7f 3c3d 2g2f 8c8d 2f2e\nstartpos moves 2g2f 8c8d 2f2e 8d8e\n", encoding="utf-8"
    )
    out = tmp_path / "out"
    code, _, said = run(
        "embedded", network, "--games", 4, *SHORT, "--out", out, "--openings", openings, "--opening-plies", 2
    )
    assert code == 0, said
    assert {tuple(move.usi() for move in game.moves[:2]) for game in read_games([out])} == {
        ("7g7f", "3c3d"),
        ("2g2f", "8c8d"),
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["embedded"], "a match needs two networks or more"),
        (["embedded", "embedded"], "embedded is given twice"),
        (["embedded", "none.onnx"], "none.onnx"),
        (["embedded", "OTHER", "--max-plies", 600], "--max-plies: Input should be less than or equal to 512, not 600"),
        (["embedded", "OTHER", "--sprt", "elo9=1"], "elo9"),
        (["embedded", "OTHER", "--openings", "none.sfen"], "none.sfen"),
    ],
)
def test_what_cannot_be_played_is_named(arguments: list[object], message: str, network: Path, tmp_path: Path) -> None:
    words = [network if word == "OTHER" else word for word in arguments]
    code, printed, said = run(*words, "--out", tmp_path / "out")
    assert code != 0
    assert printed == ""
    assert message in " ".join(said.split())
