"""What the user sees of a match: a live table on a terminal, a line a game elsewhere."""

from collections.abc import Callable
from datetime import timedelta

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fukayomi.arena.game.player import Failure
from fukayomi.arena.match.match import MatchState
from fukayomi.arena.match.summary import elo_text, percent
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.standings import PlayerStanding
from fukayomi.arena.text import printable
from fukayomi.shogi import BLACK, WHITE
from fukayomi.shogi.record import Result

RESULTS = {Result.BLACK_WIN: "1-0", Result.WHITE_WIN: "0-1", Result.DRAW: "1/2"}


class LiveTable:
    """Keeps a table at the foot of a terminal. Use it as a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._state: MatchState | None = None
        # Last, as it asks for what to show at once.
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=2, transient=True)

    def __enter__(self) -> "LiveTable":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def started(self, state: MatchState) -> None:
        """See `Listener`."""
        self._state = state

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
        """See `Listener`."""
        if failure is not None:
            self._console.print(Text(failure_line(state, game, failure), style="red"))

    def note(self, text: str) -> None:
        """See `Listener`."""
        self._console.print(Text(text, style="yellow"))

    def _render(self) -> RenderableType:
        if self._state is None:
            return Text("")
        return Group(standings_table(self._state), Text(pace_line(self._state)))


class Lines:
    """Says a line a game."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def started(self, state: MatchState) -> None:
        """See `Listener`."""
        if state.played:
            self._say(f"{state.played} games are there already, {state.missing} are left")

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
        """See `Listener`."""
        if failure is not None:
            self._say(failure_line(state, game, failure))
        plies = len(game.moves or ())
        score = "; ".join(
            f"{player.name} {player.total.text()} {percent(player.total.rate)}"
            for player in state.standings.players.values()
            if player.name in (game.black, game.white)
        )
        self._say(
            f"game {game.name}: {game.black} - {game.white} {RESULTS[game.result]} "
            f"({game.termination}, {plies} plies); {score}; {pace_line(state)}"
        )

    def note(self, text: str) -> None:
        """See `Listener`."""
        self._say(text)


def standings_table(state: MatchState) -> Table:
    """A row an engine: the score, as Elo, by colour, and failures."""
    table = Table("engine", "W-L-D", "score", "Elo", "as Black", "as White", "failed")
    table.columns[0].overflow = "fold"
    table.columns[0].min_width = 8
    for column in table.columns[1:]:
        column.justify = "right"
        column.no_wrap = True
    for player in state.standings.players.values():
        failed = sum(failure.engine == player.name for _, failure in state.failures)
        style = "dim" if player.name in state.left_out else ""
        table.add_row(*_cells(player), str(failed or ""), style=style)
    return table


def _cells(player: PlayerStanding) -> list[RenderableType]:
    total = player.total
    by_color = (
        f"{score.text()} {'-' if score.rate is None else f'{100 * score.rate:.0f} %'}"
        for score in (player.by_color[BLACK], player.by_color[WHITE])
    )
    return [Text(player.name), total.text(), percent(total.rate), elo_text(player.counts.strength()), *by_color]


def pace_line(state: MatchState) -> str:
    """How far the match is, how fast it goes, and what the test says."""
    words = [f"{state.played} of {state.played + state.missing} games"]
    pace, left_s = state.games_an_hour(), state.seconds_left()
    if pace is not None and left_s is not None:
        words.append(f"{pace:.0f} an hour")
        if state.missing:
            words.append(f"{timedelta(seconds=round(left_s))} left")
    if (sprt := sprt_text(state)) is not None:
        words.append(sprt)
    return ", ".join(words)


def sprt_text(state: MatchState) -> str | None:
    """As ``LLR 1.20 (-2.94 to 2.94)``; None where no test was asked for."""
    result = state.sprt()
    if result is None:
        return None
    decision = f": {result.decision} accepted" if state.is_decided else ""
    return f"LLR {result.llr:.2f} ({result.lower:.2f} to {result.upper:.2f}){decision}"


def failure_line(state: MatchState, game: Game, failure: Failure) -> str:
    """What an engine did, and what follows from it."""
    detail = printable(" / ".join(failure.detail.splitlines()))
    ending = "the rest of its games is left out" if failure.engine in state.left_out else "it is started again"
    return f"game {game.name}: {failure.engine} failed ({failure.kind}: {detail}); {ending}"
