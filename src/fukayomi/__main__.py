"""``python -m fukayomi`` and ``fukayomi``."""

import atexit
import contextlib
import os
import signal
import sys
from typing import NoReturn

SIGNALLED = 128
"""Exit codes above it are those of signals, as in shells."""
INTERRUPTED = SIGNALLED + signal.SIGINT
"""Exit code after Ctrl-C."""


def main() -> None:
    """Entry point of the program."""
    try:
        if sys.argv[1:] == ["usi"]:  # a GUI waits for the answer to its first line: load nothing of the other commands
            from fukayomi.cli.engine.usi import main as run
        else:
            from fukayomi.cli.main import main as run
        run()
    except SystemExit as error:
        if isinstance(error.code, int) and error.code > SIGNALLED:
            _end(error.code)
        raise
    except BaseException as error:
        if not _is_interruption(error):
            raise
        _end(INTERRUPTED)  # without a traceback, even amid an import


def _end(code: int) -> NoReturn:
    """End a program that was interrupted, without taking the interpreter down.

    Threads that the interruption left behind may be amid a library's native code, such as the end of a network of
    OpenVINO, which aborts the process when it wants to go back to an interpreter that is being taken down.
    """
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - temporary folders are removed, children ended
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # None, or closed
            stream.flush()
    os._exit(code)


def _is_interruption(error: BaseException) -> bool:
    """True if Ctrl-C brought an error about.

    A library that it interrupts while it is loaded fails with ImportError, a class with RuntimeError.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or (cause.__context__ if isinstance(cause, ImportError) else None)
    return cause is not None


if __name__ == "__main__":
    main()
