"""What the engine reads: lines with the time of their arrival."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from fukayomi.usi.text import Command, UsiTextError, parse_command, shorten

LINE_BYTES = 1 << 20
"""Longest line that is read: a game of 170 000 moves."""
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
    """The lines of a stream, as they arrive; of a line that is too long the beginning."""
    is_first = True
    while raw := stream.readline(LINE_BYTES):
        rest = raw
        while len(rest) == LINE_BYTES and not rest.endswith(b"\n"):
            rest = stream.readline(LINE_BYTES)
        text = raw.decode("utf-8", "replace")
        yield Line(time.monotonic(), text.removeprefix(BOM) if is_first else text, rest is not raw)
        is_first = False
