"""Output of ``fukayomi tune``: progress and tables."""

from typing import Any

import typer

from fukayomi.arena.game.player import Failure
from fukayomi.arena.results.game import Game
from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import json_text, printable
from fukayomi.tabular import counted
from fukayomi.tuning.page import PAGE_NAME
from fukayomi.tuning.tuning import MATCH_NAME, OPTIONS_NAME, TuneListener, Tuning, confirming_command, failure_text

MOST_SHOWN = 6
"""Parameters that the line of a round has."""


class TuneProgress(StageBars, TuneListener):
    """Shows the games as a bar, and a line for each round."""

    def game_ended(self, tuning: Tuning, number: int, game: Game, failure: Failure | None) -> None:
        if failure is not None:
            self.note(f"round {number}, game {game.name}: {failure_text(failure)}")

    def round_ended(self, tuning: Tuning) -> None:
        values = [f"{name}={value}" for name, value in list(tuning.options().items())[:MOST_SHOWN]]
        more = " ..." if len(tuning.settings.parameters) > MOST_SHOWN else ""
        words = [f"{tuning.played:,} of {counted(tuning.settings.games, 'game')}", " ".join(values) + more]
        if (pace := tuning.games_an_hour()) is not None:
            words.append(f"{pace:,.0f} games an hour")
        self.note("; ".join(words))


def report(tuning: Tuning, *, as_json: bool) -> None:
    """Print the values so far, and how to confirm them."""
    if as_json:
        typer.echo(json_text(document(tuning)))
        return
    typer.echo(str(tuning))
    out = f"; {tuning.left_out:,} do not count, because an engine failed" if tuning.left_out else ""
    typer.echo(f"{tuning.played:,} of {counted(tuning.settings.games, 'game')}{out}")
    typer.echo(f"options: {printable(str(tuning.folder / OPTIONS_NAME))}")
    typer.echo(f"page: {printable(str(tuning.folder / PAGE_NAME))}")
    typer.echo(f"to confirm: {printable(confirming_command(tuning))}")


def document(tuning: Tuning) -> dict[str, Any]:
    """The document of --json."""
    folder = tuning.folder
    return {
        "folder": str(folder),
        "complete": tuning.is_complete,
        "games": tuning.played,
        "left_out": tuning.left_out,
        "new_games": tuning.new_games,
        "rounds": tuning.rounds,
        "parameters": tuning.rows(),
        "options": str(folder / OPTIONS_NAME),
        "match": str(folder / MATCH_NAME),
        "page": str(folder / PAGE_NAME),
        "confirm": confirming_command(tuning),
        "course": [[[each.value, each.low, each.high] for each in estimates] for estimates in tuning.course],
    }
