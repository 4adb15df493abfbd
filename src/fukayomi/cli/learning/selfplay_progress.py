"""Live table that `fukayomi selfplay` shows on a terminal."""

from datetime import timedelta

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fukayomi.arena.statistics.intervals import win_rate
from fukayomi.cli.common.text import printable
from fukayomi.selfplay.listener import SelfplayListener, SelfplayProgress, SelfplayRun
from fukayomi.tabular import counted


class SelfplayTable(SelfplayListener):
    """Shows a table that changes twice a second. Use it as a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._run: SelfplayRun | None = None
        self._state: SelfplayProgress | None = None
        # Created last: it renders at once.
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=2, transient=True)

    def __enter__(self) -> "SelfplayTable":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def started(self, run: SelfplayRun) -> None:
        self._run = run

    def state(self, state: SelfplayProgress) -> None:
        self._state = state

    def note(self, text: str) -> None:
        self._console.print(Text(printable(text), style="yellow"))

    def _render(self) -> RenderableType:
        if self._run is None or self._state is None:
            return Text("loading the network")
        return selfplay_table(self._run, self._state)


def selfplay_table(run: SelfplayRun, state: SelfplayProgress) -> Table:
    """The counts of a run, as rows."""
    table = Table(show_header=False, title=Text(printable(f"{run.network}: self-play into {run.out}")))
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column()
    games, remaining = max(1, state.games), state.remaining_s

    def share(count: int) -> str:
        return f"{100 * count / games:.1f} %"

    def row(name: str, value: str, more: str = "") -> None:
        table.add_row(name, value, more)

    row("done", f"{100 * state.done:.1f} %", "" if remaining is None else f"{_time(remaining)} left")
    row("games", f"{state.games:,}", f"{state.games_per_hour:,.0f} an hour; {state.playing} at once")
    row("positions", f"{state.positions:,}", f"{state.positions_per_s:,.1f} a second")
    row("plies a game", f"{state.plies / max(1, state.kept):.1f}", f"games not kept: {state.games - state.kept:,}")
    row("playouts a move", f"{state.playouts / max(1, state.searches):.1f}")
    row("Black wins", share(state.black_wins), f"draws {share(state.draws)}")
    row("endings", "", ", ".join(f"{reason.replace('_', ' ')} {share(n)}" for reason, n in state.reasons.items()))
    if state.played_out:
        wrong = f"{100 * state.wrong_resignations / state.played_out:.1f} %"
        row("wrong resignations", wrong, f"of {counted(state.played_out, 'game')} played out")
    for name, (played, wins, draws) in sorted(state.opponents.items()):
        found = win_rate(wins, losses=played - wins - draws, draws=draws)
        rate = "" if found.rate is None else f"{100 * found.rate:.1f} %"
        interval = f"{100 * found.low:.0f} to {100 * found.high:.0f} %, 95 % interval"
        row(printable(f"against {name}"), rate, f"{interval}; {counted(played, 'game')}, {counted(draws, 'draw')}")
    return table


def _time(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
