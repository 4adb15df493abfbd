"""``fukayomi data uniq`` and ``fukayomi data average``: positions that were seen more than once."""

import json
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail, user_errors
from fukayomi.cli.common.options import AsJson, check_target
from fukayomi.cli.common.progress import StageBars
from fukayomi.data.dedup.modes import Mode, Weighing

if TYPE_CHECKING:
    from collections.abc import Generator

    from fukayomi.data.dedup.job import Job, Reducer, Summary

Scratch = Annotated[
    Path | None, typer.Option(help="Folder for the work, as large as the input.", show_default="beside --out")
]
Ray = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Reduce on a Ray cluster: auto (the one this machine is part of), HOST:PORT, or ray://HOST:PORT from "
        "outside. Its nodes must see the folder for the work, and averages that are read, under the same names.",
        show_default="this machine",
    ),
]
CheckSpace = Annotated[bool, typer.Option(help="Begin only where the disks have room, even if nothing is there twice.")]


def uniq(
    inputs: Annotated[
        list[Path], typer.Argument(metavar="IN...", help="hcpe files; for shares also hcpe2, hcpe3, avg.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The .hcpe to write; the .avg for shares.")],
    mode: Annotated[
        Mode,
        typer.Option(
            help="first-move: a position and move once, the record read first. all-fields: equal records once. "
            "mean: a position and move once, evaluations averaged, the results' mean (0 draw, 1 Black, 2 White) cut: "
            "1.5 and more is White, above 0 is Black. mode: the same with the most frequent result, a draw where two "
            "are tied. shares: a position once, with sums and how often each move was played."
        ),
    ] = Mode.FIRST_MOVE,
    scratch: Scratch = None,
    check_space: CheckSpace = True,
    ray: Ray = None,
    as_json: AsJson = False,
) -> None:
    """Remove duplicate positions, at any size.

    \b
      fukayomi data uniq a.hcpe b.hcpe -o unique.hcpe --mode mean

    Memory stays small, however large the input. A run that was stopped or killed goes on when it is started again, and
    writes the same bytes. But for first-move, the order of the input does not matter.
    """
    from fukayomi.data.dedup.job import Job

    _run(Job(mode, tuple(inputs), out, scratch, check_space=check_space), ray, as_json=as_json)


def average(
    inputs: Annotated[list[Path], typer.Argument(metavar="IN...", help="hcpe, hcpe2, hcpe3 and avg files.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The .avg to write.")],
    evalfix: Annotated[
        bool, typer.Option(help="Bring the evaluations of each file to dlshogi's scale, fitted to its results.")
    ] = False,
    weigh: Annotated[
        Weighing,
        typer.Option(
            help="How much a position says about its moves each time it is seen. evenly: the same, after a search of "
            "800 visits and after one of 100, and where, as in hcpe, only a move is known; so dlshogi averages. "
            "by-visits: as much as there are visits; one in hcpe."
        ),
    ] = Weighing.EVENLY,
    scratch: Scratch = None,
    check_space: CheckSpace = True,
    ray: Ray = None,
    as_json: AsJson = False,
) -> None:
    """Average positions: each once, with the sums of values, results, moves played and visits.

    \b
      fukayomi data average selfplay-*.hcpe3 floodgate.hcpe -o training.avg

    All sums are whole numbers: files of averages are merged by averaging them again, and the order of inputs does not
    change a byte. What was weighed in different ways does not add up, and is refused. Of hcpe3, moves without
    candidates are left out.
    """
    from fukayomi.data.dedup.job import Job

    _run(Job(Mode.SHARES, tuple(inputs), out, scratch, weigh, evalfix, check_space), ray, as_json=as_json)


def _run(job: "Job", ray: str | None, *, as_json: bool) -> None:
    from fukayomi.data.dedup.job import run_job

    _check_target(job)
    if all(path.is_file() and path.stat().st_size == 0 for path in job.inputs):
        fail(f"{', '.join(map(str, job.inputs))}: there is nothing in it; nothing is written")
    with user_errors(), _reducer(ray) as reducer:
        try:
            with StageBars() as listener:
                summary = run_job(job, listener.progress, reducer)
        except KeyboardInterrupt:
            fail(f"stopped; the same command goes on with the work in {job.folder}", INTERRUPTED)
    if as_json:
        typer.echo(json.dumps(_as_json(job, summary)))
    else:
        _print(job, summary)


@contextmanager
def _reducer(ray: str | None) -> "Generator[Reducer | None]":
    """Who reduces the buckets: this process, or a Ray cluster at this address."""
    if ray is None:
        yield None
    else:
        from fukayomi.cluster import connect
        from fukayomi.data.dedup.ray_reducer import reduce_on_cluster

        with connect(ray):
            yield reduce_on_cluster


def _check_target(job: "Job") -> None:
    check_target(job.out, job.inputs)
    suffix = ".avg" if job.mode.writes_averages else ".hcpe"
    if job.out.suffix != suffix:
        raise typer.BadParameter(f"{job.out} is to hold {suffix[1:]}, and needs a name that ends with {suffix}")


def _as_json(job: "Job", summary: "Summary") -> dict[str, object]:
    return {
        "mode": str(job.mode),
        "out": str(job.out),
        **asdict(summary),
        "seconds": round(summary.seconds, 3),
    }


def _print(job: "Job", summary: "Summary") -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("", str(job.mode))
    table.columns[1].justify = "right"
    table.add_row("read", f"{summary.rows:,}")
    table.add_row("kept", f"{summary.kept:,}")
    table.add_row("share", f"{summary.kept / max(1, summary.rows):.1%}")
    if job.mode.writes_averages:
        table.add_row("moves", f"{summary.moves:,}")
    for path, scale in zip(job.inputs, summary.scales, strict=False):
        if scale is not None:
            table.add_row(f"scale of {escape(str(path))}", f"{scale:.1f}")
    console = Console()
    console.print(table)
    console.print(f"{escape(str(job.out))}: {summary.seconds:.1f} s{', with earlier work' if summary.resumed else ''}")
