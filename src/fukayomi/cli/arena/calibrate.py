"""``fukayomi match calibrate``: find the clock at which an engine scores 50 % against another."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.arena.calibration.settings import CalibrationSettings, ClockRange
from fukayomi.cli.arena.match import watching
from fukayomi.cli.arena.match_options import (
    EngineOptions,
    GameOptions,
    RuleOptions,
    RunOptions,
    fitting,
    read_settings,
    workers,
)
from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.options import given_options, options_of
from fukayomi.cli.common.text import json_text
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.arena.calibration.calibration import Calibration
    from fukayomi.arena.statistics.odds import Odds

PANEL = "Calibration"

Vary = Annotated[str, typer.Option(metavar="NAME", help="The engine whose clock varies.", rich_help_panel=PANEL)]
Low = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="CLOCK",
        help="Its smallest clock: nodes=1000; movetime=20ms; byoyomi=50ms; main=30s,increment=100ms (both times "
        "vary in the same ratio).",
        rich_help_panel=PANEL,
    ),
]
High = Annotated[
    str, typer.Option("--to", metavar="CLOCK", help="Its largest clock, of the same kind.", rich_help_panel=PANEL)
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder of the calibration: one match per batch.")]


@options_of(CalibrationSettings, "precision", panel=PANEL)
class PrecisionOptions:
    """Options that decide when enough is known."""


def calibrate(
    out: Out,
    vary: Vary,
    low: Low,
    high: High,
    precision: PrecisionOptions,
    engines: EngineOptions,
    games: GameOptions,
    rules: RuleOptions,
    run: RunOptions,
) -> None:
    """Find the nodes or the time at which an engine scores 50 %, for matches at odds.

    \b
      fukayomi match calibrate --engine new=fukayomi-usi \\
        --engine baseline=/usr/games/gpsusi --clock movetime=1s \\
        --vary baseline --from nodes=1000 --to nodes=1000000 \\
        --games 400 --openings balanced.sfen --out odds

    Games are played in batches (DIR/001, DIR/002, ...), each an ordinary match at a clock chosen from the results so
    far; every opening is played with both colours, and none is repeated before all have been used. The estimate and
    its 95 % interval use all games and assume that every doubling of the clock is worth the same Elo. If the clock
    lies outside --from and --to, the command says so and fails; widen the range and run it again: the games already
    played count.

    Every finished game is safe on disk; run the same command again to resume. DIR/calibrated.toml gets both engines
    with the clock that was found, for later matches: fukayomi match --config DIR/calibrated.toml --games 100 --out DIR2
    """
    from fukayomi.arena.game.time_control import TimeControl

    clocks = ClockRange(TimeControl.from_text(low), TimeControl.from_text(high))
    match = read_settings((engines, games, rules, run), {vary: low})  # its clock is another in each batch
    settings = CalibrationSettings(match=match, vary=vary, clocks=clocks, **given_options(precision))
    found = _run(settings, out, run.ray)
    _report(found, found.odds(), as_json=run.as_json)


def _run(settings: CalibrationSettings, out: Path, ray: str | None) -> "Calibration":
    from fukayomi.arena.calibration.calibration import calibrate as run_calibration

    try:
        with workers(ray) as (start_workers, at_once), watching() as listener:
            settings = settings.changed(match=fitting(settings.match, at_once))
            return run_calibration(settings, out, listener=listener, start_workers=start_workers)
    except KeyboardInterrupt:  # before there was anything to save, or for the second time
        fail("stopped; run the same command again to resume the calibration", INTERRUPTED)


def _report(found: "Calibration", odds: "Odds", *, as_json: bool) -> None:
    """Save and print the result, and exit with the right code."""
    from fukayomi.arena.calibration.calibration import Verdict, clock_at, interval_text, write_match_file
    from fukayomi.cli.arena.match_progress import failure_text

    verdict = found.verdict(odds)
    saved = write_match_file(found, odds) if found.is_complete and verdict is Verdict.FOUND else None
    if as_json:
        typer.echo(json_text(summarize_calibration(found, odds)))
    else:
        _print(found, odds, saved)
    if found.is_interrupted:
        typer.echo(
            f"Stopped: {counted(found.played, 'game is', 'games are')} in {found.folder}, at most {found.left} are "
            "left. Run the same command again to resume.",
            err=True,
        )
        raise typer.Exit(INTERRUPTED)
    if found.left_out:
        reasons = "; ".join(failure_text(failure) for _, failure in sorted(found.left_out.items()))
        fail(f"{reasons}. Run the same command again to resume; --restart restarts engines that fail")
    clocks = found.settings.clocks
    if verdict is Verdict.UNKNOWN:
        likely = ""
        if odds.estimate is not None:
            likely = f"; most likely at {clock_at(clocks, odds.estimate).text()}, outside the range, but not surely so"
        fail(
            f"{counted(found.played, 'game does', 'games do')} not say whether 50 % is in the range (95 %: "
            f"{interval_text(clocks, odds)}{likely}); no clock was saved. Raise --games, or give a wider range"
        )
    if verdict is not Verdict.FOUND:
        end, option = (clocks.low, "--from") if verdict is Verdict.BELOW else (clocks.high, "--to")
        fail(
            f"50 % lies {verdict} the range (95 %: {interval_text(clocks, odds)}); no clock was saved. Give another "
            f"{option} than {end.text()}; the games already played count"
        )


def summarize_calibration(found: "Calibration", odds: "Odds") -> dict[str, Any]:
    """The document of --json; the games of earlier runs are included."""
    from fukayomi.arena.calibration.calibration import MATCH_FILE, Verdict, batch_folder, clock_at
    from fukayomi.arena.match.summary import rounded

    settings = found.settings
    verdict = found.verdict(odds)
    clock = clock_at(settings.clocks, odds.estimate) if odds.estimate is not None else None
    amount = settings.clocks.amount(clock) if clock is not None else None
    ratios = found.odds_to_other(odds)
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
        "left": found.left,
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
        "path": str(found.folder / MATCH_FILE) if verdict is Verdict.FOUND and found.is_complete else None,
    }


def _print(found: "Calibration", odds: "Odds", saved: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from fukayomi.arena.calibration.calibration import clock_at, interval_text
    from fukayomi.cli.arena.match_progress import percent

    settings = found.settings
    table = Table("batch", settings.clocks.kind, "games", "score", "expected")
    for column in table.columns:
        column.justify = "right"
    for number, row in enumerate(found.rows(), 1):
        clock = row["clock"].rpartition("=")[2]
        table.add_row(str(number), clock, str(row["games"]), percent(row["score"]), percent(row["expected"]))
    lines: list[str] = []
    names = f"{settings.vary} against {settings.against.name}"
    if odds.estimate is not None:
        lines.append(f"{names}: 50 % at {clock_at(settings.clocks, odds.estimate).text()}")
    lines.append(f"95 %: {interval_text(settings.clocks, odds)}, from {counted(found.played, 'game')}")
    ratio, low, high = found.odds_to_other(odds)
    if ratio is not None:
        ends = f"{low:.3g} to {high:.3g}" if low is not None and high is not None else "open"
        lines.append(f"that is {ratio:.3g} times the clock of {settings.against.name} ({ends})")
    lines.append(f"a doubling is worth {odds.elo:.0f} Elo ({odds.elo_low:.0f} to {odds.elo_high:.0f})")
    clocks = settings.clocks
    if odds.low is None or odds.high is None or odds.low < clocks.least or odds.high > clocks.most:
        lines.append("warning: the interval extends beyond the range; more games narrow it")
    if found.failed:
        lines.append(f"{counted(found.failed, 'game does', 'games do')} not count because an engine failed")
    if found.repeated:
        lines.append(
            f"warning: {counted(found.repeated, 'game repeats', 'games repeat')} another one move by move, so the "
            "interval is too narrow: use more openings, or engines with some randomness"
        )
    if saved is not None:
        lines.append(f"settings for later matches: {saved}")
    console = Console()
    console.print(table)
    for line in lines:
        console.print(Text(line), soft_wrap=True)
