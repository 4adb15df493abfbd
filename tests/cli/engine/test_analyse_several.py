"""`fukayomi analyse` with several games: folders, archives, files with several, and an index of them all."""

import contextlib
import json
import re
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import command_runs
import pytest
from patience import until

from fukayomi.engine.analysis.game_analysis import GameAnalysis
from fukayomi.engine.engine import Engine
from fukayomi.engine.evaluators.protocol import CoreStubEvaluator, Slot, StubEvaluator
from fukayomi.engine.search import SearchResult
from fukayomi.shogi import START_SFEN, Position
from fukayomi.shogi.formats import read_record, write_kif

ONE = "V2.2\nN+alice\nN-bob\nPI\n+\n+7776FU\n-3334FU\n+8822UM\n-3122GI\n%TORYO\n"
TWO = "V2.2\nN+carol\nN-<b>dave\nPI\n+\n+2726FU\n-8384FU\n%TORYO\n"
THREE = "V2.2\nN+erin\nN-frank\nPI\n+\n+5756FU\n%CHUDAN\n"
MATE_PROBLEM = "V2.2\nP1-OU\nP2\nP3 * +KI\nP4\nP5\nP6\nP7\nP8\nP9\nP+00KI\n+\n+0092KI\n%TSUMI\n"
FAST = ("--evaluator", "hash", "--nodes", "20")

run = partial(command_runs.invoke, "analyse", COLUMNS="150", NO_COLOR="1")


