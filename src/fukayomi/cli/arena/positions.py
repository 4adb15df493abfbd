"""``fukayomi positions``: sets of positions to begin matches from, made of games, and how two of them compare."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.arena.positions.balanced import BalanceConditions, EvalOf, Exclusion
from fukayomi.cli.common.errors import INTERRUPTED, fail, user_errors
from fukayomi.cli.common.options import AsJson, check_target
from fukayomi.cli.common.problems import print_problems
from fukayomi.cli.common.progress import progress_bar
from fukayomi.cli.common.text import json_text, printable

if TYPE_CHECKING:
    from fukayomi.arena.positions.balanced_set import BalancedSet
    from fukayomi.arena.positions.compare import PositionSet

Sources = Annotated[
    list[Path],
    typer.Argument(metavar="IN...", help="Records with evaluations: CSA, KIF, ...; folders, zip, tar."),
]
Out = Annotated[Path, typer.Option("--out", "-o", help="The file of lines to write.")]
Moves1 = Annotated[
    int | None, typer.Option(min=1, help="The first of the two plies.", show_default="24; 32 with --middle-game")
]
Moves2 = Annotated[int | None, typer.Option(min=1, help="The second.", show_default="36; 80 with --middle-game")]
MiddleGame = Annotated[
    bool,
    typer.Option(
        "--middle-game",
        "--less-than-moves2",
        "--less_than_moves2",
        help="Lines up to the position just before the evaluation first passes --eval2, of plies moves1 to moves2.",
    ),
]
EvalLimit = Annotated[
    int, typer.Option("--eval", min=0, help="No evaluation up to the end of the line is further from zero.")
]
Eval2 = Annotated[
    int | None,
    typer.Option(min=0, help="The same, at the two plies alone.", show_default="100; 150 with --middle-game"),
]
FilterMoves = Annotated[
    int, typer.Option("--filter-moves", "--filter_moves", min=0, help="Only games of at least so many plies.")
]
FilterRating = Annotated[
    float,
    typer.Option(
        "--filter-rating",
        "--filter_rating",
        min=0,
        help="Only games whose players are both rated at least so; 0: all games.",
    ),
]
EvalOfPly = Annotated[
    EvalOf,
    typer.Option(
        "--eval-of", "--eval_of", help="The evaluation after ply N is noted at move N + 1 (next) or N (last)."
    ),
]


def balanced(
    sources: Sources,
    out: Out,
    moves1: Moves1 = None,
    moves2: Moves2 = None,
    middle_game: MiddleGame = False,
    eval_limit: EvalLimit = 170,
    eval2: Eval2 = None,
    filter_moves: FilterMoves = 50,
    filter_rating: FilterRating = 3800,
    eval_of: EvalOfPly = EvalOf.NEXT_MOVE,
    as_json: AsJson = False,
) -> None:
    """Make a set of balanced lines out of games with evaluations.

    \b
      fukayomi positions balanced floodgate/2025 -o balanced.sfen
      fukayomi positions balanced floodgate/2025 -o middle.sfen --middle-game
      fukayomi match --openings balanced.sfen --opening-plies 24 ...

    Games count that start even and end by resignation, declaration, repetition or impasse, and in which both sides note
    evaluations. Of games with the same position at ply moves1 (with --middle-game: at the end of the line) one is kept,
    and the set is the same whatever the order of the games. The file appears only when it is complete.
    """
    defaults = (32, 80, 150) if middle_game else (24, 36, 100)
    chosen = [
        given if given is not None else default
        for given, default in zip((moves1, moves2, eval2), defaults, strict=True)
    ]
    check_target(out, sources)
    start = time.monotonic()
    with user_errors():
        conditions = BalanceConditions(
            chosen[0], chosen[1], eval_limit, chosen[2], filter_moves, filter_rating, middle_game, eval_of
        )
        found = _collect(sources, conditions)
        if found:
            from fukayomi.files.atomic import AtomicFile

            with AtomicFile(out) as file:
                file.write("".join(f"{line}\n" for line in found.lines()).encode())
    if as_json:
        typer.echo(json_text(_balanced_as_json(found, out, time.monotonic() - start)))
    else:
        _print_balanced(found, out)
    if not found:
        hint = "; see --filter-rating" if found.left_out[Exclusion.RATING] else ""
        fail(f"no game passed, and nothing was written{hint}")


def _collect(paths: list[Path], conditions: BalanceConditions) -> "BalancedSet":
    from fukayomi.arena.positions.balanced_set import collect
    from fukayomi.data.records.sources import find_files, iter_sources

    files = find_files(paths)
    try:
        columns = "{task.fields[games]:,} games, {task.fields[lines]:,} lines,"
        with progress_bar(sum(file.stat().st_size for file in files), columns, games=0, lines=0) as bar:
            return collect(
                iter_sources(files, bar.advance),
                conditions,
                lambda found: bar.show(games=found.games_read, lines=len(found)),
            )
    except KeyboardInterrupt:
        fail("stopped; nothing was written", INTERRUPTED)


def _reasons(conditions: BalanceConditions) -> dict[Exclusion, str]:
    one, two, limit, limit2 = conditions.moves1, conditions.moves2, conditions.eval, conditions.eval2
    at_plies = (f"|eval| > {limit2} at ply {one}", f"|eval| > {limit2} at ply {two}")
    if conditions.middle_game:
        at_plies = (f"|eval| > {limit2} already at ply {one}", f"|eval| not > {limit2} up to ply {two + 1}")
    return {
        Exclusion.UNREADABLE: "files that cannot be read",
        Exclusion.NO_RECORD: "files that are no record",
        Exclusion.DAMAGED: "damaged",
        Exclusion.START: "no even start",
        Exclusion.ENDING: "ended otherwise",
        Exclusion.PLIES: "too short",
        Exclusion.RATING: f"rated below {conditions.filter_rating:g}",
        Exclusion.NO_EVALS: "no evaluations of one side",
        Exclusion.EVAL: f"|eval| > {limit}" + ("" if conditions.middle_game else f" up to ply {two}"),
        Exclusion.EVAL_MOVES1: at_plies[0],
        Exclusion.EVAL_MOVES2: at_plies[1],
        Exclusion.DUPLICATE: "same position as another",
    }


def _print_balanced(found: "BalancedSet", out: Path) -> None:
    from rich.console import Console

    from fukayomi.cli.common.tables import number_table

    table = number_table("games", "left out", "left")
    left = found.games_read
    table.add_row("read", "", f"{left:,}")
    for reason, text in _reasons(found.conditions).items():
        count = found.left_out[reason]
        if reason in (Exclusion.UNREADABLE, Exclusion.NO_RECORD):
            if count:
                table.add_row(text, f"{count:,}", "")
            continue
        left -= count
        table.add_row(text, f"{count:,}", f"{left:,}")
    Console().print(table)
    for ply, count in sorted(found.unjudged.items()):
        if count:
            typer.echo(f"{count:,} of the games that passed have no evaluation after ply {ply}")
    print_problems(found.problems)
    if found:
        typer.echo(f"{len(found):,} lines in {printable(str(out))}")


def _balanced_as_json(found: "BalancedSet", out: Path, seconds: float) -> dict[str, Any]:
    return {
        "file": str(out) if found else None,
        "conditions": asdict(found.conditions),
        "games_read": found.games_read,
        "left_out": {str(reason): found.left_out[reason] for reason in Exclusion},
        "passed_without_eval": {str(ply): count for ply, count in sorted(found.unjudged.items())},
        "lines": len(found),
        "seconds": round(seconds, 3),
        "problems": found.problems,
    }


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="A file of lines, as fukayomi match --openings takes it.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another.")],
    ply: Annotated[int, typer.Option(min=0, help="Cut all lines at this ply; a shorter line counts as it ends.")] = 24,
    top: Annotated[int, typer.Option(min=0, help="At most so many strategies.")] = 12,
    english: Annotated[bool, typer.Option("--english", help="Name strategies in English.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell what two sets of lines have in common, and the strategies (戦型) of each.

    fukayomi positions compare balanced.sfen taya36.sfen

    A line is found as a line if the other set has the same moves, and as a position if the other set reaches the same
    position, by whatever order of moves.
    """
    from fukayomi.arena.game.openings import read_openings
    from fukayomi.arena.positions.compare import compare_positions
    from fukayomi.arena.strategy.definitions import load_definitions
    from fukayomi.arena.strategy.matcher import Matcher

    with user_errors():
        sets = compare_positions(read_openings(a), read_openings(b), ply, Matcher(load_definitions()))
    if as_json:
        described = [_set_as_json(path, one) for path, one in zip((a, b), sets, strict=True)]
        typer.echo(json_text({"ply": ply, "a": described[0], "b": described[1]}))
    else:
        _print_comparison((a, b), sets, ply, top, english=english)


