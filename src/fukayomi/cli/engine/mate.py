"""``fukayomi mate`` and ``perft``: mates (詰み), counts of positions."""

import time
from dataclasses import dataclass
from typing import Annotated

import typer

from fukayomi.cli.common.errors import fail
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.progress import progress_bar
from fukayomi.cli.common.text import json_text, printable
from fukayomi.cli.engine.given_positions import positions_of
from fukayomi.shogi import BLACK, START_SFEN, InvalidSfenError, MateReason, MateResult, MateSolver, Position
from fukayomi.tabular import counted

WORDS = {
    MateReason.MATE: "mate",
    MateReason.NO_MATE: "no mate",
    MateReason.NODES: "undecided: the limit of nodes is reached",
    MateReason.TIME: "undecided: the time is up",
    MateReason.STOPPED: "undecided: stopped",
}


@dataclass(frozen=True)
class MateOptions:
    """The positions of games, the limits of each search, and the form of the output."""

    ply: Annotated[int | None, typer.Option(min=0, metavar="N", show_default="after the last")] = None
    """Position after N plies of each game."""
    nodes: Annotated[int, typer.Option(min=1)] = 1_000_000
    """Maximum number of positions to search."""
    time_ms: Annotated[int | None, typer.Option("--time", metavar="MS", min=1, show_default="none")] = None
    """Maximum time in ms."""
    plies: Annotated[int | None, typer.Option(min=1, max=1023, show_default="1023")] = None
    """Longest mate to look for."""
    shortest: bool = True
    """Look for the shortest mate while the limits last, not for any."""
    memory_mb: Annotated[int, typer.Option("--memory", metavar="MiB", min=1, max=65_536)] = 256
    """Hash table."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print one JSON object for each position."""


def mate(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="POSITION|FILE...",
            help="SFEN or USI position; a file with one of these on each line; or a game record: CSA, KIF, KI2, JKF.",
        ),
    ],
    options: MateOptions,
) -> None:
    """Find a mate for the side to move, from any position: mate problems (詰将棋) need only one king.

    \b
    fukayomi mate "8l/6lpk/7n1/6S1P/9/9/9/9/9 b RN 1"
    fukayomi mate problems.txt --nodes 100000 --json
    fukayomi mate "startpos moves 7g7f 3c3d" --time 500
    fukayomi mate game.kif --ply 98
    fukayomi mate solved-problem.kif --ply 0
    """

    positions = [(name, position) for source in sources for name, position in positions_of(source, options.ply)]
    for name, position in positions:  # all errors come before the first search
        if position.king_square(position.turn.opponent) is None:
            side = "White" if position.turn == BLACK else "Black"
            fail(
                f"{name}: {side} has no king, so there is no king to mate: the side to move attacks"
                "; --ply 0 takes the first position of a record"
            )
    solver = MateSolver(options.memory_mb)
    with progress_bar(len(positions)) as bar:
        for name, position in positions:
            result = solver.solve(
                position,
                nodes=options.nodes,
                time_ms=options.time_ms,
                plies=options.plies,
                shortest=options.shortest,
            )
            typer.echo(_json(position, result) if options.as_json else _text(name, position, result))
            bar.advance()


def _json(position: Position, result: MateResult) -> str:
    moves = [move.usi() for move in result.moves]
    fields = {"sfen": position.sfen(), "reason": WORDS[result.reason].partition(":")[0], "plies": result.plies}
    return json_text({**fields, "nodes": result.nodes, "moves": moves})


def _text(name: str, position: Position, result: MateResult) -> str:
    if result.reason != MateReason.MATE:
        return f"{printable(name)}: {WORDS[result.reason]} ({counted(result.nodes, 'node')})"
    shown: list[str] = []
    line = position.copy()
    for move in result.moves:
        shown.append(line.japanese(move))
        line.push(move)
    usi = " ".join(move.usi() for move in result.moves)
    return f"{printable(name)}: mate in {result.plies} ({counted(result.nodes, 'node')})\n  {' '.join(shown)}\n  {usi}"


@dataclass(frozen=True)
class PerftOptions:
    """The position, and the form of the output."""

    sfen: Annotated[str, typer.Option(show_default="the start")] = START_SFEN
    """Position to begin from."""
    as_json: AsJson = False


def perft(
    depth: Annotated[int, typer.Argument(min=0, max=20, help="Plies to play.")],
    options: PerftOptions,
) -> None:
    """Count the positions after DEPTH plies of legal moves, a check of the rules and a measure of their speed.

    \b
    fukayomi perft 5
    """
    try:
        position = Position.from_sfen(options.sfen)
    except InvalidSfenError as error:
        raise typer.BadParameter(str(error), param_hint="--sfen") from error
    start = time.perf_counter()
    nodes = position.perft(depth)
    seconds = time.perf_counter() - start
    if options.as_json:
        typer.echo(json_text({"nodes": nodes, "seconds": seconds}))
    else:
        typer.echo(f"{counted(nodes, 'position')} in {seconds:.3f} s, {nodes / seconds / 1e6:.1f} million per second")
