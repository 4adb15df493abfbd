"""``fukayomi data uniq`` and ``fukayomi data average``: positions that were seen more than once."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.errors import fail
from fukayomi.cli.common.options import AsJson, check_target, given_options, options_of
from fukayomi.cli.common.progress import number_table
from fukayomi.cli.common.text import json_text
from fukayomi.cli.data.verb_command import resumable
from fukayomi.data.dedup.settings import DedupSettings, Mode

if TYPE_CHECKING:
    from collections.abc import Generator

    from fukayomi.data.dedup.run import Reducer
    from fukayomi.data.jobs.job import Summary

Ray = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Reduce on a Ray cluster: auto (the one this machine is part of), HOST:PORT, or ray://HOST:PORT from "
        "outside. Its nodes must see the folder for the work, and inputs that are averages, under the same names.",
        show_default="this machine",
    ),
]


@options_of(DedupSettings, "mode", "scratch", "check_space")
class UniqOptions:
    """Options of ``fukayomi data uniq``."""

    ray: Ray = None
    as_json: AsJson = False


def uniq(
    inputs: Annotated[
        list[Path], typer.Argument(metavar="IN...", help="hcpe files; with mode shares also hcpe2, hcpe3, avg.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="hcpe file to write; avg with mode shares.")],
    options: UniqOptions,
) -> None:
    """Remove duplicate positions, at any size.

    \b
    fukayomi data uniq a.hcpe b.hcpe -o unique.hcpe --mode mean

    Memory stays small, however large the input. The order of the input matters only in mode first-move. After a kill
    or Ctrl-C, run the same command again to resume; the output is identical.
    """
    settings = DedupSettings(inputs=tuple(inputs), out=out, **given_options(options, "ray", "as_json"))
    _run(settings, options.ray, as_json=options.as_json)


@options_of(DedupSettings, "evalfix", "scratch", "check_space", weighing="--weigh")
class AverageOptions:
    """Options of ``fukayomi data average``."""

    ray: Ray = None
    as_json: AsJson = False


def average(
    inputs: Annotated[list[Path], typer.Argument(metavar="IN...", help="hcpe, hcpe2, hcpe3 and avg files.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="avg file to write.")],
    options: AverageOptions,
) -> None:
    """Average positions: write each once, with the sums of its values, results, moves and visits.

    \b
    fukayomi data average selfplay-*.hcpe3 floodgate.hcpe -o training.avg

    All sums are whole numbers: average averages again to merge them; the order of the inputs does not change a byte.
    Averages of different weighings cannot be merged. Moves of hcpe3 without candidates are left out. After a kill or
    Ctrl-C, run the same command again to resume; the output is identical.
    """
    given = given_options(options, "ray", "as_json")
    settings = DedupSettings(mode=Mode.SHARES, inputs=tuple(inputs), out=out, **given)
    _run(settings, options.ray, as_json=options.as_json)


def _run(settings: DedupSettings, ray: str | None, *, as_json: bool) -> None:
    from fukayomi.data.dedup.run import run_dedup

    check_target(settings.out, settings.inputs)
    suffix = ".avg" if settings.mode.writes_averages else ".hcpe"
    if settings.out.suffix != suffix:
        raise typer.BadParameter(f"{settings.out}: the output is {suffix[1:]}; name it *{suffix}")
    if all(path.is_file() and path.stat().st_size == 0 for path in settings.inputs):
        fail(f"nothing to read: {', '.join(map(str, settings.inputs))} is empty")
    with resumable() as listener, _reducer(ray) as reducer:
        summary = run_dedup(settings, listener=listener, reduce=reducer)
    if as_json:
        typer.echo(json_text({
            "mode": str(settings.mode), "out": str(settings.out), "rows": summary.read, "kept": summary.kept,
            **summary.found, "resumed": summary.resumed, "seconds": round(summary.seconds, 3),
        }))  # fmt: skip
    else:
        _print(settings, summary)


@contextmanager
def _reducer(ray: str | None) -> "Generator[Reducer | None]":
    """Reducer of the buckets: a Ray cluster, or None for this process."""
    if ray is None:
        yield None
    else:
        from fukayomi.cluster import connect
        from fukayomi.data.dedup.ray_reducer import reduce_on_cluster

        with connect(ray):
            yield reduce_on_cluster


def _print(settings: DedupSettings, summary: "Summary") -> None:
    from rich.console import Console
    from rich.markup import escape

    table = number_table("", str(settings.mode))
    table.add_row("read", f"{summary.read:,}")
    table.add_row("kept", f"{summary.kept:,}")
    table.add_row("share", f"{summary.kept / max(1, summary.read):.1%}")
    if settings.mode.writes_averages:
        table.add_row("moves", f"{summary.found['moves']:,}")
    for path, scale in zip(settings.inputs, summary.found["scales"], strict=False):
        if scale is not None:
            table.add_row(f"scale of {escape(str(path))}", f"{scale:.1f}")
    console = Console()
    console.print(table)
    resumed = " (resumed)" if summary.resumed else ""
    console.print(f"{escape(str(settings.out))}: {summary.seconds:.1f} s{resumed}")
