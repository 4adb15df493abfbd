"""``python -m fukayomi`` and ``fukayomi``."""

import signal
import sys

INTERRUPTED = 128 + signal.SIGINT
"""Exit code after Ctrl-C, as in shells."""


def main() -> None:
    """Entry point of the program."""
    try:
        if sys.argv[1:] == ["usi"]:  # a GUI waits for the answer to its first line: load nothing of the other commands
            from fukayomi.cli.engine.usi import main as run
        else:
            from fukayomi.cli.main import main as run
        run()
    except BaseException as error:
        if not _is_interruption(error):
            raise
        raise SystemExit(INTERRUPTED) from None  # without a traceback, even amid an import


def _is_interruption(error: BaseException) -> bool:
    """True if Ctrl-C brought an error about. A library that it interrupts while it is loaded fails with ImportError."""
    cause: BaseException | None = error
    while isinstance(cause, ImportError):
        cause = cause.__cause__ or cause.__context__
    return isinstance(cause, KeyboardInterrupt)


if __name__ == "__main__":
    main()
