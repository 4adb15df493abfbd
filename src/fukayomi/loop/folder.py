"""The folder of a learning run.

| file or folder | content |
|---|---|
| `run.toml` | the settings, with all defaults |
| `journal.jsonl` | the steps that are done |
| `games/` | chunks of games, with sidecars |
| `networks/` | the networks, as ONNX |
| `learner/` | the checkpoint of the learner, and its curves |
| `matches/` | the matches of the gate and of the measurements |
| `log.jsonl`, `live.json` | when each step ended, and what happens now |
"""

import hashlib
from pathlib import Path

from fukayomi.files.atomic import replace_file
from fukayomi.files.lock import FolderLock, LockedError
from fukayomi.loop.configuration import build_settings, differences, read_settings, settings_text
from fukayomi.loop.journal import JOURNAL_NAME, KeptNetwork, network_name
from fukayomi.loop.settings import LoopError, LoopSettings

SETTINGS_NAME = "run.toml"
LOCK_NAME = "lock"
FREE_SETTINGS = frozenset(
    {
        "generations", "generator.device", "generator.devices", "generator.parallel", "learner.device", "gate.device",
        "strength.device",
    }
)  # fmt: skip
"""Settings that may change while a run goes on."""


class RunFolder:
    """The folder of a run, and where things are in it.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        """The folder."""
        self.settings_file = self.path / SETTINGS_NAME
        self.games = self.path / "games"
        self.networks = self.path / "networks"
        self.learner = self.path / "learner"
        self.matches = self.path / "matches"

    def network(self, generation: int) -> Path:
        """The ONNX file of a generation's network."""
        return self.networks / f"{network_name(generation)}.onnx"

    def checkpoint(self, generation: int) -> Path:
        """The checkpoint from which a generation's network was exported."""
        return self.networks / f"{network_name(generation)}.pt"

    def verified(self, network: KeptNetwork) -> Path:
        """The file of a network, compared with its hash.

        Raises:
            LoopError: The file is missing, or another one.
        """
        path = self.networks / network.file
        if not path.is_file() or file_sha256(path) != network.sha256:
            raise LoopError(f"{path}: missing, or not the network of the journal; put the file back")
        return path

    def lock(self) -> FolderLock:
        """Keep other processes from working on this run.

        Raises:
            LockedError: Another process is.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        return FolderLock(self.path, LOCK_NAME)

    @property
    def is_locked(self) -> bool:
        """Whether a process works on this run."""
        if not (self.path / LOCK_NAME).is_file():
            return False
        try:
            FolderLock(self.path, LOCK_NAME).release()
        except LockedError:
            return True
        return False

    def saved_settings(self) -> LoopSettings:
        """The settings of the run.

        Raises:
            LoopError: The folder is not of a learning run, or its settings are damaged.
        """
        if not self.settings_file.is_file():
            raise LoopError(f"{self.path}: not the folder of a learning run: there is no {SETTINGS_NAME}")
        return build_settings(read_settings(self.settings_file))

    def begin(self, settings: LoopSettings) -> LoopSettings:
        """Save the settings of a new run, or compare them with those of the run that goes on.

        Returns:
            The settings to use.

        Raises:
            LoopError: The folder has something else in it, or a run with other settings.
        """
        if not self.settings_file.is_file():
            others = [
                path.name for path in self.path.iterdir() if path.name not in (LOCK_NAME,) and path.name[0] != "."
            ]
            if others:
                raise LoopError(f"{self.path} is not empty, and there is no {SETTINGS_NAME}: choose another folder")
        else:
            saved = self.saved_settings()
            if settings.learner.threads is None:
                settings = _with_threads(settings, saved.learner.threads)
            if changed := [each for each in differences(saved, settings) if each[0] not in FREE_SETTINGS]:
                name, before, now = changed[0]
                raise LoopError(
                    f"{name} is {before!r} in {self.settings_file}, and {now!r} now; give the settings of the run, or "
                    "none, or choose another folder"
                )
        if settings.learner.threads is None:
            import torch

            settings = _with_threads(settings, torch.get_num_threads())
        replace_file(self.settings_file, settings_text(settings).encode())
        return settings

    @property
    def has_begun(self) -> bool:
        """Whether a step is done."""
        return (self.path / JOURNAL_NAME).is_file()


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _with_threads(settings: LoopSettings, threads: int | None) -> LoopSettings:
    return settings.model_copy(update={"learner": settings.learner.model_copy(update={"threads": threads})})
