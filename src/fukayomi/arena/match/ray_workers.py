"""Workers on a Ray cluster that this process is connected to (`fukayomi.cluster`).

The match stays where it was started, with its database, files and schedule; it may be started on one machine and
resumed on a cluster. A node receives settings and games, and returns the games it played.
"""

# ray is typed in parts.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayActorError

from fukayomi import __version__
from fukayomi.arena.game.referee import PlayedGame
from fukayomi.arena.game.rules import ConfigurationError
from fukayomi.arena.match.game_runner import GameRunner, check_engines
from fukayomi.arena.match.settings import MatchSettings, ScheduledGame, check_programs
from fukayomi.arena.match.workers import EngineWarnings, FinishedGame, GameQueue, WorkerReport
from fukayomi.cluster import ClusterError, loss_of, node_name, nodes, start_actor, version_problem
from fukayomi.interruption import join_threads, start_threads
from fukayomi.usi.client import EngineInterruptedError

POLL_S = 0.2
"""Longest delay before a stop is noticed."""
PATIENCE_S = 20.0
"""Time without a ready worker after which the user is told why the match waits."""
CLOSE_S = 15.0
"""Time for engines to stop and quit; then their worker is killed."""
ATTEMPTS = 4
"""Attempts at the same game, or at opening a worker."""


# ---------------------------------------------------------------------------------------------------------- the cluster


