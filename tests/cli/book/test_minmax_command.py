"""`fukayomi book minmax`."""

import sys
from pathlib import Path

import multipv_engine
import pytest
from command_runs import run, run_json

from fukayomi.arena import MovePlayer, play_match
from fukayomi.book import position_key, read_book
from fukayomi.learning.labelling.labels import visits_of_scores
from fukayomi.learning.labelling.settings import TEMPERATURE
from fukayomi.shogi import Move, Position
from fukayomi.tabular import counted
from fukayomi.usi.text import Go

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b -"


class FirstMove(MovePlayer):
    """Plays the first legal move."""

    def choose(self, position: Position, go: Go) -> Move:
        return position.legal_moves[0]


def write_games(folder: Path) -> Path:
    """Six games in CSA: 7g7f scores 3 of 4 for Black, 2g2f 0 of 2."""
    folder.mkdir()
    lines = [["+7776FU", "-3334FU", "+2726FU"]] * 3 + [["+7776FU", "-8384FU"]] + [["+2726FU", "-8384FU"]] * 2
    for number, moves in enumerate(lines):  # who is to move resigns
        text = ["V2.2", f"N+black{number}", f"N-white{number}", "PI", "+", *moves, "%TORYO", ""]
        (folder / f"{number}.csa").write_text("\n".join(text), encoding="utf-8")
    return folder


def test_a_book_is_written(tmp_path: Path) -> None:
    games, out, lines = write_games(tmp_path / "games"), tmp_path / "book.db", tmp_path / "lines.sfen"
    found = run_json("book", "minmax", games, "-o", out, "--side", "black", "--th", 2, "--to-play", lines)
    assert (found["games"], found["entries"], found["problems"]) == (6, 2, [])
    (black,) = found["sides"]
    assert (black["side"], black["win_rate"], black["line"]) == ("black", 1 - 1e-6, ["7g7f", "3c3d", "2g2f"])
    book = read_book(out)
    assert [move.move.usi() for move in book[START]] == ["7g7f", "2g2f"]
    assert lines.read_text(encoding="utf-8").splitlines() == [line["line"] for line in black["to_play"]]
    players = {"one": FirstMove(), "two": FirstMove()}
    played = play_match(players, games=2, clock="nodes=1", openings=lines, rules={"max_plies": 6})
    first = Position.from_usi(black["to_play"][0]["line"]).moves
    assert all(list(game.moves or ())[: len(first)] == first for game in played.games)
    code, printed, _ = run("book", "minmax", games, "-o", tmp_path / "other.db", "--side", "black", "--th", 2)
    assert code == 0
    assert "6 games\n" in printed
    assert "Black: 100.0%" in printed


def test_lines_to_play_of_both_sides_are_written_and_counted_once(tmp_path: Path) -> None:
    games, out, lines = write_games(tmp_path / "games"), tmp_path / "book.db", tmp_path / "lines.sfen"
    code, printed, _ = run("book", "minmax", games, "-o", out, "--th", 2, "--to-play", lines)
    written = lines.read_text(encoding="utf-8").splitlines()
    assert code == 0
    assert len(set(written)) == len(written)
    assert f"{counted(len(written), 'line')} to play in {lines}" in printed


def test_games_of_a_match_folder(tmp_path: Path) -> None:
    """Four games that are all the same: drawn after six plies, the last of which goes back."""
    folder, out = tmp_path / "match", tmp_path / "book.db"
    play_match(
        {"one": FirstMove(), "two": FirstMove()}, games=4, clock="nodes=1", folder=folder, rules={"max_plies": 6}
    )
    found = run_json("book", "minmax", folder, "-o", out, "--th", 4)
    assert (found["games"], found["positions"], found["circles"]) == (4, 6, 4)
    assert {side["side"]: side["win_rate"] for side in found["sides"]} == {"black": 0.4, "white": 0.6}
    assert run_json("book", "minmax", folder, "-o", out, "--th", 1, "--uniq")["games"] == 1


