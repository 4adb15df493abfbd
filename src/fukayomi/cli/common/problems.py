"""How commands name what they could not use and left out."""

from collections.abc import Sequence

import typer

from fukayomi.cli.common.text import printable

NAMED = 20


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
