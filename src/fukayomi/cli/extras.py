"""Errors of the commands that need torch, told to a user: no traceback, and what to install."""

from collections.abc import Generator
from contextlib import contextmanager

import typer

EXTRA_MODULES = frozenset({"torch", "onnx", "onnxscript", "onnxruntime", "safetensors", "tensorboard"})


@contextmanager
def user_errors() -> Generator[None]:
    """Ends the program with one line on stderr when an extra is missing or an input is bad (ValueError, OSError)."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRA_MODULES:
            raise
        _fail(f"this command needs {module}: pip install 'fukayomi[train]'")
    except (ValueError, OSError) as error:
        _fail(str(error))


def _fail(message: str) -> None:
    typer.secho(f"error: {message}", fg=typer.colors.RED, err=True)
    raise typer.Exit(1)
