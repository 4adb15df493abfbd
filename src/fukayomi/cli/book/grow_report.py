"""Output of ``fukayomi book grow``: progress and tables."""

from typing import Any

import typer

from fukayomi.arena.game.player import Failure
from fukayomi.arena.results.game import Game
from fukayomi.book_growth.growth import Growth, GrowthListener, failure_text
from fukayomi.cli.book.minmax import MOST_PLIES
from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import json_text, printable
from fukayomi.tabular import counted


class GrowProgress(StageBars, GrowthListener):
    """Shows the games of a round as a bar, and a line for each round."""

    def game_ended(self, growth: Growth, number: int, game: Game, failure: Failure | None) -> None:
        if failure is not None:
            self.note(f"round {number}, game {game.name}: {failure_text(failure)}")

    def round_ended(self, growth: Growth) -> None:
        last = growth.rounds[-1]
        words = [f"round {last.round}: {counted(last.games, 'game')}"]
        for book in last.books:
            if book.win_rate is None:
                words.append(f"{book.side.title()} no book yet")
                continue
            plies = counted(len(book.line), "ply", "plies")
            words.append(f"{book.side.title()} {book.win_rate:.1%}, {plies}, {counted(book.entries, 'position')}")
        if last.repeated:
            words.append(f"{last.repeated:,} repeated")
        if (pace := growth.games_an_hour()) is not None:
            words.append(f"{pace:,.0f} games an hour")
        self.note("; ".join(words))


def report(growth: Growth, *, as_json: bool) -> None:
    """Print the rounds so far."""
    if as_json:
        typer.echo(json_text(document(growth)))
        return
    if not growth.rounds:
        typer.echo("no round is done yet")
        return
    typer.echo(str(growth))
    for side in growth.settings.colors:
        (book,) = (book for book in growth.rounds[-1].books if book.side == side.name.lower())
        if book.win_rate is not None:
            dots = " ..." if len(book.line) > MOST_PLIES else ""
            line = " ".join(book.line[:MOST_PLIES])
            typer.echo(f"{book.side.title()}: {book.win_rate:.1%} ({book.score_cp:+} cp) {line}{dots}")
    typer.echo(f"books, games and report.html: {printable(str(growth.folder))}")


def document(growth: Growth) -> dict[str, Any]:
    """The document of --json."""
    return {
        "folder": str(growth.folder),
        "complete": growth.is_complete,
        "new_games": growth.new_games,
        "books": {side.name.lower(): str(growth.book(side)) for side in growth.settings.colors},
        "rounds": [each.model_dump(mode="json") for each in growth.rounds],
    }
