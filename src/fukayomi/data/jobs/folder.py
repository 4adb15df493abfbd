"""The folder of a resumable job: locked by the process that works in it, with state files that are always whole."""

import json
import shutil
from pathlib import Path
from typing import Any

from fukayomi.errors import InvalidValueError
from fukayomi.files.lock import FolderLock


class JobError(InvalidValueError):
    """A job cannot go on. The message says why and what to do."""


class WorkFolder:
    """A folder that one process at a time works in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: FolderLock | None = None

    def lock(self) -> None:
        """Create the folder if it does not exist, and lock it.

        Raises:
            LockedError: Another process is working in it.
            OSError: It cannot be created.
        """
        self.path.mkdir(exist_ok=True)
        self._lock = FolderLock(self.path)

    def release(self) -> None:
        """End the lock, if this process holds it."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def remove(self) -> None:
        """Remove the folder and everything in it.

        It is renamed first, so that what a kill leaves of it is never taken for a job.
        """
        self.release()
        removed = self.path.with_name(f"{self.path.name}.removed")
        if removed.exists():
            shutil.rmtree(removed)
        self.path.replace(removed)
        shutil.rmtree(removed)

    def read(self, name: str) -> Any:
        """The content of a JSON file; None if the file does not exist."""
        path = self.path / name
        try:
            return json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise JobError(f"{path} is damaged; remove {self.path} and start again") from error

    def write(self, name: str, value: Any) -> None:
        """Replace a JSON file; a reader sees the old content or the new one."""
        temporary = self.path / f"{name}.tmp"  # only the holder of the lock writes here
        temporary.write_text(json.dumps(value), "utf-8")
        temporary.replace(self.path / name)

    def bucket_path(self, bucket: int, kind: str) -> Path:
        """Path of a bucket file."""
        return self.path / f"{bucket:04}.{kind}"

    def damaged(self, path: Path) -> JobError:
        """The error for a file that has changed since it was written."""
        return JobError(f"{path} has changed since it was written; remove {self.path} and start again")
