"""The check of the engines before a match: what is started, and what is refused."""

import sys
from pathlib import Path
from typing import Any

import pytest

from fukayomi.arena.game.rules import ConfigurationError
from fukayomi.arena.match.game_runner import check_engines
from fukayomi.arena.match.settings import MatchSettings, build_settings

PROGRAM = """
import pathlib, sys
with pathlib.Path(sys.argv[1]).open("a") as file:
    file.write("x")
for line in sys.stdin:
    if line.strip() == "usi":
        print("id name counted\\noption name Aim type spin default 5 min 0 max 9\\nusiok", flush=True)
    elif line.strip() == "isready":
        print("readyok", flush=True)
    elif line.strip() == "quit":
        break
"""


def match(starts: Path, *options: dict[str, Any], **changes: Any) -> MatchSettings:
    command = [sys.executable, "-S", "-E", "-c", PROGRAM, str(starts)]
    engines = [{"name": f"e{number}", "command": command, "options": each} for number, each in enumerate(options)]
    return build_settings({"engine": engines, "games": 2, "clock": "nodes=1", **changes})


def test_a_program_with_other_options_is_not_started_again(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    warnings = check_engines(match(starts, {"Aim": 1}, {"Aim": 2}, {}, rules={"max_plies": 99}))
    assert starts.read_text("utf-8") == "x"
    assert [warning.partition(":")[0] for warning in warnings] == ["e0", "e1", "e2"]  # each is told of the limit


@pytest.mark.parametrize("bad", [{"Aim": 10}, {"Aimm": 1}])
def test_each_engine_is_refused_for_its_own_options(tmp_path: Path, bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"engine e1: .*Aim"):
        check_engines(match(tmp_path / "starts", {"Aim": 1}, bad))
