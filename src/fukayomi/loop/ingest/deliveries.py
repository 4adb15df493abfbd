"""The ingest of delivered chunks: each goes into the manifest, or into quarantine with the reasons.

A store is a folder:

| path | content |
|---|---|
| `games/**/NAME-000001.hcpe3` | chunks, as workers deliver them; an accepted one stays where it is |
| `quarantine/NAME-SHA/` | the files of a rejected chunk, and `reasons.json` |
| `manifest.jsonl` | the manifest: a chunk is accepted when its line is there |
| `games.keys` | hashes of all accepted games, by which a game that is delivered again is found |
"""

import contextlib
import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import replace_file
from fukayomi.files.disk import raise_if_full
from fukayomi.files.inputs import InputFileError, read_input
from fukayomi.files.lock import FolderLock
from fukayomi.learning.layers import weights_of
from fukayomi.listener import SILENT, Listener
from fukayomi.loop.ingest.manifest import ChunkEntry, Manifest, ManifestError, QuarantinedEntry
from fukayomi.loop.ingest.tripwires import Tripwires, check_workers, joined
from fukayomi.loop.ingest.validation import Fault, RejectedError, ValidChunk, validate_chunk
from fukayomi.selfplay.chunk import LARGEST_CHUNK, SUFFIX, ChunkError, ChunkInfo, read_chunk_info, sidecar_of
from fukayomi.tabular import counted

KEYS = "games.keys"
_KEY_BYTES = 8
_MERGED_AT = 1 << 16  # newer keys, at least


