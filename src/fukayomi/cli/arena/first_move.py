"""``fukayomi first-move``: the win rate of the first move, for every two players."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.text import json_text, printable
from fukayomi.listener import Notes
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.arena.results.first_move import FirstMoveResults
    from fukayomi.arena.results.game import MatchScore


@dataclass(frozen=True)
class FirstMoveOptions:
    """Options that select the games that count."""

    distinct: Annotated[bool, typer.Option("--distinct")] = False
    """Count repeated games once."""


def first_move(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE...", help="Match folders, match.db, PGN, records, folders, zip or tar."),
    ],
    options: FirstMoveOptions,
    as_json: AsJson = False,
) -> None:
    """Count the results of Black (先手) and White, for every two players: wins-losses-draws (rate).

    \b
    fukayomi first-move match/
    fukayomi first-move games.pgn --distinct

    A draw counts as half a win. Intervals take the games as independent. Games without a result, or broken off by a
    crash, stall or interruption, do not count.

    With --distinct, only the first of several games with the same players, colours, start position and moves counts.
    Use it for engines that do not vary: one game played many times is not evidence.

    A player with several opponents also gets its mean rates, each opponent counted once.
    """
    from fukayomi.arena.results.first_move import first_move

    listener = Notes()
    found = first_move(sources, distinct=options.distinct, listener=listener)
    for problem in listener.texts:
        typer.echo(f"skipped {printable(problem)}", err=True)
    if as_json:
        typer.echo(json_text(_as_json(found, listener.texts)))
        return
    for pairing in found.pairings:
        for line in pairing.lines():
            typer.echo(printable(line))
        typer.echo(f"{_interval(pairing.black)}\n")
    if len(found.pairings) > 1:
        for mean in found.means(as_printed=True):
            typer.echo(printable(str(mean)))
        typer.echo(f"All games, Black vs White: {found.black}")
        typer.echo(_interval(found.black))
    typer.echo(_count(found))


def _interval(score: "MatchScore") -> str:
    low, high = score.interval
    return f"95 % interval of Black vs White: {low:.1%} to {high:.1%}"


def _count(found: "FirstMoveResults") -> str:
    parts = [f"{counted(found.games, 'game')}, a draw is half a win"]
    if found.identical:
        kept = "left out" if found.distinct else "counted; --distinct leaves them out"
        parts.append(f"{counted(found.identical, 'repeats', 'repeat')} the moves of an earlier game ({kept})")
    if found.failed:
        parts.append(f"{found.failed:,} more not decided by play")
    if found.distinct and found.without_moves:
        parts.append(f"{found.without_moves:,} without moves, which cannot be compared")
    return "; ".join(parts)


def _as_json(found: "FirstMoveResults", problems: list[str]) -> dict[str, Any]:
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
    low, high = score.interval
    return {
        "wins": score.wins, "losses": score.losses, "draws": score.draws, "rate": score.rate, "low": low, "high": high,
    }  # fmt: skip
