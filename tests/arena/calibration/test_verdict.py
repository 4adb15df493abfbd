"""What a calibration says of the range: only what the games say."""

from pathlib import Path

import match_samples

from fukayomi.arena.calibration.calibration import Calibration, Verdict
from fukayomi.arena.calibration.settings import CalibrationSettings, ClockRange
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.statistics.odds import Level, Odds


def odds(estimate: float | None, low: float | None, high: float | None, *, is_outside: bool = False) -> Odds:
    return Odds(estimate, low, high, 80.0, 32.0, 200.0, 1.0, 1000.0, is_outside)


def calibration(*levels: Level) -> Calibration:
    clocks = ClockRange(TimeControl.from_text("nodes=100"), TimeControl.from_text("nodes=10000"))
    settings = CalibrationSettings(
        match=match_samples.settings_of("new", "base", games=100), vary="base", clocks=clocks
    )
    return Calibration(settings, Path("odds"), list(levels))


def test_outside_is_said_only_of_a_whole_interval() -> None:
    verdict = calibration().verdict
    assert verdict(odds(50.0, 20.0, 90.0)) is Verdict.BELOW
    assert verdict(odds(50.0, 20.0, 500.0)) is Verdict.UNKNOWN, "the interval reaches into the range"
    assert verdict(odds(50.0, None, 90.0)) is Verdict.BELOW
    assert verdict(odds(50.0, None, 20_000.0)) is Verdict.UNKNOWN
    assert verdict(odds(None, None, None, is_outside=True)) is Verdict.UNKNOWN, "the interval says nothing"
    assert verdict(odds(None, 20_000.0, None)) is Verdict.ABOVE
    assert verdict(odds(30_000.0, 5000.0, None)) is Verdict.UNKNOWN
    assert verdict(odds(1000.0, 20.0, 90_000.0)) is Verdict.FOUND


def test_few_lopsided_games_say_nothing_of_the_range() -> None:
    found = calibration(Level(100, (0, 0, 1, 0, 2)))  # 5 of 6 at the lower end
    estimate = found.odds()
    assert found.verdict(estimate) is Verdict.UNKNOWN
    assert estimate.high is None or estimate.high > 100
    surely = calibration(Level(100, (0, 0, 1, 5, 40)))
    assert surely.verdict(surely.odds()) is Verdict.BELOW
