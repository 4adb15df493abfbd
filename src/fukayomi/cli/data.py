"""``fukayomi data``: game records to training positions, and what is in a file of positions."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.cli.data_deal import merge, sample, shuffle, split
from fukayomi.cli.data_filter import filter_files, fix_eval
from fukayomi.cli.data_formats import check, convert
from fukayomi.cli.data_print import print_file
from fukayomi.cli.data_stats import stats
from fukayomi.cli.errors import INTERRUPTED, fail
from fukayomi.cli.text import json_text

if TYPE_CHECKING:
    from fukayomi.data.convert import Count, HoldOut, Summary

NAMED_PROBLEMS = 20  # of the games that cannot be used; the rest is counted, and named in --json

app = typer.Typer(
    name="data", help="Training data: make it from game records, convert it, check it.", no_args_is_help=True
)
app.command("convert")(convert)
app.command("check")(check)
app.command("split")(split)
app.command("sample")(sample)
app.command("shuffle")(shuffle)
app.command("merge")(merge)
app.command("filter")(filter_files)
app.command("fix-eval")(fix_eval)
app.command("print")(print_file)
app.command("stats")(stats)


@app.command("csa-to-hcpe")
def csa_to_hcpe(
    inputs: Annotated[
        list[Path], typer.Argument(metavar="INPUT...", help="Files, folders, zip or tar archives of records.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The hcpe file to write.")],
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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Turn game records into training positions (hcpe).

    The records may be CSA (as floodgate writes it), KIF, KI2, JKF or USI lines; only moves with a score become
    positions. Games that were broken off, lost on time or by a foul are left out, and so is what cannot be read, which
    is reported by name. OUT appears only when it is complete.
    """
    from fukayomi.data.convert import Filters, HoldOut

    if (hold_out is None) != (hold_out_to is None):
        raise typer.BadParameter("--hold-out and --hold-out-to go together", param_hint="--hold-out")
    for target in filter(None, (out, hold_out_to)):
        _check_target(target)
    if hold_out_to is not None and hold_out_to.absolute() == out.absolute():
        raise typer.BadParameter("the games that are kept apart need a file of their own", param_hint="--hold-out-to")
    apart = HoldOut(hold_out, hold_out_to) if hold_out is not None and hold_out_to is not None else None
    filters = Filters(min_rating=min_rating, min_plies=min_plies, max_eval=max_eval, draws=draws, mates=mates)
    start = time.monotonic()
    summary, failure = _convert(inputs, out, filters, apart)
    _print_summary(summary, out, apart, time.monotonic() - start, as_json=as_json)
    if failure:
        fail(failure)


def _check_target(path: Path) -> None:
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"{path} cannot be written: it is a folder, or its folder is missing")
    if path.exists() and path.suffix != ".hcpe":  # someone forgot OUT, and the last record would be lost
        raise typer.BadParameter(f"{path} exists and is not named *.hcpe: it is not overwritten")


def _convert(paths: list[Path], out: Path, filters: Any, apart: "HoldOut | None") -> "tuple[Summary, str]":
    """The summary, and why nothing was written if nothing passed."""
    from fukayomi.data.convert import NoPositionsError, convert_games
    from fukayomi.data.sources import SourceError, find_files, iter_sources

    try:
        files = find_files(paths)
        with _ProgressBar(sum(file.stat().st_size for file in files)) as (advance, report):
            return convert_games(iter_sources(files, advance), out, filters, apart, report), ""
    except NoPositionsError as error:
        return error.summary, str(error)
    except (SourceError, OSError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        fail("stopped; nothing was written, start again for all of it", INTERRUPTED)


class _ProgressBar:
    """A bar over the bytes of the input with games a second and the remaining time, on stderr."""

    def __init__(self, total_bytes: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.percentage:>3.0f}%"),
            BarColumn(),
            TextColumn("{task.fields[games]:,} games, {task.fields[rate]:,.0f}/s, remaining"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("", total=max(1, total_bytes), games=0, rate=0.0)
        self._start = time.monotonic()

    def __enter__(self) -> "tuple[Callable[[int], None], Callable[[Summary], None]]":
        self._progress.start()
        return self._advance, self._report

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _advance(self, count: int) -> None:
        self._progress.advance(self._task, count)

    def _report(self, summary: "Summary") -> None:
        rate = summary.games_read / max(0.001, time.monotonic() - self._start)
        self._progress.update(self._task, games=summary.games_read, rate=rate)


def _print_summary(summary: "Summary", out: Path, apart: "HoldOut | None", seconds: float, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_text(_summary_as_json(summary, out, apart, seconds)))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    games = Table("games", "", title_justify="left")
    games.columns[1].justify = "right"
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
    _print_problems(summary)
    console.print(f"{summary.games_read / max(0.001, seconds):,.0f} games/s, {seconds:.1f} s")


def _positions_table(summary: "Summary", out: Path, apart: "HoldOut | None") -> Any:
    from rich.markup import escape
    from rich.table import Table

    from fukayomi.shogi.record import Result

    table = Table("positions in", "all", "Black won", "White won", "drawn")
    table.columns[0].overflow = "fold"
    for column in table.columns[1:]:
        column.justify = "right"
    rows = [(out, summary.training)] + ([(apart.path, summary.held_out)] if apart is not None else [])
    for path, count in rows:
        results = (count.results[result] for result in (Result.BLACK_WIN, Result.WHITE_WIN, Result.DRAW))
        table.add_row(escape(str(path)), f"{count.positions:,}", *(f"{number:,}" for number in results))
    return table


def _print_problems(summary: "Summary") -> None:
    for problem in summary.problems[:NAMED_PROBLEMS]:
        # Names come out of archives: nothing in them may steer a terminal.
        typer.echo(
            "skipped " + "".join(letter if letter.isprintable() else "?" for letter in problem.message), err=True
        )
    if len(summary.problems) > NAMED_PROBLEMS:
        typer.echo(f"skipped {len(summary.problems) - NAMED_PROBLEMS:,} more; --json names them all", err=True)


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
