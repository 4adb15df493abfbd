"""``fukayomi first-move``: what the first move is worth, for each two players of a match or a heap of records."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.cli.common.errors import user_errors
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.text import json_text, printable

if TYPE_CHECKING:
    from fukayomi.arena.results.first_move import FirstMoveStatistics
    from fukayomi.arena.results.score import MatchScore


def first_move(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE...", help="A match's folder or match.db, PGN, records, folders, zip or tar."),
    ],
    distinct: Annotated[bool, typer.Option("--distinct", help="Count games of identical moves once.")] = False,
    as_json: AsJson = False,
) -> None:
    """Count the results of Black (先手) and White, for each two players, as wins-losses-draws (rate).

    A draw counts as half a win. Games that crashed, stalled, were interrupted or have no result count nowhere.

    With --distinct, of games with the same players in the same colours, the same start and the same moves only the
    first one counts. Engines that do not vary need it: one game, played again and again, is not evidence.

    Who met several opponents also gets the mean of the rates above it, each opponent counted once.
    """
    from fukayomi.arena.results.first_move import measure_first_move
    from fukayomi.arena.results.sources import read_games

    problems: list[str] = []
    with user_errors():
        found = measure_first_move(read_games(sources, problems.append), distinct=distinct)
    for problem in problems:
        typer.echo(f"skipped {printable(problem)}", err=True)
    if as_json:
        typer.echo(json_text(_as_json(found, problems)))
        return
    for pairing in found.pairings:
        for line in pairing.lines():
            typer.echo(printable(line))
        typer.echo()
    if len(found.pairings) > 1:
        for mean in found.means(as_printed=True):
            typer.echo(printable(str(mean)))
        typer.echo(f"All games, Black vs White: {found.black}")
    typer.echo(_account(found))


def _account(found: "FirstMoveStatistics") -> str:
    """What was counted, and how."""
    parts = [f"{found.games:,} games, a draw is half a win"]
    if found.identical:
        kept = "left out" if found.distinct else "counted; --distinct leaves them out"
        parts.append(f"{found.identical:,} repeat the moves of an earlier game ({kept})")
    if found.failed:
        parts.append(f"{found.failed:,} more without a result that was played for")
    if found.distinct and found.without_moves:
        parts.append(f"{found.without_moves:,} without moves, which cannot be compared")
    return "; ".join(parts)


def _as_json(found: "FirstMoveStatistics", problems: list[str]) -> dict[str, Any]:
    return {
        "games": found.games, "failed": found.failed, "identical": found.identical, "distinct": found.distinct,
        "without_moves": found.without_moves, "problems": problems, "black": _score(found.black),
        "pairings": [
            {
                "players": [pairing.first, pairing.second],
                "first": _score(pairing.total),
                "black": _score(pairing.black),
                "first_as_black": _score(pairing.as_black(pairing.first)),
                "first_as_white": _score(pairing.as_white(pairing.first)),
                "second_as_black": _score(pairing.as_black(pairing.second)),
                "second_as_white": _score(pairing.as_white(pairing.second)),
            }
            for pairing in found.pairings
        ],
        "means": [asdict(mean) for mean in found.means()],
    }  # fmt: skip


def _score(score: "MatchScore") -> dict[str, Any]:
    return {"wins": score.wins, "losses": score.losses, "draws": score.draws, "rate": score.rate}
