"""Work that several processes do in pieces and keep in a folder, where the same command resumes it."""

import argparse
import json
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fukayomi.files.atomic import replace_file
from fukayomi.files.lock import FolderLock, LockedError


class StoppedError(Exception):
    """The user stopped the work; the same command resumes it."""


def start_pool(jobs: int) -> ProcessPoolExecutor:
    """Processes for pieces of work. They end with this one, even if it is killed."""
    return ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_end_with_parent)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)  # whatever is finished is in the folder

    threading.Thread(target=wait, daemon=True).start()


class Measurement:
    """A measurement in a folder: its files, and its figures in one file, each made once.

    Args:
        options: The command line; `out` is the folder.
        name: Name of the file of the figures.
        kinds: Kinds of figures, the keys of the file beside the settings.
        free: Options that may change when the measurement is resumed.
    """

    def __init__(self, options: argparse.Namespace, name: str, kinds: Sequence[str], free: Sequence[str] = ()) -> None:
        self.options = options
        self.folder: Path = options.out
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = self.folder / name
        self.found: dict[str, Any] = {"settings": {}, **{kind: {} for kind in kinds}}
        if self._file.exists():
            self.found = json.loads(self._file.read_text("utf-8"))
        settings = {name: str(value) for name, value in vars(options).items() if name not in ("out", *free)}
        if self.found["settings"] not in ({}, settings):
            sys.exit(f"{self._file} holds a measurement with other settings: choose another folder")
        self.found["settings"] = settings

    def save(self) -> None:
        """Write what is known so far."""
        replace_file(self._file, json.dumps(self.found, indent=1).encode())

    def note(self, kind: str, name: str, measure: Callable[[], Any]) -> Any:
        """A figure that is measured once."""
        if name not in self.found[kind]:
            print(f"{kind}: {name}", file=sys.stderr, flush=True)
            self.found[kind][name] = measure()
            self.save()
        return self.found[kind][name]


def require_same(folder: Path, settings: Mapping[str, Any]) -> None:
    """Note the settings of the work in the folder; end the program if it holds work with others."""
    known = folder / "settings.json"
    written = json.dumps(settings, indent=1)
    if known.exists() and json.loads(known.read_text("utf-8")) != json.loads(written):
        sys.exit(f"{known}: this folder has work with other settings or data; choose another one for --out")
    replace_file(known, written.encode())


@contextmanager
def pieces_of_work(
    folder: Path, jobs: int, settings: Mapping[str, Any] | None = None
) -> Generator[ProcessPoolExecutor]:
    """Processes that work in a folder, which is locked meanwhile; Ctrl-C ends the program with a message.

    Args:
        folder: The folder; made if it is missing.
        jobs: Processes.
        settings: What must be the same when the work is resumed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FolderLock(folder), start_pool(jobs) as pool:
            if settings is not None:
                require_same(folder, settings)
            try:
                yield pool
            except (KeyboardInterrupt, StoppedError):
                pool.shutdown(wait=True, cancel_futures=True)
                sys.exit("stopped; run the same command again to resume")
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    except LockedError as error:
        sys.exit(f"{error}; wait for it, or choose another folder for --out")
