"""`fukayomi analyse` once more on the same folder: after Ctrl-C, after a kill, with another range, limit or game."""

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import command_runs
import pytest
from patience import until
from places import ROOT

from fukayomi.engine.analysis.game_analysis import GameAnalysis
from fukayomi.engine.engine import Engine
from fukayomi.engine.search import SearchResult
from fukayomi.files.lock import FolderLock
from fukayomi.shogi import Position

EXAMPLE = ROOT / "examples" / "game.csa"
SHORT = "V2.2\nN+alice\nN-bob\nPI\n+\n+7776FU\n-3334FU\n+8822UM\n-3122GI\n%TORYO\n"
FAST = ("--evaluator", "hash", "--nodes", "20")

run = partial(command_runs.invoke, "analyse", COLUMNS="100", NO_COLOR="1")


@pytest.fixture
def short(tmp_path: Path) -> Path:
    path = tmp_path / "short.csa"
    path.write_text(SHORT)
    return path


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The plies of the positions that are searched, as they are."""
    plies: list[int] = []
    search = Engine.search

    def noted(self: Engine, position: Position, **limits: Any) -> SearchResult:
        if plies[-1:] != [position.ply - 1]:
            plies.append(position.ply - 1)
        return search(self, position, **limits)

    monkeypatch.setattr(Engine, "search", noted)
    return plies


def interrupt_at(ply: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C come while the position after so many plies is searched."""
    search = Engine.search

    def interrupted(self: Engine, position: Position, **limits: Any) -> SearchResult:
        if position.ply - 1 == ply:
            raise KeyboardInterrupt
        return search(self, position, **limits)

    monkeypatch.setattr(Engine, "search", interrupted)


def document(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "analysis.json").read_text(encoding="utf-8"))


