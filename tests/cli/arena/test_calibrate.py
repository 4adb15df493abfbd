"""``fukayomi match calibrate``: that it finds a known truth, says what it does not know, and goes on after any end."""

import json
import os
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import command_runs
import pytest
from places import HELPERS

from fukayomi.arena.match.settings import MatchSettings
from fukayomi.arena.results.sources import read_games
from fukayomi.settings import read
from fukayomi.shogi import Position

ENGINE = [sys.executable, str(HELPERS / "odds_engine.py")]

run = partial(command_runs.run, "match")


def engines(*words: str) -> list[str]:
    return ["--engine", f"new={shlex.join(ENGINE)}", "--engine", f"base={shlex.join([*ENGINE, *words])}"]


@pytest.fixture
def openings(tmp_path: Path) -> Path:
    """All beginnings of two plies: 900 different ones."""
    first = Position()
    lines: list[str] = []
    for move in first.legal_moves:
        second = Position.from_usi(f"startpos moves {move.usi()}")
        lines += [f"startpos moves {move.usi()} {answer.usi()}\n" for answer in second.legal_moves]
    path = tmp_path / "openings.sfen"
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def basics(tmp_path: Path, openings: Path) -> list[str]:
    return ["--clock", "nodes=50", "--vary", "base", "--openings", str(openings), "--opening-order", "random",
            "--out", str(tmp_path / "out")]  # fmt: skip


RANGE = ["--from", "nodes=100", "--to", "nodes=10000"]


def calibrate(*arguments: object) -> tuple[int, dict[str, Any], str]:
    code, printed, said = run("calibrate", *arguments, "--json")
    return code, json.loads(printed) if printed else {}, said


def without_paths(found: dict[str, Any]) -> dict[str, Any]:
    batches = [{**batch, "folder": None} for batch in found["batches"]]
    return {**found, "batches": batches, "path": None}


# ------------------------------------------------------------------------------------------------------- what it finds


def test_a_known_truth_is_found_and_saved_for_later_matches(tmp_path: Path, basics: list[str]) -> None:
    arguments = [*engines("even=2000", "elo=150"), *RANGE, "--games", 60, "--max-plies", 40, *basics]
    code, found, said = calibrate(*arguments)
    assert code == 0
    assert (found["engine"], found["against"], found["kind"], found["verdict"]) == ("base", "new", "nodes", "found")
    assert found["low"] < found["estimate"] < found["high"]
    assert found["low"] < 2000 < found["high"]
    assert found["odds"] == pytest.approx(found["estimate"] / 50, rel=0.01)
    assert found["clock"] == f"nodes={found['estimate']}"
    assert found["score_at_estimate"] == pytest.approx(0.5, abs=0.01)
    assert found["slope_low"] < 150 < found["slope_high"]
    assert (found["games"], found["counted"], found["failed"], found["repeated"]) == (60, 60, 0, 0)
    assert found["complete"]
    assert sum(batch["games"] for batch in found["batches"]) == 60
    assert all(100 <= batch["amount"] <= 10_000 for batch in found["batches"])
    assert len({batch["amount"] for batch in found["batches"]}) > 3
    assert "batch 2: 8 games with base at nodes=" in said
    assert "; 50 % " in said

    saved = tmp_path / "out" / "calibrated.toml"
    assert found["path"] == str(saved)
    settings = read(MatchSettings, saved)
    assert settings["engine"][1]["clock"] == found["clock"]
    assert settings["clock"] == "nodes=50"
    assert settings["rules"] == {"max_plies": 40}
    code, printed, _ = run("--config", saved, "--games", 2, "--out", tmp_path / "later", "--json")
    assert code == 0
    assert json.loads(printed)["games"] == 2

    before = saved.read_text(encoding="utf-8")
    code, again, said = calibrate(*arguments)
    assert (code, again, said) == (0, found, ""), "there is nothing left to play"
    assert saved.read_text(encoding="utf-8") == before
    code, printed, _ = run("calibrate", *arguments)
    assert code == 0
    assert f"base against new: 50 % at {found['clock']}" in printed
    assert "a doubling is worth" in printed

    starts = {game.moves[:2] for path in (tmp_path / "out").glob("0*") for game in read_games([path]) if game.moves}
    assert len(starts) == 30, "each batch goes on where the one before ended"
    code, more, _ = calibrate(*[80 if each == 60 else each for each in arguments])
    assert (code, more["games"]) == (0, 80)
    assert more["batches"][0]["amount"] == found["batches"][0]["amount"]


