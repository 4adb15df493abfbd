"""Conversion of functions into commands."""

import inspect
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from fukayomi.cli.common.errors import user_errors
from fukayomi.cli.common.options import spread_options

_AS_WRITTEN = "\b\n"
"""Before a paragraph whose lines stay: examples and lists."""


class Commands(TyperGroup):
    """The commands of the program, whose errors are one line."""

    def invoke(self, ctx: Any) -> Any:
        with user_errors():
            return super().invoke(ctx)


def add_command(app: typer.Typer, command: Callable[..., Any], name: str | None = None) -> None:
    """Add a function as a command, whose help is its docstring.

    Args:
        app: What it is added to.
        command: Its parameters are the arguments; a parameter that is a dataclass stands for options (options.py).
        name: Name of the command; by default that of the function.
    """
    settings = {"token_normalize_func": _with_hyphens}
    app.command(name, help=flowing(command), context_settings=settings)(spread_options(command))


def _with_hyphens(name: str) -> str:
    """``filter_moves`` as ``filter-moves``: dlshogi's tools write the names of options with underscores."""
    return name.replace("_", "-")


def flowing(command: Callable[..., Any]) -> str:
    """The docstring of a command with one line for each paragraph, which is broken where the terminal ends."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(
        paragraph.removeprefix(_AS_WRITTEN) if paragraph.startswith(_AS_WRITTEN) else paragraph.replace("\n", " ")
        for paragraph in paragraphs
    )
