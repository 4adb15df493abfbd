"""Kinds of folders, and the ids by which a page names them."""

import hashlib
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from fukayomi.arena.results.match_db import DATABASE
from fukayomi.learning.curves.readers import EVENT_FILES
from fukayomi.learning.listeners import LOG_NAME
from fukayomi.selfplay.chunk import SUFFIX, sidecar_of

LOOP_SETTINGS = "run.toml"
"""As `fukayomi.loop.run.SETTINGS_NAME`, which cannot be imported without the packages of training."""
DEPTH = 4
"""Levels of folders that are looked at below a given one."""
MOST_LOOKED_AT = 5000
"""Folders that are looked at below a given one."""
MOST_FOUND = 500
"""Runs and matches that are listed of a given folder."""
LEAST_PAUSE_S = 1.0
"""Time between two looks at the disk, ..."""
SHARE = 0.05
"""... which take at most this share of the time."""


class Kind(StrEnum):
    """Kind of a folder by its content."""

    TRAINING = "training"
    """The curves of a training run."""
    LEARNING = "learning"
    """A learning run of ``fukayomi learn``."""
    SELFPLAY = "selfplay"
    """Chunks of self-play."""
    MATCH = "match"
    LEAGUE = "league"
    """Several matches, whose games count together."""


@dataclass(frozen=True, slots=True)
class FoundFolder:
    """A folder that has something to show."""

    id: str
    """Id by which a page names it; the same after a restart, and no path."""
    kind: Kind
    name: str
    """Its path below the folder that was given, with that folder's name."""
    path: Path
    parent: str | None
    """Id of the learning run or the league that it is part of."""
    parts: tuple[Path, ...] = ()
    """The matches of a league."""


def kind_of(folder: Path) -> Kind | None:
    """Kind of a folder; None if it is nothing of this.

    Raises:
        OSError: The folder cannot be read.
    """
    names = {entry.name for entry in os.scandir(folder)}
    if DATABASE in names:
        return Kind.MATCH
    if LOOP_SETTINGS in names:
        return Kind.LEARNING
    if LOG_NAME in names or any(Path(name).match(EVENT_FILES) for name in names):
        return Kind.TRAINING
    if any(name.endswith(SUFFIX) and sidecar_of(Path(name)).name in names for name in names):
        return Kind.SELFPLAY
    return None


def find(root: Path) -> list[FoundFolder]:
    """Everything to show in a folder and below it, in the order of the names.

    Links to folders are not followed. Of several matches outside of learning runs there is a league.
    """
    root = root.parent if root.is_file() else root
    folders = list(_walk(root))
    matches = [each for each in folders if each.kind is Kind.MATCH and each.parent is None]
    if len(matches) < 2:
        return folders
    league = FoundFolder(
        _id_of(root, "league"), Kind.LEAGUE, _name(root), root, None, tuple(each.path for each in matches)
    )
    return [league, *folders]


def first_kind(root: Path) -> Kind | None:
    """Kind of what is found first in a folder or below it, without looking at the rest; None if there is nothing."""
    return next((found.kind for found in _walk(root)), None)


def _walk(root: Path) -> Iterator[FoundFolder]:
    waiting: list[tuple[Path, int, str | None]] = [(root, 0, None)]
    looked_at = count = 0
    while waiting and looked_at < MOST_LOOKED_AT and count < MOST_FOUND:
        folder, depth, parent = waiting.pop()
        looked_at += 1
        try:
            kind = kind_of(folder)
            below = _folders(folder) if kind in (None, Kind.LEARNING) and depth < DEPTH else []
        except OSError:
            continue
        if kind is not None:
            relative = folder.relative_to(root)
            name = "/".join((_name(root), *relative.parts))
            entry = FoundFolder(_id_of(folder), kind, name, folder, parent)
            yield entry
            count += 1
            if kind is Kind.LEARNING:
                parent = entry.id
        waiting += [(each, depth + 1, parent) for each in reversed(below)]


def _folders(folder: Path) -> list[Path]:
    names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    return [folder / name for name in names if not name.startswith(".")]


def _name(folder: Path) -> str:
    return folder.resolve().name or "/"


def _id_of(folder: Path, what: str = "") -> str:
    return hashlib.blake2b(f"{folder.resolve()}\0{what}".encode(errors="surrogatepass"), digest_size=9).hexdigest()


class Folders:
    """The runs and matches below some folders. Methods may be called from any thread.

    Args:
        roots: Folders, or files in them; others are left out.
    """

    def __init__(self, roots: Iterable[Path]) -> None:
        self._roots = tuple(roots)
        self._lock = threading.Lock()
        self._found: dict[str, FoundFolder] = {}
        self._due = 0.0

    def all(self) -> Sequence[FoundFolder]:
        """Everything that is there now; the disk is looked at again now and then."""
        with self._lock:
            start = time.monotonic()
            if start >= self._due:
                folders = [each for root in self._roots if root.exists() for each in find(root)]
                self._found = {each.id: each for each in folders}
                end = time.monotonic()
                self._due = end + max(LEAST_PAUSE_S, (end - start) / SHARE)
            return list(self._found.values())

    def get(self, name: str) -> FoundFolder | None:
        """Entry with this id; None if there is no such thing."""
        return next((each for each in self.all() if each.id == name), None)