def test_the_clock_of_the_engine_that_varies_is_not_asked_for(tmp_path: Path, basics: list[str]) -> None:
    without = [word for word in basics if word not in ("--clock", "nodes=50")]
    code, _, said = calibrate(*engines(), *without, *RANGE, "--games", 8, "--max-plies", 12)
    assert code == 1
    assert "clock is missing" in said
    code, found, said = calibrate(
        *engines(), *without, *RANGE, "--games", 8, "--max-plies", 12, "--engine-clock", "new=nodes=50"
    )
    assert found["games"] == 8, said


def test_a_range_that_does_not_hold_the_truth_is_said_to_and_can_be_widened(tmp_path: Path, basics: list[str]) -> None:
    out = tmp_path / "out"
    arguments = [*engines("even=100000", "elo=150"), "--from", "nodes=100", "--games", 100, *basics]
    code, found, said = calibrate(*arguments, "--to", "nodes=2000")
    assert code == 1
    assert found["verdict"] == "above"
    assert found["games"] < 100, "it is certain before"
    assert found["low"] > 2000
    assert found["path"] is None
    assert not (out / "calibrated.toml").exists()
    assert "50 % lies above the range" in said
    assert "another --to than nodes=2000" in said
    code, wider, said = calibrate(*arguments, "--to", "nodes=1000000")
    assert code == 0
    assert wider["batches"][: len(found["batches"])] != []
    for before, after in zip(found["batches"], wider["batches"], strict=False):
        assert (before["amount"], before["games"]) == (after["amount"], after["games"])
    assert wider["games"] == 100
    assert wider["low"] < 100_000 < wider["high"]
    assert (out / "calibrated.toml").exists()


def test_the_games_and_the_time_left_are_those_of_all_batches(basics: list[str]) -> None:
    arguments = [*engines("even=1000"), *RANGE, "--games", 32, *basics]
    code, found, said = calibrate(*arguments)
    assert (code, found["games"], found["left"]) == (0, 32, 0)
    games = [line for line in said.splitlines() if line.startswith("game ")]
    assert len(games) == 32
    assert [int(line.partition("in all ")[2].partition(" of 32, ")[0]) for line in games] == list(range(1, 33))
    assert all(line.endswith(" left") for line in games[:-1])
    assert "left" not in games[-1].partition("in all")[2]


def test_few_games_do_not_pretend_to_know(basics: list[str]) -> None:
    arguments = [*engines("even=1000"), *RANGE, "--games", 8, *basics]
    _, found, _ = calibrate(*arguments)
    assert found["low"] is None or found["high"] is None or found["low"] < 100 or found["high"] > 10_000
    _, printed, _ = run("calibrate", *arguments)
    assert "warning: the interval extends beyond the range" in printed


def test_precision_saves_games(basics: list[str]) -> None:
    code, found, _ = calibrate(
        *engines("even=1000", "elo=400"), *RANGE, "--games", 200, "--precision", "2.5", *basics, "--concurrency", 2
    )
    assert code == 0
    assert found["games"] < 200
    assert found["complete"]
    assert (found["high"] / found["low"]) ** 0.5 < 2.5


# ------------------------------------------------------------------------------------------------ how a run may end


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
def test_a_run_that_was_killed_goes_on_to_the_same_result(tmp_path: Path, basics: list[str]) -> None:
    arguments = [*engines("even=2000", "elo=150", "slow=0.02"), *RANGE, "--games", 24, *basics]
    command = [sys.executable, "-m", "fukayomi", "match", "calibrate", *map(str, arguments)]
    for games, kill in ((9, signal.SIGKILL), (2, signal.SIGINT)):
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
            assert process.stderr is not None
            while games:
                line = process.stderr.readline()
                assert line, "the run ended before it had so many games"
                games -= line.startswith("game ")
            process.send_signal(kill)
            process.stderr.read()
        assert process.returncode == (130 if kill == signal.SIGINT else -signal.SIGKILL)
        assert not (tmp_path / "out" / "calibrated.toml").exists()
    code, found, _ = calibrate(*arguments)
    assert code == 0
    elsewhere = [tmp_path / "elsewhere" if each == str(tmp_path / "out") else each for each in arguments]
    code, whole, _ = calibrate(*elsewhere)
    assert code == 0
    assert without_paths(found) == without_paths(whole)


