"""Common parts of the verbs: their inputs, a resumable job, and how they read blocks in it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fukayomi.data.convert.blocks import Block, Cursor, Inputs, VerbError, read_blocks
from fukayomi.data.jobs.job import Job, Summary
from fukayomi.data.records.reading import Skipped
from fukayomi.files.disk import Room
from fukayomi.listener import Listener, counter
from fukayomi.tabular import counted


def verb_job(
    name: str,
    inputs: Inputs,
    outs: Sequence[Path | str],
    options: Mapping[str, Any],
    *,
    listener: Listener,
    room: Room | None = None,
    scratch: Path | str | None = None,
    remedy: str = "choose another disk",
) -> Job:
    """The job of a verb.

    Args:
        name: Name of the verb.
        inputs: What it reads.
        outs: The files it writes.
        options: Everything else that its outputs depend on, as JSON values.
        listener: Hears of the progress.
        room: Disk space that must be free at the beginning.
        scratch: Where the folder of the job is; None: beside the first output.
        remedy: What helps against a lack of space.

    Raises:
        ValueError: The name of an output does not fit its format, or it is also an input.
    """
    paths = [Path(out) for out in outs]
    for path in paths:
        inputs.check_target(path)
    given = {"format": str(inputs.kind), "as_rows": inputs.as_rows, **options}
    folder = None if scratch is None else Path(scratch)
    return Job(name, inputs.paths, paths, given, scratch=folder, room=room, remedy=remedy, listener=listener)


def stream_blocks(job: Job, inputs: Inputs, stage: str, remember: Callable[[], None] = lambda: None) -> Iterator[Block]:
    """Run a stage that reads the inputs: the blocks that no earlier run has handled.

    Args:
        job: The job, whose `read` and `skipped` count along.
        inputs: Its inputs.
        stage: Name of the stage.
        remember: Called before a checkpoint; puts into the job's memory what a later run needs.
    """
    advance = counter(job.listener, stage, inputs.bytes)
    skipped = job.skipped if job.is_first_stage else Skipped()  # later stages skip the same records again

    def read(place: list[int] | None) -> Iterator[tuple[Block, list[int]]]:
        for block in read_blocks(inputs, Cursor(*(place or ())), skipped, advance):
            yield block, list(block.after)

    for block in job.stream(stage, read, remember):
        job.read = max(job.read, block.after.items)
        yield block


def finish(job: Job) -> Summary:
    """Finish the job of a verb.

    Raises:
        VerbError: All outputs are empty.
        OSError: A file cannot be renamed.
    """
    if job.outputs and not any(output.items for output in job.outputs):
        raise VerbError(f"nothing is left to write: {counted(job.read, 'item')} read, and none kept")
    return job.finish()


def room_for_copy(inputs: Inputs, outs: Sequence[Path | str]) -> Room | None:
    """Disk space of outputs that get all items; None if it is not known, or they are on several disks."""
    size = inputs.copied_bytes
    folders = {Path(out).absolute().parent for out in outs}
    disks = {folder.stat().st_dev for folder in folders if folder.is_dir()}
    return Room(0, size, size) if size is not None and len(disks) == 1 else None