@pytest.fixture
def games(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    (folder / "2025").mkdir(parents=True)
    (folder / "one.csa").write_text(ONE)
    (folder / "2025" / "two.csa").write_text(TWO)
    return folder


def reports(out: Path) -> dict[str, str]:
    """Black's name by the folder of the report."""
    found = (path.parent for path in sorted(out.glob("*/analysis.json")))
    return {folder.name: GameAnalysis.load(folder).black for folder in found}


def test_a_folder_becomes_reports_and_an_index(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(games, *FAST, "--out", out)
    assert result.exit_code == 0, result.output
    assert reports(out) == {"2025-two": "carol", "one": "alice"}
    rows = re.findall(r"^ *(\S+) +☗(\S+) ☖(\S+) +(\d+) +[\d.]+ / [\d.]+ +\d+ / \d+", result.stdout, re.MULTILINE)
    assert rows == [("2025-two", "carol", "<b>dave", "2"), ("one", "alice", "bob", "4")]
    assert result.stdout.splitlines()[-1] == str(out / "index.html")
    page = (out / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"]+)"', page)
    assert links == ["2025-two/analysis.html", "one/analysis.html"]
    assert all((out / link).is_file() for link in links)
    assert "&lt;b&gt;dave" in page
    assert "<b>" not in page


def test_json_is_a_line_per_game(games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("games", *FAST, "--json")
    assert result.exit_code == 0
    documents = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(found["black"], len(found["moves"])) for found in documents] == [("carol", 2), ("alice", 4)]
    assert [path.name for path in tmp_path.iterdir()] == ["games"]


def test_files_with_several_games_and_archives(games: Path, tmp_path: Path) -> None:
    several = tmp_path / "several.csa"
    several.write_text(f"{ONE}/\n{TWO}")
    with zipfile.ZipFile(tmp_path / "pack.zip", "w") as archive:
        archive.writestr("../../evil/three.csa", THREE)
    out = tmp_path / "out"
    assert run(several, tmp_path / "pack.zip", *FAST, "--out", out).exit_code == 0
    found = reports(out)
    assert sorted(found.values()) == ["alice", "carol", "erin"]
    assert {"several", "several-2"} <= set(found)
    assert all(re.fullmatch(r"[\w-][\w.-]*", name) for name in found)


def test_a_folder_here_by_default(games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("games", *FAST).exit_code == 0
    assert set(reports(tmp_path / "games-analysis")) == {"2025-two", "one"}
    assert run("games/one.csa", "games/2025/two.csa", *FAST).exit_code == 0
    assert set(reports(tmp_path / "analysis")) == {"two", "one"}


def test_names_that_collide(tmp_path: Path) -> None:
    for folder, text in (("a", ONE), ("b", TWO), ("c", THREE)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "game.csa").write_text(text)
    out = tmp_path / "out"
    sources = [tmp_path / folder / "game.csa" for folder in ("b", "c")]
    assert run(*sources, *FAST, "--out", out).exit_code == 0
    before = reports(out)
    assert len(before) == 2
    assert before["game"] == "carol"
    sources = [tmp_path / folder / "game.csa" for folder in ("a", "b", "c")]  # a new game before the others
    assert run(*sources, *FAST, "--out", out).exit_code == 0
    after = reports(out)
    assert len(after) == 3
    assert before.items() <= after.items()


def test_the_same_game_in_two_formats_is_analysed_once(games: Path, tmp_path: Path) -> None:
    (games / "one.kif").write_text(write_kif(read_record(games / "one.csa")), encoding="utf-8")
    result = run(games, *FAST, "--json")
    assert [json.loads(line)["black"] for line in result.stdout.splitlines()] == ["carol", "alice"]


def test_what_cannot_be_analysed_is_named_and_the_rest_goes_on(games: Path, tmp_path: Path) -> None:
    (games / "damaged.csa").write_text("V2.2\nPI\n+\n+7776FU\n-3335FU\n%TORYO\n")
    (games / "problem.csa").write_text(MATE_PROBLEM)
    (games / "readme.txt").write_text("hello\n")
    (games / "bad.zip").write_bytes(b"PK\x03\x04junk")
    result = run(games, *FAST, "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert "damaged.csa, line 5" in result.stderr
    assert "problem.csa: only games can be analysed" in result.stderr
    assert "readme.txt" in result.stderr
    assert "bad.zip: cannot be read" in result.stderr
    assert set(reports(tmp_path / "out")) == {"2025-two", "one"}

    nothing = run(games / "damaged.csa", games / "problem.csa", *FAST, "--out", tmp_path / "none")
    assert nothing.exit_code == 1
    assert "no game was analysed" in nothing.stderr
    damaged = run(games / "bad.zip", *FAST)
    assert damaged.exit_code == 1
    assert "bad.zip: cannot be read" in damaged.stderr


def test_a_cut_archive_gives_the_games_before_the_cut(games: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.tar"
    with tarfile.open(whole, "w") as archive:
        archive.add(games / "one.csa", "one.csa")
        archive.add(games / "2025" / "two.csa", "two.csa")
    cut = tmp_path / "cut.tar"
    cut.write_bytes(whole.read_bytes()[:1600])  # inside the second game
    found, problems = map(json.loads, run(cut, *FAST, "--json").stdout.splitlines())
    assert found["black"] == "alice"
    assert ["cut.tar: cannot be read" in problem for problem in problems["problems"]] == [True]


def test_json_lists_all_that_was_left_out(games: Path) -> None:
    for number in range(25):
        (games / f"bad{number:02}.txt").write_text("hello\n")
    result = run(games, *FAST, "--json")
    assert result.exit_code == 0
    assert "skipped 5 more; --json lists all" in result.stderr
    *documents, last = map(json.loads, result.stdout.splitlines())
    assert [found["black"] for found in documents] == ["carol", "alice"]
    assert [f"bad{number:02}.txt" in problem for number, problem in enumerate(last["problems"])] == [True] * 25


def test_errors_of_the_sources(games: Path, tmp_path: Path) -> None:
    missing = run(games, tmp_path / "no.csa", *FAST, "--json")
    assert missing.exit_code == 1
    assert "no.csa" in missing.stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    result = run(empty, *FAST, "--json")
    assert result.exit_code == 1
    assert "empty" in result.stderr


def test_a_range_leaves_short_games_out(games: Path) -> None:
    result = run(games, *FAST, "--json", "--range", "3:")
    assert result.exit_code == 0
    found, last = map(json.loads, result.stdout.splitlines())
    assert [move["ply"] for move in found["moves"]] == [3, 4]
    assert "two.csa: no ply in the range" in result.stderr
    assert "two.csa: no ply in the range" in last["problems"][0]


def test_ctrl_c_and_again(games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: set[str] = set()
    search = Engine.search

    def noted(self: Engine, position: Position, **limits: Any) -> SearchResult:
        searched.add(position.sfen())
        return search(self, position, **limits)

    def interrupted(self: Engine, position: Position, **limits: Any) -> SearchResult:
        if [move.usi() for move in position.moves] == ["7g7f", "3c3d", "8h2b+"]:
            raise KeyboardInterrupt
        return search(self, position, **limits)

    def judged() -> set[str]:
        """The positions that the reports have."""
        documents = [GameAnalysis.load(out / name) for name in reports(out)]
        return {position.sfen for document in documents for position in document.positions}

    out = tmp_path / "out"
    monkeypatch.setattr(Engine, "search", interrupted)
    result = run(games, *FAST, "--out", out)
    assert result.exit_code == 130
    assert re.search("[01] of 2 games are finished. Run the same command again", result.stderr)
    assert "2 / 4" in (out / "index.html").read_text(encoding="utf-8")
    before = judged()

    monkeypatch.setattr(Engine, "search", noted)
    assert run(games, *FAST, "--out", out).exit_code == 0
    assert len(judged()) == 7
    start = {START_SFEN}  # both games have it, and one may have been interrupted before it was searched
    assert searched - start == judged() - before - start
    assert "2 / 4" not in (out / "index.html").read_text(encoding="utf-8")
    searched.clear()
    assert run(games, *FAST, "--out", out).exit_code == 0
    assert searched == set()


def test_games_share_batches(games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    evaluate = StubEvaluator.run

    def noted(self: StubEvaluator, slot: Slot, n: int) -> None:
        rows.append(n)
        time.sleep(0.002)  # in which the other game gathers nothing
        evaluate(self, slot, n)

    search = Engine.search
    both = threading.Barrier(2, timeout=600)

    def together(self: Engine, position: Position, **limits: Any) -> SearchResult:
        if position.ply == 1 and "compare" in limits and not limits["compare"] and not both.broken:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait()
            both.abort()  # once
        return search(self, position, **limits)

    monkeypatch.setattr(StubEvaluator, "run", noted)
    monkeypatch.delattr(CoreStubEvaluator, "core")  # without which no batch runs unseen
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "search", together)
        assert run(games, *FAST, "--json").exit_code == 0
    at_once = len(rows)
    rows.clear()
    for game in (games / "one.csa", games / "2025" / "two.csa"):
        assert run(game, *FAST, "--json").exit_code == 0
    assert at_once < len(rows)


def test_reports_inside_the_folder_are_no_games(games: Path) -> None:
    assert run(games, *FAST, "--out", games / "a reports").exit_code == 0
    assert run(games / "one.csa", *FAST, "--out", games / "one-analysis").exit_code == 0
    result = run(games, *FAST, "--out", games / "a reports")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert set(reports(games / "a reports")) == {"2025-two", "one"}


def test_an_index_of_something_else_stays(games: Path, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("my home page")
    result = run(games, *FAST, "--out", tmp_path)
    assert result.exit_code == 1
    assert "index.html of something else: choose another folder" in result.stderr
    assert (tmp_path / "index.html").read_text() == "my home page"
    assert {path.name for path in tmp_path.iterdir()} == {"games", "index.html"}


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_run_goes_on(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (games / "three.csa").write_text(THREE)
    command = [sys.executable, "-m", "fukayomi", "analyse", str(games), "--evaluator", "hash", "--time", "0.1s"]
    command += ["--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until((out / "2025-two" / "analysis.json").exists)
        process.send_signal(signal.SIGKILL)
    first = GameAnalysis.load(out / "2025-two")
    finished = subprocess.run(command, capture_output=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert set(reports(out)) == {"2025-two", "one", "three"}
    assert GameAnalysis.load(out / "2025-two") == first
    assert all(GameAnalysis.load(out / name).is_complete for name in reports(out))
