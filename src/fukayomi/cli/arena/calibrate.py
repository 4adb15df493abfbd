"""``fukayomi match calibrate``: at which clock does an engine score 50 % against another?"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.arena.match import players, watching
from fukayomi.cli.arena.match_options import MatchOptions, read_settings
from fukayomi.cli.common.errors import INTERRUPTED, fail, user_errors
from fukayomi.cli.common.text import json_text

if TYPE_CHECKING:
    from fukayomi.arena.calibration.calibration import Calibration, CalibrationSettings
    from fukayomi.arena.statistics.odds import Odds

ODDS = "Odds"

Vary = Annotated[str, typer.Option(metavar="NAME", help="The engine whose clock is varied.", rich_help_panel=ODDS)]
Least = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="CLOCK",
        help="Its smallest clock: nodes=1000; movetime=20ms; byoyomi=50ms; main=30s,increment=100ms (both times "
        "vary in the same ratio).",
        rich_help_panel=ODDS,
    ),
]
Most = Annotated[
    str, typer.Option("--to", metavar="CLOCK", help="Its largest clock, of the same kind.", rich_help_panel=ODDS)
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder of the calibration: a match for each batch.")]
Precision = Annotated[
    float | None,
    typer.Option(
        help="Stop once the 95 % interval is within this factor of its middle, as 1.2.",
        show_default="all games are played",
        rich_help_panel=ODDS,
    ),
]


def calibrate(
    vary: Vary,
    least: Least,
    most: Most,
    out: Out,
    options: MatchOptions,
    precision: Precision = None,
) -> None:
    """Find the nodes or the time at which an engine scores 50 %, for odds that make two engines equal.

    fukayomi match calibrate --engine "new=fukayomi-usi" --clock movetime=1s --engine "baseline=/usr/games/gpsusi"
    --vary baseline --from nodes=1000 --to nodes=1000000 --games 400 --openings balanced.sfen --out odds

    Games are played in batches (DIR/001, DIR/002, ...), each a match of its own at a clock that the games so far
    propose; every opening is played with both colours, and none twice before all were. The estimate and its 95 %
    interval are by all games, on the model that each doubling is worth the same Elo. If the clock lies beyond --from
    or --to, the command says so and fails; then widen the range: the games that were played still count.

    Every game is safe on disk when it ends, and the same command goes on. At the end DIR/calibrated.toml has both
    engines with the clock that was found: fukayomi match --config DIR/calibrated.toml --games 100 --out DIR2
    """
    from fukayomi.arena.calibration.calibration import CalibrationSettings
    from fukayomi.arena.calibration.clock_range import ClockRange
    from fukayomi.arena.game.time_control import TimeControl

    with user_errors():
        clocks = ClockRange(TimeControl.from_text(least), TimeControl.from_text(most))
        settings = CalibrationSettings(read_settings(options), vary, clocks, precision)
        found = _run(settings, out, options.ray)
        _report(found, found.odds(), as_json=options.as_json)


def _run(settings: "CalibrationSettings", out: Path, ray: str | None) -> "Calibration":
    from fukayomi.arena.calibration.calibration import calibrate as run_calibration

    try:
        with players(settings.match, ray) as (fitting, start_workers), watching() as listener:
            return run_calibration(replace(settings, match=fitting), out, listener, start_workers)
    except KeyboardInterrupt:  # while there was nothing to be saved, or for the second time
        fail("stopped; the same command goes on with the calibration", INTERRUPTED)


def _report(found: "Calibration", odds: "Odds", *, as_json: bool) -> None:
    """Save and print the result, and end with the right exit code."""
    from fukayomi.arena.calibration.calibrated import summarize_calibration, write_calibrated
    from fukayomi.arena.calibration.calibration import Verdict, interval_text

    verdict = found.verdict(odds)
    saved = write_calibrated(found, odds) if found.is_complete and verdict is Verdict.FOUND else None
    if as_json:
        typer.echo(json_text(summarize_calibration(found, odds)))
    else:
        _print(found, odds, saved)
    if found.is_interrupted:
        typer.echo(
            f"Stopped: {found.played} games are in {found.folder}. The same command goes on with the rest.", err=True
        )
        raise typer.Exit(INTERRUPTED)
    if found.left_out:
        fail(
            f"an engine failed: {', '.join(sorted(found.left_out))}. The same command goes on; with --restart an "
            "engine that fails is started again"
        )
    clocks = found.settings.clocks
    if verdict is Verdict.UNKNOWN:
        fail(f"{found.played} games do not tell where 50 % is: {interval_text(clocks, odds)}. Give more --games")
    if verdict is not Verdict.FOUND:
        end, option = (clocks.low, "--from") if verdict is Verdict.BELOW else (clocks.high, "--to")
        fail(
            f"50 % lies {verdict} the range ({interval_text(clocks, odds)}); no clock was saved. Give another {option} "
            f"than {end.text()}: the games that were played count"
        )


def _print(found: "Calibration", odds: "Odds", saved: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from fukayomi.arena.calibration.calibrated import odds_to_other
    from fukayomi.arena.calibration.calibration import clock_at, interval_text
    from fukayomi.arena.match.summary import percent

    settings = found.settings
    table = Table("batch", settings.clocks.kind, "games", "score", "expected")
    for column in table.columns:
        column.justify = "right"
    for number, level in enumerate(found.levels, 1):
        score = level.points / level.games if level.games else None
        clock = settings.clocks.clock(level.amount).text().rpartition("=")[2]
        table.add_row(str(number), clock, str(level.games), percent(score), percent(odds.score(level.amount)))
    lines: list[str] = []
    names = f"{settings.vary} against {settings.against.name}"
    if odds.estimate is not None:
        lines.append(f"{names}: 50 % at {clock_at(settings.clocks, odds.estimate).text()}")
    lines.append(f"95 %: {interval_text(settings.clocks, odds)}, by {found.played} games")
    ratio, low, high = odds_to_other(found, odds)
    if ratio is not None:
        ends = f"{low:.3g} to {high:.3g}" if low is not None and high is not None else "open"
        lines.append(f"that is {ratio:.3g} times what {settings.against.name} has ({ends})")
    lines.append(f"a doubling is worth {odds.elo:.0f} Elo ({odds.elo_low:.0f} to {odds.elo_high:.0f})")
    clocks = settings.clocks
    if odds.low is None or odds.high is None or odds.low < clocks.least or odds.high > clocks.most:
        lines.append("warning: the interval goes beyond the range; 50 % may lie there, and more games would tell")
    if found.failed:
        lines.append(f"{found.failed} games do not count, as an engine failed")
    if found.repeated:
        lines.append(
            f"warning: {found.repeated} games repeat another one move by move, and the interval is too narrow by them: "
            "use more openings, or engines with some randomness"
        )
    if saved is not None:
        lines.append(f"for later matches: {saved}")
    console = Console()
    console.print(table)
    for line in lines:
        console.print(Text(line), soft_wrap=True)
