"""Common parts of the commands of the verbs: options, and how they run and report."""

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import json_text, print_copies, print_problems
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from collections.abc import Generator

    from rich.progress import ProgressColumn

    from fukayomi.data.convert.blocks import Inputs
    from fukayomi.data.jobs.job import Summary
    from fukayomi.listener import Listener

InputFiles = Annotated[
    list[Path], typer.Argument(metavar="IN...", help="Files and folders of one format; for records also archives.")
]
Out = Annotated[Path, typer.Option("--out", "-o", help="File to write, in the format of the inputs; CSA for records.")]
Seed = Annotated[int, typer.Option(help="Random seed; the same seed gives identical output.")]
SourceFormat = Annotated[
    DataFormat | None,
    typer.Option("--from", metavar="FORMAT", help="Format of the inputs: hcp hcpe hcpe2 hcpe3 psv records.",
                 show_default="by content"),
]  # fmt: skip


def inputs_of(paths: list[Path], source: DataFormat | None) -> "Inputs":
    """Open the inputs of a command.

    Raises:
        ValueError: They have different formats, or an unknown one.
        OSError: A file cannot be read.
    """
    from fukayomi.data.convert.blocks import open_inputs

    return open_inputs(paths, source)


@contextmanager
def resumable(*columns: "ProgressColumn") -> "Generator[Listener]":
    """Show the progress of a resumable job; fail with one line on errors, and say how to resume after Ctrl-C.

    Args:
        columns: Further columns of the bar.
    """
    try:
        with StageBars(*columns) as listener:
            yield listener
    except KeyboardInterrupt:
        fail("stopped; run the same command again to resume", INTERRUPTED)


def print_json(summary: "Summary") -> None:
    """Print what a job did as one JSON object."""
    typer.echo(json_text({
        "verb": summary.job, "read": summary.read, "written": summary.written,
        "unreadable": summary.skipped.count, "problems": summary.skipped.messages,
        "copies": summary.skipped.copies, **summary.found,
        "resumed": summary.resumed,
    }))  # fmt: skip


def print_findings(summary: "Summary") -> None:
    """Print the results of a job, and on stderr the records that it skipped."""
    print_problems(summary.skipped.messages, summary.skipped.count)
    print_copies(summary.skipped.copies)
    for name, value in summary.found.items():
        typer.echo(f"{name.replace('_', ' ')}: {value:,}")


def run_verb(
    paths: list[Path], source: DataFormat | None, verb: "Callable[[Inputs, Listener], Summary]", *, as_json: bool
) -> None:
    """Run a verb and print what it did.

    Args:
        paths: The inputs.
        source: Their format, if it is given.
        verb: Does the work.
        as_json: Whether to print JSON.
    """
    with resumable() as listener:
        inputs = inputs_of(paths, source)
        summary = verb(inputs, listener)
    if as_json:
        print_json(summary)
        return
    print_findings(summary)
    suffixes = {Path(path).suffix for path in summary.written}
    is_rows = suffixes & {".hcpe", ".hcpe2", ".psv", ".bin"}
    unit = "row" if is_rows else {"hcpe3": "game", "records": "record"}.get(inputs.kind, "position")
    for path, count in summary.written.items():
        typer.echo(f"{path}: {count:,} of {counted(summary.read, unit)}")
