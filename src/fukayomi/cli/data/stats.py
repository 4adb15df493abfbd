"""``fukayomi data stats``: what is in files of training data."""

from pathlib import Path
from typing import Annotated

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail, user_errors
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import json_text
from fukayomi.cli.data.work import InputFiles, SourceFormat, inputs_of


def stats(
    inputs: InputFiles,
    pictures: Annotated[Path | None, typer.Option(metavar="DIR", help="Also write pictures (PNG) there.")] = None,
    unique: Annotated[bool, typer.Option(help="Count different positions.")] = True,
    memory: Annotated[float, typer.Option(min=0.001, help="GiB of positions to hold before they go to a file.")] = 0.25,
    scratch: Annotated[
        Path | None, typer.Option(help="Folder for a file of positions.", show_default="the system's for such")
    ] = None,
    source: SourceFormat = None,
    as_json: AsJson = False,
) -> None:
    """Count what is in files of training data or in records.

    \b
      fukayomi data stats games.hcpe3 --pictures pictures
      fukayomi data stats floodgate.zip --json

    Games, positions, results by colour, lengths and plies, evaluations, ratings (records), and how well evaluations
    foretell results: the win rate by evaluation, the scale that fits, and by how much it is wrong. Evaluations are from
    the side to move. Different positions are counted exactly: they are held whole, 32 bytes each, in a temporary
    file if there are many, and compared byte by byte.

    Nothing is written but the pictures; a run that was stopped starts again.
    """
    from fukayomi.cli.data.stats_report import print_statistics
    from fukayomi.data.stats import measure
    from fukayomi.data.stats.unique import UniqueCounter

    with user_errors():
        found = inputs_of(inputs, source)
        try:
            with StageBars() as listener, UniqueCounter(int(memory * (1 << 30)), scratch) as counter:
                statistics = measure(found, counter if unique else None, listener.progress)
            written: list[Path] = []
            if pictures is not None:
                from fukayomi.data.stats.pictures import write_pictures

                written = write_pictures(statistics, pictures)
        except KeyboardInterrupt:
            fail("stopped; start again for all of it", INTERRUPTED)
    if as_json:
        files = {"pictures": [str(path) for path in written]} if pictures is not None else {}
        typer.echo(json_text(statistics.as_json() | files))
        return
    print_statistics(statistics)
    for path in written:
        typer.echo(f"wrote {path}")