class GameKeys:
    """Keys of games in a file of uint64, in the order of the manifest's chunks.

    A chunk's keys are appended before its line in the manifest. What a kill leaves beyond the manifest is cut off.
    """

    def __init__(self, store: Path, count: int) -> None:
        """Read the keys of the first `count` games; the caller holds the store's lock.

        Raises:
            ValueError: The file has fewer keys.
            OSError: The file cannot be read or written.
        """
        self._path = store / KEYS
        self._path.touch()
        size = self._path.stat().st_size
        if size < count * _KEY_BYTES:
            raise InvalidValueError(
                f"{self._path}: {size // _KEY_BYTES} keys for {count} games of the manifest; remove it to make it again"
            )
        os.truncate(self._path, count * _KEY_BYTES)
        self._sorted = np.sort(np.fromfile(self._path, "<u8"))
        self._newer: set[int] = set()

    def count_known(self, keys: NDArray[np.uint64]) -> int:
        """Number of the given keys [N] that are known, or among them more than once."""
        if not len(keys):
            return 0
        distinct = np.unique(keys)
        is_known = np.zeros(len(distinct), np.bool_)
        if len(self._sorted):
            at = np.minimum(np.searchsorted(self._sorted, distinct), len(self._sorted) - 1)
            is_known = self._sorted[at] == distinct
        if self._newer:
            is_known |= np.array([key in self._newer for key in distinct.tolist()])
        return len(keys) - int((~is_known).sum())

    def append(self, keys: NDArray[np.uint64]) -> None:
        """Add the keys of a chunk, and flush them to the disk.

        Raises:
            DiskError: The disk is full.
            OSError: The file cannot be written.
        """
        try:
            with self._path.open("ab") as file:
                file.write(keys.astype("<u8").tobytes())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise_if_full(error, "no chunk was entered", self._path.parent)
            raise
        self._newer.update(keys.tolist())
        if len(self._newer) > max(_MERGED_AT, len(self._sorted) // 8):
            self._sorted = np.sort(np.concatenate([self._sorted, np.fromiter(self._newer, np.uint64)]))
            self._newer.clear()


GAMES = "games"
QUARANTINE = "quarantine"
REASONS = "reasons.json"
LOCK = ".ingest.lock"


@dataclass(frozen=True)
class IngestSettings:
    """Settings of ingest: what is asked of chunks beyond valid games."""

    most_duplicates: float = 0.05
    """Share of a chunk's games that may be equal to known ones; one game always may."""
    alarm_rate: float = 0.01
    """Probability that the tripwires flag any of the workers of a generation when all are alike, each time they are
    compared."""
    least_games: int = 32
    """Games of a worker, and of the others, from which on they are compared."""


@dataclass(frozen=True)
class IngestResult:
    """Result of one call of `ingest`."""

    accepted: tuple[ChunkEntry, ...]
    """The chunks that were accepted, in the order of the manifest."""
    quarantined: tuple[QuarantinedEntry, ...]
    """The chunks that were rejected."""
    copies: int
    """Chunks that were delivered before under another name; they stay, and do not count."""
    tripwires: Tripwires
    """The workers of each generation of these chunks, compared."""


def ingest(store: Path | str, settings: IngestSettings | None = None, listener: Listener = SILENT) -> IngestResult:
    """Check all new chunks of a store, in the order of their paths. Calling it again after a kill goes on.

    Args:
        store: The folder; its manifest has the networks and settings of the run.
        settings: What is asked of chunks; None: the defaults.
        listener: Follows the chunks of the stage "ingest", and is told of rejected chunks and flagged workers.

    Raises:
        LockedError: Another process is at it.
        ManifestError: The manifest is damaged; or `games.keys` is lost, and so is a chunk that is not excluded.
        DiskError: The disk is full.
        OSError: A file cannot be read or written.
    """
    store = Path(store)
    with FolderLock(store, LOCK):
        return _Ingest(store, settings or IngestSettings(), listener).run()


class _Ingest:
    def __init__(self, store: Path, settings: IngestSettings, listener: Listener) -> None:
        self._store, self._settings, self._listener = store, settings, listener
        self._manifest = Manifest(store)
        self._keys = self._open_keys()
        self._by_origin: dict[tuple[str, int, str], list[ChunkEntry]] = defaultdict(list)
        for entry in self._manifest.accepted.values():
            self._by_origin[entry.worker, entry.seed, entry.network].append(entry)

    def run(self) -> IngestResult:
        if self._manifest.quarantined:
            self._move(list(self._manifest.quarantined.values())[-1])  # a kill may have come between
        accepted: list[ChunkEntry] = []
        quarantined: list[QuarantinedEntry] = []
        copies = 0
        new = find_new(self._manifest)
        for path in find_unnamed(self._store / GAMES):
            self._listener.note(f"{path!r}: the name is not UTF-8, so the chunk is passed over; rename it")
        for done, path in enumerate(new):
            self._listener.progress("ingest", done, len(new))
            try:
                info = self._known_copy(path)
                if info is not None:
                    copies += 1
                    continue
                accepted.append(self._accept(path, validate_chunk(path)))
            except RejectedError as error:
                quarantined.append(self._quarantine(path, error))
        self._listener.progress("ingest", len(new), len(new))
        alarm_rate, least_games = self._settings.alarm_rate, self._settings.least_games
        generations = sorted({entry.generation for entry in accepted})
        tripwires = joined([check_workers(self._manifest, each, alarm_rate, least_games) for each in generations])
        for flag in tripwires.flags:
            self._listener.note(str(flag))
        return IngestResult(tuple(accepted), tuple(quarantined), copies, tripwires)

    def _open_keys(self) -> GameKeys:
        """The keys of all accepted games; a lost file is made again.

        Raises:
            ManifestError: It is lost, and so is a chunk that is not excluded.
        """
        chunks = self._manifest.accepted.values()
        count = sum(entry.games for entry in chunks)
        try:
            return GameKeys(self._store, count)
        except ValueError:  # it can be made again
            keys = GameKeys(self._store, 0)
            learned = {entry.sha256 for entry in self._manifest.chunks()}
            for entry in chunks:
                keys.append(self._keys_of(entry, is_excluded=entry.sha256 not in learned))
            return keys

    def _keys_of(self, entry: ChunkEntry, *, is_excluded: bool) -> NDArray[np.uint64]:
        """The keys of an accepted chunk's games; zeros if it is excluded and its files are lost or damaged."""
        try:
            chunk = validate_chunk(self._store / entry.path)
            if chunk.info.sha256 == entry.sha256:
                return chunk.keys
            problem = f"{entry.path}: other games than were accepted"
        except RejectedError as error:
            problem = str(error)
        except OSError as error:
            problem = f"{entry.path}: {error.strerror or error}"
        if is_excluded:
            return np.zeros(entry.games, np.uint64)
        raise ManifestError(
            f"{problem}. {self._store / KEYS} is lost and has to be made again from all chunks: put the file back, or "
            f"go on without it: fukayomi learn exclude {self._store} {entry.path}"
        )

    def _name(self, path: Path) -> str:
        return path.relative_to(self._store).as_posix()

    def _known_copy(self, path: Path) -> ChunkInfo | None:
        """The sidecar of a chunk that was delivered before; whether its bytes are the same does not matter then."""
        with contextlib.suppress(ChunkError, InputFileError):
            info = read_chunk_info(sidecar_of(path))
            if info.sha256 in self._manifest.accepted:
                return info
        return None

    def _accept(self, path: Path, chunk: ValidChunk) -> ChunkEntry:
        info = chunk.info
        faults = [Fault(path.name, None, None, None, reason) for reason in self._refusals(info)]
        duplicates = self._keys.count_known(chunk.keys)
        if duplicates > max(1, self._settings.most_duplicates * info.games):
            reason = f"{counted(duplicates, 'game')} of {info.games} were delivered before, or are in it twice"
            faults.append(Fault(path.name, None, None, None, reason))
        if faults:
            raise RejectedError(faults, info)
        entry = ChunkEntry(
            sha256=info.sha256, path=self._name(path), worker=info.worker, seed=info.seed, sequence=info.sequence,
            first_game=info.first_game, numbers=info.numbers, part=info.part, network=info.network,
            settings_sha256=info.settings_sha256,
            generation=self._manifest.networks[info.network].generation, games=info.games, plies=info.plies,
            positions=info.positions, duplicates=duplicates, results=chunk.results,
            wrong_resignations=info.wrong_resignations, weights=info.weights.file if info.weights else None,
            statistics=chunk.statistics,
        )  # fmt: skip
        self._keys.append(chunk.keys)
        self._manifest.append([entry])
        self._by_origin[entry.worker, entry.seed, entry.network].append(entry)
        return entry

    def _refusals(self, info: ChunkInfo) -> Iterable[str]:
        """Reasons why a chunk cannot belong to the run, or not beside what it already has."""
        if info.network not in self._manifest.networks:
            yield f"the network {info.network} is not one of the run"
        if info.settings_sha256 not in self._manifest.settings:
            yield f"the settings {info.settings_sha256} are not those of the run"
        last = info.first_game + (info.numbers or info.games) - 1
        for other in self._by_origin[info.worker, info.seed, info.network]:
            if info.overlaps(other.first_game, other.numbers or other.games, other.part):
                yield f"games {info.first_game} to {last} of this worker and seed overlap with those of {other.path}"
                return

    def _quarantine(self, path: Path, error: RejectedError) -> QuarantinedEntry:
        """Write the reasons for a rejected chunk, enter it in the manifest, then move its files."""
        files = (path, sidecar_of(path), weights_of(path))
        entry = QuarantinedEntry(
            path=self._name(path),
            folder=self._folder(path),
            files=tuple(file.name for file in files if file.exists()),
            worker=error.info.worker if error.info else None,
            faults=len(error.faults),
            reason=str(error.faults[0])[:1000],
        )
        folder = self._store / entry.folder
        folder.mkdir(parents=True, exist_ok=True)
        faults = [asdict(fault) for fault in error.faults]
        text = json.dumps({"path": entry.path, "worker": entry.worker, "faults": faults}, indent=1, ensure_ascii=False)
        replace_file(folder / REASONS, text.encode(errors="replace"))
        self._manifest.append([entry])
        self._move(entry)
        self._listener.note(f"{entry.path} is in quarantine: {error}")
        return entry

    def _folder(self, path: Path) -> str:
        """The folder for a rejected chunk; the same after a kill, a new one if the chunk is delivered again."""
        identity = hashlib.sha256()
        for file in (path, sidecar_of(path)):
            with contextlib.suppress(InputFileError):
                identity.update(read_input(file, LARGEST_CHUNK))
        first = f"{QUARANTINE}/{path.stem}-{identity.hexdigest()[:12]}"
        folder = first
        while folder in self._manifest.quarantined:
            number = int(folder[len(first) + 1 :] or 0) + 1
            folder = f"{first}-{number}"
        return folder

    def _move(self, entry: QuarantinedEntry) -> None:
        """Move the files of a rejected chunk, the sidecar last; those already moved are left alone."""
        folder, source = self._store / entry.folder, (self._store / entry.path).parent
        for name in sorted(entry.files, key=lambda name: name.endswith(".json")):
            if not (folder / name).exists() and (source / name).exists():
                folder.mkdir(parents=True, exist_ok=True)
                (source / name).rename(folder / name)


def find_new(manifest: Manifest) -> list[Path]:
    """The delivered files of games, with a sidecar, that are not in the manifest; by path."""
    known = {manifest.store / entry.path for entry in manifest.accepted.values()}
    return [path for path in find_deliveries(manifest.store / GAMES) if path not in known]


def find_deliveries(games: Path) -> list[Path]:
    """The files of games in a folder and those in it, with a sidecar, by path; not those whose names are not UTF-8."""
    return [path for path in _find_all(games) if _is_text(path.relative_to(games))]


def find_unnamed(games: Path) -> list[str]:
    """The paths in a folder of chunks that no manifest can name, since they are not UTF-8."""
    return [str(path) for path in (each.relative_to(games) for each in _find_all(games)) if not _is_text(path)]


def _find_all(games: Path) -> list[Path]:
    paths = (path for path in games.rglob(f"*{SUFFIX}") if path.is_file())
    return sorted(path for path in paths if sidecar_of(path).is_file())


def _is_text(path: Path) -> bool:
    """Python stands bytes that are not UTF-8 for half surrogate pairs, which UTF-8 does not have."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True