def test_what_cannot_be_done_leaves_the_book_as_it_was(tmp_path: Path) -> None:
    games, out = write_games(tmp_path / "games"), tmp_path / "book.db"
    out.write_bytes(b"old")
    for arguments, message in (
        (["--th", 7], "6 games pass through"),
        (["--th", 5], "no move of"),
        (["--startsfen", "8k b"], "--startsfen"),
        (["--candidates", "0.1"], "prior_games is 0"),
        (["--confidence", "1"], "--confidence"),
    ):
        code, _, said = run("book", "minmax", games, "-o", out, *arguments)
        assert code != 0
        assert message in said, said
    assert out.read_bytes() == b"old"
    code, _, said = run("book", "minmax", games, "-o", tmp_path / "book.ybb")
    assert code != 0
    assert ".db" in said


def test_the_network_judges(tmp_path: Path) -> None:
    games, out = write_games(tmp_path / "games"), tmp_path / "book.db"
    options = ["--side", "black", "--th", 2, "--prior-games", 4, "--candidates", 0.01, "--evaluator", "uniform"]
    found = run_json("book", "minmax", games, "-o", out, *options)
    assert found["sides"][0]["win_rate"] < 0.95  # 3 of 3, with four games' weight of 0.5
    assert len(found["start_moves"]) == 30
    assert {line["probability"] for line in found["sides"][0]["to_play"]} != {None}


def test_an_engine_finds_what_the_players_never_try(tmp_path: Path) -> None:
    """Its three best moves of a position are candidates, by their shares, and its scores the values of leaves."""
    games, out = write_games(tmp_path / "games"), tmp_path / "book.db"
    engine = f"{sys.executable} {multipv_engine.__file__}"
    options = ["--side", "black", "--th", 2, "--prior-games", 1e9, "--candidates", 0.2, "--engine", engine]
    found = run_json("book", "minmax", games, "-o", out, *options, "--nodes", 10, "--multipv", 3, "--workers", 2)
    lines = multipv_engine.scored_lines(Position(), 3)
    shares = [visits / 65_535 for visits in visits_of_scores([cp for _, cp in lines], TEMPERATURE, 756.0)]
    probable = {move: share for (move, _), share in zip(lines, shares, strict=True) if share >= 0.2}
    assert probable
    moves = {move.move.usi(): move for move in read_book(out)[position_key(Position())]}
    assert set(moves) == {"7g7f", "2g2f", *probable}
    for move in set(probable) - {"7g7f", "2g2f"}:  # leaves, worth what the engine says after them
        after = Position()
        after.push_usi(move)
        ((_, score),) = multipv_engine.scored_lines(after, 1)
        assert moves[move].score_cp == pytest.approx(-score, abs=1)
    to_play = {line["line"].split()[-1]: line["probability"] for line in found["sides"][0]["to_play"]}
    for move in set(probable) & set(to_play):
        assert to_play[move] == pytest.approx(probable[move], abs=1e-3)
    assert set(probable) - {"7g7f", "2g2f"} & set(to_play)


def test_a_search_of_the_network_judges(tmp_path: Path) -> None:
    games, out = write_games(tmp_path / "games"), tmp_path / "book.db"
    options = ["--side", "black", "--th", 2, "--prior-games", 4, "--candidates", 0.02, "--evaluator", "hash"]
    searched = run_json("book", "minmax", games, "-o", out, *options, "--nodes", 100)
    assert len(searched["start_moves"]) > 2
    assert searched["leaves"] > 1


def test_options_of_searches_that_do_not_fit(tmp_path: Path) -> None:
    games, out = write_games(tmp_path / "games"), tmp_path / "book.db"
    for arguments, message in (
        (["--engine", "cat", "--nodes", 5], "--prior-games, which is 0"),
        (["--engine", "cat", "--prior-games", 5], "needs --nodes"),
        (["--option", "A=1", "--nodes", 5, "--prior-games", 5], "option of --engine"),
        (["--multipv", 2, "--prior-games", 5], "give --nodes"),
        (["--engine", "no-such-engine", "--nodes", 5, "--prior-games", 5], "no-such-engine"),
    ):
        code, _, said = run("book", "minmax", games, "-o", out, *arguments)
        assert code != 0
        assert message in said, said
    assert not out.exists()
