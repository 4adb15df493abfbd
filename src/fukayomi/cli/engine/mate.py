"""``fukayomi mate``: find mates (詰み)."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail, user_errors
from fukayomi.cli.common.text import json_text, printable
from fukayomi.files.inputs import read_input
from fukayomi.shogi import MateReason, MateResult, MateSolver, Position
from fukayomi.shogi.formats import Format, read_records, scan_records
from fukayomi.shogi.formats.limits import LARGEST_RECORD
from fukayomi.shogi.formats.text import decode_text
from fukayomi.shogi.record import Record, RecordError, UnknownFormatError

WORDS = {
    MateReason.MATE: "mate",
    MateReason.NO_MATE: "no mate",
    MateReason.NODES: "undecided: the limit of nodes is reached",
    MateReason.TIME: "undecided: the time is up",
    MateReason.STOPPED: "undecided: stopped",
}

_RANK = "[1-9+PLNSGBRKplnsgbrk]+"
_SFEN = re.compile(rf"{_RANK}(/{_RANK})+\s")
_POSITION = re.compile(rf"(position\s|startpos\b|sfen\s|{_SFEN.pattern})")


@dataclass(frozen=True)
class MateOptions:
    """The positions of games, the limits of each search, and the form of the output."""

    ply: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Position after N plies of each game.", show_default="after the last"),
    ] = None
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
    from fukayomi.cli.common.progress import progress_bar

    with user_errors():
        positions = [(name, position) for source in sources for name, position in _positions(source, options.ply)]
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


def _positions(source: str, ply: int | None) -> Iterator[tuple[str, Position]]:
    """The positions of an argument, with names for messages.

    Raises:
        ValueError: A text is not a position, a record is damaged, or a game is too short; the message names the place.
        OSError: The file cannot be read.
    """
    for record in _records(source):
        if ply is not None and ply > len(record):
            raise ValueError(f"{record.name}: no position after {ply} plies: the game has {len(record)}")
        position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
        for played in record.moves[:ply]:
            position.push(played.move)
        yield record.name, position


def _records(source: str) -> Iterator[Record]:
    """An argument as games; a position is a game without moves."""
    is_text = ("/" in source and " " in source.strip()) or source.startswith("startpos")
    if is_text and not os.path.exists(source):  # noqa: PTH110 - Path.exists fails for long texts
        yield _line(source, source)
        return
    data = read_input(source, LARGEST_RECORD)
    try:
        lines = decode_text(data).splitlines()
    except ValueError as error:
        raise ValueError(f"{source}: not a text file: {error}") from error
    numbered = [(n, line.strip()) for n, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    if not numbered:
        raise ValueError(f"{source} has no position")
    if not _POSITION.match(numbered[0][1]):
        try:
            yield from read_records(data, name=source)
        except UnknownFormatError as error:
            raise ValueError(f"{source}: no SFEN, and {error.reason}") from error
        return
    for number, line in numbered:
        yield _line(line, f"{source}:{number}")


def _line(text: str, name: str) -> Record:
    """A line: SFEN or USI's `position`, with or without moves."""
    usi = f"sfen {text.strip()}" if _SFEN.match(text.strip()) else text
    (found,) = scan_records(usi.encode(), name=name, text_format=Format.USI)
    if isinstance(found, RecordError):
        raise ValueError(f"{name}: {found.reason}") from found
    return found


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
