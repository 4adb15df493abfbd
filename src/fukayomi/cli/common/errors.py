"""How commands fail: one line on stderr that says what is wrong, no traceback, and an exit code that is not 0."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

import typer

from fukayomi.cli.common.text import printable

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""

TRAINING_MODULES = ("torch", "onnx", "onnxscript", "onnxruntime", "safetensors", "tensorboard")
EXTRA_OF_MODULE = {"ray": "ray", **dict.fromkeys(TRAINING_MODULES, "train")}


def fail(message: str, code: int = 1) -> NoReturn:
    """End the program with a message, which may quote names and text out of files."""
    lines = (printable(line) for line in message.splitlines())
    typer.secho("error: " + "\n".join(lines), fg=typer.colors.RED, err=True)
    raise typer.Exit(code)


@contextmanager
def user_errors() -> Generator[None]:
    """Fails with one line when an extra is missing or an input is bad (ValueError, OSError)."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRA_OF_MODULE:
            raise
        fail(f"this command needs {module}: pip install 'fukayomi[{EXTRA_OF_MODULE[module]}]'")
    except (ValueError, OSError) as error:
        fail(str(error))
