"""``fukayomi learn exclude`` and ``fukayomi learn admit``: whose games a run learns from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.errors import user_errors
from fukayomi.cli.common.text import printable

if TYPE_CHECKING:
    from fukayomi.loop.ingest import Manifest

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a learning run.")]
Worker = Annotated[str, typer.Argument(help="Name of the worker, as `learn status` has it.")]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why; it is kept in the manifest.")]


def exclude(folder: Folder, worker: Worker, reason: Reason = "") -> None:
    """Learn from nothing that a worker delivers or has delivered.

    \b
    fukayomi learn exclude run host-2 --reason "plays an old network"
    fukayomi learn admit run host-2

    Its games stay where they are; `learn admit` takes them back. The run may be under way: its next step knows.
    """
    with user_errors():
        manifest = _manifest(folder)
        manifest.exclude(worker, reason)
        workers = sorted({chunk.worker for chunk in manifest.accepted.values()})
        left = len(manifest.chunks())
    if worker not in workers:
        typer.echo(printable(f"{worker} has delivered nothing so far; workers: {', '.join(workers)}"), err=True)
    typer.echo(printable(f"excluded: {worker}; {left} of {len(manifest.accepted)} chunks are learned from"))


def admit(folder: Folder, worker: Worker, reason: Reason = "") -> None:
    """Learn from the games of a worker again.

    \b
    fukayomi learn admit run host-2
    """
    with user_errors():
        manifest = _manifest(folder)
        if worker not in manifest.excluded:
            raise ValueError(f"{worker} is not excluded; excluded: {', '.join(manifest.excluded) or 'nobody'}")
        manifest.admit(worker, reason)
        left = len(manifest.chunks())
    typer.echo(printable(f"admitted: {worker}; {left} of {len(manifest.accepted)} chunks are learned from"))


def _manifest(folder: Path) -> "Manifest":
    from fukayomi.loop.folder import RunFolder
    from fukayomi.loop.ingest import Manifest

    RunFolder(folder).saved_settings()  # it is a run
    return Manifest(folder)
