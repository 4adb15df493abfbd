"""An analysis in the terminal: a table of the moves, a table of the players, and the biggest mistakes; of a position
without moves, its best moves."""

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fukayomi.engine.analysis.game_analysis import GameAnalysis, Mistake, MoveAnalysis
from fukayomi.engine.report.words import evaluation, mated, verdict
from fukayomi.shogi import BLACK, WHITE, Position

PV_PLIES = 6
"""Moves shown of a line."""
WORST = 5
"""Mistakes listed after the tables."""
STYLES = {
    Mistake.INACCURACY: "yellow",
    Mistake.DUBIOUS: "dark_orange",
    Mistake.MISTAKE: "red",
    Mistake.BLUNDER: "magenta",
}


def print_analysis(analysis: GameAnalysis, console: Console) -> None:
    """Print the tables and the biggest mistakes, or of a position without moves its best moves."""
    if not analysis.total_moves:
        print_position(analysis, console)
        return
    black, white = analysis.players
    console.print(Text(f"☗ {black}  ☖ {white}  {analysis.date}", style="bold"))
    console.print(Text(analysis.result))
    console.print(Text(analysis.searched_by, style="dim"))
    console.print(_table_of_moves(analysis))
    console.print(_table_of_sides(analysis))
    _print_worst(console, analysis)


def print_position(analysis: GameAnalysis, console: Console, name: str = "") -> None:
    """Print the best moves of a position without moves."""
    (position,) = analysis.positions
    console.print(Text(name or position.sfen, style="bold"))
    console.print(Text(analysis.searched_by, style="dim"))
    if not position.lines:
        is_mated = Position.from_sfen(position.sfen).is_mated()
        console.print(" ".join(mated(position.turn)) if is_mated else analysis.result)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("", "visits", "eval ☗", "win ☗ %"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("move", no_wrap=True)
    table.add_column("")
    for number, line in enumerate(position.lines, 1):
        win = f"{100 * line.score.winrate:.0f}"
        after = " ".join(line.japanese[1:])
        move = Text(line.japanese[0], style="bold green" if number == 1 else "bold")
        table.add_row(str(number), str(line.visits), evaluation(line.score), win, move, Text(after, style="dim"))
    console.print(table)


def _table_of_moves(analysis: GameAnalysis) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("ply", "played", "best", "eval ☗", "win ☗ %", "loss %", ""):
        table.add_column(name, justify="left" if name in ("played", "best", "") else "right", no_wrap=True)
    for move in analysis.moves:
        style = STYLES[move.mistake] if move.mistake else ""
        best = "✓" if move.is_best else move.best.japanese[0]
        table.add_row(
            str(move.ply),
            Text(move.japanese, style="bold" if move.mistake else ""),
            Text(best, style="green" if move.is_best else ""),
            Text(evaluation(move.after.score)),
            f"{100 * move.after.score.winrate:.0f}",
            Text(f"{100 * move.loss:.1f}" if move.loss >= 0.0005 else "", style=style),
            Text(_verdict(move), style=style),
        )
    return table


def _verdict(move: MoveAnalysis) -> str:
    words = [verdict(move)[0]]
    words += ["詰み逃し"] if move.has_missed_mate else []
    words += ["頓死"] if move.has_allowed_mate else []
    return " ".join(filter(None, words))


def _table_of_sides(analysis: GameAnalysis) -> Table:
    sides = [analysis.side(color) for color in (BLACK, WHITE)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column(Text(f"☗ {analysis.black}"), justify="right", max_width=28)
    table.add_column(Text(f"☖ {analysis.white}"), justify="right", max_width=28)
    table.add_row("平均損失 average loss", *(f"{100 * side.average_loss:.1f} %" for side in sides))
    table.add_row("一致率 agreement", *(f"{100 * side.agreement:.0f} %" for side in sides))
    for kind in Mistake:
        counts = [side.mistakes[kind] for side in sides]
        cells = (Text(str(count), style=STYLES[kind] if count else "dim") for count in counts)
        table.add_row(f"{kind.japanese} {kind.english}", *cells)
    return table


def _print_worst(console: Console, analysis: GameAnalysis) -> None:
    worst = analysis.mistakes()[:WORST]
    if worst:
        console.print(Text("The biggest mistakes, and what was better", style="bold"))
    for move in worst:
        assert move.mistake is not None
        before, after = (100 * score.winrate_of(move.color) for score in (move.before.score, move.reached))
        line = Text()
        line.append(f"{move.ply:4} ")
        line.append(move.japanese, style="bold")
        line.append(f" {_verdict(move)} {verdict(move)[1]}", style=STYLES[move.mistake])
        line.append(f"  {before:.0f} → {after:.0f} %\n     ")
        line.append(move.best.japanese[0], style="bold green")
        line.append(f" {' '.join(move.best.japanese[1:PV_PLIES])}", style="dim")
        console.print(line)
