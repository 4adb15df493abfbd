"""``fukayomi mate``: find mates (詰み)."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail, user_errors
from fukayomi.cli.common.text import json_text, printable
from fukayomi.files.inputs import read_input
from fukayomi.shogi import MateReason, MateResult, MateSolver, Position, ShogiError

WORDS = {
    MateReason.MATE: "mate",
    MateReason.NO_MATE: "no mate",
    MateReason.NODES: "undecided: the limit of nodes is reached",
    MateReason.TIME: "undecided: the time is up",
    MateReason.STOPPED: "undecided: stopped",
}


@dataclass(frozen=True)
class MateOptions:
    """The limits of each search, and the form of the output."""

    nodes: Annotated[int, typer.Option(min=1, help="Maximum number of positions to search.")] = 1_000_000
    time_ms: Annotated[
        int | None, typer.Option("--time", metavar="MS", min=1, help="Maximum time in ms.", show_default="none")
    ] = None
    plies: Annotated[
        int | None, typer.Option(min=1, max=1023, help="Longest mate to look for.", show_default="1023")
    ] = None
    shortest: Annotated[bool, typer.Option(help="Look for the shortest mate while the limits last, not for any.")] = (
        True
    )
    memory_mb: Annotated[int, typer.Option("--memory", metavar="MiB", min=1, max=65_536, help="Hash table.")] = 256
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each position.")] = False


MOST_BYTES = 64 << 20
"""Largest file of positions."""


def mate(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="POSITION|FILE...", help="SFEN, USI position, or a file with one of these on each line."
        ),
    ],
    options: MateOptions,
) -> None:
    """Find a mate for the side to move, from any position: mate problems (詰将棋) need only one king.

    \b
    fukayomi mate "8l/6lpk/7n1/6S1P/9/9/9/9/9 b RN 1"
    fukayomi mate problems.txt --nodes 100000 --json
    fukayomi mate "startpos moves 7g7f 3c3d" --time 500
    """
    from fukayomi.cli.common.progress import progress_bar

    with user_errors():
        positions = [(name, position) for source in sources for name, position in _positions(source)]
        solver = MateSolver(options.memory_mb)
    try:
        with progress_bar(len(positions)) as bar:
            for name, position in positions:
                try:
                    result = solver.solve(
                        position,
                        nodes=options.nodes,
                        time_ms=options.time_ms,
                        plies=options.plies,
                        shortest=options.shortest,
                    )
                except ValueError as error:
                    fail(f"{name}: {error}")
                typer.echo(_json(position, result) if options.as_json else _text(name, position, result))
                bar.advance()
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def _positions(source: str) -> Iterator[tuple[str, Position]]:
    """The positions of an argument, with names for messages.

    Raises:
        ValueError: A text is not a position; the message names the file and the line.
        OSError: The file cannot be read.
    """
    is_text = ("/" in source and " " in source.strip()) or source.startswith("startpos")
    if is_text and not os.path.exists(source):  # noqa: PTH110 - Path.exists fails for long texts
        yield source, _position(source)
        return
    try:
        lines = read_input(source, MOST_BYTES).decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{source}: not a text file in UTF-8 (byte {error.start})") from error
    if not any(line.strip() for line in lines):
        raise ValueError(f"{source} has no position")
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield f"{source}:{number}", _position(line)
            except ShogiError as error:
                raise ValueError(f"{source}:{number}: {error}") from error


def _position(text: str) -> Position:
    """A position as SFEN, or as USI's `position` takes it."""
    text = text.strip().removeprefix("position ")
    if text.startswith("startpos"):
        return Position.from_usi(text)
    sfen, _, moves = text.removeprefix("sfen ").partition(" moves ")
    position = Position.from_sfen(sfen, allow_missing_king=True)
    for move in moves.split():
        position.push_usi(move)
    return position


def _json(position: Position, result: MateResult) -> str:
    moves = [move.usi() for move in result.moves]
    fields = {"sfen": position.sfen(), "reason": WORDS[result.reason].partition(":")[0], "plies": result.plies}
    return json_text({**fields, "nodes": result.nodes, "moves": moves})


def _text(name: str, position: Position, result: MateResult) -> str:
    if result.reason != MateReason.MATE:
        return f"{printable(name)}: {WORDS[result.reason]} ({result.nodes:,} nodes)"
    shown: list[str] = []
    line = position.copy()
    for move in result.moves:
        shown.append(line.japanese(move))
        line.push(move)
    usi = " ".join(move.usi() for move in result.moves)
    return f"{printable(name)}: mate in {result.plies} ({result.nodes:,} nodes)\n  {' '.join(shown)}\n  {usi}"
