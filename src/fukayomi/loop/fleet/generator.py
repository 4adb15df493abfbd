"""The generator of a run with a fleet: publishes what to play, and collects what was played.

Games come from the store to the folder of the run, where ingest checks them. Workers are believed in nothing: names
that no worker writes are passed over, and so are files that are too large.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import InputFileError
from fukayomi.interruption import Stopped, StopRequest
from fukayomi.listener import Listener
from fukayomi.loop.fleet.store import Store, insist
from fukayomi.loop.fleet.task import GAMES, publish
from fukayomi.loop.ingest import Manifest
from fukayomi.loop.run import RunFolder
from fukayomi.selfplay.chunk import LARGEST_CHUNK, LARGEST_SIDECAR, ChunkError, read_chunk_info
from fukayomi.selfplay.league import LeagueSettings
from fukayomi.selfplay.openings import Openings
from fukayomi.selfplay.settings import SelfplaySettings
from fukayomi.tabular import counted

TOGETHER = 16
"""Chunks that are fetched at once, at most, if they are not larger than the largest chunk together."""
_SIDECAR = re.compile(
    rf"(?P<chunk>{GAMES}/[0-9]{{6}}/[A-Za-z0-9][A-Za-z0-9._-]{{0,99}}/[A-Za-z0-9][A-Za-z0-9._-]{{0,99}}-[0-9]{{6,9}}(_opp)?)\.json"
)


class Collector:
    """Fetches chunks that are new.

    Each call looks at the two newest tasks and, in turn, at one of the older ones, to which workers that were cut off
    may deliver late; so the number of requests does not grow with the run.

    Args:
        store: The store.
        folder: The run.
        chunk_games: Games of a chunk, at most.
    """

    def __init__(self, store: Store, folder: RunFolder, chunk_games: int) -> None:
        self._store, self._folder, self._chunk_games = store, folder, chunk_games
        manifest = Manifest(folder.path)
        entries = (*manifest.accepted.values(), *manifest.quarantined.values())
        self._seen = {entry.path.removesuffix(".hcpe3") for entry in entries}
        self._counted = set(manifest.accepted)
        """The chunks whose games do not count any more, by the SHA-256 of their games."""
        self._older = 0
        self.games = 0
        """Games in the chunks that were found."""

    def collect(self) -> int:
        """Fetch new chunks, and return how many there were.

        Raises:
            StoreError: The store is out of reach; what was fetched stays, and the next call goes on.
            DiskError: The disk is full.
            OSError: A file cannot be written.
        """
        fetched = 0
        for task in self._tasks():
            sizes = self._store.sizes(f"{GAMES}/{task}")
            names = [match["chunk"] for name in sorted(sizes) if (match := _SIDECAR.fullmatch(name))]
            new = [name for name in names if name not in self._seen and _is_complete(name, sizes)]
            for some in _batches(new, sizes):
                self._fetch(some, sizes)
                for name in some:
                    self._seen.add(name)
                    self.games += self._games_of(name)
            fetched += len(new)
        return fetched

    def _tasks(self) -> list[str]:
        tasks = [name for name in self._store.folders(GAMES) if re.fullmatch("[0-9]{6}", name)]
        newest, older = tasks[-2:], tasks[:-2]
        self._older += 1
        return newest + ([older[self._older % len(older)]] if older else [])

    def _fetch(self, chunks: Sequence[str], sizes: Mapping[str, int]) -> None:
        """Write chunks to the folder of the run, each with its sidecar last; what is there stays."""
        if self._store.folder is not None and self._store.folder.resolve() == self._folder.path.resolve():
            return
        missing = [name for name in chunks if not (self._folder.path / f"{name}.json").is_file()]
        files = [file for name in missing for file in _files_of(name) if file in sizes]
        contents = self._store.read_all(files)
        for file in files:
            if file in contents:
                path = self._folder.path / file
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(path, contents[file])

    def _games_of(self, name: str) -> int:
        """The games that a chunk brings, those included that were not kept; 0 if ingest will refuse it anyway.

        What a sidecar says is not checked yet, but it cannot end a generation without games.
        """
        try:
            info = read_chunk_info(self._folder.path / f"{name}.json")
        except (ChunkError, InputFileError, FileNotFoundError):
            return 0
        if info.sha256 in self._counted:
            return 0
        self._counted.add(info.sha256)
        return min(self._chunk_games, (info.numbers or info.games) if info.part == "all" else info.games)


def _batches(chunks: Sequence[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """The chunks that are fetched at once: what they hold is in memory together."""
    batch: list[str] = []
    held = 0
    for chunk in chunks:
        size = sum(sizes.get(name, 0) for name in _files_of(chunk))
        if batch and (len(batch) == TOGETHER or held + size > LARGEST_CHUNK):
            yield batch
            batch, held = [], 0
        batch.append(chunk)
        held += size
    if batch:
        yield batch


def _files_of(chunk: str) -> tuple[str, str, str]:
    return f"{chunk}.hcpe3", f"{chunk}.weights.npy", f"{chunk}.json"


def _is_complete(chunk: str, sizes: Mapping[str, int]) -> bool:
    """True if a chunk has its games, and its files have sizes that chunks may have."""
    games, weights, sidecar = (sizes.get(name) for name in _files_of(chunk))
    return (
        games is not None
        and sidecar is not None
        and games <= LARGEST_CHUNK
        and (weights or 0) <= LARGEST_CHUNK
        and sidecar <= LARGEST_SIDECAR
    )


FIRST_PATIENCE_S = 10.0
"""Seconds for which the store may fail before it was reached: its address may be wrong."""
PATIENCE_S = 3600.0
"""Seconds for which it may fail later."""
PAUSE_S = 0.2
"""Longest delay before a stop is noticed."""


class FleetGenerator:
    """A `Generator` whose games are played by workers, which go on while the learner learns.

    Games that came since the last ingest count, whatever network they were played with.

    Args:
        store: The store.
        folder: The run.
        poll_s: Seconds from one look for new games to the next.
        workers: Says how many workers play, and raises an error if the fleet cannot go on.
        int8: Whether the networks play in int8.
    """

    def __init__(
        self,
        store: Store,
        folder: RunFolder,
        poll_s: float,
        workers: Callable[[Listener], int],
        *,
        int8: bool = False,
    ) -> None:
        self._int8 = int8
        self._store, self._folder, self._poll_s, self._workers = store, folder, poll_s, workers
        self._patience_s = FIRST_PATIENCE_S

    def __call__(
        self, settings: SelfplaySettings, network: Path, out: Path, *, name: str, seed: int, first_game: int,
        games: int, league: LeagueSettings | None, openings: Openings | None, listener: Listener,
    ) -> None:  # fmt: skip
        """See `Generator`. Name and numbers of the games are the workers' affair.

        Raises:
            LoopError: The store is that of another run.
            Stopped: The user stopped it.
            StoreError: The store is out of reach.
            ClusterError: The workers fail again and again.
        """
        known = set(Manifest(self._folder.path).networks)
        with StopRequest() as stop:

            def wait(seconds: float) -> None:
                self._wait(seconds, stop)
                if stop.requested:
                    raise Stopped(stop.signal)

            insist(
                lambda: publish(self._store, settings, network, league, known, openings, int8=self._int8),
                self._patience_s, listener, wait,
            )  # fmt: skip
            self._patience_s = PATIENCE_S
            collector = Collector(self._store, self._folder, settings.chunk_games)
            while not stop.requested:
                insist(collector.collect, PATIENCE_S, listener, wait)
                workers = counted(self._workers(listener), "worker")
                listener.progress(f"self-play by {workers}", min(collector.games, games), games)
                if collector.games >= games:
                    return
                self._wait(self._poll_s, stop)
        raise Stopped(stop.signal)

    def _wait(self, seconds: float, stop: StopRequest) -> None:
        end_s = time.monotonic() + seconds
        while not stop.requested and (left_s := end_s - time.monotonic()) > 0:
            time.sleep(min(PAUSE_S, left_s))
