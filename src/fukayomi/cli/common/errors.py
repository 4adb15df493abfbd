"""How commands fail: with one line on stderr, without a traceback, and with an exit code other than 0."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

import typer

from fukayomi.cli.common.text import printable

USAGE = 2
"""Exit code of a command line that cannot be understood."""
INTERRUPTED = 130
"""Exit code after Ctrl-C; shells use the same."""

TRAINING_MODULES = ("torch", "onnx", "onnxscript", "onnxruntime", "safetensors", "tensorboard")
EXTRA_OF_MODULE = {"ray": "ray", **dict.fromkeys(TRAINING_MODULES, "train")}
"""The extra to install for a module that is missing."""


def fail(message: str, code: int = 1) -> NoReturn:
    """End the program with a message, which may quote text from files."""
    lines = (printable(line) for line in message.splitlines())
    typer.secho("error: " + "\n".join(lines), fg=typer.colors.RED, err=True)
    raise typer.Exit(code)


@contextmanager
def user_errors() -> Generator[None]:
    """Fail with one line on missing extras, invalid input (ValueError) and failing files (OSError)."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRA_OF_MODULE:
            raise
        fail(f"this command needs {module}: pip install 'fukayomi[{EXTRA_OF_MODULE[module]}]'")
    except OSError as error:
        is_plain = error.filename is not None and error.strerror  # "[Errno 2] No such file or directory: 'a'"
        fail(f"{error.filename}: {error.strerror}" if is_plain else str(error))
    except ValueError as error:
        fail(str(error))
