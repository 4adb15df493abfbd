"""Input of the engine: lines with the time of their arrival."""

import io
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from fukayomi.usi.text import Command, UsiTextError, parse_command, shorten

LINE_BYTES = 1 << 20
"""Longest line that is read: a game of 170 000 moves."""
CHUNK_BYTES = 1 << 16
"""Most that is read at once: what a pipe holds."""
BOM = "\ufeff"
"""The mark that some programs write before their first line."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line from the GUI, and the time of its arrival."""

    time_s: float
    text: str
    """The line, or its beginning if it is too long."""
    is_too_long: bool = False

    def name(self) -> str:
        """The first word; "" for an empty line."""
        return next(iter(self.text.split(None, 1)), "")

    def command(self) -> Command | None:
        """The command, or None for an empty line.

        Raises:
            UsiTextError: The line is not a command, or is too long.
        """
        if self.is_too_long:
            raise UsiTextError(f"a line of more than {LINE_BYTES} bytes is ignored: {shorten(self.text)!r}")
        return parse_command(self.text)


def read_lines(stream: BinaryIO) -> Iterator[Line]:
    """The lines of a buffered stream, as they arrive; of a line that is too long the beginning.

    Lines that were waiting together have the same time, however long the engine is too busy to take them.
    """
    read = cast("io.BufferedReader", stream).read1
    arrived_s, is_full, is_first = 0.0, False, True
    line, size = bytearray(), 0
    while chunk := read(CHUNK_BYTES):
        arrived_s = arrived_s if is_full else time.monotonic()
        is_full = len(chunk) == CHUNK_BYTES  # then more was waiting
        for part in io.BytesIO(chunk):
            size += len(part)
            line += part[: LINE_BYTES - len(line)]
            if part.endswith(b"\n"):
                yield _line(arrived_s, line, size, is_first=is_first)
                line, size, is_first = bytearray(), 0, False
    if size:
        yield _line(arrived_s, line, size, is_first=is_first)


def _line(arrived_s: float, line: bytearray, size: int, *, is_first: bool) -> Line:
    text = line.decode("utf-8", "replace")
    return Line(arrived_s, text.removeprefix(BOM) if is_first else text, size > LINE_BYTES)
