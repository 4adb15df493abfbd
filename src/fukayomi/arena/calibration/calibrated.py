"""What a calibration comes to: the object that ``--json`` prints, and the settings for later matches."""

import json
from pathlib import Path
from typing import Any, cast

from fukayomi.arena.calibration.calibration import Calibration, Verdict, batch_folder, clock_at, interval_text
from fukayomi.arena.match.store import FREE_SETTINGS
from fukayomi.arena.match.summary import percent, rounded
from fukayomi.arena.statistics.odds import Odds
from fukayomi.files.atomic import replace_file

CALIBRATED = "calibrated.toml"
"""Settings of a match in which the engine has the clock that was found."""


def summarize_calibration(found: Calibration, odds: Odds) -> dict[str, Any]:
    """All that is known, with the games of earlier runs."""
    settings = found.settings
    verdict = found.verdict(odds)
    clock = clock_at(settings.clocks, odds.estimate) if odds.estimate is not None else None
    amount = settings.clocks.amount(clock) if clock is not None else None
    ratios = odds_to_other(found, odds)
    return {
        "engine": settings.vary,
        "against": settings.against.name,
        "verdict": str(verdict),
        "kind": settings.clocks.kind,
        "clock": clock.text() if clock is not None else None,
        "estimate": amount,
        "low": rounded(odds.low, 1),
        "high": rounded(odds.high, 1),
        "odds": rounded(ratios[0], 5),
        "odds_low": rounded(ratios[1], 5),
        "odds_high": rounded(ratios[2], 5),
        "score_at_estimate": rounded(odds.score(amount), 4) if amount is not None else None,
        "slope_elo_per_doubling": rounded(odds.elo, 1),
        "slope_low": rounded(odds.elo_low, 1),
        "slope_high": rounded(odds.elo_high, 1),
        "scatter": rounded(odds.scatter, 3),
        "games": found.played,
        "counted": sum(level.games for level in found.levels),
        "failed": found.failed,
        "repeated": found.repeated,
        "complete": found.is_complete,
        "interrupted": found.is_interrupted,
        "left_out": sorted(found.left_out),
        "batches": [
            {
                "amount": level.amount,
                "games": level.games,
                "score": rounded(level.points / level.games, 4) if level.games else None,
                "expected": rounded(odds.score(level.amount), 4),
                "folder": str(batch_folder(found.folder, number)),
            }
            for number, level in enumerate(found.levels, 1)
        ],
        "path": str(found.folder / CALIBRATED) if verdict is Verdict.FOUND and found.is_complete else None,
    }


def odds_to_other(found: Calibration, odds: Odds) -> tuple[float | None, float | None, float | None]:
    """Estimate, low and high as multiples of what the other engine has; None if its clock is of another kind."""
    settings = found.settings
    other = settings.clocks.amount(settings.against.clock or settings.match.clock)
    ends = (odds.estimate, odds.low, odds.high)
    estimate, low, high = (None if other is None or end is None else end / other for end in ends)
    return estimate, low, high


def write_calibrated(found: Calibration, odds: Odds) -> Path:
    """Write the settings with which ``fukayomi match --config`` plays at the clock that was found.

    Raises:
        OSError: They cannot be written.
    """
    settings = found.settings
    assert odds.estimate is not None
    clock = clock_at(settings.clocks, odds.estimate)
    match = settings.at(clock).model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude={*FREE_SETTINGS, "opening_start"}
    )
    score = odds.score(settings.clocks.amount(clock) or 1)
    comments = [
        f"{settings.vary} scores 50 % against {settings.against.name} at {clock.text()}, by {found.played} games.",
        f"95 %: {interval_text(settings.clocks, odds)}.",
        f"A doubling is worth {odds.elo:.0f} Elo ({odds.elo_low:.0f} to {odds.elo_high:.0f}).",
        f"Expected score of {settings.vary} at this clock: {percent(score)}.",
        "",
        "fukayomi match --config calibrated.toml --games N --out DIR",
    ]
    text = "".join(f"# {comment}".rstrip() + "\n" for comment in comments)
    path = found.folder / CALIBRATED
    replace_file(path, f"{text}\n{to_toml(match)}".encode())
    return path


def to_toml(found: dict[str, Any]) -> str:
    """Plain values (texts, numbers, lists, tables, lists of tables) as TOML."""
    plain: dict[str, Any] = {}
    tables: list[str] = []
    for name, value in found.items():
        if isinstance(value, dict):
            tables.append(f"\n[{_key(name)}]\n{_lines(cast(dict[str, Any], value))}")
        elif _is_of_tables(value):
            tables += [f"\n[[{_key(name)}]]\n{_lines(each)}" for each in value]
        else:
            plain[name] = value
    return "".join([_lines(plain), *tables])


def _is_of_tables(value: Any) -> bool:
    return isinstance(value, list) and {type(each) for each in cast(list[Any], value)} == {dict}


def _lines(table: dict[str, Any]) -> str:
    return "".join(f"{_key(name)} = {_value(value)}\n" for name, value in table.items())


def _value(value: object) -> str:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value).items()
        return "{" + ", ".join(f"{_key(name)} = {_value(each)}" for name, each in fields) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(each) for each in cast(list[Any], value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON's texts and numbers are TOML's


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else _value(name)
