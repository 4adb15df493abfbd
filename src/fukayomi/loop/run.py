"""A learning run as the steps know it: settings, folder, journal, and who follows it.

Files, programs and devices that the settings name are looked at before the run begins: a step that needs one of them
may come after hours, when the settings can no longer change. Each part of the run checks its own tables.
"""

from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from fukayomi._native import cpu_instructions
from fukayomi.arena.game.rules import split_command
from fukayomi.engine.evaluators.backends.backend import BACKENDS, get_backend
from fukayomi.engine.evaluators.backends.machine import cpu_features
from fukayomi.engine.evaluators.backends.network_file import int8_path
from fukayomi.engine.network import STUBS, find_network
from fukayomi.errors import FukayomiError
from fukayomi.files.inputs import file_sha256, require_file
from fukayomi.files.lock import FolderLock
from fukayomi.listener import Listener
from fukayomi.loop.ingest.manifest import Manifest
from fukayomi.loop.journal import JOURNAL_NAME, Journal, KeptNetwork, network_name
from fukayomi.loop.listener import SILENT
from fukayomi.loop.settings import (
    DEVICES_OF,
    ONNX,
    RUN_FILE,
    AnyNetwork,
    LoopError,
    LoopSettings,
    Precision,
    check_family,
)
from fukayomi.selfplay.chunk import ChunkError, read_chunk
from fukayomi.selfplay.openings import Openings, OpeningSet
from fukayomi.usi.process import find_program


class RunFolder:
    """The folder of a run, and where things are in it.

    | file or folder | content |
    |---|---|
    | `run.toml` | the settings, with all defaults |
    | `journal.jsonl` | the steps that are done |
    | `games/` | chunks of games, with sidecars |
    | `networks/` | the networks: ONNX, each with its int8 file if the run computes in int8, or `.sparse` |
    | `learner/` | the checkpoint of the learner, and its curves |
    | `matches/` | the matches of the gate and of the measurements |
    | `log.jsonl`, `live.json` | when each step began and ended, and what happens now |

    Args:
        path: The folder.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        """The folder."""
        self.settings_file = RUN_FILE.path(self.path)
        self.journal_file = self.path / JOURNAL_NAME
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

    def chunk_name(self, chunk: Path) -> str:
        """Name of a chunk in the journal: its path in the folder of games, without suffix."""
        return chunk.relative_to(self.games).with_suffix("").as_posix()

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

    def check_chunk(self, path: Path, sha256: str) -> None:
        """Compare the files of an accepted chunk with what was accepted.

        Args:
            path: File of its games.
            sha256: SHA-256 of the games when they were accepted.

        Raises:
            LoopError: A file is missing, damaged, or another one.
        """
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
        return RUN_FILE.lock(self.path)

    @property
    def is_locked(self) -> bool:
        """True if a process works on this run."""
        return RUN_FILE.is_locked(self.path)

    def saved_settings(self) -> LoopSettings:
        """The settings of the run.

        Raises:
            LoopError: The folder is not of a learning run, or its settings are damaged.
        """
        return RUN_FILE.read(self.path)

    @property
    def has_begun(self) -> bool:
        """True if a step is done."""
        return self.journal_file.is_file() and self.journal_file.stat().st_size > 0


@contextmanager
def naming(setting: str) -> Generator[None]:
    """Errors that name the setting, as `LoopError`."""
    try:
        yield
    except OSError as error:
        raise LoopError(f"{setting}: cannot read {error.filename}: {error.strerror}") from error
    except FukayomiError as error:
        raise LoopError(f"{setting}: {error}") from error


def check_network(network: Path | str) -> None:
    """See that a network's file is there, without reading it."""
    if str(network) not in STUBS:
        require_file(find_network(str(network)))


