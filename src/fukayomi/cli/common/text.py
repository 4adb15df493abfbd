"""Text for terminals, and messages about files, games and records that a command skipped.

Control characters of names and comments are never printed as they are.
"""

import json
from collections.abc import Sequence
from typing import Any

import typer

from fukayomi.tabular import printable

__all__ = ["json_text", "printable"]


def json_text(value: Any) -> str:
    """A value as one line of JSON; Japanese text stays readable, and unprintable characters are escaped.

    Raises:
        ValueError: The value has a NaN or an infinity, which JSON does not have.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)


NAMED = 20
"""Messages that are printed; the others are counted."""


def print_copies(count: int) -> None:
    """Print on stderr how many records were copies of games, if any."""
    if count:
        from fukayomi.data.records.copies import copies_text

        typer.echo(f"skipped {copies_text(count)}", err=True)


def print_problems(problems: Sequence[str], count: int | None = None, word: str = "skipped") -> None:
    """Print the first messages on stderr, and the number of the others.

    Args:
        problems: The messages that --json has.
        count: Number of problems; None: one for each message.
        word: The first word of each line.
    """
    for problem in problems[:NAMED]:
        typer.echo(f"{word} {printable(problem)}", err=True)
    count = count or len(problems)
    if count > NAMED:
        listed = "all" if count == len(problems) else f"the first {len(problems):,}"
        typer.echo(f"{word} {count - NAMED:,} more; --json lists {listed}", err=True)
