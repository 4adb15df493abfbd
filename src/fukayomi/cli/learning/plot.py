"""``fukayomi plot``: the curves of training runs as pictures and as a page."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fukayomi.cli.common.errors import USAGE, fail
from fukayomi.cli.common.options import AsJson, check_target
from fukayomi.cli.common.text import json_text, printable

if TYPE_CHECKING:
    from fukayomi.learning.curves.pictures import Runs

SUFFIXES = (".svg", ".png", ".html")
DEFAULT_OUTPUT = Path("curves.html")


@dataclass(frozen=True)
class PlotOptions:
    """Files to write, and how the curves are drawn."""

    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="A .svg, .png or .html file to write; repeat for several.",
            show_default=str(DEFAULT_OUTPUT),
        ),
    ] = None  # fmt: skip
    smooth: Annotated[
        float | None, typer.Option(min=0, metavar="STEPS", show_default="a fiftieth of the longest run")
    ] = None
    """Width of the running mean of training curves; 0: none."""
    x: Literal["steps", "time"] = "steps"
    """Horizontal axis: steps, or the time of training without pauses."""
    log_x: Annotated[bool, typer.Option("--log-x")] = False
    """Make the horizontal axis logarithmic."""
    theme: Literal["light", "dark"] = "light"
    """Theme of .svg and .png; a page has both."""
    language: Annotated[
        Literal["ja", "en"] | None,
        typer.Option(
            show_default="Japanese where the locale is Japanese and a Japanese font is installed, otherwise English"
        ),
    ] = None
    """Language of the labels."""
    as_json: AsJson = False


def plot(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]RUN...",
            help="Folders of runs, finished or not, with log.jsonl or files of TensorBoard; or such files.",
        ),
    ],
    options: PlotOptions,
) -> None:
    """Draw the curves of training runs in one picture: losses, accuracies, entropy and learning rate.

    \b
    fukayomi plot runs/a runs/b
    fukayomi plot averaged=runs/a plain=runs/b -o curves.svg -o curves.png
    fukayomi plot runs/a runs/b --x time

    Lines are training, smoothed; points are the test set. A page (.html) is one file that follows the reader's theme,
    with the last metrics and the time of training as a table. Where a run was stopped and resumed, the later start
    counts. Files of TensorBoard may be of other programs that name their curves as dlshogi does.
    """
    outputs = options.output or [DEFAULT_OUTPUT]
    for path in outputs:
        if path.suffix.lower() not in SUFFIXES:
            raise typer.BadParameter(f"{path} is none of {', '.join(SUFFIXES)}", param_hint="--output")
        check_target(path)
    named = [_named(run) for run in runs]
    from fukayomi.learning.curves.pictures import runs as read_runs

    paths = [path for _, path in named]
    names = {name or str(path): path for name, path in named}
    if len(names) < len(runs):
        fail("two runs have the same name", USAGE)
    found = read_runs(names if any(name for name, _ in named) else paths)
    for path in outputs:
        found.plot(
            path,
            smooth=options.smooth,
            x=options.x,
            log_x=options.log_x,
            theme=options.theme,
            language=options.language,
        )
    if options.as_json:
        typer.echo(json_text(_document(found, outputs)))
        return
    for run in found.runs:
        time = f" in {run.duration}" if run.duration else ""
        typer.echo(printable(f"{run.name}: up to step {run.last_step:,}{time}"))
    typer.echo("written: " + ", ".join(printable(str(path)) for path in outputs))


def _named(text: str) -> tuple[str, Path]:
    """Name and path of NAME=RUN; the name is empty for a path, which may contain an equals sign."""
    name, equals, path = text.partition("=")
    return ("", Path(text)) if not equals or Path(text).exists() else (name, Path(path))


def _document(found: "Runs", outputs: list[Path]) -> dict[str, object]:
    runs: list[dict[str, object]] = [
        {
            "name": run.name,
            "path": str(run.path),
            "last_step": run.last_step,
            "seconds": run.seconds,
            "last_test": {name: None if value != value else value for name, value in run.last_test().items()},
        }
        for run in found.runs
    ]
    return {"runs": runs, "files": [str(path) for path in outputs]}
