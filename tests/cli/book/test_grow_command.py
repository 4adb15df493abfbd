"""`fukayomi book grow`."""

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_runs import run, run_json
from grow_run import ENGINE
from places import ROOT

from fukayomi.arena.match.store import read_settings
from fukayomi.book import read_book
from fukayomi.book_growth import read_growth

QUICK = ["--games", 4, "--rounds", 2, "--black-th", 3, "--white-th", 2, "--margin", 60_000, "--concurrency", 2]


def test_a_book_grows_and_is_reported(tmp_path: Path) -> None:
    folder, engine = tmp_path / "grown", f"own={shlex.join(ENGINE)}"
    code, printed, said = run(
        "book", "grow", folder, "--engine", engine, "--clock", "nodes=500", "--option", "own:BookMoves=9", *QUICK
    )
    assert code == 0, said
    assert printed.splitlines()[0].split()[:3] == ["round", "games", "black_win_rate"]
    assert f"books, games and report.html: {folder}" in printed
    assert "round 2: 16 games; Black " in said
    growth = read_growth(folder)
    assert (growth.settings.black.th, growth.settings.white.th, growth.settings.games) == (3, 2, 4)
    match = read_settings(folder / "rounds" / "0002-black")
    assert match is not None
    assert {engine.options["BookMoves"] for engine in match.engines} == {"9"}

    found = run_json("book", "grow", folder)  # nothing is left to play
    assert (found["complete"], found["new_games"], len(found["rounds"])) == (True, 0, 2)
    assert len(read_book(found["books"]["black"])) == found["rounds"][1]["books"][0]["entries"]


def test_one_side_and_two_engines(tmp_path: Path) -> None:
    folder = tmp_path / "grown"
    engines = [word for name in ("one", "two") for word in ("--engine", f"{name}={shlex.join(ENGINE)}")]
    found = run_json("book", "grow", folder, *engines, "--clock", "nodes=500", "--side", "white", *QUICK)
    assert found["books"].keys() == {"white"}
    assert sorted(path.name for path in (folder / "rounds").iterdir()) == ["0001-white", "0002-white"]
    match = read_settings(folder / "rounds" / "0001-white")
    assert match is not None
    assert [engine.name for engine in match.engines] == ["one", "two"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "no engine is named: --engine NAME=COMMAND"),
        (["--engine", "own=engine"], "clock is missing: give for example --clock nodes=1000"),
        (["--engine", "own=engine", "--clock", "nodes=1", "--games", "5"], "games is an even number"),
        (["--engine", "own=engine", "--clock", "nodes=1", "--spread", "2"], "--spread"),
        (["--engine", "own=no-such-engine", "--clock", "nodes=1"], "no-such-engine"),
    ],
)
def test_what_is_missing_is_said_in_a_line(words: list[str], problem: str, tmp_path: Path) -> None:
    code, printed, said = run("book", "grow", tmp_path / "grown", *words)
    assert code in (1, 2)
    assert printed == ""
    assert problem in said
    assert "Traceback" not in said


def test_ctrl_c_before_the_engine_has_started(tmp_path: Path) -> None:
    folder, begun = tmp_path / "grown", tmp_path / "begun"
    sleeper = f"open({str(begun)!r}, 'w').close(); import time; time.sleep(60)"
    words = [str(folder), "--engine", f"own={shlex.join([sys.executable, '-c', sleeper])}", "--clock", "nodes=1"]
    command = [sys.executable, "-m", "fukayomi", "book", "grow", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        while not begun.is_file():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said.splitlines()[-1]) == (130, "stopped before the first game")
    assert [path.name for path in folder.iterdir()] == ["lock"]


@pytest.mark.slow
def test_the_benchmark_grows_and_plays(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "book_growth.py"), str(tmp_path / "out")]
    engines = ["--engine", shlex.join(ENGINE), "--outsider", shlex.join([*ENGINE, "width=2"])]
    words = ["--hours", "1e-6", "--round", "6", "--black-th", "3", "--white-th", "2", "--games", "4"]
    printed = subprocess.run([*command, *engines, *words], capture_output=True, text=True, check=False)
    assert printed.returncode == 0, printed.stderr
    found = json.loads(printed.stdout.splitlines()[-1])
    assert (found["rounds"], found["games"] + found["repeated"]) == (1, 12)
    assert [(pair["first"], pair["games"]) for pair in found["direct"]["pairs"]] == [("with", 4)]
    pairs = [(pair["first"], pair["second"], pair["games"]) for pair in found["outsider"]["pairs"]]
    assert pairs == [("outsider", "with", 4), ("outsider", "without", 4)]
