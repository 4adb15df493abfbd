"""``fukayomi learn exclude`` and ``fukayomi learn admit``: whose games a run learns from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.text import printable
from fukayomi.errors import InvalidValueError
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.loop.ingest import Manifest

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a learning run.")]
Whom = Annotated[
    str,
    typer.Argument(
        metavar="WORKER|CHUNK", help="Name of a worker; or a chunk, by its path in DIR: games/local-000001.hcpe3."
    ),
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why; the manifest keeps it.")]


def exclude(folder: Folder, whom: Whom, reason: Reason = "") -> None:
    """Stop learning from a worker: from the games that it has delivered, and from all to come. Or from one chunk.

    \b
    fukayomi learn exclude run host-2 --reason "plays an old network"
    fukayomi learn exclude run games/local-000012.hcpe3 --reason "the disk damaged it"
    fukayomi learn admit run host-2

    The games stay where they are; `learn admit` takes them back. A run that is under way obeys from its next step on.
    """
    manifest = _manifest(folder)
    if _is_chunk(whom):
        manifest.exclude_chunk(whom, reason)
    else:
        manifest.exclude(whom, reason)
        workers = sorted({chunk.worker for chunk in manifest.accepted.values()})
        if whom not in workers:
            known = f"; workers: {', '.join(workers)}" if workers else ""
            typer.echo(printable(f"{whom} has delivered nothing so far{known}"), err=True)
    typer.echo(printable(f"excluded: {whom}; {_left(manifest)}"))


def admit(folder: Folder, whom: Whom, reason: Reason = "") -> None:
    """Learn from the games of a worker, or from a chunk, again.

    \b
    fukayomi learn admit run host-2
    fukayomi learn admit run games/local-000012.hcpe3
    """
    manifest = _manifest(folder)
    excluded = manifest.excluded_chunks if _is_chunk(whom) else manifest.excluded
    if whom not in excluded:
        raise InvalidValueError(f"{whom} is not excluded; excluded: {', '.join(excluded) or 'nothing'}")
    (manifest.admit_chunk if _is_chunk(whom) else manifest.admit)(whom, reason)
    typer.echo(printable(f"admitted: {whom}; {_left(manifest)}"))


def _is_chunk(whom: str) -> bool:
    """Names of workers have no slashes."""
    return "/" in whom


def _left(manifest: "Manifest") -> str:
    return f"the run learns from {len(manifest.chunks())} of {counted(len(manifest.accepted), 'chunk')}"


def _manifest(folder: Path) -> "Manifest":
    from fukayomi.loop.folder import RunFolder
    from fukayomi.loop.ingest import Manifest

    RunFolder(folder).saved_settings()  # it is a run
    return Manifest(folder)
