"""`fukayomi mate`: positions from arguments, files and records, lines of text, JSON, errors."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import command_runs
import pytest

from fukayomi import Record
from fukayomi.shogi.formats import write_csa, write_jkf, write_ki2, write_kif, write_usi

PROBLEM = "8l/6lpk/7n1/6S1P/9/9/9/9/9 b RN 1"
GAME = PROBLEM.replace("/9 b", "/K8 b")

run = partial(command_runs.invoke, "mate")


def test_a_mate_is_printed_in_japanese_and_usi() -> None:
    lines = run(PROBLEM).stdout.splitlines()
    assert lines[0].startswith(f"{PROBLEM}: mate in 3 (")
    assert lines[1].startswith("  ☗２四桂 ☖２一玉 ☗４一飛")
    assert lines[2] == "  N*2d 1b2a R*4a"


def test_json() -> None:
    found = json.loads(run(PROBLEM, "--json").stdout)
    nodes = found.pop("nodes")
    assert nodes > 0
    assert found == {"sfen": PROBLEM, "reason": "mate", "plies": 3, "moves": ["N*2d", "1b2a", "R*4a"]}


def test_files_and_usi_positions(tmp_path: Path) -> None:
    file = tmp_path / "problems.txt"
    file.write_text(f"{PROBLEM}\n\nsfen {PROBLEM} moves N*2d 1b2a\nstartpos moves 7g7f\n", encoding="utf-8")
    found = [json.loads(line) for line in run(file, "startpos", "--json").stdout.splitlines()]
    assert [(each["reason"], each["plies"]) for each in found] == [
        ("mate", 3), ("mate", 1), ("no mate", None), ("no mate", None),
    ]  # fmt: skip


@pytest.mark.parametrize("write", [write_csa, write_kif, write_ki2, write_jkf, write_usi])
def test_records(tmp_path: Path, write: Callable[[Record], str]) -> None:
    file = tmp_path / "game"
    file.write_text(write(Record.from_text(f"sfen {GAME} moves N*2d 1b2a R*4a")), encoding="utf-8")
    for ply, expected in ((0, 3), (2, 1), (3, None)):
        assert json.loads(run(file, "--ply", ply, "--json").stdout)["plies"] == expected
    assert json.loads(run(file, "--json").stdout) == json.loads(run(file, "--ply", 3, "--json").stdout)
    short = run(file, "--ply", 4)
    assert short.exit_code == 1
    assert "game" in short.stderr
    assert "no position after 4 plies: the game has 3" in short.stderr


def test_games_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "games.csa"
    games = [Record.from_text(f"sfen {GAME} moves N*2d {moves}").csa() for moves in ("1b2a", "1b2a R*4a")]
    file.write_text("/\n".join(games), encoding="utf-8")
    lines = run(file, PROBLEM, "--ply", 0).stdout.splitlines()
    assert [line.partition(": ")[0] for line in lines[::3]] == [str(file), f"{file}#2", PROBLEM]
    assert all("mate in 3" in line for line in lines[::3])
    file.write_text(games[0].replace("-1221OU", "-1222OU"), encoding="utf-8")
    damaged = run(file)
    assert damaged.exit_code == 1
    assert "games.csa, line" in damaged.stderr.replace("\n", " ")


def test_limits() -> None:
    assert "no mate" in run(PROBLEM, "--plies", 1).stdout
    assert "undecided" in run(PROBLEM, "--nodes", 1).stdout


def test_errors_name_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "problems.txt"
    for line, message in (
        ("nonsense", "neither 'startpos moves ...' nor 'sfen SFEN moves ...': 'nonsense'"),
        ("9/9/9 b - 1", "invalid SFEN '9/9/9 b - 1'"),
        (f"{PROBLEM} moves N*2d 1b1a", "illegal move '1b1a'"),
    ):
        file.write_text(f"{PROBLEM}\n{line}\n", encoding="utf-8")
        result = run(file)
        assert result.exit_code == 1
        assert f"{file}:2: " in result.stderr
        assert message in result.stderr
    missing = run(tmp_path / "missing.txt")
    assert missing.exit_code == 1
    assert "missing.txt" in missing.stderr
    kingless = run("9/9/9/9/9/9/9/9/K8 b G 1")
    assert kingless.exit_code == 1
    assert "no king to mate" in kingless.stderr
    assert "--ply 0 takes the first position of a record" in kingless.stderr


@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_argument_is_refused(empty: str) -> None:
    result = run(empty)
    assert result.exit_code == 1
    assert f"the argument {empty!r} is empty: give a position or a file" in result.stderr


def test_a_file_without_positions_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "problems.txt"
    for content, message in (
        (b"", "has no position"),
        (b"\n \n", "has no position"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not a text file"),
        (b"nonsense\n", "no SFEN, and neither CSA, KIF, KI2, JKF nor USI lines"),
    ):
        file.write_bytes(content)
        result = run(file)
        assert result.exit_code == 1
        assert message in result.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    "wrong", ["9/9/9/9/9/9/9/9/4K4 b G 1", "4k4/9/9/9/9/9/9/9/9 w g 1", "9/9/9/9/9/9/9/9/9 b - 1", "k"]
)
def test_an_error_of_a_late_line_comes_before_the_first_search(tmp_path: Path, wrong: str) -> None:
    problems = tmp_path / "problems.txt"
    problems.write_text("\n".join([*[PROBLEM] * 18, wrong, PROBLEM]))
    done = run(str(problems))
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"{problems}:19: " in done.stderr.replace("\n", "")


def test_all_arguments_are_checked_first() -> None:
    done = run(PROBLEM, "9/9/9/9/9/9/9/9/K8 b G 1")
    assert (done.exit_code, done.stdout) == (1, "")
