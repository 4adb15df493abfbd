"""The settings that a calibration saves for later matches."""

import tomllib
from pathlib import Path

import pytest

from fukayomi.arena.calibration.calibration import MATCH_FILE, Calibration, write_match_file
from fukayomi.arena.calibration.settings import CalibrationSettings, ClockRange
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.match.settings import MatchSettings, build_settings
from fukayomi.arena.statistics.odds import Level
from fukayomi.settings import read

RANGE = ClockRange(TimeControl.from_text("nodes=100"), TimeControl.from_text("nodes=10000"))
LEVELS = [Level(500, (8, 2, 3, 2, 1)), Level(2000, (1, 2, 3, 2, 8))]


@pytest.mark.parametrize("text", ["a b", 'a"b', "a\\b", "先手 #1", "=[x]", "' '", "a\u0085b\u2028c"])
def test_odd_names_and_options_read_back_equal(tmp_path: Path, text: str) -> None:
    match = MatchSettings.model_validate(
        {
            "engine": [
                {"name": text, "command": ["engine", text, ""], "options": {text: text, "a.b": "\n\t\x7f"}},
                {"name": "other", "command": ["other"], "directory": tmp_path / "some folder"},
            ],
            "games": 40,
            "clock": "byoyomi=1s",
            "openings": tmp_path / "openings.sfen",
            "rules": {"max_plies": 100, "resign": {"score_cp": 2000, "both_sides": False}},
        }
    )
    settings = CalibrationSettings(match=match, vary="other", clocks=RANGE)
    found = Calibration(settings, tmp_path, levels=LEVELS, played=40)
    odds = found.odds()
    path = write_match_file(found, odds)
    assert path == tmp_path / MATCH_FILE
    assert path.read_text(encoding="utf-8").startswith("# other scores 50 % against")
    saved = tomllib.loads(path.read_text(encoding="utf-8"))
    assert saved["engine"][1]["clock"].startswith("nodes=")
    assert str(found).splitlines()[0].split() == ["clock", "games", "score", "expected"]
    assert [row["clock"] for row in found.rows()] == ["nodes=500", "nodes=2000"]
    again = build_settings(read(MatchSettings, path) | {"games": 40})
    clock = TimeControl.from_text(saved["engine"][1]["clock"])
    assert again == settings.at(clock)
