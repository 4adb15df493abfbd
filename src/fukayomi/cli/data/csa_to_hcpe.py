"""``fukayomi data csa-to-hcpe``: game records to training positions."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.options import AsJson, check_target, given_options, options_of
from fukayomi.cli.common.progress import StageBars, number_table
from fukayomi.cli.common.text import json_text, print_problems
from fukayomi.data.conditions import Filters

if TYPE_CHECKING:
    from fukayomi.data.convert.positions import Count, HoldOut, Summary


@options_of(Filters, "min_rating", "min_plies", "max_eval", "draws", "mates")
class FilterOptions:
    """Options that select the games and positions to keep."""


@dataclass(frozen=True)
class HoldOutOptions:
    """A test set of whole games."""

    hold_out: Annotated[int | None, typer.Option(min=2, metavar="N")] = None
    """Hold out one game in N for testing, chosen by its moves."""
    hold_out_to: Path | None = None
    """File for the games held out."""


def csa_to_hcpe(
    inputs: Annotated[
        list[Path], typer.Argument(metavar="IN...", help="Files, folders, zip or tar archives of records.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The hcpe file to write.")],
    filters: FilterOptions,
    test_set: HoldOutOptions,
    as_json: AsJson = False,
) -> None:
    """Turn game records of any format into training positions (hcpe).

    \b
    fukayomi data csa-to-hcpe floodgate.zip -o train.hcpe --min-rating 3500
    fukayomi data csa-to-hcpe games -o a.hcpe --hold-out 50 --hold-out-to b.hcpe

    Reads CSA (as floodgate and AobaZero write it), KIF, KI2, JKF and USI lines. It takes the same positions as
    fukayomi data convert: moves with a score or visits, from games with an end that says something about the play
    (not broken off, lost on time or by a foul). Records that cannot be read are skipped and named. The files appear
    when they are complete.
    """
    from fukayomi.data.convert.positions import HoldOut, NoPositionsError, convert_records

    if (test_set.hold_out is None) != (test_set.hold_out_to is None):
        raise typer.BadParameter("--hold-out and --hold-out-to go together", param_hint="--hold-out")
    apart = None
    if test_set.hold_out is not None and test_set.hold_out_to is not None:
        apart = HoldOut(test_set.hold_out, test_set.hold_out_to)
    check_target(out, inputs)
    if apart is not None:
        check_target(apart.path, inputs)
        if apart.path.absolute() == out.absolute():
            raise typer.BadParameter("the games held out need a file of their own", param_hint="--hold-out-to")
    start, failure = time.monotonic(), ""
    try:
        kept = Filters(**given_options(filters))
        with StageBars() as listener:
            summary = convert_records(inputs, out, filters=kept, hold_out=apart, listener=listener)
    except NoPositionsError as error:
        summary, failure = error.summary, str(error)
    except KeyboardInterrupt:
        fail("stopped; nothing was written", INTERRUPTED)
    _print_summary(summary, out, apart, time.monotonic() - start, as_json=as_json)
    if failure:
        fail(failure)


def _print_summary(summary: "Summary", out: Path, apart: "HoldOut | None", seconds: float, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_text(_summary_as_json(summary, out, apart, seconds)))
        return
    from rich.console import Console

    console = Console()
    games = number_table("games", "")
    games.add_row("read", f"{summary.games_read:,}")
    games.add_row("kept for training", f"{summary.training.games:,}")
    if apart is not None:
        games.add_row("held out", f"{summary.held_out.games:,}")
    for reason, count in sorted(summary.dropped.items(), key=lambda item: -item[1]):
        games.add_row(f"dropped: {_REASONS[reason]}", f"{count:,}")
    console.print(games)
    console.print(_positions_table(summary, out, apart))
    if summary.overlap is not None:
        overlap = summary.overlap
        console.print(
            f"{overlap.shared:,} of {overlap.positions:,} held-out positions after ply {overlap.after_ply} also occur "
            f"in training: {overlap.share:.2%}"
        )
    print_problems([problem.message for problem in summary.problems])
    console.print(f"{summary.games_read / max(0.001, seconds):,.0f} games/s, {seconds:.1f} s")


def _positions_table(summary: "Summary", out: Path, apart: "HoldOut | None") -> Any:
    from rich.markup import escape

    from fukayomi.shogi.record import Result

    table = number_table("positions in", "all", "Black won", "White won", "drawn")
    rows = [(out, summary.training)] + ([(apart.path, summary.held_out)] if apart is not None else [])
    for path, count in rows:
        results = (count.results[result] for result in (Result.BLACK_WIN, Result.WHITE_WIN, Result.DRAW))
        table.add_row(escape(str(path)), f"{count.positions:,}", *(f"{number:,}" for number in results))
    return table


_REASONS = {
    "unreadable": "files that cannot be read",
    "no_record": "files that are not records",
    "damaged": "damaged",
    "illegal_move": "illegal move",
    "ending": "broken off, foul or time",
    "rating": "rating",
    "plies": "too short",
    "draw": "drawn",
    "no_scores": "no scores",
    "filtered": "no position passes the filters",
    "no_hcp": "no king at the start",
    "copy": "copies of games given before",
}


def _summary_as_json(summary: "Summary", out: Path, apart: "HoldOut | None", seconds: float) -> dict[str, Any]:
    found: dict[str, Any] = {
        "games_read": summary.games_read,
        "games_dropped": {str(reason): count for reason, count in summary.dropped.items()},
        "plies_without_score": summary.unscored,
        "training": _count_as_json(summary.training, out),
        "seconds": round(seconds, 3),
        "problems": [
            {"name": problem.name, "reason": str(problem.reason), "message": problem.message}
            for problem in summary.problems
        ],
    }
    if apart is not None:
        found["held_out"] = _count_as_json(summary.held_out, apart.path) | {"one_in": apart.one_in}
    if summary.overlap is not None:
        overlap = summary.overlap
        found["overlap"] = {
            "after_ply": overlap.after_ply, "positions": overlap.positions, "shared": overlap.shared,
            "share": overlap.share,
        }  # fmt: skip
    return found


def _count_as_json(count: "Count", path: Path) -> dict[str, Any]:
    results = {result.name.lower(): positions for result, positions in sorted(count.results.items())}
    return {"file": str(path), "games": count.games, "positions": count.positions, "positions_by_result": results}
