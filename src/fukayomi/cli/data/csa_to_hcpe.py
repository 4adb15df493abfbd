"""``fukayomi data csa-to-hcpe``: game records to training positions."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.options import AsJson, check_target
from fukayomi.cli.common.problems import print_problems
from fukayomi.cli.common.progress import progress_bar
from fukayomi.cli.common.text import json_text

if TYPE_CHECKING:
    from fukayomi.data.convert.positions import Count, HoldOut, Summary


def csa_to_hcpe(
    inputs: Annotated[
        list[Path], typer.Argument(metavar="IN...", help="Files, folders, zip or tar archives of records.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The hcpe file to write.")],
    min_rating: Annotated[
        float | None, typer.Option(min=0, help="Only games whose players are both rated at least so.")
    ] = None,
    min_plies: Annotated[int, typer.Option(min=0, help="Only games of at least so many plies.")] = 0,
    max_eval: Annotated[
        int | None, typer.Option(min=0, help="Cut a game at the first evaluation beyond so many centipawns.")
    ] = None,
    draws: Annotated[bool, typer.Option(help="Take drawn games.")] = True,
    mates: Annotated[bool, typer.Option(help="Take positions evaluated as a mate.")] = True,
    hold_out: Annotated[
        int | None, typer.Option(min=2, help="Keep one game in so many apart for testing, chosen by its name.")
    ] = None,
    hold_out_to: Annotated[Path | None, typer.Option(help="The file for the games that are kept apart.")] = None,
    as_json: AsJson = False,
) -> None:
    """Turn game records into training positions (hcpe).

    \b
      fukayomi data csa-to-hcpe floodgate.zip -o train.hcpe --min-rating 3500
      fukayomi data csa-to-hcpe games -o a.hcpe --hold-out 50 --hold-out-to b.hcpe

    The records may be CSA (as floodgate writes it), KIF, KI2, JKF or USI lines; only moves with a score become
    positions. Games that were broken off, lost on time or by a foul are left out, and so is what cannot be read, which
    is reported by name. The file appears only when it is complete.
    """
    from fukayomi.data.convert.positions import Filters, HoldOut

    if (hold_out is None) != (hold_out_to is None):
        raise typer.BadParameter("--hold-out and --hold-out-to go together", param_hint="--hold-out")
    for target in filter(None, (out, hold_out_to)):
        check_target(target, inputs)
    if hold_out_to is not None and hold_out_to.absolute() == out.absolute():
        raise typer.BadParameter("the games that are kept apart need a file of their own", param_hint="--hold-out-to")
    apart = HoldOut(hold_out, hold_out_to) if hold_out is not None and hold_out_to is not None else None
    filters = Filters(min_rating=min_rating, min_plies=min_plies, max_eval=max_eval, draws=draws, mates=mates)
    start = time.monotonic()
    summary, failure = _convert(inputs, out, filters, apart)
    _print_summary(summary, out, apart, time.monotonic() - start, as_json=as_json)
    if failure:
        fail(failure)


def _convert(paths: list[Path], out: Path, filters: Any, apart: "HoldOut | None") -> "tuple[Summary, str]":
    """The summary, and why nothing was written if nothing passed."""
    from fukayomi.data.convert.positions import NoPositionsError, convert_games
    from fukayomi.data.records.sources import SourceError, find_files, iter_sources

    try:
        files = find_files(paths)
        columns = "{task.fields[games]:,} games, {task.fields[rate]:,.0f}/s,"
        with progress_bar(sum(file.stat().st_size for file in files), columns, games=0, rate=0.0) as bar:

            def report(summary: "Summary") -> None:
                bar.show(games=summary.games_read, rate=summary.games_read / bar.seconds)

            return convert_games(iter_sources(files, bar.advance), out, filters, apart, report), ""
    except NoPositionsError as error:
        return error.summary, str(error)
    except (SourceError, OSError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        fail("stopped; nothing was written, start again for all of it", INTERRUPTED)


def _print_summary(summary: "Summary", out: Path, apart: "HoldOut | None", seconds: float, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_text(_summary_as_json(summary, out, apart, seconds)))
        return
    from rich.console import Console

    from fukayomi.cli.common.tables import number_table

    console = Console()
    games = number_table("games", "")
    games.add_row("read", f"{summary.games_read:,}")
    games.add_row("taken for training", f"{summary.training.games:,}")
    if apart is not None:
        games.add_row("kept apart", f"{summary.held_out.games:,}")
    for reason, count in sorted(summary.dropped.items(), key=lambda item: -item[1]):
        games.add_row(f"dropped: {_REASONS[reason]}", f"{count:,}")
    console.print(games)
    console.print(_positions_table(summary, out, apart))
    if summary.overlap is not None:
        overlap = summary.overlap
        console.print(
            f"{overlap.shared:,} of the {overlap.positions:,} positions kept apart that lie after ply "
            f"{overlap.after_ply} also occur in training: {overlap.share:.2%}"
        )
    print_problems([problem.message for problem in summary.problems])
    console.print(f"{summary.games_read / max(0.001, seconds):,.0f} games/s, {seconds:.1f} s")


def _positions_table(summary: "Summary", out: Path, apart: "HoldOut | None") -> Any:
    from rich.markup import escape

    from fukayomi.cli.common.tables import number_table
    from fukayomi.shogi.record import Result

    table = number_table("positions in", "all", "Black won", "White won", "drawn")
    rows = [(out, summary.training)] + ([(apart.path, summary.held_out)] if apart is not None else [])
    for path, count in rows:
        results = (count.results[result] for result in (Result.BLACK_WIN, Result.WHITE_WIN, Result.DRAW))
        table.add_row(escape(str(path)), f"{count.positions:,}", *(f"{number:,}" for number in results))
    return table


_REASONS = {
    "unreadable": "files that cannot be read",
    "no_record": "files that are no record",
    "damaged": "damaged",
    "illegal_move": "illegal move",
    "ending": "broken off, foul or time",
    "rating": "rating",
    "plies": "too short",
    "draw": "drawn",
    "no_scores": "no scores",
    "filtered": "no position passes the filters",
    "no_hcp": "no king at the start",
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
