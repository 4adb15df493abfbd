"""The settings of a run, in its folder: written when it begins, compared when it goes on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from fukayomi.files.atomic import replace_file
from fukayomi.files.lock import FolderLock, is_locked
from fukayomi.settings.layers import build, read
from fukayomi.settings.model import Settings, differences, plain

SettingsT = TypeVar("SettingsT", bound=Settings)

LOCK_NAME = "lock"


@dataclass(frozen=True, slots=True)
class SettingsFile(Generic[SettingsT]):
    """What every folder of a run has: a file with its settings, and a lock.

    All that is raised is of the class `model.ERROR`.
    """

    model: type[SettingsT]
    """The settings."""
    name: str
    """Name of the file."""
    missing: str
    """What a folder without the file is told: ``nothing is tuned here``."""
    free: frozenset[str] = frozenset()
    """Settings that may change from run to run, by name: ``generator.device``."""
    values: Callable[[SettingsT], Mapping[str, Any]] = plain
    """Plain values of settings, which are compared."""

    def path(self, folder: Path) -> Path:
        """The file of a folder."""
        return folder / self.name

    def lock(self, folder: Path) -> FolderLock:
        """Keep other processes from working in a folder, which is made if necessary.

        Raises:
            LockedError: Another process works in it.
            OSError: It cannot be made.
        """
        folder.mkdir(parents=True, exist_ok=True)
        return FolderLock(folder, LOCK_NAME)

    def is_locked(self, folder: Path) -> bool:
        """True if a process works in a folder."""
        return is_locked(folder, LOCK_NAME)

    def read(self, folder: Path) -> SettingsT:
        """The settings of a folder.

        Raises:
            ValueError: There are none, or they are damaged.
        """
        path = self.path(folder)
        if not path.is_file():
            raise self.model.ERROR(f"{folder}: {self.missing}: there is no {self.name}")
        layer = read(self.model, path)
        try:
            return build(self.model, layer)
        except self.model.ERROR as error:
            raise self.model.ERROR(f"{path}: {error}") from error

    def layers(self, folder: Path, *files: Path | None) -> list[dict[str, Any]]:
        """The layers of a folder's file, if it has one, and of other files over it, without those that are None.

        Raises:
            ValueError: A file is damaged, or one of the others is missing.
        """
        saved = self.path(folder)
        given = [path for path in files if path is not None]
        return [read(self.model, path) for path in ([saved] if saved.is_file() else []) + given]

    def check(self, folder: Path, settings: SettingsT, *, has_begun: bool) -> None:
        """Compare settings with those of the run that goes on.

        Args:
            folder: The folder, which may be new.
            settings: The settings.
            has_begun: True if what is in it depends on its settings; until then they may change.

        Raises:
            ValueError: Something else is in the folder, or a run with other settings.
        """
        if not self.path(folder).is_file():
            if any(found.name != LOCK_NAME and found.name[0] != "." for found in folder.iterdir()):
                raise self.model.ERROR(f"{folder} is not empty, and there is no {self.name}: choose another folder")
        elif has_begun:
            self._compare(self.read(folder), settings, self.path(folder))

    def _compare(self, saved: SettingsT, settings: SettingsT, path: Path) -> None:
        for name, before, now in differences(self.values(saved), self.values(settings)):
            if name not in self.free:
                raise self.model.ERROR(
                    f"{name} is {before!r} in {path}, and {now!r} now; give the settings it began with, or none, or "
                    "choose another folder"
                )

    def write(self, folder: Path, text: str) -> None:
        """Write the settings of a folder, as TOML.

        Raises:
            OSError: The file cannot be written (DiskError: the disk is full).
        """
        replace_file(self.path(folder), text.encode())
