"""The folder of a run of leaves: its parts, what they were made with, and the positions that they hold.

    .leaves.json                      what the leaves depend on; another run is refused
    leaves-00000000-00000041.hcpe3    the leaves of the games 0 to 41 that no earlier part has
    leaves.lock                       one process at a time works here

A part is complete or not there. The parts together are the same whether or not the run was interrupted; where one ends
and the next begins may differ.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, cast

from fukayomi._native import KeySet
from fukayomi.data.formats.format import DataFileError
from fukayomi.files.atomic import replace_file
from fukayomi.files.lock import FolderLock
from fukayomi.selfplay.settings import LeafError

DESCRIPTION = ".leaves.json"
_PART = re.compile(r"leaves-([0-9]{8,})-([0-9]{8,})\.hcpe3")


class LeafFolder:
    """The folder of a run, locked until it is closed.

    Args:
        path: The folder; it is made.
        description: What the leaves depend on, as JSON values.

    Raises:
        LeafError: The folder has leaves of another run, or a part is missing.
        LockedError: Another process works in the folder.
        OSError: It cannot be read or written.
    """

    def __init__(self, path: Path, description: Mapping[str, Any]) -> None:
        self.path = path
        self.parts: list[Path] = []
        """The files, in the order of their games."""
        self.next_game = 0
        """The number of the first game that no part has."""
        path.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(path, "leaves.lock")
        try:
            self._find_parts()
            self._claim(description)
        except BaseException:
            self.close()
            raise

    def _find_parts(self) -> None:
        parts = [(int(match[1]), int(match[2]), path) for path in self.path.iterdir() if (match := _match(path))]
        for first, last, path in sorted(parts):
            if first != self.next_game or last < first:
                raise LeafError(
                    f"{path.parent}: the part with game {self.next_game} is missing before {path.name}; put it back, "
                    "or begin another folder, with another seed"
                )
            self.parts.append(path)
            self.next_game = last + 1

    def _claim(self, description: Mapping[str, Any]) -> None:
        path = self.path / DESCRIPTION
        if not self.parts:
            replace_file(path, json.dumps(description, indent=1).encode())
            return
        try:
            written = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise LeafError(f"{self.path} has leaves, but not {DESCRIPTION}; name another folder") from None
        except ValueError as error:
            raise LeafError(f"{path} is damaged; name another folder") from error
        if written != description:
            different = "everything"
            if isinstance(written, dict):
                known = cast("dict[str, Any]", written)
                keys = dict.fromkeys([*known, *description])
                different = ", ".join(key for key in keys if known.get(key) != description.get(key))
            raise LeafError(
                f"{self.path} has leaves of another run (different: {different}); make the same ones, or name another "
                "folder"
            )

    def add_to(self, keys: KeySet) -> None:
        """Add the positions of all parts to a set.

        Raises:
            LeafError: The set is too small.
            DataFileError: A part has changed since it was written.
            OSError: A part cannot be read.
        """
        for path in self.parts:
            before, data = len(keys), path.read_bytes()
            try:
                kept, _ = keys.add_new(data)
            except ValueError as error:
                raise DataFileError(f"{path} is damaged: {error}; remove it and the parts after it") from error
            if len(kept) != len(data):
                raise DataFileError(
                    f"{path} has positions that come twice, in it or in earlier parts: only {len(keys) - before:,} are "
                    "new; remove it and the parts after it"
                )

    def write(self, end_game: int, data: bytes) -> Path:
        """Write the leaves of the games from `next_game` to before `end_game` as a part.

        Raises:
            DiskError: The disk is full.
            OSError: The file cannot be written.
        """
        path = self.path / f"leaves-{self.next_game:08}-{end_game - 1:08}.hcpe3"
        replace_file(path, data)
        self.parts.append(path)
        self.next_game = end_game
        return path

    def close(self) -> None:
        """End the lock."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _match(path: Path) -> re.Match[str] | None:
    return _PART.fullmatch(path.name)
