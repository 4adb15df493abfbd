"""``fukayomi strategy``: which strategies (戦型) were played, how often, and who won."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from fukayomi.arena.strategy.kinds import NAMED_KINDS, SplitBy, StrategyKind
from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.progress import Bar, progress_bar
from fukayomi.listener import Notes

if TYPE_CHECKING:
    from fukayomi.arena.strategy.definitions import Definition

ROW_KINDS = ",".join(NAMED_KINDS)


@dataclass(frozen=True)
class TableOptions:
    """Options for the games that count and the content of the tables."""

    top: Annotated[int, typer.Option(min=1)] = 20
    """Rows per table."""
    min_count: Annotated[int, typer.Option(min=1)] = 1
    """Omit rows with fewer games."""
    min_rating: Annotated[float | None, typer.Option(metavar="R")] = None
    """Count only games with both players rated R or higher."""
    by: SplitBy | None = None
    """Print one table per year, or per engine and colour."""
    kinds: Annotated[
        str, typer.Option(metavar="KIND,...", help=f"Kinds of strategies that name a row: {', '.join(StrategyKind)}.")
    ] = ROW_KINDS
    english: Annotated[bool, typer.Option("--english")] = False
    """Name strategies in English."""
    definitions: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    """Use the definitions of this file: your own (YAML), or Mizar's castle.json."""


@dataclass(frozen=True)
class FileOptions:
    """Files to write."""

    PANEL: ClassVar = "Files"

    csv: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    """Write the tables as CSV."""
    picture: Annotated[Path | None, typer.Option(metavar="FILE")] = None
    """Plot shares as bars and Black's win rates as a line over them, as .svg or .png."""
    draw: Annotated[list[str] | None, typer.Option(metavar="NAME", show_default="the most frequent rows")] = None
    """With --by year: a row to plot over the years. Repeat for more rows."""


@dataclass(frozen=True)
class ListOptions:
    """Options that print something else instead of tables."""

    PANEL: ClassVar = "Instead of tables"

    game: Annotated[bool, typer.Option("--game")] = False
    """Print the strategies of each game with their plies."""
    show_list: Annotated[bool, typer.Option("--list")] = False
    """Print the definitions."""


def strategy(
    table: TableOptions,
    files: FileOptions,
    other: ListOptions,
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="SOURCE...", help="Records, USI lines (.sfen), match folders, match.db; folders, zip or tar."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Classify games by opening, attack and castle, and count how often each was played and won.

    \b
    fukayomi strategy games/ --min-rating 3800 --by year \\
      --csv years.csv --picture years.svg
    fukayomi strategy my.kif --game
    fukayomi strategy games/ --definitions castle.json
    fukayomi strategy --list

    A row is a combination of strategies, such as 角換わり,後手早繰り銀. Win rates are shares of the games with a known
    result; a draw is not a win for either side. Lines without results (.sfen) have shares only. docs/strategies.md
    explains how strategies are found, and how to write definitions; castle.json is that of mizar/sylwi-kifu-vue on
    GitHub. --list with --definitions shows how a file is understood.
    """
    from fukayomi.arena.strategy.reading import load_definitions
    from fukayomi.cli.arena import strategy_report as report

    kinds = _kinds(table.kinds)
    _check_picture(files, table.by)
    known = load_definitions(table.definitions)
    if other.show_list:
        report.print_definitions(known, as_json=as_json)
        return
    if not sources:
        raise typer.BadParameter("give games, or --list", param_hint="SOURCE")
    try:
        _classify(sources, known, kinds, table, files, each_game=other.game, as_json=as_json)
    except KeyboardInterrupt:
        fail("interrupted; nothing was written", INTERRUPTED)


def _classify(
    sources: list[Path],
    known: "tuple[Definition, ...]",
    kinds: tuple[StrategyKind, ...],
    table: TableOptions,
    files: FileOptions,
    *,
    each_game: bool,
    as_json: bool,
) -> None:
    from fukayomi.arena.strategy.counts import classify_games, count_strategies
    from fukayomi.arena.strategy.matcher import Matcher
    from fukayomi.cli.arena import strategy_report as report

    matcher = Matcher(known)
    with progress_bar(None, "{task.completed:,.0f} games, {task.fields[rate]:,.0f}/s", rate=0.0) as bar:
        listener = _Progress(bar)
        if each_game:
            games = classify_games(sources, matcher=matcher, listener=listener)
            report.print_games(games, kinds, listener.texts, english=table.english, as_json=as_json)
            return
        counts = count_strategies(
            sources, by=table.by, kinds=kinds, min_rating=table.min_rating, matcher=matcher, listener=listener
        )
    tables = counts.tables(table.top, table.min_count)
    if not tables:
        fail(f"no games left: {report.left_out(counts)}")
    report.write_files(counts, tables, files.csv, files.picture, files.draw or [], english=table.english)
    report.print_result(counts, tables, listener.texts, english=table.english, as_json=as_json)


class _Progress(Notes):
    """Shows the number of games, and keeps the notes."""

    def __init__(self, bar: Bar) -> None:
        super().__init__()
        self._bar = bar

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self._bar.show(completed=done, rate=done / self._bar.seconds)


def _check_picture(files: FileOptions, by: SplitBy | None) -> None:
    if files.picture is not None and files.picture.suffix.lower() not in (".svg", ".png"):
        raise typer.BadParameter(f"{files.picture} must end in .svg or .png", param_hint="--picture")
    if files.draw and (by is not SplitBy.YEAR or files.picture is None):
        raise typer.BadParameter("needs --by year and --picture", param_hint="--draw")


def _kinds(text: str) -> tuple[StrategyKind, ...]:
    try:
        return tuple(StrategyKind(word.strip()) for word in text.split(","))
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is not a list of {', '.join(StrategyKind)}", param_hint="--kinds"
        ) from error
