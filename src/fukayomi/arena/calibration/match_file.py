"""Saving the clock that a calibration found, as the settings of later matches."""

from pathlib import Path

from fukayomi.arena.calibration.calibration import Calibration, clock_at, interval_text
from fukayomi.arena.match.store import FREE_SETTINGS
from fukayomi.arena.statistics.odds import Odds
from fukayomi.files.atomic import replace_file
from fukayomi.settings import plain, toml_text
from fukayomi.tabular import counted

MATCH_FILE = "calibrated.toml"
"""Settings of a match in which the engine has the clock that was found."""


def write_match_file(found: Calibration, odds: Odds) -> Path:
    """Write the settings of a match at the clock that was found, for ``fukayomi match --config``.

    Raises:
        OSError: The file cannot be written.
    """
    settings = found.settings
    assert odds.estimate is not None
    clock = clock_at(settings.clocks, odds.estimate)
    match = plain(settings.at(clock), changes_only=True, without={*FREE_SETTINGS, "opening_start"})
    score = odds.score(settings.clocks.amount(clock) or 1) or 0.0
    comments = [
        f"{settings.vary} scores 50 % against {settings.against.name} at {clock.text()}, "
        f"in {counted(found.played, 'game')}.",
        f"95 %: {interval_text(settings.clocks, odds)}.",
        f"A doubling is worth {odds.elo:.0f} Elo ({odds.elo_low:.0f} to {odds.elo_high:.0f}).",
        f"Expected score of {settings.vary} at this clock: {100 * score:.1f} %.",
        "",
        "fukayomi match --config calibrated.toml --games N --out DIR",
    ]
    path = found.folder / MATCH_FILE
    replace_file(path, toml_text(match, comments).encode())
    return path
