"""What the commands that run verbs have in common: options, and the end."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail, user_errors
from fukayomi.cli.common.options import choice
from fukayomi.cli.common.problems import print_problems
from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import json_text

if TYPE_CHECKING:
    from fukayomi.data.verbs import Inputs, Summary

InputFiles = Annotated[
    list[Path], typer.Argument(metavar="IN...", help="Files and folders of one format; of records, also archives.")
]
Out = Annotated[Path, typer.Option("--out", "-o", help="The file to write, in the format that is read; records: CSA.")]
Seed = Annotated[int, typer.Option(help="Another number, another outcome; the same number, the same bytes.")]
SourceFormat = Annotated[
    str | None,
    typer.Option("--from", metavar="FORMAT", help="Of all inputs: hcp hcpe hcpe2 hcpe3 psv records.",
                 show_default="by content"),
]  # fmt: skip


def inputs_of(paths: list[Path], source: str | None) -> "Inputs":
    """The inputs of a verb, opened.

    Raises:
        ValueError: They are not of one known format.
        OSError: One cannot be read.
    """
    from fukayomi.data.convert.detect import DataFormat
    from fukayomi.data.verbs import open_inputs

    return open_inputs(paths, choice(DataFormat, source, "--from") if source is not None else None)


def run_verb(verb: "Callable[[Callable[[str, int, int], None]], Summary]", unit: str, *, as_json: bool) -> None:
    """Run a verb with a bar, print what it did, and fail with one line.

    Args:
        verb: Given a listener, does the work.
        unit: What the items are called.
        as_json: Whether to print JSON.
    """
    with user_errors():
        try:
            with StageBars() as listener:
                summary = verb(listener.progress)
        except KeyboardInterrupt:
            fail("stopped; the same command goes on where it was", INTERRUPTED)
    if as_json:
        typer.echo(json_text(summary.as_json()))
        return
    print_problems(summary.problems.messages, summary.problems.count)
    for name, value in summary.found.items():
        typer.echo(f"{name.replace('_', ' ')}: {value:,}")
    for path, count in summary.written.items():
        typer.echo(f"{path}: {count:,} of {summary.read:,} {unit}")


def unit_of(inputs: "Inputs") -> str:
    """What the items of some inputs are called."""
    return {"hcpe3": "games", "records": "records", "hcp": "positions"}.get(inputs.written, "rows")