def check_device(network: AnyNetwork, table: str, device: str, *, is_here: bool = True) -> None:
    """See that there is a device that runs a network, and that this machine has it.

    Args:
        network: The network.
        table: The table with the device.
        device: Its name.
        is_here: Whether it has to be on this machine.
    """
    with naming(f"{table}, device"):
        check_family(network, table, device)
        if device not in ("auto", *BACKENDS):
            raise LoopError(f"there are auto, {', '.join(BACKENDS)}, not {device}")
        if device != "auto" and is_here and (problem := get_backend(device).problem()) is not None:
            raise LoopError(f"{device}: {problem}")


def check_program(command: str) -> None:
    """See that the program of a command line is there."""
    words = split_command(command, Path.cwd())
    if not words:
        raise LoopError("the command is empty")
    if find_program(words[0]) is None:
        raise LoopError(f"program {words[0]} not found")


class Run:
    """A learning run: each of its steps is a function of its settings, its journal and the files in its folder.

    Args:
        settings: The settings; those of a folder with a run are compared in `begin`.
        folder: Its folder.
        listener: Follows it.
    """

    def __init__(self, settings: LoopSettings, folder: Path | str, listener: Listener = SILENT) -> None:
        self.settings = settings
        self.folder = RunFolder(folder)
        self.listener = listener

    @cached_property
    def journal(self) -> Journal:
        """The steps that are done.

        Raises:
            LoopError: The journal is damaged.
        """
        return Journal(self.folder.path, reanalyzes=self.settings.reanalysis is not None)

    @cached_property
    def openings(self) -> Openings | None:
        """Openings of the games of a run; None: they begin at the start position.

        Raises:
            LoopError: A file holds no positions or cannot be read, or shares some with those of the gate or of the
                measurements.
        """
        files, matches = self.settings.openings.files, self.settings.matches.values()
        if not files:
            return None
        with naming("openings, files"):
            openings = Openings.read(files)
            openings.keep_apart([OpeningSet.read(path) for path in {each.openings_file: None for each in matches}])
        return openings

    def begin(self) -> None:
        """Save the settings of a new run, or compare them with those of the run that goes on.

        They can change until the first step is done.

        Raises:
            LoopError: The folder has something else in it, or a run with other settings, or one whose journal is lost,
                or one with more generations; or the device of a new run has no int8.
        """
        folder = self.folder
        if folder.settings_file.is_file() and folder.has_begun:
            self._go_on(folder.saved_settings())
        else:
            RUN_FILE.check(folder.path, self.settings, has_begun=False)
            if folder.settings_file.is_file():
                self._refuse_games()
            self._set("generator", precision=_best_precision(self.settings))
        if self.settings.learner.threads is None:
            import torch

            self._set("learner", threads=torch.get_num_threads())
        RUN_FILE.write(folder.path, self.settings.text())

    def _go_on(self, saved: LoopSettings) -> None:
        """Take what was chosen when the run began, and compare the rest."""
        if self.settings.learner.threads is None:
            self._set("learner", threads=saved.learner.threads)
        if self.settings.generator.precision is None:
            self._set("generator", precision=saved.generator.precision)
        RUN_FILE.check(self.folder.path, self.settings, has_begun=True)
        generations = self.settings.generations
        if generations < saved.generations and generations < (complete := self.journal.generations):
            raise LoopError(
                f"generations is {generations}, but {complete} are complete in {self.folder.path}: give {complete} or "
                "more, or none to go on as before"
            )

    def _refuse_games(self) -> None:
        """Refuse a run with games and without a journal, which would begin again among its own files."""
        games = self.folder.games
        if Manifest(self.folder.path).networks or (games.is_dir() and any(games.iterdir())):
            raise LoopError(
                f"{self.folder.journal_file}: missing or empty, but the run has games; put the file back, or choose "
                "another folder"
            )

    def _set(self, table: str, **values: Any) -> None:
        changed = getattr(self.settings, table).model_copy(update=values)
        self.settings = self.settings.model_copy(update={table: changed})


def _best_precision(settings: LoopSettings) -> Precision:
    """Precision of the networks of a new run.

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
