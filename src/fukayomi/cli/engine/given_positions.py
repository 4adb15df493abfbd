"""Positions that a command is given: SFEN, USI, files of these, game records."""

import os
from collections.abc import Iterator

from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import read_input
from fukayomi.shogi import Position
from fukayomi.shogi.formats import Format, read_records, scan_records
from fukayomi.shogi.formats.reader import USI_LINE
from fukayomi.shogi.formats.text import LARGEST_RECORD, decode_text
from fukayomi.shogi.record import Record, RecordError, UnknownFormatError
from fukayomi.tabular import counted


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
        raise InvalidValueError(
            f"{record.name}: no position after {counted(ply, 'ply', 'plies')}: the game has {len(record)}"
        )
    position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
    for played in record.moves[:ply]:
        position.push(played.move)
    return position


def records_of(source: str) -> Iterator[Record]:
    """An argument as games; a position is a game without moves.

    Raises:
        ValueError: A text is empty or not a position, or a record is damaged; the message names the place.
        OSError: The file cannot be read.
    """
    check_given(source)
    if is_position(source):
        yield line_record(source)
        return
    data = read_input(source, LARGEST_RECORD)
    try:
        lines = decode_text(data).splitlines()
    except ValueError as error:
        raise InvalidValueError(f"{source}: not a text file: {error}") from error
    numbered = [(n, line.strip()) for n, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    if not numbered:
        raise InvalidValueError(f"{source} has no position")
    if not USI_LINE.match(numbered[0][1]):
        try:
            yield from read_records(data, name=source)
        except UnknownFormatError as error:
            raise InvalidValueError(f"{source}: no SFEN, and {error.reason}") from error
        return
    for number, line in numbered:
        yield line_record(line, f"{source}:{number}")


def check_given(source: str) -> None:
    """Check that an argument says something.

    Raises:
        ValueError: It is empty.
    """
    if not source.strip():
        raise InvalidValueError(f"the argument {source!r} is empty: give a position or a file")


def is_position(source: str) -> bool:
    """True if an argument is a position itself and no file: SFEN, or USI's `position` with or without moves."""
    is_text = ("/" in source and " " in source.strip()) or source.startswith("startpos")
    return is_text and not os.path.exists(source)  # noqa: PTH110 - Path.exists fails for long texts


def line_record(text: str, name: str | None = None) -> Record:
    """A line as a game: SFEN or USI's `position`, with or without moves.

    Raises:
        ValueError: It is neither; the message begins with the name, without one with the text.
    """
    name = name or text
    (found,) = scan_records(text.strip().encode(), name=name, text_format=Format.USI)
    if isinstance(found, RecordError):
        raise InvalidValueError(f"{name}: {found.reason}") from found
    return found
