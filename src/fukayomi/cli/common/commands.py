"""How functions become commands."""

import inspect
from collections.abc import Callable
from typing import Any

import typer

_AS_WRITTEN = "\b\n"
"""Before a paragraph whose lines stay: examples and lists."""


def add_command(app: typer.Typer, command: Callable[..., Any], name: str | None = None) -> None:
    """Add a function as a command, whose help is its docstring.

    Args:
        app: What it is added to.
        command: Its parameters are the command's, as typer wants them.
        name: What it is called; the function's name if not given.
    """
    app.command(name, help=flowing(command))(command)


def flowing(command: Callable[..., Any]) -> str:
    """The docstring of a command with one line for each paragraph, which is broken where the terminal ends."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(
        paragraph.removeprefix(_AS_WRITTEN) if paragraph.startswith(_AS_WRITTEN) else paragraph.replace("\n", " ")
        for paragraph in paragraphs
    )