def _set_as_json(path: Path, one: "PositionSet") -> dict[str, Any]:
    found = {name: getattr(one, name) for name in one.__slots__ if name != "strategies"}
    strategies = [
        {"strategy": row.name, "english": row.english, "lines": row.games, "share": row.share} for row in one.strategies
    ]
    return {"file": str(path), **found, "strategies": strategies}


_IN_COMMON = {
    "lines": "lines",
    "short": "that end before",
    "distinct_lines": "distinct lines",
    "distinct_positions": "distinct positions",
    "lines_in_other": "lines that the other has as a line",
    "lines_with_position_in_other": "lines whose position the other has",
    "positions_in_other": "positions that the other has",
}


def _print_comparison(
    paths: tuple[Path, Path], sets: "tuple[PositionSet, PositionSet]", ply: int, top: int, *, english: bool
) -> None:
    from rich.console import Console
    from rich.markup import escape

    from fukayomi.cli.common.tables import number_table

    names = [escape(printable(path.name)) for path in paths]
    common = number_table(f"at ply {ply}", *names)
    strategies = number_table("strategy" if english else "戦型", *names)
    for field, title in _IN_COMMON.items():
        common.add_row(title, *(f"{getattr(one, field):,}" for one in sets))
    counts = [{row.english if english else row.name: row.games for row in one.strategies} for one in sets]
    totals = [one.lines for one in sets]

    def shares(name: str) -> list[float]:
        return [found.get(name, 0) / total for found, total in zip(counts, totals, strict=True)]

    for name in sorted({*counts[0], *counts[1]}, key=lambda name: (-sum(shares(name)), name))[:top]:
        cells = zip(counts, shares(name), strict=True)
        strategies.add_row(name, *(f"{found.get(name, 0):,}  {share:6.1%}" for found, share in cells))
    console = Console()
    console.print(common)
    if top:
        console.print(strategies)
