"""`fukayomi tune`."""

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_runs import run, run_json
from tune_run import small

from fukayomi.settings import toml_text
from fukayomi.tuning import read_tuning


def write_config(path: Path, *words: str, **changes: Any) -> Path:
    path.write_text(toml_text({**small(*words), **changes}), "utf-8")
    return path


def test_a_run_is_reported_and_its_match_confirms_it(tmp_path: Path) -> None:
    config, folder = write_config(tmp_path / "tune.toml"), tmp_path / "tuned"
    code, printed, said = run("tune", folder, "--config", config, "--games", 16)
    assert code == 0, said
    lines = printed.splitlines()
    assert lines[0].split() == ["option", "start", "tuned", "interval", "moved"]
    assert "16 of 16 games" in lines
    assert "8 of 16 games; Aim=" in said
    command = lines[-1].removeprefix("to confirm: ")
    assert command == (f"fukayomi match --config {folder}/confirm.toml --sprt elo0=0,elo1=5 --out {folder}/confirm")
    words = shlex.split(command)[1:]
    code, printed, said = run(*words, "--games", 4)
    assert code == 0, said
    assert "tuned" in printed

    found = run_json("tune", folder)  # nothing is left to play
    assert (found["complete"], found["games"], found["new_games"], found["rounds"]) == (True, 16, 0, 2)
    (parameter,) = found["parameters"]
    assert (parameter["option"], parameter["start"], parameter["low"], parameter["high"]) == ("Aim", "50", 20, 100)
    assert Path(found["options"]).read_text("utf-8") == f"Aim={parameter['tuned']}\n"
    assert len(found["course"]) == 3


def test_openings_of_the_package_are_the_default(tmp_path: Path) -> None:
    config, folder = write_config(tmp_path / "tune.toml"), tmp_path / "tuned"
    code, _, said = run("tune", folder, "--config", config, "--games", 2, "--method", "adam")
    assert code == 0, said
    settings = read_tuning(folder).settings
    assert settings.openings is not None
    assert settings.openings.name == "openings.sfen"
    assert settings.method == "adam"


@pytest.mark.parametrize(
    ("changes", "words", "problem"),
    [
        ({}, ["--games", "5"], "games are a multiple of 2"),
        ({}, ["--batch", "0"], "--batch"),
        ({"parameter": {"Aim": {"low": 1, "high": 2, "middle": 1}}}, [], "parameter.Aim.middle: unknown setting"),
        ({"parameter": {"Ain": {"low": 1, "high": 2}}}, [], "declares no option 'Ain'; did you mean Aim?"),
        ({"parameter": {"Aim": {"low": 1, "high": 999}}}, [], "Aim takes 0 to 100, not 999"),
        ({"clock": "never"}, [], "clock"),
        ({"openings": "none.sfen"}, [], "none.sfen"),
    ],
)
def test_mistakes_are_said_in_a_line(tmp_path: Path, changes: dict[str, Any], words: list[str], problem: str) -> None:
    config = write_config(tmp_path / "tune.toml", **changes)
    code, printed, said = run("tune", tmp_path / "tuned", "--config", config, *words)
    assert code in (1, 2)
    assert printed == ""
    assert problem in said
    assert "Traceback" not in said


def test_the_first_run_needs_a_file(tmp_path: Path) -> None:
    code, _, said = run("tune", tmp_path / "tuned")
    assert code == 2
    assert "give the engine and its parameters by --config FILE.toml" in said
    config = tmp_path / "tune.toml"
    config.write_text("games = 2\n", "utf-8")
    code, _, said = run("tune", tmp_path / "tuned", "--config", config)
    assert code == 2
    assert "tune.toml: engine is missing" in said


def test_ctrl_c_and_the_same_command_again(tmp_path: Path) -> None:
    config, folder = write_config(tmp_path / "tune.toml", games=400), tmp_path / "tuned"
    command = [sys.executable, "-m", "fukayomi", "tune", str(folder), "--config", str(config), "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while not (folder / "rounds" / "00002").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "stopped; run the same command again to go on, or fukayomi tune" in said
    found = json.loads(printed)
    assert not found["complete"]
    assert found["rounds"] >= 1
    assert (folder / "tuned.ini").is_file()
