"""Positions that a command is given: SFEN, USI, files of these, game records."""

import os
import re
from collections.abc import Iterator

from fukayomi.files.inputs import read_input
from fukayomi.shogi import Position
from fukayomi.shogi.formats import Format, read_records, scan_records
from fukayomi.shogi.formats.limits import LARGEST_RECORD
from fukayomi.shogi.formats.text import decode_text
from fukayomi.shogi.record import Record, RecordError, UnknownFormatError

_RANK = "[1-9+PLNSGBRKplnsgbrk]+"
_SFEN = re.compile(rf"{_RANK}(/{_RANK})+\s")
_POSITION = re.compile(rf"(position\s|startpos\b|sfen\s|{_SFEN.pattern})")


def positions_of(source: str, ply: int | None) -> Iterator[tuple[str, Position]]:
    """The positions of an argument, with names for messages.

    Raises:
        ValueError: A text is not a position, a record is damaged, or a game is too short; the message names the place.
        OSError: The file cannot be read.
    """
    for record in records_of(source):
        yield record.name, position_at(record, ply)


def position_at(record: Record, ply: int | None) -> Position:
    """The position after so many plies of a game, with its past; None: after the last.

    Raises:
        ValueError: The game is too short.
    """
    if ply is not None and ply > len(record):
        raise ValueError(f"{record.name}: no position after {ply} plies: the game has {len(record)}")
    position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
    for played in record.moves[:ply]:
        position.push(played.move)
    return position


def records_of(source: str) -> Iterator[Record]:
    """An argument as games; a position is a game without moves.

    Raises:
        ValueError: A text is not a position, or a record is damaged; the message names the place.
        OSError: The file cannot be read.
    """
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
