"""A verb at work: what it writes, and how far it is, so that the same command goes on after a kill.

Beside the first output lies a folder, `.NAME.work`, until all is done:

    job.json      verb, inputs (size and time of change too), options; another job in the folder is refused
    state.json    of each stage the place in the inputs, of each output its size, and what the verb remembers

Outputs grow as `.NAME.part` beside their names. Every few seconds they are flushed to the disk and the state follows;
going on cuts them to the sizes of the state. So the bytes are those of a run that nobody stopped.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fukayomi.data.convert.blocks import Block, Cursor, Inputs, Problems, VerbError, read_blocks
from fukayomi.data.formats.rows import DataFileError
from fukayomi.data.jobs.folder import JobError, WorkFolder
from fukayomi.data.records.sources import SourceError
from fukayomi.files.disk import DiskError, Room, raise_if_full

CHECKPOINT_SECONDS = 5.0
_JOB, _STATE = "job.json", "state.json"
_VERSION = 1

Listener = Callable[[str, int, int], None]
"""Called with the stage, what is done of it and how much there is."""


def silent(stage: str, done: int, total: int) -> None:
    """The listener that does nothing."""


class Output:
    """A file that grows beside its name."""

    def __init__(self, path: Path, folder: WorkFolder, size: int, items: int) -> None:
        """Open it as it was when it had so many bytes and items.

        Raises:
            JobError: It is shorter.
            OSError: It cannot be opened.
        """
        self.path, self.size, self.items = path, size, items
        self.part = part_of(path)
        if (there := self.part.stat().st_size if self.part.exists() else 0) < size:
            raise folder.damaged(self.part)
        self._file = self.part.open("r+b" if self.part.exists() else "xb")
        if there > size:
            self._file.truncate(size)
        self._file.seek(size)

    def append(self, data: bytes, items: int) -> None:
        """Add so many items."""
        self._file.write(data)
        self.size += len(data)
        self.items += items

    def sync(self) -> None:
        """Wait until the disk has it."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def room_for_copy(inputs: Inputs, outs: Sequence[Path]) -> Room | None:
    """What outputs take that get all items; None where it is not known, or they go to several disks."""
    size = inputs.copied_bytes
    disks = {out.absolute().parent.stat().st_dev for out in outs if out.absolute().parent.is_dir()}
    return Room(0, size, size) if size is not None and len(disks) == 1 else None


def part_of(path: Path) -> Path:
    """Where an output is until it is whole."""
    return path.with_name(f".{path.name}.part")


@dataclass(frozen=True, slots=True)
class Summary:
    """What a verb did."""

    verb: str
    read: int
    """Items read: rows, games or records."""
    written: dict[str, int]
    """Items of each output."""
    problems: Problems
    """Records that were left out because they cannot be read."""
    found: dict[str, Any]
    """What else the verb found out."""
    resumed: bool
    """Whether an earlier run had begun."""

    def as_json(self) -> dict[str, Any]:
        """The same as plain dictionaries."""
        return {
            "verb": self.verb, "read": self.read, "written": self.written, "unreadable": self.problems.count,
            "problems": self.problems.messages, **self.found, "resumed": self.resumed,
        }  # fmt: skip


