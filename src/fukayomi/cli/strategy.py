"""``fukayomi strategy``: which strategies (戦型) were played, how often, and who won."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.arena.strategy.definitions import Kind
from fukayomi.arena.strategy.statistics import DRAWS_RULE, NAMED_KINDS, By, StrategyCounts, Table, tables_csv
from fukayomi.cli.errors import INTERRUPTED, fail, user_errors
from fukayomi.cli.text import json_text, printable

if TYPE_CHECKING:
    from fukayomi.arena.game import Game
    from fukayomi.arena.strategy import Classification, Definition, Matcher

NAMED_PROBLEMS = 20  # of the games that cannot be read; the rest is counted, and named in --json
FONT_HINT = "Noto Sans CJK JP (Debian's fonts-noto-cjk), IPAexGothic, Meiryo or Hiragino Sans would do."
DRAWN_BY_YEAR = 4  # strategies, where none is chosen


def strategy(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="SOURCE...",
            help="Records (CSA, KIF, ...), USI lines (.sfen), a match's folder; folders, zip and tar archives.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="At most so many rows a table.")] = 20,
    min_count: Annotated[int, typer.Option(min=1, help="Only rows of at least so many games.")] = 1,
    min_rating: Annotated[
        float | None, typer.Option(help="Only games whose players are both rated at least so.")
    ] = None,
    by: Annotated[By | None, typer.Option(help="A table a year, or one for each engine and colour.")] = None,
    kinds: Annotated[
        str, typer.Option(metavar="KIND,...", help=f"Which tags name a row: of {', '.join(Kind)}.")
    ] = ",".join(NAMED_KINDS),
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the tables as CSV.")] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw shares and Black's win rates, as .svg or .png.")
    ] = None,
    draw: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="With --by year: a row to draw over the years (repeatable); by default the most frequent.",
        ),
    ] = None,
    game: Annotated[
        bool, typer.Option("--game", help="Print the tags of each game, with their plies, instead.")
    ] = False,
    show_list: Annotated[bool, typer.Option("--list", help="Print the definitions.")] = False,
    english: Annotated[bool, typer.Option("--english", help="Name strategies in English.")] = False,
    definitions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take the definitions of this YAML file (docs/strategies.md).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Classify games by their openings, attacks and castles, and tell how often each was played and won.

    fukayomi strategy games/ --min-rating 3800 --by year --csv years.csv --picture years.svg

    fukayomi strategy my.kif --game

    A row is a combination of tags: 角換わり,後手早繰り銀. Win rates are of the games whose result is known, draws among
    them: lines of positions (.sfen) have shares alone. docs/strategies.md tells how each strategy is known.
    """
    from fukayomi.arena.strategy import Matcher, load_definitions
    from fukayomi.data.files import replace_file

    chosen = _kinds(kinds)
    if picture is not None and picture.suffix.lower() not in (".svg", ".png"):
        raise typer.BadParameter(f"{picture}: a picture is .svg or .png", param_hint="--picture")
    if draw and (by is not By.YEAR or picture is None):
        raise typer.BadParameter("it needs --by year and --picture", param_hint="--draw")
    with user_errors():
        known = load_definitions(definitions)
        if show_list:
            _print_definitions(known, as_json=as_json)
            return
        if not sources:
            raise typer.BadParameter("games are needed, or --list", param_hint="SOURCE")
        matcher, problems = Matcher(known), list[str]()
        if game:
            _print_games(_classify(sources, matcher, problems), chosen, problems, english=english, as_json=as_json)
            return
        counts = StrategyCounts(chosen, by, min_rating)
        for played, found in _classify(sources, matcher, problems):
            counts.add(played, found)
        tables = counts.tables(top, min_count)
        if not tables:
            fail(f"no game is left: {_left_out(counts)}")
        if csv is not None:
            replace_file(csv, tables_csv(tables, by))
        if picture is not None:
            replace_file(picture, _draw(counts, tables, draw or [], picture.suffix.lower()[1:], english=english))
        if as_json:
            typer.echo(json_text(_as_json(counts, tables, problems)))
        else:
            _print_tables(counts, tables, english=english)
            _print_problems(problems)


def _kinds(text: str) -> tuple[Kind, ...]:
    try:
        return tuple(Kind(word.strip()) for word in text.split(","))
    except ValueError as error:
        raise typer.BadParameter(f"{text!r}: of {', '.join(Kind)}", param_hint="--kinds") from error


def _classify(sources: list[Path], matcher: "Matcher", problems: list[str]) -> "Iterator[tuple[Game, Classification]]":
    """The games with what was found in them; what cannot be read or has no moves goes to the problems."""
    from fukayomi.arena.sources import read_games

    with _progress() as advance:
        try:
            for played in read_games(sources, problems.append):
                if played.moves is None:
                    problems.append(f"{played.name}: a game without its moves")
                    continue
                yield played, matcher.classify(played.initial_sfen, played.moves)
                advance()
        except KeyboardInterrupt:
            fail("stopped; nothing was written", INTERRUPTED)


