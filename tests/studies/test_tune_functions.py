"""studies/tune_functions.py, and the settings of `fukayomi tune` beside it."""

import subprocess
import sys
from pathlib import Path

import pytest
import tune_functions

from fukayomi.settings import build, read
from fukayomi.tuning import TuneSettings

FOLDER = Path(tune_functions.__file__).parent


def test_the_table_has_a_cell_for_each_method() -> None:
    words = ["--runs", "2", "--parameters", "2", "--pairs", "40", "--elo", "5"]
    command = [sys.executable, tune_functions.__file__, *words]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout.splitlines()
    assert printed[0].split(" | ")[3:] == ["plain", "spsa", "adam", "tpe", "cma-es |"]
    assert printed[2].startswith("| 2 | 40 | 10 | ")
    assert printed[2].count("±") == 5


def test_less_is_left_after_more_games() -> None:
    few, many = (tune_functions.play("spsa", 2, pairs, 20, seed=1) for pairs in (40, 2000))
    assert many < 20 < few < 60


@pytest.mark.parametrize("name", ["tune-search.toml", "tune-fairy.toml"])
def test_settings_are_valid(name: str) -> None:
    settings = build(TuneSettings, read(TuneSettings, FOLDER / name))
    assert settings.rounds > 20
    if name == "tune-search.toml":
        assert (len(settings.parameters), settings.games) == (12, 4000)
