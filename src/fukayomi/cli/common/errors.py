"""Failure of commands: one line on stderr, no traceback, and an exit code other than 0."""

import re
import signal
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NoReturn, cast

import typer

from fukayomi.cli.common.text import printable
from fukayomi.errors import FukayomiError, by_extra

USAGE = 2
"""Exit code of a command line that cannot be understood."""
SIGNALLED = 128
"""Added to the number of a signal to make the exit code after it; shells do the same."""
INTERRUPTED = SIGNALLED + signal.SIGINT
"""Exit code after Ctrl-C: 130."""

MEASURING_MODULES = ("matplotlib", "scipy", "yaml")
TRAINING_MODULES = ("torch", "onnx", "onnxscript", "onnxruntime", "safetensors", "tensorboard")
WEB_MODULES = ("starlette", "uvicorn", "websockets", "anyio", "h11")
EXTRA_OF_MODULE = {
    "ray": "ray",
    "fsspec": "fleet",
    "aiohttp": "lishogi",
    **dict.fromkeys(("optuna", "cmaes"), "tune"),
    **dict.fromkeys(MEASURING_MODULES, "measure"),
    **dict.fromkeys(WEB_MODULES, "web"),
    **dict.fromkeys(TRAINING_MODULES, "train"),
}
"""The extra to install for a module that is missing."""
SETTINGS_GIVEN: ContextVar[Mapping[str, tuple[str, object]]] = ContextVar("SETTINGS_GIVEN")
"""Settings that the command line gave: by name, the option and its value."""


def fail(message: str, code: int = 1) -> NoReturn:
    """End the program with a message, which may quote text from files."""
    lines = (printable(line) for line in message.splitlines())
    typer.secho("error: " + "\n".join(lines), fg=typer.colors.RED, err=True)
    raise typer.Exit(code)


def exit_stopped(number: int | None) -> NoReturn:
    """End the program after work that a signal stopped in an orderly way.

    Args:
        number: The signal; None: Ctrl-C.
    """
    raise typer.Exit(INTERRUPTED if number is None else SIGNALLED + number)


def exit_at_sigterm() -> None:
    """From now on SIGTERM ends the program as an error does: what is open is closed first.

    So does SIGHUP, which comes when the terminal is closed; where it is ignored, as under nohup, it stays so.
    """
    from fukayomi.interruption import hangup

    for number in (signal.SIGTERM, *hangup()):
        signal.signal(number, _terminated)


def _terminated(number: int, _frame: object) -> NoReturn:
    raise SystemExit(SIGNALLED + number)


@contextmanager
def user_errors() -> Generator[None]:
    """Fail with one line on errors of fukayomi, files that fail (OSError), missing extras and Ctrl-C.

    Anything else is a bug and keeps its traceback.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRA_OF_MODULE:
            raise
        fail(f"this command needs {module}: {by_extra(EXTRA_OF_MODULE[module])}")
    except FukayomiError as error:
        fail(*_as_typed(error))
    except OSError as error:
        is_plain = error.filename is not None and error.strerror  # "[Errno 2] No such file or directory: 'a'"
        fail(f"{error.filename}: {error.strerror}" if is_plain else str(error))
    except ValueError as error:
        fail(_problem(error))
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _as_typed(error: FukayomiError) -> tuple[str, int]:
    """The text of an error, and its exit code; settings that options gave are named as these: ``--filter-rating``."""
    text, code = str(error), 1
    if "pydantic" in sys.modules:
        from pydantic import ValidationError

        for each in error.__cause__.errors() if isinstance(error.__cause__, ValidationError) else ():
            names = [word for word in each["loc"] if isinstance(word, str)]
            option, value = SETTINGS_GIVEN.get({}).get(names[-1] if names else "", ("", None))
            if option and _is_from(each["input"], value):
                place = re.escape(".".join(map(str, each["loc"])))
                text, changed = re.subn(rf"^{place}: ", f"{option}: ", text, flags=re.MULTILINE)
                code = USAGE if changed else code
    return text, code


def _is_from(wrong: object, given: object) -> bool:
    """True if a wrong value is that of an option, or one of a list of them."""
    values = [given]
    if isinstance(given, str):
        values += given.split(",")
    elif isinstance(given, list | tuple):
        values += cast("Sequence[object]", given)
    return given is not None and any(repr(wrong) == repr(value) for value in values)  # nan is not nan


def _problem(error: ValueError) -> str:
    """The first problem of data that pydantic refuses. Only a command that has imported it can fail so."""
    if "pydantic" in sys.modules:
        from pydantic import ValidationError

        from fukayomi.settings.problems import first_problem

        if isinstance(error, ValidationError):
            return first_problem(error)
    raise error
