"""End of the program when its output cannot be written: without a traceback, and never with exit code 0."""

import errno
import io
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TextIO, cast

PIPE_CLOSED = 141
"""Exit code when the reader of the output has ended, as with ``| head``; shells report the same for SIGPIPE."""


class _Output(io.FileIO):
    """A standard stream that ends the program where it cannot be written.

    SystemExit passes everything that catches errors of files and still cleans up; what is written later is lost.
    """

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - not a file of the user's
                os.dup2(nowhere.fileno(), self.fileno())
            if error.errno == errno.EPIPE:
                raise SystemExit(PIPE_CLOSED) from None
            print(f"error: cannot write the output: {error.strerror}", file=sys.stderr)
            raise SystemExit(1) from None


@contextmanager
def guarded_output() -> Generator[None]:
    """Let stdout and stderr end the program when they cannot be written, unless they are terminals.

    What their encoding lacks, such as bytes of a file's name that are not UTF-8, is printed as an escape.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="backslashreplace")
    for name in ("stdout", "stderr") if os.name == "posix" else ():
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and not stream.isatty():  # it is None if it was closed
            setattr(sys, name, _guarded(cast("io.TextIOWrapper[Any]", stream)))
    try:
        yield
    finally:  # an error at the end of the interpreter would be a traceback
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.flush()


def open_streams() -> tuple[TextIO, TextIO]:
    """Standard input and output, for a command that another program talks to. It ends where one of them is closed."""
    for name, stream in (("input", sys.stdin), ("output", sys.stdout)):
        if stream is None:
            print(f"error: the standard {name} is closed; start the command with an open one", file=sys.stderr)
            raise SystemExit(1)
    return sys.stdin, sys.stdout


def _guarded(stream: "io.TextIOWrapper[Any]") -> io.TextIOWrapper:
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(stream.fileno(), "wb", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or stream.write_through,
    )
