"""``fukayomi positions``: sets of positions to start matches from, made from games, and comparisons of two sets."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.arena.positions.balanced import EVEN_MIDDLE_GAMES, EVEN_OPENINGS, BalanceConditions, Exclusion
from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.options import AsJson, check_target, given_options, options_of
from fukayomi.cli.common.progress import StageBars, number_table
from fukayomi.cli.common.text import json_text, print_problems, printable
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.arena.positions.balanced_set import BalancedSet, PositionSet


@options_of(
    BalanceConditions, "moves1", "moves2", "eval", "eval2", "filter_moves", "filter_rating", "eval_of",
)  # fmt: skip
class BalanceOptions:
    """The conditions for a line."""

    middle_game: Annotated[bool, typer.Option("--middle-game")] = False
    """End each line just before an evaluation first exceeds --eval2, at a ply from moves1 to moves2."""
    less_than_moves2: Annotated[bool, typer.Option("--less-than-moves2", hidden=True)] = False
    """dlshogi's name of --middle-game."""

    def conditions(self) -> BalanceConditions:
        """The conditions as the library takes them.

        Raises:
            ValueError: They contradict each other.
        """
        base = EVEN_MIDDLE_GAMES if self.middle_game or self.less_than_moves2 else EVEN_OPENINGS
        return base.changed(**given_options(self, "middle_game", "less_than_moves2"))


def balanced(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="IN...", help="Records with evaluations: CSA, KIF and others; folders, zip, tar."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write, one line of moves per row.")],
    options: BalanceOptions,
    as_json: AsJson = False,
) -> None:
    """Make a set of balanced lines from games with evaluations.

    \b
    fukayomi positions balanced floodgate/2025 -o balanced.sfen
    fukayomi positions balanced floodgate/2025 -o middle.sfen --middle-game
    fukayomi match --openings balanced.sfen --opening-plies 24 ...

    Games count if they start from the usual start position, end by resignation, declaration, repetition or impasse, and
    have evaluations of both sides. Of games with the same position at ply moves1 (with --middle-game: at the end of the
    line), one is kept. The set does not depend on the order of the games. The file appears when it is complete.
    """
    check_target(out, sources)
    start = time.monotonic()
    found = _collect(sources, options.conditions())
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
        fail(f"no game meets the conditions, and nothing was written{hint}")


def _collect(paths: list[Path], conditions: BalanceConditions) -> "BalancedSet":
    from fukayomi.arena.positions.balanced_set import BalancedListener, BalancedSet, balanced_positions

    class Bars(StageBars, BalancedListener):
        def counted(self, found: BalancedSet) -> None:
            self.show(games=found.games_read, lines=len(found))

    columns = "{task.fields[games]:,} games, {task.fields[lines]:,} lines,"
    try:
        with Bars(columns, games=0, lines=0) as listener:
            return balanced_positions(paths, conditions, listener=listener)
    except KeyboardInterrupt:
        fail("interrupted; nothing was written", INTERRUPTED)


def _reasons(conditions: BalanceConditions) -> dict[Exclusion, str]:
    one, two, limit, limit2 = conditions.moves1, conditions.moves2, conditions.eval, conditions.eval2
    at_plies = (f"|eval| > {limit2} at ply {one}", f"|eval| > {limit2} at ply {two}")
    if conditions.middle_game:
        at_plies = (f"|eval| > {limit2} already at ply {one}", f"|eval| not > {limit2} up to ply {two + 1}")
    return {
        Exclusion.UNREADABLE: "unreadable files",
        Exclusion.NO_RECORD: "files that are not records",
        Exclusion.COPY: "copies of games given before",
        Exclusion.DAMAGED: "damaged",
        Exclusion.START: "another start position",
        Exclusion.ENDING: "other endings",
        Exclusion.PLIES: "too short",
        Exclusion.RATING: f"rated below {conditions.filter_rating:g}",
        Exclusion.NO_EVALS: "no evaluations of one side",
        Exclusion.EVAL: f"|eval| > {limit}" + ("" if conditions.middle_game else f" up to ply {two}"),
        Exclusion.EVAL_MOVES1: at_plies[0],
        Exclusion.EVAL_MOVES2: at_plies[1],
        Exclusion.DUPLICATE: "same position as another game",
    }


