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

from pathlib import Path

from fukayomi.engine.evaluators.backends.network_file import int8_path
from fukayomi.files.inputs import file_sha256
from fukayomi.files.lock import FolderLock, is_locked
from fukayomi.loop.families import ONNX
from fukayomi.loop.journal import JOURNAL_NAME, KeptNetwork, network_name
from fukayomi.loop.settings import LoopError, LoopSettings, build_settings, read_settings
from fukayomi.selfplay.chunk import ChunkError, read_chunk

SETTINGS_NAME = "run.toml"
LOCK_NAME = "lock"


class RunFolder:
    """The folder of a run, and where things are in it.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        """The folder."""
        self.settings_file = self.path / SETTINGS_NAME
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
        self.path.mkdir(parents=True, exist_ok=True)
        return FolderLock(self.path, LOCK_NAME)

    @property
    def is_locked(self) -> bool:
        """True if a process works on this run."""
        return is_locked(self.path, LOCK_NAME)

    def saved_settings(self) -> LoopSettings:
        """The settings of the run.

        Raises:
            LoopError: The folder is not of a learning run, or its settings are damaged.
        """
        if not self.settings_file.is_file():
            raise LoopError(f"{self.path}: not the folder of a learning run: there is no {SETTINGS_NAME}")
        return build_settings(read_settings(self.settings_file))

    @property
    def has_begun(self) -> bool:
        """True if a step is done."""
        return self.journal_file.is_file() and self.journal_file.stat().st_size > 0
