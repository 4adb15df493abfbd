"""How commands name what they could not use and left out."""

from collections.abc import Sequence

import typer

from fukayomi.cli.common.text import printable
from fukayomi.listener import Listener

NAMED = 20


class ProblemList(Listener):
    """Collects the notes of work: messages about files and games that were skipped."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def note(self, text: str) -> None:
        """Keep a message."""
        self.problems.append(text)


def print_problems(problems: Sequence[str], count: int | None = None, word: str = "skipped") -> None:
    """Name the first ones on stderr, and count the others, which are for --json.

    Args:
        problems: Those that --json has.
        count: How many there are; None: no more than these.
        word: What became of them.
    """
    for problem in problems[:NAMED]:
        typer.echo(f"{word} {printable(problem)}", err=True)
    count = count or len(problems)
    if count > NAMED:
        those = "them all" if count == len(problems) else f"the first {len(problems)}"
        typer.echo(f"{word} {count - NAMED:,} more; --json names {those}", err=True)