def _print_balanced(found: "BalancedSet", out: Path) -> None:
    from rich.console import Console

    table = number_table("games", "left out", "left")
    left = found.games_read
    table.add_row("read", "", f"{left:,}")
    for reason, text in _reasons(found.conditions).items():
        count = found.left_out[reason]
        if reason in (Exclusion.UNREADABLE, Exclusion.NO_RECORD, Exclusion.COPY):
            if count:
                table.add_row(text, f"{count:,}", "")
            continue
        left -= count
        table.add_row(text, f"{count:,}", f"{left:,}")
    Console().print(table)
    for ply, count in sorted(found.unjudged.items()):
        if count:
            games = "game has" if count == 1 else "games have"
            typer.echo(f"{count:,} accepted {games} no evaluation after ply {ply}")
    print_problems(found.problems)
    if found:
        typer.echo(f"{counted(len(found), 'line')} in {printable(str(out))}")


def _balanced_as_json(found: "BalancedSet", out: Path, seconds: float) -> dict[str, Any]:
    return {
        "file": str(out) if found else None,
        "conditions": found.conditions.model_dump(mode="json"),
        "games_read": found.games_read,
        "left_out": {str(reason): found.left_out[reason] for reason in Exclusion},
        "passed_without_eval": {str(ply): count for ply, count in sorted(found.unjudged.items())},
        "lines": len(found),
        "seconds": round(seconds, 3),
        "problems": found.problems,
    }


@dataclass(frozen=True)
class CompareOptions:
    """Options for the comparison of sets."""

    ply: Annotated[int, typer.Option(min=0)] = 24
    """Cut all lines at this ply; shorter lines count as they are."""
    top: Annotated[int, typer.Option(min=0)] = 12
    """Strategies to list."""
    english: Annotated[bool, typer.Option("--english")] = False
    """Name strategies in English."""


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="File of lines, as for fukayomi match --openings.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="File to compare it with.")],
    options: CompareOptions,
    as_json: AsJson = False,
) -> None:
    """Show what two sets of lines have in common, and the strategies (戦型) of each.

    \b
    fukayomi positions compare balanced.sfen taya36.sfen

    A line is found as a line if the other set has the same moves, and as a position if the other set reaches the same
    position, whatever the order of moves.
    """
    from fukayomi.arena.game.openings import read_openings
    from fukayomi.arena.positions.balanced_set import compare_positions
    from fukayomi.arena.strategy.counts import default_matcher

    sets = compare_positions(read_openings(a), read_openings(b), options.ply, default_matcher())
    if as_json:
        described = [_set_as_json(path, one) for path, one in zip((a, b), sets, strict=True)]
        typer.echo(json_text({"ply": options.ply, "a": described[0], "b": described[1]}))
    else:
        _print_comparison((a, b), sets, options.ply, options.top, english=options.english)


def _set_as_json(path: Path, one: "PositionSet") -> dict[str, Any]:
    found = {name: getattr(one, name) for name in one.__slots__ if name != "strategies"}
    strategies = [
        {"strategy": row.name, "english": row.english, "lines": row.games, "share": row.share} for row in one.strategies
    ]
    return {"file": str(path), **found, "strategies": strategies}


_IN_COMMON = {
    "lines": "lines",
    "short": "shorter lines",
    "distinct_lines": "distinct lines",
    "distinct_positions": "distinct positions",
    "lines_in_other": "lines that the other set has as a line",
    "lines_with_position_in_other": "lines whose position the other set has",
    "positions_in_other": "positions that the other set has",
}


def _print_comparison(
    paths: tuple[Path, Path], sets: "tuple[PositionSet, PositionSet]", ply: int, top: int, *, english: bool
) -> None:
    from rich.console import Console
    from rich.markup import escape

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