def games_at_once(cpus: int = 1) -> int:
    """Games for which the cluster has CPUs.

    Args:
        cpus: CPUs that a game needs.

    Raises:
        ClusterError: No node has enough.
    """
    games = sum(int(node.get("CPU", 0)) // cpus for node in nodes())
    if games == 0:
        raise ClusterError(
            f"no node of the Ray cluster has the {cpus} CPUs that a game needs; "
            "if the cluster grows on demand, give the number of games to play at once"
        )
    return games


def cpus_of(settings: MatchSettings) -> int:
    """The CPUs that a game reserves on its node."""
    return settings.cores_per_game or 1


# ------------------------------------------------------------------------------------------------------------- the node


@dataclass(frozen=True, slots=True)
class Opened:
    """Report of a new worker."""

    node: str
    """Name and address of its node."""
    error: str
    """Reason why it cannot play; empty if it can."""
    warnings: tuple[str, ...] = ()
    """Conditions that the match depends on and its engines are not told."""


class RayGameRunner:
    """A `GameRunner` in a process of its own on some node: an actor. Ray calls it from two threads, one for `close`."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._playing = threading.Lock()
        self._opened = ExitStack()
        self._runner: GameRunner | None = None
        self._logs: Path | None = None

    def open(self, settings: MatchSettings, folder: str, version: str) -> Opened:
        """Prepare to play.

        Args:
            settings: The match.
            folder: Working directory of the match. If the node has it, the engines run in it as well.
            version: Version of the program that runs the match.
        """
        node = node_name()
        if problem := version_problem(version):
            return Opened(node, problem)
        if Path(folder).is_dir():
            os.chdir(folder)
        try:
            check_programs(settings)
            warnings = check_engines(settings, self._stop)
        except (ConfigurationError, EngineInterruptedError) as error:
            return Opened(node, str(error))
        if settings.log:
            self._logs = Path(self._opened.enter_context(tempfile.TemporaryDirectory(prefix="fukayomi-")))
        self._runner = self._opened.enter_context(GameRunner(settings, self._logs))
        return Opened(node, "", warnings)

    def play(self, game: ScheduledGame) -> tuple[PlayedGame, str] | None:
        """Play a game; returns it with its log (empty without logs), or None if the worker was closed before."""
        assert self._runner is not None, "it is open"
        with self._playing:
            played = self._runner.play(game, self._stop)
            log = ""
            for path in self._logs.iterdir() if self._logs is not None else ():
                log = path.read_text(encoding="utf-8")
                path.unlink()
        return None if played is None else (played, log)

    def close(self) -> None:
        """End the game in progress, if any, and the engines."""
        self._stop.set()
        with self._playing:
            self._opened.close()


# ----------------------------------------------------------------------------------------------------------- the driver


@dataclass(slots=True)
class _RayWorker:
    """A worker as the driver sees it."""

    actor: Any
    """Handle of its `RayGameRunner`."""
    node: str = ""
    """Empty until it has opened."""
    game: ScheduledGame | None = None
    """The game in progress."""
    is_closing: bool = False
    running: frozenset[str] = frozenset()
    """The engines it keeps running."""


class RayWorkers:
    """Workers on the nodes of the cluster.

    A game is a task of an actor that keeps its two engines from one game to the next: starting an engine, which
    loads a network, may take longer than a fast game. When an actor dies, another one plays its game again.
    """

    def __init__(self, settings: MatchSettings, logs: Path | None, stop: threading.Event) -> None:
        """Start nothing yet.

        Args:
            settings: The match.
            logs: Folder for a log of each game; None: no logs.
            stop: Drops the games in progress when set.
        """
        self._settings = settings
        self._logs = logs
        self._stop = stop
        self._thread: threading.Thread | None = None
        self._pending: dict[Any, _RayWorker] = {}
        """The workers, by the reference to their next report."""
        self._losses: Counter[int] = Counter()
        """Number of times that each game was lost, by its number; 0: workers that did not open."""
        self._is_exhausted = False

    def start(self, games: GameQueue, report: Callable[[WorkerReport], None]) -> int:
        """See `Workers`."""
        self._thread = threading.Thread(target=self._work, args=(games, report), name="ray workers", daemon=True)
        start_threads([self._thread])
        return 1

    def join(self) -> None:
        """See `Workers`."""
        if self._thread is not None:
            join_threads([self._thread])

    def _work(self, games: GameQueue, report: Callable[[WorkerReport], None]) -> None:
        try:
            for _ in range(min(self._settings.concurrency, len(games))):
                self._open_worker()
            is_told = False
            began_s = time.monotonic()
            while not self._stop.is_set() and not self._is_done():
                for ref in ray.wait(list(self._pending), timeout=POLL_S)[0]:
                    self._receive(ref, self._pending.pop(ref), games, report)
                if not is_told and time.monotonic() - began_s > PATIENCE_S:
                    is_told = True
                    if not any(worker.node for worker in self._pending.values()):
                        report(f"waiting for the cluster: it has no {cpus_of(self._settings)} free CPUs for a game")
        except Exception as error:  # any error must reach the match, or it would wait forever
            report(error)
        finally:
            self._close_all()
            report(None)

    def _is_done(self) -> bool:
        """True if no game is in progress, and none is left for a worker that has yet to open."""
        return self._is_exhausted and not any(worker.game for worker in self._pending.values())

    def _open_worker(self) -> None:
        actor = start_actor(RayGameRunner, cpus=cpus_of(self._settings), threads=2)  # play, and close
        self._pending[actor.open.remote(self._settings, str(Path.cwd()), __version__)] = _RayWorker(actor)

    def _receive(self, ref: Any, worker: _RayWorker, games: GameQueue, report: Callable[[WorkerReport], None]) -> None:
        """Take the report of a worker, and give it its next game."""
        if worker.is_closing:
            ray.kill(worker.actor)
            return
        try:
            answer: Any = ray.get(ref)
        except RayActorError as error:
            self._replace(worker, error, games, report)
            return
        if isinstance(answer, Opened):
            if answer.error:
                raise ClusterError(f"node {answer.node}: {answer.error}")
            worker.node = answer.node
            report(EngineWarnings(answer.warnings))
            self._losses.pop(0, None)
        elif worker.game is not None and answer is not None:
            played, log = answer
            if self._logs is not None:
                self._logs.mkdir(parents=True, exist_ok=True)
                (self._logs / f"{worker.game.number:06}.log").write_text(log, encoding="utf-8", newline="\n")
            if played.failure is not None and not self._settings.restart:
                games.exclude(played.failure.engine)
            report(FinishedGame(worker.game, played))
        self._play_next(worker, games)

    def _play_next(self, worker: _RayWorker, games: GameQueue) -> None:
        worker.game = games.take(worker.running)
        if worker.game is None:
            self._is_exhausted = worker.is_closing = True
            self._pending[worker.actor.close.remote()] = worker
            return
        worker.running = frozenset((worker.game.black, worker.game.white))
        self._pending[worker.actor.play.remote(worker.game)] = worker

    def _replace(
        self, worker: _RayWorker, error: RayActorError, games: GameQueue, report: Callable[[WorkerReport], None]
    ) -> None:
        """A worker, and perhaps its node, is lost: open another one, and have the game played again.

        Raises:
            ClusterError: This was the last attempt.
        """
        reason = loss_of(worker.actor, error)
        number = 0 if worker.game is None else worker.game.number
        what = "a worker" if worker.game is None else f"game {number} on node {worker.node}"
        self._losses[number] += 1
        if self._losses[number] >= ATTEMPTS:
            raise ClusterError(f"{what} was lost {ATTEMPTS} times, the last time by this: {reason}") from error
        if worker.game is not None:
            report(f"{what} was lost and is played again: {reason}")
            games.put_back(worker.game)
            self._is_exhausted = False
        self._open_worker()

    def _close_all(self) -> None:
        workers, self._pending = list(self._pending.values()), {}
        _close(workers)


def _close(workers: list[_RayWorker]) -> None:
    """End the workers with their engines, all at the same time."""
    closing = [worker.actor.close.remote() for worker in workers if worker.node]
    if closing:
        ray.wait(closing, num_returns=len(closing), timeout=CLOSE_S)
    for worker in workers:
        ray.kill(worker.actor)