def test_ctrl_c_writes_the_report_and_the_next_run_goes_on(
    short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, searched: list[int]
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as context:
        interrupt_at(3, context)
        result = run(short, *FAST, "--out", out)
    assert result.exit_code == 130
    assert "2 of 4 moves are judged" in result.stderr
    assert "Run the same command again" in result.stderr
    assert document(out)["is_complete"] is False
    assert {path.name for path in out.iterdir()} >= {"analysis.html", "analysis.kifu", "analysis.svg"}
    page = (out / "analysis.html").read_bytes()

    searched.clear()
    assert run(short, *FAST, "--out", out).exit_code == 0
    assert searched == [3, 4]
    assert document(out)["is_complete"] is True
    assert (out / "analysis.html").read_bytes() != page


def test_ctrl_c_without_a_folder_says_how_a_run_can_be_continued(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_at(3, monkeypatch)
    result = run(short, *FAST, "--json")
    assert result.exit_code == 130
    assert len(json.loads(result.stdout)["moves"]) == 2
    assert "--out" in result.stderr


def test_a_finished_analysis_is_shown_again_at_once(short: Path, tmp_path: Path, searched: list[int]) -> None:
    out = tmp_path / "out"
    first = run(short, *FAST, "--out", out)
    written = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    searched.clear()
    assert run(short, *FAST, "--out", out).stdout == first.stdout
    assert searched == []
    assert {path: path.stat().st_mtime_ns for path in out.iterdir()} == written
    with_picture = run(short, *FAST, "--out", out, "--png")  # which is not there yet
    assert with_picture.exit_code == 0
    assert (out / "analysis.png").is_file()
    assert searched == []


def test_ranges_come_together(short: Path, tmp_path: Path, searched: list[int]) -> None:
    out = tmp_path / "out"
    assert run(short, *FAST, "--out", out, "--range", ":1").exit_code == 0
    assert run(short, *FAST, "--out", out, "--range", "4:").exit_code == 0
    assert [move["ply"] for move in document(out)["moves"]] == [1, 4]
    assert run(short, *FAST, "--out", out, "--range", "2:3").exit_code == 0
    assert searched == [0, 1, 3, 4, 2]
    found = document(out)
    assert [move["ply"] for move in found["moves"]] == [1, 2, 3, 4]
    assert found["is_complete"] is True


def test_what_was_searched_with_less_is_searched_again(short: Path, tmp_path: Path, searched: list[int]) -> None:
    out = tmp_path / "out"
    run(short, *FAST, "--out", out)
    searched.clear()
    run(short, "--evaluator", "hash", "--nodes", 200, "--out", out, "--range", "1:1")
    assert searched == [0, 1]
    assert document(out)["limits"] == "20 nodes per position; 200 nodes per position"
    searched.clear()
    run(short, "--evaluator", "hash", "--nodes", 180, "--out", out)
    assert searched == [2, 3, 4]


def test_the_analysis_of_another_game_or_network_stays(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(short, *FAST, "--out", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    other = tmp_path / "other.csa"
    other.write_text(SHORT.replace("-3122GI\n", ""))
    another_game = run(other, *FAST, "--out", out)
    assert another_game.exit_code == 1
    assert "the analysis of another game (alice - bob): choose another folder" in another_game.stderr
    another_network = run(short, "--evaluator", "uniform", "--nodes", 20, "--out", out)
    assert another_network.exit_code == 1
    assert "an analysis by another network, hash (hash-0): choose another folder" in another_network.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_the_same_moves_with_other_names_are_the_same_game(short: Path, tmp_path: Path, searched: list[int]) -> None:
    out = tmp_path / "out"
    run(short, *FAST, "--out", out)
    short.write_text(SHORT.replace("alice", "carol"))
    searched.clear()
    assert run(short, *FAST, "--out", out).exit_code == 0
    assert searched == []
    assert document(out)["black"] == "carol"
    assert "carol" in (out / "analysis.html").read_text(encoding="utf-8")


def test_other_files_are_not_overwritten(short: Path, tmp_path: Path) -> None:
    page = tmp_path / "analysis.html"
    page.write_text("mine")
    result = run(short, *FAST, "--out", tmp_path)
    assert result.exit_code == 1
    assert "analysis.html without analysis.json: choose another folder" in result.stderr
    assert page.read_text() == "mine"


def test_a_damaged_analysis_is_named_and_stays(short: Path, tmp_path: Path) -> None:
    run(short, *FAST, "--out", tmp_path)
    path = tmp_path / "analysis.json"
    path.write_bytes(path.read_bytes()[:-100])
    damaged = path.read_bytes()
    result = run(short, *FAST, "--out", tmp_path)
    assert result.exit_code == 1
    assert "analysis.json is not an analysis, or damaged" in result.stderr
    assert f"delete all analysis.* files in {tmp_path} to analyse the game anew" in result.stderr
    assert path.read_bytes() == damaged

    for file in tmp_path.glob("analysis.*"):
        file.unlink()
    assert run(short, *FAST, "--out", tmp_path).exit_code == 0
    assert len(document(tmp_path)["moves"]) == 4


def test_one_process_at_a_time_works_in_a_folder(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with FolderLock(out, "analysis.lock"):
        result = run(short, *FAST, "--out", out)
    assert result.exit_code == 1
    assert "another process is working in" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_kill_loses_little(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fukayomi", "analyse", str(EXAMPLE), "--evaluator", "hash", "--time", "400ms"]
    command += ["--range", "1:14", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until((tmp_path / "analysis.json").exists)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    before = GameAnalysis.load(tmp_path)
    assert 0 < len(before.positions) < 15

    finished = subprocess.run(command, capture_output=True, env=os.environ, check=False)
    assert finished.returncode == 0, finished.stderr
    after = GameAnalysis.load(tmp_path)
    assert [move.ply for move in after.moves] == list(range(1, 15))
    assert after.positions[: len(before.positions)] == before.positions
    assert after.moves[: len(before.moves)] == before.moves
    assert {path.name for path in tmp_path.iterdir()} == {
        "analysis.html", "analysis.svg", "analysis.kifu", "analysis.csa", "analysis.json", "analysis.lock",
    }  # fmt: skip