class Work:
    """The work of one verb. Use it as a context manager: run its stages in order, then `finish`."""

    def __init__(
        self,
        verb: str,
        inputs: Inputs,
        outs: Sequence[Path],
        options: dict[str, Any],
        listener: Listener = silent,
        scratch: Path | None = None,
        room: Room | None = None,
    ) -> None:
        """Say what is to be done.

        Args:
            verb: Its name.
            inputs: What is read.
            outs: The files to write.
            options: All that the output depends on, as JSON has it.
            listener: Told of the progress.
            scratch: The folder for the work; beside the first output where it is None.
            room: What must be free before it begins; None where nobody can say.

        Raises:
            VerbError: An output cannot be written so.
        """
        for out in outs:
            inputs.check_target(out)
        if len({out.absolute() for out in outs}) != len(outs):
            raise VerbError("two outputs have the same name")
        self.verb, self.inputs, self.outs, self.listener = verb, inputs, [out.absolute() for out in outs], listener
        self._description = {
            "version": _VERSION, "verb": verb, "inputs": [_stamp(path) for path in inputs.paths],
            "format": str(inputs.kind), "as_rows": inputs.as_rows, "outs": [str(out) for out in self.outs],
            "options": options,
        }  # fmt: skip
        self.folder = WorkFolder((scratch or self.outs[0].parent) / f".{self.outs[0].name}.work")
        self._room = room
        self.memory: dict[str, Any] = {}
        """What the verb remembers from run to run, as JSON has it; what it finds out goes into `found` there."""
        self.outputs: list[Output] = []
        self.problems = Problems()
        self.resumed = False
        self._stages: dict[str, dict[str, Any]] = {}
        self._saved = time.monotonic()
        self._is_finished = False

    def __enter__(self) -> Self:
        """Take hold of the folder, and go on where its state says.

        Raises:
            JobError: The folder has another job, or another process is at work in it.
            DiskError: There is too little room to begin.
            OSError: A file cannot be opened.
        """
        try:
            self.folder.__enter__()
            self._claim()
        except BaseException as error:
            self._close()
            self._tell_if_full(error)
            raise
        return self

    def _claim(self) -> None:
        found = self.folder.read(_JOB)
        if found is None:
            self._check_room()
            (self.folder.path / _STATE).unlink(missing_ok=True)  # of a job that was killed while it cleared away
            for out in self.outs:
                part_of(out).unlink(missing_ok=True)
            self.folder.write(_JOB, self._description)
        elif found != self._description:
            different = ", ".join(key for key in self._description if found.get(key) != self._description[key])
            raise JobError(
                f"{self.folder.path} holds the unfinished work of another job (other: {different}); "
                "finish that, or remove the folder"
            )
        state: dict[str, Any] = self.folder.read(_STATE) or {}
        self.resumed = bool(state)
        self._stages = state.get("stages", {})
        self.memory = state.get("memory", {})
        self.problems = Problems(*state.get("problems", ()))
        self._is_finished = state.get("finished", False)
        sizes: list[list[int]] = state.get("outputs", [[0, 0]] * len(self.outs))
        if self._is_finished:  # nothing is left to do but give names
            self.memory["written"] = [items for _, items in sizes]
            return
        for out, (size, items) in zip(self.outs, sizes, strict=True):
            self.outputs.append(Output(out, self.folder, size, items))

    def _check_room(self) -> None:
        if self._room is None:
            return
        remedy = "choose another disk for the work (--scratch)" if self._room.work else "choose another disk"
        try:
            self._room.check(self.folder.path, self.outs[0].parent, remedy)
        except DiskError:
            self.folder.remove()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close()
        # Work on inputs that are damaged is of no use; whatever else stopped it, the same command goes on.
        if isinstance(error, DataFileError | SourceError):
            self._remove()
        self._tell_if_full(error)

    def _tell_if_full(self, error: BaseException | None) -> None:
        if isinstance(error, OSError):
            on = f"make room, and the same command goes on with the work in {self.folder.path}"
            raise_if_full(error, on, self.folder.path, *(out.parent for out in self.outs))

    def _close(self) -> None:
        for output in self.outputs:
            with contextlib.suppress(OSError):  # what a full disk did not take is not in the state either
                output.close()
        self.folder.__exit__(None, None, None)

    def _remove(self) -> None:
        for out in self.outs:
            part_of(out).unlink(missing_ok=True)
        self.folder.remove()

    def is_done(self, stage: str) -> bool:
        """Whether a stage has been completed, perhaps by an earlier run."""
        return self._is_finished or self._stages.get(stage, {}).get("done", False)

    def stream(self, stage: str, handle: Callable[[Block], None], remember: Callable[[], None] = lambda: None) -> None:
        """Read the inputs, or what an earlier run has not read of them.

        Args:
            stage: Its name, for the progress.
            handle: Called with each block.
            remember: Called before the state is saved; puts into `memory` what the next run needs.

        Raises:
            ValueError: An input is not what it should be.
            OSError: Something cannot be read or written.
        """
        if self.is_done(stage):
            return
        cursor = Cursor(*self._stages.get(stage, {}).get("cursor", ()))
        total, done = self.inputs.bytes, 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            self.listener(stage, done, total)

        # The second time the same records are left out.
        problems = self.problems if not any(item["done"] for item in self._stages.values()) else Problems()
        for block in read_blocks(self.inputs, cursor, problems, advance):
            handle(block)
            cursor = block.after
            if self._is_due():
                remember()
                self._stages[stage] = {"cursor": list(cursor), "done": False}
                self._save()
        remember()
        self._stages[stage] = {"cursor": list(cursor), "done": True}
        self._save()

    def steps(self, stage: str, count: int, remember: Callable[[], None] = lambda: None) -> Iterator[int]:
        """Steps 0 to `count` that are not reading, those left from an earlier run; each is done when the next is asked
        for."""
        if self.is_done(stage):
            return
        for step in range(self.steps_saved(stage), count):
            self.listener(stage, step, count)
            yield step
            if self._is_due():
                remember()
                self._stages[stage] = {"step": step + 1, "done": False}
                self._save()
        remember()
        self._stages[stage] = {"step": count, "done": True}
        self._save()

    def steps_saved(self, stage: str) -> int:
        """How many steps of a stage no kill can undo."""
        return self._stages.get(stage, {}).get("step", 0)

    @property
    def read(self) -> int:
        """Items read."""
        return max((Cursor(*item["cursor"]).items for item in self._stages.values() if "cursor" in item), default=0)

    def _is_due(self) -> bool:
        return time.monotonic() - self._saved >= CHECKPOINT_SECONDS

    def _save(self, *, finished: bool = False) -> None:
        for output in self.outputs:
            output.sync()
        self.folder.write(
            _STATE,
            {
                "stages": self._stages,
                "outputs": [[output.size, output.items] for output in self.outputs],
                "memory": self.memory,
                "problems": [self.problems.count, self.problems.messages],
                "finished": finished,
            },
        )
        self._saved = time.monotonic()

    def finish(self) -> Summary:
        """Give the outputs their names, and remove the folder.

        Raises:
            VerbError: There is nothing in any output.
            OSError: A file cannot be renamed.
        """
        if not self._is_finished:
            if not any(output.items for output in self.outputs):
                raise VerbError(f"nothing is left to write: {self.read:,} were read, none stayed")
            self.memory["written"] = [output.items for output in self.outputs]
            self._save(finished=True)
        for output in self.outputs:
            output.close()
        for out in self.outs:
            if part_of(out).exists():  # an earlier run may have been killed between two of them
                part_of(out).replace(out)
        self.folder.remove()
        written = dict(zip(map(str, self.outs), self.memory["written"], strict=True))
        return Summary(self.verb, self.read, written, self.problems, self.memory.get("found", {}), self.resumed)


def _stamp(path: Path) -> list[Any]:
    status = path.stat()
    return [str(path.absolute()), status.st_size, status.st_mtime_ns]