def test_an_engine_that_fails_is_told_of_and_games_go_on_with_restart(tmp_path: Path, basics: list[str]) -> None:
    program = HELPERS / "random_engine.py"
    mortal = ["--engine", f"base={shlex.join([sys.executable, str(program), 'dies=3'])}"]
    arguments = [*engines()[:2], *mortal, *RANGE, "--games", 16, *basics]
    code, found, said = calibrate(*arguments)
    assert code == 1
    assert found["left_out"] == ["base"]
    assert not found["complete"]
    assert found["path"] is None
    assert "base failed (crash: " in said.splitlines()[-1]
    code, found, said = calibrate(*arguments, "--restart")
    assert (found["games"], found["left_out"]) == (16, [])
    assert found["failed"] > 0
    assert found["counted"] <= 16 - found["failed"]
    assert code == 1
    assert found["verdict"] in ("below", "unknown"), "it wins all games at which it does not die"


# -------------------------------------------------------------------------------------------------------- what is wrong

WHOLE = [*engines("even=9"), *RANGE, "--games", "4", "--clock", "nodes=1", "--vary", "base"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([*WHOLE, "--vary", "old"], 1, "no engine is named 'old'; the engines are new, base"),
        ([*WHOLE, "--games", "5"], 1, "games must be even"),
        ([*WHOLE, "--engine", f"third={shlex.join(ENGINE)}"], 1, "compares two engines, not new, base, third"),
        ([*WHOLE, "--from", "100"], 1, "time control '100'"),
        ([*WHOLE, "--from", "movetime=1s"], 1, "clocks of different kinds"),
        ([*WHOLE, "--to", "nodes=100"], 1, "must be the smaller one"),
        ([*WHOLE, "--precision", "0.5"], 2, "--precision: Input should be greater than 1, not 0.5"),
        (["--games", "4", *WHOLE[:-2], "--vary", "base", "--engine", "x"], 1, "does not have the form NAME=COMMAND"),
        (WHOLE[:-2], 2, "--vary"),
    ],
    ids=["vary", "odd", "three", "clock", "kinds", "order", "precision", "engine", "no-vary"],
)
def test_what_is_wrong_is_said_before_any_game(tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    found, printed, complaint = run("calibrate", *arguments, "--out", tmp_path / "out")
    assert (found, printed) == (code, "")
    assert said in complaint
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_refused(tmp_path: Path, basics: list[str]) -> None:
    arguments = [*engines("even=2000"), *RANGE, "--games", 2, *basics]
    assert calibrate(*arguments)[0] in (0, 1)
    other = [f"{word} seed=3" if str(word).startswith("new=") else word for word in arguments]
    code, _, said = calibrate(*other)
    assert code == 1
    assert "holds a match with other settings: new's command was" in said
    code, _, said = calibrate(*arguments, "--from", "movetime=100ms", "--to", "movetime=9s")
    assert code == 1
    assert "base has another kind of clock than movetime=100ms" in said
    code, _, said = calibrate(*arguments, "--out", tmp_path / "out" / "001")
    assert code == 1
    assert "holds a match; a calibration needs a folder of its own" in said


def test_a_match_and_its_sub_command_are_told_apart(tmp_path: Path) -> None:
    code, _, said = run("--games", 2, "calibrate", *WHOLE, "--out", tmp_path / "out")
    assert code == 2
    assert "put the options of calibrate after it" in said
    code, _, said = run("calibrat")
    assert code == 2
    assert "No such command 'calibrat'" in said
    code, _, said = run(*engines(), "--games", 2, "--clock", "nodes=1")
    assert code == 2
    assert "--out DIR is required" in said
    assert "calibrate" in run("--help")[1]
    assert "--precision" in run("calibrate", "--help")[1]
