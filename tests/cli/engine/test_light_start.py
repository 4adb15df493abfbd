"""A player's commands need neither SciPy nor Matplotlib nor PyYAML, which come with the extra measure."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from places import RECORDS

HIDE = "import sys; sys.modules.update(dict.fromkeys(['scipy', 'matplotlib', 'yaml', 'torch'])); "
RUN = "from fukayomi.cli.main import main; sys.argv[0] = 'fukayomi'; main()"
GAME = RECORDS / "repetition.csa"


def run(*words: str | Path, given: str = "") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", HIDE + RUN, *map(str, words)]
    return subprocess.run(command, input=given, capture_output=True, encoding="utf-8", timeout=60, check=False)


def test_a_game_is_analysed(tmp_path: Path) -> None:
    done = run("analyse", GAME, "--out", tmp_path, "--nodes", "1", "--evaluator", "uniform")
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
    assert "<svg" in (tmp_path / "analysis.svg").read_text("utf-8")


def test_the_engine_plays() -> None:
    done = run("usi", given="usi\nisready\nposition startpos\ngo nodes 2\nquit\n")
    assert (done.returncode, done.stdout.count("bestmove")) == (0, 1)


def test_the_service_answers() -> None:
    done = run("serve", "--evaluator", "uniform", given='{"id": "a", "moves": [], "visits": 2}\n')
    assert (done.returncode, json.loads(done.stdout.splitlines()[-1])["id"]) == (0, "a")


@pytest.mark.parametrize(
    ("words", "module"),
    [
        (("analyse", GAME, "--nodes", "1", "--evaluator", "uniform", "--png", "--out"), "matplotlib"),
        (("sprt", "10", "5", "10"), "scipy"),
        (("strategy", "--list"), "yaml"),
    ],
)
def test_the_extra_is_named(words: tuple[str | Path, ...], module: str, tmp_path: Path) -> None:
    done = run(*words, *([tmp_path] if words[-1] == "--out" else []))
    remedy = f'error: this command needs {module}: pip install "fukayomi[measure]"'
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, remedy)
