"""The folder of a learning run.

| file or folder | content |
|---|---|
| `run.toml` | the settings, with all defaults |
| `journal.jsonl` | the steps that are done |
| `games/` | chunks of games, with sidecars |
| `networks/` | the networks, as ONNX, each with its int8 file if the run computes in int8; sparse ones as `.sparse` |
| `learner/` | the checkpoint of the learner, and its curves |
| `matches/` | the matches of the gate and of the measurements |
| `log.jsonl`, `live.json` | when each step began and ended, and what happens now |
"""

import hashlib
from pathlib import Path

from fukayomi._native import cpu_instructions
from fukayomi.engine.evaluators.backends.machine import cpu_features
from fukayomi.engine.evaluators.backends.network_file import int8_path
from fukayomi.engine.network import find_network
from fukayomi.files.atomic import replace_file
from fukayomi.files.lock import FolderLock, is_locked
from fukayomi.loop.families import ONNX
from fukayomi.loop.ingest.manifest import Manifest
from fukayomi.loop.journal import JOURNAL_NAME, Journal, KeptNetwork, network_name
from fukayomi.loop.settings import (
    DEVICES_OF,
    FleetSettings,
    LoopError,
    LoopSettings,
    Precision,
    build_settings,
    read_settings,
)
from fukayomi.selfplay.chunk import ChunkError, read_chunk
from fukayomi.settings import differences

SETTINGS_NAME = "run.toml"
LOCK_NAME = "lock"
FREE_SETTINGS = frozenset(
    {
        "generations", "generator.device", "generator.devices", "generator.parallel", "learner.device", "gate.device",
        "strength.device",
        *(f"fleet.{name}" for name in FleetSettings.model_fields),
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

    def network(self, generation: int, suffix: str = ONNX) -> Path:
        """The file of a generation's network.

        Args:
            generation: The generation.
            suffix: End of the file's name (`suffix_of`).
        """
        return self.networks / f"{network_name(generation)}{suffix}"

    def checkpoint(self, generation: int) -> Path:
        """The checkpoint from which a generation's network was exported."""
        return self.networks / f"{network_name(generation)}.pt"

    def verified(self, network: KeptNetwork) -> Path:
        """The file of a network, compared with its hash; so is its int8 file, if it has one.

        Raises:
            LoopError: A file is missing, or another one.
        """
        path = self.networks / network.file
        for file, sha256 in ((path, network.sha256), (int8_path(path), network.int8)):
            if sha256 is not None and (not file.is_file() or file_sha256(file) != sha256):
                raise LoopError(f"{file}: missing, or not the network of the journal; put the file back")
        return path

    def check_chunk(self, path: Path, sha256: str | None) -> None:
        """Compare the files of an accepted chunk with what was accepted.

        Args:
            path: File of its games.
            sha256: SHA-256 of the games when they were accepted; None: unknown.

        Raises:
            LoopError: A file is missing, damaged, or another one.
        """
        if sha256 is None:
            return
        try:
            problem = "" if read_chunk(path).info.sha256 == sha256 else f"{path}: other games than were accepted"
        except (ChunkError, OSError) as error:
            problem = str(error)
        if problem:
            name = path.relative_to(self.path).as_posix()
            raise LoopError(
                f"{problem}. Check the disk, and put the file back; or go on without it: fukayomi learn exclude "
                f"{self.path} {name}"
            )

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
        return is_locked(self.path, LOCK_NAME)

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

        They can change until the first step is done.

        Returns:
            The settings to use.

        Raises:
            LoopError: The folder has something else in it, or a run with other settings, or one whose journal is lost,
                or one with more generations; or the device of a new run has no int8.
        """
        if self.settings_file.is_file() and not self.has_begun:
            self._check_without_journal()
            settings = _with_precision(settings, _best_precision(settings))
        elif not self.settings_file.is_file():
            others = [
                path.name for path in self.path.iterdir() if path.name not in (LOCK_NAME,) and path.name[0] != "."
            ]
            if others:
                raise LoopError(f"{self.path} is not empty, and there is no {SETTINGS_NAME}: choose another folder")
            settings = _with_precision(settings, _best_precision(settings))
        else:
            saved = self.saved_settings()
            if settings.learner.threads is None:
                settings = _with_threads(settings, saved.learner.threads)
            if saved.generator.precision is None:  # a run from before there was a choice
                saved = _with_precision(saved, "fp32")
            if settings.generator.precision is None:
                settings = _with_precision(settings, saved.generator.precision)
            changes = differences(saved.plain(), settings.plain())
            if changed := [each for each in changes if each[0] not in FREE_SETTINGS]:
                name, before, now = changed[0]
                raise LoopError(
                    f"{name} is {before!r} in {self.settings_file}, and {now!r} now; give the settings of the run, or "
                    "none, or choose another folder"
                )
            if settings.generations < saved.generations:
                self._check_complete(settings.generations)
        if settings.learner.threads is None:
            import torch

            settings = _with_threads(settings, torch.get_num_threads())
        replace_file(self.settings_file, settings.text().encode())
        return settings

    @property
    def has_begun(self) -> bool:
        """Whether a step is done."""
        journal = self.path / JOURNAL_NAME
        return journal.is_file() and journal.stat().st_size > 0

    def _check_complete(self, generations: int) -> None:
        """Refuse a number of generations that is below that of the complete ones."""
        complete = Journal(self.path).generations
        if generations < complete:
            raise LoopError(
                f"generations is {generations}, but {complete} are complete in {self.path}: give {complete} or more, "
                "or none to go on as before"
            )

    def _check_without_journal(self) -> None:
        """Refuse a run with games and without a journal, which would begin again among its own files."""
        if Manifest(self.path).networks or (self.games.is_dir() and any(self.games.iterdir())):
            raise LoopError(
                f"{self.path / JOURNAL_NAME}: missing or empty, but the run has games; put the file back, or choose "
                "another folder"
            )


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _with_threads(settings: LoopSettings, threads: int | None) -> LoopSettings:
    return settings.model_copy(update={"learner": settings.learner.model_copy(update={"threads": threads})})


def _with_precision(settings: LoopSettings, precision: Precision | None) -> LoopSettings:
    return settings.model_copy(update={"generator": settings.generator.model_copy(update={"precision": precision})})


def _best_precision(settings: LoopSettings) -> Precision:
    """What the networks of a new run are computed in.

    Raises:
        LoopError: The device cannot do what the settings say.
    """
    machine = settings.generator
    can = DEVICES_OF.get(machine.precision or "fp32")
    if can is not None and machine.device not in can:
        raise LoopError(
            f"generator, precision: {machine.precision} needs the device {' or '.join(can)}, not {machine.device}"
        )
    if machine.precision is not None:
        return machine.precision
    if machine.device == "native":  # workers of a fleet may have other CPUs
        return "int16" if settings.fleet is None and cpu_instructions("int16") else "fp32"
    opponents = settings.league.networks if settings.league else ()
    can_all = all(int8_path(find_network(str(opponent.file))).is_file() for opponent in opponents)
    return "int8" if machine.device == "cpu" and "VNNI" in cpu_features() and can_all else "fp32"
