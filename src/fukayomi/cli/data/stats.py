"""``fukayomi data stats``: what is in files of training data."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import json_text
from fukayomi.cli.data.verb_command import InputFiles, SourceFormat, inputs_of
from fukayomi.data.formats.kinds import UNIQUE_MEMORY


@dataclass(frozen=True)
class StatsOptions:
    """Options of ``fukayomi data stats``."""

    pictures: Annotated[Path | None, typer.Option(metavar="DIR")] = None
    """Also write pictures (PNG) to this folder."""
    unique: bool = True
    """Count different positions."""
    memory: Annotated[float, typer.Option(min=0.001, metavar="GIB")] = UNIQUE_MEMORY / 2**30
    """Positions to keep in memory before they go to a file."""
    scratch: Annotated[Path | None, typer.Option(show_default="the system's temporary folder")] = None
    """Folder for this file."""
    source: SourceFormat = None
    as_json: AsJson = False


def stats(inputs: InputFiles, options: StatsOptions) -> None:
    """Count what is in files of training data or in records.

    \b
    fukayomi data stats games.hcpe3 --pictures pictures
    fukayomi data stats floodgate.zip --json

    Prints games, positions, results by colour, lengths and plies, evaluations, ratings (of records), and how well
    evaluations predict results: the win rate by evaluation, the scale that fits best, and the error of the win rates.
    Evaluations are from the side to move. Different positions are counted exactly: they are kept whole, 32 bytes each,
    in a temporary file if there are many, and compared byte by byte.

    Writes nothing but the pictures. A run that was stopped starts again.
    """
    from fukayomi.cli.data.stats_report import print_statistics
    from fukayomi.data.stats import measure

    try:
        with StageBars() as listener:
            statistics = measure(
                inputs_of(inputs, options.source), unique=options.unique, memory=int(options.memory * 2**30),
                scratch=options.scratch, listener=listener,
            )  # fmt: skip
        written: list[Path] = []
        if options.pictures is not None:
            from fukayomi.data.stats import write_pictures

            written = write_pictures(statistics, options.pictures)
    except KeyboardInterrupt:
        fail("stopped", INTERRUPTED)
    if options.as_json:
        files = {"pictures": [str(path) for path in written]} if options.pictures is not None else {}
        typer.echo(json_text(statistics.as_json() | files))
        return
    print_statistics(statistics)
    for path in written:
        typer.echo(f"wrote {path}")
