"""``fukayomi strategy``: which strategies (戦型) were played, how often, and who won."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.arena.strategy.kinds import NAMED_KINDS, SplitBy, StrategyKind
from fukayomi.cli.common.errors import INTERRUPTED, fail, user_errors
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.progress import progress_bar

if TYPE_CHECKING:
    from fukayomi.arena.results.game import Game
    from fukayomi.arena.strategy.matcher import Classification, Matcher

Sources = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="SOURCE...",
        help="Records (CSA, KIF, ...), USI lines (.sfen), a match's folder; folders, zip and tar archives.",
    ),
]
Top = Annotated[int, typer.Option(min=1, help="At most so many rows a table.")]
MinCount = Annotated[int, typer.Option(min=1, help="Only rows of at least so many games.")]
MinRating = Annotated[float | None, typer.Option(help="Only games whose players are both rated at least so.")]
By = Annotated[SplitBy | None, typer.Option(help="A table a year, or one for each engine and colour.")]
Kinds = Annotated[str, typer.Option(metavar="KIND,...", help=f"Which tags name a row: of {', '.join(StrategyKind)}.")]
Csv = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the tables as CSV.")]
Picture = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Draw shares and Black's win rates, as .svg or .png.")
]
Draw = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="With --by year: a row to draw over the years (repeatable); by default the most frequent.",
    ),
]
OfEachGame = Annotated[bool, typer.Option("--game", help="Print the tags of each game, with their plies, instead.")]
ShowList = Annotated[bool, typer.Option("--list", help="Print the definitions.")]
English = Annotated[bool, typer.Option("--english", help="Name strategies in English.")]
Definitions = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Take the definitions of this YAML file (docs/strategies.md).")
]

ROW_KINDS = ",".join(NAMED_KINDS)
SHOWN_EVERY = 64  # games


def strategy(
    sources: Sources = None,
    top: Top = 20,
    min_count: MinCount = 1,
    min_rating: MinRating = None,
    by: By = None,
    kinds: Kinds = ROW_KINDS,
    csv: Csv = None,
    picture: Picture = None,
    draw: Draw = None,
    game: OfEachGame = False,
    show_list: ShowList = False,
    english: English = False,
    definitions: Definitions = None,
    as_json: AsJson = False,
) -> None:
    """Classify games by their openings, attacks and castles, and tell how often each was played and won.

    fukayomi strategy games/ --min-rating 3800 --by year --csv years.csv --picture years.svg

    fukayomi strategy my.kif --game

    A row is a combination of tags: 角換わり,後手早繰り銀. Win rates are of the games whose result is known, draws among
    them: lines of positions (.sfen) have shares alone. docs/strategies.md tells how each strategy is known.
    """
    from fukayomi.arena.strategy.counts import StrategyCounts
    from fukayomi.arena.strategy.definitions import load_definitions
    from fukayomi.arena.strategy.matcher import Matcher
    from fukayomi.cli.arena import strategy_report as report

    chosen = _kinds(kinds)
    _check_picture(picture, draw, by)
    with user_errors():
        known = load_definitions(definitions)
        if show_list:
            report.print_definitions(known, as_json=as_json)
            return
        if not sources:
            raise typer.BadParameter("games are needed, or --list", param_hint="SOURCE")
        problems: list[str] = []
        games = _classify(sources, Matcher(known), problems)
        if game:
            report.print_games(games, chosen, problems, english=english, as_json=as_json)
            return
        counts = StrategyCounts(chosen, by, min_rating)
        for played, found in games:
            counts.add(played, found)
        tables = counts.tables(top, min_count)
        if not tables:
            fail(f"no game is left: {report.left_out(counts)}")
        report.write_files(counts, tables, csv, picture, draw or [], english=english)
        report.print_result(counts, tables, problems, english=english, as_json=as_json)


def _check_picture(picture: Path | None, draw: list[str] | None, by: SplitBy | None) -> None:
    if picture is not None and picture.suffix.lower() not in (".svg", ".png"):
        raise typer.BadParameter(f"{picture}: a picture is .svg or .png", param_hint="--picture")
    if draw and (by is not SplitBy.YEAR or picture is None):
        raise typer.BadParameter("it needs --by year and --picture", param_hint="--draw")


def _kinds(text: str) -> tuple[StrategyKind, ...]:
    try:
        return tuple(StrategyKind(word.strip()) for word in text.split(","))
    except ValueError as error:
        raise typer.BadParameter(f"{text!r}: of {', '.join(StrategyKind)}", param_hint="--kinds") from error


def _classify(sources: list[Path], matcher: "Matcher", problems: list[str]) -> "Iterator[tuple[Game, Classification]]":
    """The games with what was found in them; what cannot be read or has no moves goes to the problems."""
    from fukayomi.arena.results.sources import read_games

    columns = "{task.completed:,.0f} games, {task.fields[rate]:,.0f}/s"
    with progress_bar(None, columns, rate=0.0) as bar:
        try:
            for count, played in enumerate(read_games(sources, problems.append), 1):
                if count % SHOWN_EVERY == 0:
                    bar.show(completed=count, rate=count / bar.seconds)
                if played.moves is None:
                    problems.append(f"{played.name}: a game without its moves")
                    continue
                yield played, matcher.classify(played.initial_sfen, played.moves)
        except KeyboardInterrupt:
            fail("stopped; nothing was written", INTERRUPTED)
