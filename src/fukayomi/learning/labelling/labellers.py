"""Labellers that search the positions: USI engines in processes of their own, or our own network, several at once.

A USI engine has the guards of matches (`fukayomi.arena.game`): one that dies, hangs, floods, or answers with an illegal
move is started again, and asked a second time.
"""

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

from fukayomi._native import MAX_MOVES
from fukayomi.arena.game.player import PlayerFailedError
from fukayomi.arena.game.rules import STALL_MS, EngineSettings
from fukayomi.arena.game.usi_player import UsiSearcher
from fukayomi.engine.engine import Engine
from fukayomi.engine.network import Network
from fukayomi.learning.labelling.labels import Label, label_of_lines, label_of_search
from fukayomi.learning.labelling.settings import MULTIPV, LabelError, LabelSettings
from fukayomi.shogi import Position
from fukayomi.usi.engine import UsiEngine
from fukayomi.usi.options import OptionError
from fukayomi.usi.text import RESIGN, WIN, Go

ATTEMPTS = 2
"""Searches of a position by a USI engine that fails."""
IN_FLIGHT = 4
"""Positions for each labeller that are searched, wait, or are finished before an earlier one."""
TREE_MB = 16
"""Memory of a tree beside that of its nodes."""
BYTES_PER_NODE = 2048
"""More than a node takes in any tree."""


class StoppedError(Exception):
    """The search was stopped: its result is of no use."""


class Labeller(ABC):
    """Labels one position at a time."""

    @abstractmethod
    def label(self, position: Position) -> Label:
        """Search a position.

        Raises:
            StoppedError: `stop` was called.
        """

    @abstractmethod
    def stop(self) -> None:
        """End the search, and refuse others; from any thread."""

    @abstractmethod
    def close(self) -> None:
        """Free everything."""


class UsiLabeller(Labeller):
    """A USI engine in a process of its own. It starts with the first position, or by `start`."""

    def __init__(self, engine: UsiEngine, settings: LabelSettings) -> None:
        """Start nothing yet.

        Args:
            engine: Its command, options and directory.
            settings: How to search.
        """
        self._settings = settings
        self._multipv = settings.multipv or MULTIPV
        main_ms = None if settings.byoyomi_ms is None else 0
        go = Go(
            btime_ms=main_ms, wtime_ms=main_ms, byoyomi_ms=settings.byoyomi_ms, movetime_ms=settings.time_ms,
            nodes=settings.nodes,
        )  # fmt: skip
        self._stop = threading.Event()
        name = Path(engine.command[0]).name[:64]
        engine_settings = EngineSettings(
            name=name if name.isprintable() else "engine",
            command=engine.command,
            directory=engine.directory,
            undeclared_options=engine.undeclared_options,
            options=engine.options | ({"MultiPV": str(self._multipv)} if self._multipv > 1 else {}),
        )
        self._searcher = UsiSearcher(engine_settings, go, STALL_MS, ATTEMPTS, (RESIGN, WIN), self._stop)

    def start(self) -> None:
        """Start the engine.

        Raises:
            LabelError: It does not start, does not declare an option, or has no MultiPV and needs it.
        """
        with self._naming_options():
            try:
                self._searcher.start()
            except PlayerFailedError as error:
                raise LabelError(str(error)) from error

    @contextmanager
    def _naming_options(self) -> Generator[None]:
        try:
            yield
        except OptionError as error:
            player = self._searcher.player
            if self._multipv > 1 and "MultiPV" not in player.declared_options:
                problem = f"{player.name} has no option MultiPV: label with single moves (multipv 1)"
                raise LabelError(problem) from error
            raise LabelError(str(error)) from error

    def label(self, position: Position) -> Label:
        """See `Labeller.label`."""
        if self._stop.is_set():
            raise StoppedError
        try:
            with self._naming_options():
                answer = self._searcher.search(position)
        except PlayerFailedError as error:
            problem = f"{position.sfen()}: {error.failure.detail}"
            return Label(problem=problem, notes=self._searcher.player.take_warnings())
        label = label_of_lines(answer.lines, answer.best, self._settings.temperature, self._settings.eval_scale)
        if label.best is None and answer.best is not None:
            problem = f"the answer {answer.answer} has no score; if it is from a book, turn the book off"
            label = Label(problem=f"{position.sfen()}: {problem}")
        return replace(label, notes=self._searcher.player.take_warnings())

    def stop(self) -> None:
        """See `Labeller.stop`."""
        self._stop.set()

    def close(self) -> None:
        """See `Labeller.close`."""
        self._searcher.player.close()


class NetworkLabeller(Labeller):
    """A tree of our own search, which shares the batches of a network with the trees of the other labellers."""

    def __init__(self, network: Network, settings: LabelSettings, at_once: int) -> None:
        """Create the tree.

        Args:
            network: The network; it stays open.
            settings: How to search.
            at_once: Number of labellers, which share the memory of the network's option USI_Hash.

        Raises:
            LabelError: The search would visit no move.
        """
        if settings.nodes == 1:
            raise LabelError("a search of 1 node visits no move, so that there is no label: give 2 nodes or more")
        self._settings = settings
        memory_mb = tree_memory_mb(network, settings.nodes, at_once)
        self._engine = Engine(network, memory_mb=memory_mb, shares_batches=True)
        self._is_stopped = False

    def label(self, position: Position) -> Label:
        """See `Labeller.label`.

        Raises:
            EvaluatorError: The network failed.
        """
        if self._is_stopped:
            raise StoppedError
        self._engine.new_game()
        settings = self._settings
        result = self._engine.search(position, nodes=settings.nodes, time_ms=settings.time_ms, multipv=MAX_MOVES)
        if self._is_stopped:
            raise StoppedError
        return label_of_search(result.lines, settings.multipv)

    def stop(self) -> None:
        """See `Labeller.stop`."""
        self._is_stopped = True
        self._engine.stop()

    def close(self) -> None:
        """See `Labeller.close`."""
        self._engine.close()


def tree_memory_mb(network: Network, nodes: int | None, at_once: int) -> int:
    """Memory of one of the trees that share the network's option USI_Hash (MiB): no more than its nodes take."""
    most_mb = max(TREE_MB, network.settings.hash_mb // at_once)
    return most_mb if nodes is None else min(most_mb, TREE_MB + nodes * BYTES_PER_NODE // 2**20)


def label_in_order(labellers: Sequence[Labeller], positions: Iterable[Position]) -> Generator[list[Label]]:
    """Label positions, as many at once as there are labellers; the labels come in the order of the positions.

    Yields what is ready: the next label, and those behind it that are finished too.

    A position without legal moves gets a label without candidates, unsearched. Closing the iterator early stops the
    labellers, which then refuse other positions.
    """
    idle: SimpleQueue[Labeller] = SimpleQueue()
    for labeller in labellers:
        idle.put(labeller)

    def work(position: Position) -> Label:
        if not position.legal_moves:
            return Label()
        labeller = idle.get()
        try:
            return labeller.label(position)
        finally:
            idle.put(labeller)

    def take() -> list[Label]:
        ready = [futures.popleft().result()]
        while futures and futures[0].done():
            ready.append(futures.popleft().result())
        return ready

    futures: deque[Future[Label]] = deque()
    most = IN_FLIGHT * len(labellers)
    with ThreadPoolExecutor(len(labellers), "fukayomi-label") as threads:
        try:
            for position in positions:
                futures.append(threads.submit(work, position))
                if len(futures) >= most or futures[0].done():
                    yield take()
            while futures:
                yield take()
        finally:
            if futures:
                for labeller in labellers:
                    labeller.stop()
            for future in futures:
                future.cancel()
