"""``fukayomi perft``: count the positions that the rules lead to, a check of their correctness and speed."""

import json
import time
from typing import Annotated

import typer

from fukayomi.cli.common.options import AsJson
from fukayomi.shogi import START_SFEN, InvalidSfenError, Position


def perft(
    depth: Annotated[int, typer.Argument(min=0, max=20, help="How many plies to play.")],
    sfen: Annotated[str, typer.Option(help="The position to start from.")] = START_SFEN,
    as_json: AsJson = False,
) -> None:
    """Count the positions after DEPTH plies of legal moves."""
    try:
        position = Position.from_sfen(sfen)
    except InvalidSfenError as error:
        raise typer.BadParameter(str(error), param_hint="--sfen") from error
    start = time.perf_counter()
    nodes = position.perft(depth)
    seconds = time.perf_counter() - start
    if as_json:
        typer.echo(json.dumps({"nodes": nodes, "seconds": seconds}))
    else:
        typer.echo(f"{nodes} positions in {seconds:.3f} s, {nodes / seconds / 1e6:.1f} million a second")