@contextmanager
def _progress() -> Generator[Callable[[], None]]:
    """Counts games on stderr, a few times a second; yields what counts one."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.completed:,.0f} games, {task.fields[rate]:,.0f}/s")
    bar = Progress(SpinnerColumn(), text, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
    start, games = time.monotonic(), 0
    task = bar.add_task("", total=None, rate=0.0)

    def advance() -> None:
        nonlocal games
        games += 1
        if games % 64 == 0:
            bar.update(task, completed=games, rate=games / max(0.001, time.monotonic() - start))

    with bar:
        yield advance


def _print_problems(problems: list[str]) -> None:
    for problem in problems[:NAMED_PROBLEMS]:
        typer.echo(f"skipped {printable(problem)}", err=True)
    if len(problems) > NAMED_PROBLEMS:
        typer.echo(f"skipped {len(problems) - NAMED_PROBLEMS:,} more; --json names them all", err=True)


def _print_games(
    games: "Iterable[tuple[Game, Classification]]", kinds: tuple[Kind, ...], problems: list[str], *,
    english: bool, as_json: bool,
) -> None:  # fmt: skip
    listed: list[dict[str, Any]] = []
    for played, found in games:
        tags = [(tag, found.fired[tag]) for tag in found.tags if tag.definition.kind in kinds]
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
        _print_problems(problems)


def _print_definitions(definitions: "tuple[Definition, ...]", *, as_json: bool) -> None:
    from fukayomi.arena.strategy.wording import describe

    shown = [definition for definition in definitions if not definition.helper]
    if as_json:
        fields = {"name", "english", "kind", "side", "hides"}
        listed = [{**one.model_dump(mode="json", include=fields), "when": describe(one)} for one in shown]
        typer.echo(json_text(listed))
        return
    from rich.console import Console
    from rich.table import Table as Grid

    grid = Grid("kind", "strategy", "English", "side", "known by", "not shown beside it", show_lines=True)
    for one in shown:
        grid.add_row(one.kind, one.name, one.english, one.side, "\nor ".join(describe(one)), ", ".join(one.hides))
    Console().print(grid)


def _left_out(counts: StrategyCounts) -> str:
    reasons = ((counts.below_rating, "below the rating or unrated"), (counts.undated, "without a date"))
    return ", ".join(f"{number:,} {reason}" for number, reason in reasons if number) or "none has moves"


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.1%}"


def _print_tables(counts: StrategyCounts, tables: list[Table], *, english: bool) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as Grid

    console = Console()
    for table in tables:
        titles = ("戦型", "回数", "出現率", "先手勝率", "後手勝率", "引分率")
        if english:
            titles = ("strategy", "games", "share", "Black won", "White won", "drawn")
        group = escape(printable(table.english if english else table.group))
        grid = Grid(*titles, title=group or None, title_justify="left")
        grid.columns[0].overflow = "fold"
        for column in grid.columns[1:]:
            column.justify = "right"
        for row in table.rows:
            rates = (row.share, row.black_rate, row.white_rate, row.draw_rate)
            grid.add_row(row.english if english else row.name, f"{row.games:,}", *map(_percent, rates))
        console.print(grid)
    console.print(DRAWS_RULE)
    left_out = counts.below_rating + counts.undated
    console.print(f"{counts.games:,} games" + (f"; left out: {_left_out(counts)}" if left_out else ""))


def _draw(counts: StrategyCounts, tables: list[Table], names: list[str], kind: str, *, english: bool) -> bytes:
    from fukayomi.arena.strategy.pictures import MAX_PANELS, draw_shares, draw_years, find_lettering

    lettering = find_lettering(()) if english else find_lettering()
    if not english and not lettering.is_japanese:
        typer.echo("no Japanese font is installed: the picture names strategies in English. " + FONT_HINT, err=True)
    if counts.by is By.YEAR:
        every = counts.tables()
        names = names or _most_frequent(every)
        unknown = [name for name in names if not any(table.row(name) for table in every)]
        if unknown:
            raise ValueError(f"--draw: no row is named {', '.join(map(repr, unknown))}")
        return draw_years(every, names, kind, lettering)
    if len(tables) > MAX_PANELS:
        typer.echo(f"the picture shows the first {MAX_PANELS} of {len(tables)} tables", err=True)
    return draw_shares(tables, kind, lettering)


def _most_frequent(tables: list[Table]) -> list[str]:
    """The rows with the most games over all years that have a strategy."""
    totals: dict[str, int] = {}
    for table in tables:
        for row in table.rows:
            if row.tags:
                totals[row.name] = totals.get(row.name, 0) + row.games
    return sorted(totals, key=lambda name: (-totals[name], name))[:DRAWN_BY_YEAR]


def _as_json(counts: StrategyCounts, tables: list[Table], problems: list[str]) -> dict[str, Any]:
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
                    "white_win_rate": row.white_rate, "draw_rate": row.draw_rate,
                    "results": {result.name.lower(): count for result, count in sorted(row.results.items())},
                }
                for row in table.rows
            ]}
            for table in tables
        ],
        "problems": problems,
    }  # fmt: skip
