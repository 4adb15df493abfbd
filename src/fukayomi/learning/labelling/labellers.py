"""Who searches the positions: USI engines in processes of their own, or our own network, several at once.

A USI engine has the guards of matches (`fukayomi.arena.game`): one that dies, hangs, floods, or answers with an illegal
move is started again, and asked a second time.
"""

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from fukayomi._native import MAX_MOVES
from fukayomi.arena.game.choices import STALL_MS
from fukayomi.arena.game.player import PlayerFailedError
from fukayomi.arena.game.rules import EngineSettings, Rules
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.game.usi_player import UsiPlayer
from fukayomi.engine.engine import Engine
from fukayomi.engine.network import Network
from fukayomi.learning.labelling.labels import Label, label_of_lines, label_of_search
from fukayomi.learning.labelling.settings import MULTIPV, LabelError, LabelSettings
from fukayomi.shogi import Position
from fukayomi.usi.engine import UsiEngine, UsiResult
from fukayomi.usi.options import OptionError
from fukayomi.usi.text import RESIGN, WIN, Go, shorten

ATTEMPTS = 2
"""Searches of a position by a USI engine that fails."""
LATE_MS = 10_000
"""How late an answer may be; then the engine counts as hanging."""
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
        self._go = Go(nodes=settings.nodes, movetime_ms=settings.time_ms)
        if settings.byoyomi_ms is not None:
            self._go = Go(btime_ms=0, wtime_ms=0, byoyomi_ms=settings.byoyomi_ms)
        time_ms = settings.time_ms or settings.byoyomi_ms
        self._limit_ms = STALL_MS if time_ms is None else time_ms + LATE_MS
        self._stop = threading.Event()
        self._is_ready = False
        name = Path(engine.command[0]).name[:64]
        self._player = UsiPlayer(
            EngineSettings(
                name=name if name.isprintable() else "engine",
                command=engine.command,
                directory=engine.directory,
                undeclared_options=engine.undeclared_options,
                options=engine.options | ({"MultiPV": str(self._multipv)} if self._multipv > 1 else {}),
            ),
            TimeControl(movetime_ms=STALL_MS),  # a match's clock; `think` gets its own limits
        )

    def start(self) -> None:
        """Start the engine.

        Raises:
            LabelError: It does not start, does not declare an option, or has no MultiPV and needs it.
        """
        try:
            self._prepare()
        except PlayerFailedError as error:
            raise LabelError(str(error)) from error

    def _prepare(self) -> None:
        if self._is_ready:
            return
        try:
            self._player.prepare(Rules(), self._stop)
        except OptionError as error:
            if self._multipv > 1 and "MultiPV" not in self._player.declared_options:
                problem = f"{self._player.name} has no option MultiPV: label with single moves (multipv 1)"
                raise LabelError(problem) from error
            raise LabelError(str(error)) from error
        self._is_ready = True

    def label(self, position: Position) -> Label:
        """See `Labeller.label`."""
        problem = ""
        for _ in range(ATTEMPTS):
            if self._stop.is_set():
                raise StoppedError
            try:
                self._prepare()
                found = self._search(position)
                return Label(found.best, found.eval_cp, found.candidates, found.problem, self._player.take_warnings())
            except PlayerFailedError as error:
                self._is_ready = False
                problem = error.failure.detail
        return Label(problem=f"{position.sfen()}: {problem}", notes=self._player.take_warnings())

    def _search(self, position: Position) -> Label:
        answer = self._player.think(position, self._go, self._limit_ms, self._stop)
        found = None if answer.search is None else UsiResult.of(answer.search, position)
        if found is None or not (answer.move in (RESIGN, WIN) or _is_legal(found, position)):
            raise self._player.refused(f"answered {shorten(answer.move)!r}, which is not a legal move")
        label = label_of_lines(found.lines, found.best, self._settings.temperature, self._settings.eval_scale)
        if label.best is None and found.best is not None:
            problem = f"the answer {answer.move} has no score; if it is from a book, turn the book off"
            return Label(problem=f"{position.sfen()}: {problem}")
        return label

    def stop(self) -> None:
        """See `Labeller.stop`."""
        self._stop.set()

    def close(self) -> None:
        """See `Labeller.close`."""
        self._player.close()


def _is_legal(found: UsiResult, position: Position) -> bool:
    return found.best is not None and position.is_legal(found.best)


class NetworkLabeller(Labeller):
    """A tree of our own search, which shares the batches of a network with the trees of the other labellers."""

    def __init__(self, network: Network, settings: LabelSettings, at_once: int) -> None:
        """Create the tree.

        Args:
            network: The network; it stays open.
            settings: How to search.
            at_once: Number of labellers, which share the memory of the network's option USI_Hash.
        """
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
        found = self._engine.search(position, nodes=settings.nodes, time_ms=settings.time_ms, multipv=MAX_MOVES)
        if self._is_stopped:
            raise StoppedError
        return label_of_search(found.lines, settings.multipv)

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

    A position without legal moves gets a label without candidates, unsearched. Closing the iterator stops the searches.
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
            for labeller in labellers:
                labeller.stop()
            for future in futures:
                future.cancel()
