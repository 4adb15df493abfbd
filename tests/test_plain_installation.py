"""What a player installs has no extras: the engine must play, and an analysis run, where none of them is there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXTRAS = (
    "aiohttp", "matplotlib", "onnxscript", "openvino", "ray", "safetensors", "scipy", "starlette", "tensorboard",
    "torch", "uvicorn", "yaml",
)  # fmt: skip
GAME = Path(__file__).parents[1] / "examples" / "game.csa"
PROGRAM = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS!r})); from fukayomi.__main__ import main; main()"
"""The command line; importing an extra is an error, as if it was not installed."""
BRIEFLY = PROGRAM.replace("main()", "from fukayomi.engine import choice; choice.MEASURE_S = 0.005; main()")
"""The same; networks are measured for a moment, as everywhere in tests."""


@pytest.fixture(autouse=True)
def _no_choice_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend that was chosen where the extras are there is none here."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run(*words: str, text: str = "") -> str:
    done = subprocess.run(
        (sys.executable, "-c", BRIEFLY, *words), input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("network", ["<5x64>", "<sparse>"])
def test_networks_are_chosen_and_searched(network: str) -> None:
    found = json.loads(run("bench", "--model", network, "--nodes", "50", "--json"))
    assert [search["nodes"] for search in found["searches"]] == [50, 50, 50]


def test_the_engine_answers_a_gui() -> None:
    found = run("usi", text="usi\nisready\nposition startpos\ngo nodes 20\nquit\n")
    assert "readyok" in found
    assert "bestmove " in found


def test_games_are_analysed(tmp_path: Path) -> None:
    found = run("analyse", str(GAME), "--nodes", "2", "--out", str(tmp_path / "analysis"))
    assert "118" in found
    assert (tmp_path / "analysis" / "analysis.svg").is_file()


def test_what_is_missing_is_told_with_its_remedy() -> None:
    assert 'pip install "fukayomi[openvino]"' in run("doctor")
    bot = subprocess.run(
        (sys.executable, "-c", PROGRAM, "lishogi", "play"), capture_output=True, text=True, check=False
    )
    assert bot.returncode == 1
    assert 'this command needs aiohttp: pip install "fukayomi[lishogi]"' in bot.stderr


def test_the_portable_folder_names_no_pip() -> None:
    """PyInstaller's programs set `sys.frozen`."""
    program = f"import sys; sys.frozen = True; {PROGRAM}"
    for words in (["lishogi", "play"], ["doctor"]):
        done = subprocess.run((sys.executable, "-c", program, *words), capture_output=True, text=True, check=False)
        said = " ".join((done.stdout + done.stderr).split())
        assert "the portable folder does not have it; its README.txt says how to get all of fukayomi" in said
        assert "pip install" not in said
