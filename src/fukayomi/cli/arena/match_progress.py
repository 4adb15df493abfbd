"""Showing a match: a live table on a terminal, otherwise a line per game."""

from collections.abc import Callable
from datetime import timedelta

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fukayomi.arena.game.player import Failure
from fukayomi.arena.match.state import MatchListener, MatchState
from fukayomi.arena.results.game import Game, causes_text
from fukayomi.arena.results.head_to_head import PlayerStanding
from fukayomi.arena.statistics.intervals import Strength
from fukayomi.arena.statistics.move_times import MoveTimes, Times
from fukayomi.cli.common.progress import number_table
from fukayomi.cli.common.text import printable
from fukayomi.shogi import BLACK, WHITE
from fukayomi.shogi.record import Result
from fukayomi.tabular import counted

RESULTS = {Result.BLACK_WIN: "1-0", Result.WHITE_WIN: "0-1", Result.DRAW: "1/2"}


class LiveTable(MatchListener):
    """Shows a table that grows with every game. Use it as a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._state: MatchState | None = None
        # Created last: it renders at once.
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=2, transient=True)

    def __enter__(self) -> "LiveTable":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def started(self, state: MatchState) -> None:
        self._state = state

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
        if failure is not None:
            self._console.print(Text(failure_line(state, game, failure), style="red"))

    def note(self, text: str) -> None:
        self._console.print(Text(text, style="yellow"))

    def _render(self) -> RenderableType:
        if self._state is None:
            return Text("")
        return Group(standings_table(self._state), *forfeit_tables(self._state), Text(pace_line(self._state)))


class Lines(MatchListener):
    """Writes a line per game."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def started(self, state: MatchState) -> None:
        if state.played:
            played, left = counted(state.played, "game has", "games have"), counted(state.missing, "is", "are")
            self._say(f"{played} been played, {left} left")

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
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
            f"({game.termination}, {counted(plies, 'ply', 'plies')}); {score}; {pace_line(state)}"
        )

    def note(self, text: str) -> None:
        self._say(text)


def standings_table(state: MatchState) -> Table:
    """A row per engine: score, Elo, score by colour, failures."""
    table = Table("engine", "W-L-D", "score", "Elo, 95 %", "as Black", "as White", "failed")
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


def forfeit_tables(state: MatchState) -> list[Table]:
    """A table with a row per engine that lost on time, by illegal moves or by failures; none if no engine did."""
    players = [player for player in state.standings.players.values() if player.forfeits]
    if not players:
        return []
    table = number_table("engine", "forfeits", "of losses", "kinds", "Elo without, 95 %")
    for player in players:
        losses, count = player.total.losses, player.forfeits.total()
        share, elo = percent(count / losses), elo_text(player.clean_counts.strength())
        style = "yellow" if player.rests_on_forfeits else ""
        table.add_row(Text(player.name), str(count), share, causes_text(player.forfeits), elo, style=style)
    return [table]


def times_table(state: MatchState) -> Table:
    """A row per engine: mean, median and greatest time of a move, and the same of its overhead."""
    table = number_table("time of a move, ms", "moves", "mean", "median", "max", "overhead", "median", "max")
    for name in state.standings.players:
        times = state.times.get(name, MoveTimes())
        used, overhead = times.used(), times.overhead()
        if used is not None:
            table.add_row(Text(name), f"{used.count:,}", *_three(used), *_three(overhead))
    return table


def _three(times: Times | None) -> list[str]:
    if times is None:
        return ["-"] * 3
    return [f"{value:,.0f}" for value in (times.mean_ms, times.median_ms, times.greatest_ms)]


def pace_line(state: MatchState) -> str:
    """Progress, pace, and the state of the sequential test; for a batch of a calibration, of all batches."""
    words = [f"{state.played} of {counted(state.played + state.missing, 'game')}"]
    if state.earlier or state.later:
        done = state.earlier + state.played
        words = [f"batch {words[0]}", f"in all {done} of {done + state.left}"]
    pace, left_s = state.games_an_hour(), state.seconds_left()
    if pace is not None and left_s is not None:
        words.append(f"{pace:.0f} an hour")
        if state.left:
            words.append(f"{timedelta(seconds=round(left_s))} left")
    if (sprt := sprt_text(state)) is not None:
        words.append(sprt)
    return ", ".join(words)


def sprt_text(state: MatchState) -> str | None:
    """Such as ``LLR 1.20 (-2.94 to 2.94)``; None without a test."""
    result = state.sprt()
    if result is None:
        return None
    decision = f": {result.decision} accepted" if state.is_decided else ""
    return f"LLR {result.llr:.2f} ({result.lower:.2f} to {result.upper:.2f}){decision}"


def failure_line(state: MatchState, game: Game, failure: Failure) -> str:
    """A failure and its consequence."""
    ending = "its remaining games are left out" if failure.engine in state.left_out else "restarting it"
    return f"game {game.name}: {failure_text(failure)}; {ending}"


def failure_text(failure: Failure) -> str:
    """Such as ``new failed (crash: engine ended with exit code 1 / no model)``."""
    return f"{failure.engine} failed ({failure.kind}: {printable(' / '.join(failure.detail.splitlines()))})"


def elo_text(strength: Strength) -> str:
    """Such as ``+12 ±45``; the end of the interval alone, such as ``above +166``, if all games were won or lost."""
    if strength.elo is not None:
        return f"{round(strength.elo):+} ±{strength.elo_error:.0f}"
    if strength.elo_low is not None:
        return f"above {strength.elo_low:+.0f}"
    return "-" if strength.elo_high is None else f"below {strength.elo_high:+.0f}"


def percent(share: float | None) -> str:
    """Such as ``51.3 %``."""
    return "-" if share is None else f"{100 * share:.1f} %"
