"""`fukayomi mate`: positions from arguments and files, lines of text, JSON, errors."""

import json
from functools import partial
from pathlib import Path

import command_runs

PROBLEM = "8l/6lpk/7n1/6S1P/9/9/9/9/9 b RN 1"
START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"

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


def test_limits() -> None:
    assert "no mate" in run(PROBLEM, "--plies", 1).stdout
    assert "undecided" in run(PROBLEM, "--nodes", 1).stdout


def test_errors_name_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "problems.txt"
    file.write_text(f"{PROBLEM}\nnonsense\n", encoding="utf-8")
    result = run(file)
    assert result.exit_code == 1
    assert f"{file}:2: invalid SFEN" in result.stderr.replace("\n", " ")
    missing = run(tmp_path / "missing.txt")
    assert missing.exit_code == 1
    assert "missing.txt" in missing.stderr
    kingless = run("9/9/9/9/9/9/9/9/K8 b G 1")
    assert kingless.exit_code == 1
    assert "no king to mate" in kingless.stderr


def test_a_file_without_positions_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "problems.txt"
    for content, message in (
        (b"", "has no position"),
        (b"\n \n", "has no position"),
        (b"\x89PNG\xff", "not a text file"),
    ):
        file.write_bytes(content)
        result = run(file)
        assert result.exit_code == 1
        assert message in result.stderr.replace("\n", " ")
