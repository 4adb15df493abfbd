"""Output of ``fukayomi strategy``: tables, strategies of games, definitions, pictures."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from fukayomi.arena.results.game import Game
from fukayomi.arena.strategy.counts import DRAWS_RULE, StrategyCounts, StrategyTable, tables_csv
from fukayomi.arena.strategy.definitions import Definition, describe
from fukayomi.arena.strategy.kinds import SplitBy, StrategyKind
from fukayomi.arena.strategy.matcher import Classification
from fukayomi.cli.common.progress import number_table
from fukayomi.cli.common.text import json_text, print_problems, printable
from fukayomi.files.atomic import replace_file
from fukayomi.tabular import counted

FONT_HINT = "Install Noto Sans CJK JP (Debian: fonts-noto-cjk), IPAexGothic, Meiryo or Hiragino Sans."


def print_games(
    games: Iterable[tuple[Game, Classification]], kinds: tuple[StrategyKind, ...], problems: list[str], *,
    english: bool, as_json: bool,
) -> None:  # fmt: skip
    """Print the strategies of each game with their plies.

    Args:
        games: Games with their strategies; reading them may add to `problems`.
        kinds: Kinds of strategies to show.
        problems: Messages about what could not be read, printed last.
        english: Name strategies in English.
        as_json: Print one JSON object.
    """
    listed: list[dict[str, Any]] = []
    for played, found in games:
        tags = [(tag, found.plies[tag]) for tag in found.tags if tag.definition.kind in kinds]
        if as_json:
            listed.append(
                {"name": played.name, "black": played.black, "white": played.white, "tags": [
                    {"tag": tag.label, "english": tag.english, "kind": tag.definition.kind, "ply": ply}
                    for tag, ply in tags
                ]}
            )  # fmt: skip
            continue
        names = "  ".join(f"{tag.english if english else tag.label} {ply}" for tag, ply in tags)
        typer.echo(printable(f"{played.name}  {played.black} - {played.white}: {names or 'none'}"))
    if as_json:
        typer.echo(json_text({"games": listed, "problems": problems}))
    else:
        print_problems(problems)


def print_definitions(definitions: tuple[Definition, ...], *, as_json: bool) -> None:
    """Print all definitions in words."""
    shown = [definition for definition in definitions if not definition.helper]
    if as_json:
        fields = {"name", "english", "kind", "side", "hides"}
        listed = [{**one.model_dump(mode="json", include=fields), "when": describe(one)} for one in shown]
        typer.echo(json_text(listed))
        return
    grid = Grid("kind", "strategy", "English", "side", "found by", "hides", show_lines=True)
    for one in shown:
        grid.add_row(one.kind, one.name, one.english, one.side, "\nor ".join(describe(one)), ", ".join(one.hides))
    Console().print(grid)


def print_result(
    counts: StrategyCounts, tables: list[StrategyTable], problems: list[str], *, english: bool, as_json: bool
) -> None:
    """Print the tables and what could not be read."""
    if as_json:
        typer.echo(json_text(_as_json(counts, tables, problems)))
    else:
        _print_tables(counts, tables, english=english)
        print_problems(problems)


def _print_tables(counts: StrategyCounts, tables: list[StrategyTable], *, english: bool) -> None:
    console = Console()
    for table in tables:
        titles = ("戦型", "回数", "出現率", "先手勝率", "後手勝率", "引分率")
        if english:
            titles = ("strategy", "games", "share", "Black won", "White won", "drawn")
        group = escape(printable(table.english if english else table.group))
        grid = number_table(*titles, title=group or None)
        for row in table.combinations:
            rates = (row.share, row.black_rate, row.white_rate, row.draw_rate)
            grid.add_row(row.english if english else row.name, f"{row.games:,}", *map(_percent, rates))
        console.print(grid)
        if table.omitted:
            rarer = counted(table.omitted, "rarer combination")
            console.print(f"{rarer} not shown (--top, --min-count)")
    console.print(DRAWS_RULE)
    fewer = counts.below_rating + counts.undated
    console.print(counted(counts.games, "game") + (f"; left out: {left_out(counts)}" if fewer else ""))


def left_out(counts: StrategyCounts) -> str:
    """Number of games left out, by reason."""
    reasons = ((counts.below_rating, "below the rating or unrated"), (counts.undated, "without a date"))
    return ", ".join(f"{number:,} {reason}" for number, reason in reasons if number) or "no game has moves"


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.1%}"


def _as_json(counts: StrategyCounts, tables: list[StrategyTable], problems: list[str]) -> dict[str, Any]:
    return {
        "games": counts.games,
        "below_rating": counts.below_rating,
        "undated": counts.undated,
        "draws": DRAWS_RULE,
        "tables": [
            {"group": table.group, "games": table.games, "rows": [
                {
                    "strategy": row.name, "english": row.english, "tags": [tag.label for tag in row.tags],
                    "games": row.games, "share": row.share, "black_win_rate": row.black_rate,
                    "black_win_rate_low": row.black_interval[0], "black_win_rate_high": row.black_interval[1],
                    "white_win_rate": row.white_rate, "draw_rate": row.draw_rate,
                    "results": {result.name.lower(): count for result, count in sorted(row.results.items())},
                }
                for row in table.combinations
            ], "omitted": table.omitted}
            for table in tables
        ],
        "problems": problems,
    }  # fmt: skip


def write_files(
    counts: StrategyCounts, tables: list[StrategyTable], csv: Path | None, picture: Path | None, draw: list[str], *,
    english: bool,
) -> None:  # fmt: skip
    """Write the tables as CSV and as a picture, if requested."""
    if csv is not None:
        replace_file(csv, tables_csv(tables, counts.by))
    if picture is not None:
        _plot(counts, tables, draw, picture, english=english)


def _plot(counts: StrategyCounts, tables: list[StrategyTable], names: list[str], path: Path, *, english: bool) -> None:
    from fukayomi.arena.strategy.pictures import MAX_PANELS, find_lettering, plot_shares, plot_years

    lettering = find_lettering(()) if english else find_lettering()
    if not english and not lettering.is_japanese:
        typer.echo("no Japanese font is installed: the picture names strategies in English. " + FONT_HINT, err=True)
    if counts.by is SplitBy.YEAR:
        plot_years(counts.tables(), names, path, lettering=lettering)
        return
    if len(tables) > MAX_PANELS:
        typer.echo(f"the picture shows the first {MAX_PANELS} of {len(tables)} tables", err=True)
    plot_shares(tables, path, lettering=lettering)
