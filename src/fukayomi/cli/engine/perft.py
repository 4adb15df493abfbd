"""``fukayomi perft``: count positions, to check the move generator and measure its speed."""

import time
from dataclasses import dataclass
from typing import Annotated

import typer

from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.text import json_text
from fukayomi.shogi import START_SFEN, InvalidSfenError, Position
from fukayomi.tabular import counted


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
