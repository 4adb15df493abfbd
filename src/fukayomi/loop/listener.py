"""Reports of a learning run: the interface, and listeners that write its log and its present state."""

import contextlib
import json
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, TextIO

from pydantic import BaseModel

from fukayomi.files.disk import raise_if_full
from fukayomi.listener import Listener

LOG_NAME = "log.jsonl"
LIVE_NAME = "live.json"
LIVE_SECONDS = 2.0
"""Time between two states on the disk."""


class LoopListener(Listener):
    """Follows a learning run. Every method does nothing: override those you need.

    `progress` and `note` come from the step that is under way.
    """

    def step_started(self, generation: int, step: str) -> None:
        """Called before a step."""

    def step_ended(self, entry: BaseModel, seconds: float) -> None:
        """Called after a step, when it is in the journal.

        Args:
            entry: The line of the journal.
            seconds: Time that the step took since it was started or resumed.
        """

    def ended(self) -> None:
        """Called once, however the run ends."""


SILENT = LoopListener()
"""Reports nothing; the default."""


class LogWriter(LoopListener):
    """Writes `log.jsonl`, a line where a step begins and one with its time where it ends, and `live.json`, what happens
    now.

    Args:
        folder: Folder of the run.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: TextIO | None = (folder / LOG_NAME).open("a", encoding="utf-8")
        self._live: dict[str, Any] = {}
        self._written = 0.0

    def progress(self, stage: str, done: int, total: int | None) -> None:
        """Save the present state now and then."""
        if time.monotonic() - self._written >= LIVE_SECONDS:
            self._write_live({"stage": stage, "done": done, "total": total})

    def note(self, text: str) -> None:
        """Write a line."""
        self._write({"note": text})

    def step_started(self, generation: int, step: str) -> None:
        """Save the present state, and write a line: a second one says that the step was resumed."""
        self._write({"generation": generation, "step": step, "began": True})
        self._live = {"generation": generation, "step": step, "since": round(time.time(), 3)}
        self._write_live({})

    def step_ended(self, entry: BaseModel, seconds: float) -> None:
        """Write a line."""
        step: dict[str, Any] = entry.model_dump(include={"generation", "step"})
        self._write({**step, "seconds": round(seconds, 3)})

    def ended(self) -> None:
        """Close the file."""
        (self._folder / LIVE_NAME).unlink(missing_ok=True)
        if self._file:
            with contextlib.suppress(OSError):  # what a full disk did not take is still to be written
                self._file.close()
            self._file = None

    @contextlib.contextmanager
    def _naming_a_full_disk(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise_if_full(error, "the steps of the run that are done are safe; make room and go on", self._folder)
            raise

    def _write(self, values: dict[str, Any]) -> None:
        if self._file:
            with self._naming_a_full_disk():
                self._file.write(json.dumps({"time": round(time.time(), 3), **values}) + "\n")
                self._file.flush()

    def _write_live(self, values: dict[str, Any]) -> None:
        """Replace the file; it is not worth a flush to the disk."""
        self._written = time.monotonic()
        temporary = self._folder / f".{LIVE_NAME}.tmp"
        with self._naming_a_full_disk():
            temporary.write_text(json.dumps(self._live | values), encoding="utf-8")
        os.replace(temporary, self._folder / LIVE_NAME)  # noqa: PTH105 - as in the rest of the package
