"""The generator of a run with a fleet: publishes what to play, and collects what was played."""

import time
from collections.abc import Callable
from pathlib import Path

from fukayomi.interruption import Stopped, StopRequest
from fukayomi.listener import Listener
from fukayomi.loop.fleet.collector import Collector
from fukayomi.loop.fleet.store import Store, insist
from fukayomi.loop.fleet.task import publish
from fukayomi.loop.folder import RunFolder
from fukayomi.loop.ingest import Manifest
from fukayomi.selfplay.league import LeagueSettings
from fukayomi.selfplay.openings import Openings
from fukayomi.selfplay.settings import SelfplaySettings
from fukayomi.tabular import counted

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
