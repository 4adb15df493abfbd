"""Mates that are searched beside the tree: of its root, and of the positions on its principal variation.

Each thread has a `MateSolver`. A mate that it finds enters the tree with its line.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fukayomi._native import Search
from fukayomi.interruption import HeldSignals
from fukayomi.shogi import MateReason, MateSolver, Move, Position

ROOT_NODES = 2_097_152
"""Most positions that are searched for a mate of the root: dlshogi's limit."""
RETRY_S = 0.005
"""Pause before another look at a tree that has nothing new."""


@dataclass(frozen=True, slots=True)
class MateOptions:
    """Options of the mate searches. By default nothing is searched."""

    root_plies: int = 0
    """Longest mate of the root; 0: no search."""
    root_share: float = 1.0
    """The most of the time that the search for it may use a core."""
    pv_threads: int = 0
    """Threads for the positions on the principal variation."""
    pv_plies: int = 33
    """Longest mate of these."""
    pv_nodes: int = 500_000
    """Most positions that are searched for each of them."""
    memory_mb: int = 256
    """Most memory of each thread, MiB."""


class MateThreads:
    """The mate searches that go with one search of a tree.

    Args:
        tree: The tree; its position is set.
        position: The position.
        options: What to search.
        draw_ply: Number of moves after which a game is drawn; 0: no limit.
    """

    def __init__(self, tree: Search, position: Position, options: MateOptions, draw_ply: int = 0) -> None:
        self._tree = tree
        self._position = position.copy()
        self._options = options
        self._draw_ply = draw_ply
        self._lock = threading.Lock()  # guards the two below
        self._solvers: list[MateSolver] = []
        self._tried: set[tuple[Move, ...]] = set()  # positions on principal variations, by the moves that lead there
        self._is_over = threading.Event()
        self.error: Exception | None = None
        """Failure of one of the threads; the search itself goes on."""
        works = [self._search_root] * (options.root_plies > 0) + [self._search_pv] * options.pv_threads
        self._threads = [
            threading.Thread(target=self._run, args=(work,), name="fukayomi-mate", daemon=True) for work in works
        ]
        with HeldSignals():  # a constructor that an exception leaves gives nobody the threads to end
            for thread in self._threads:
                thread.start()

    def stop(self) -> None:
        """Tell the threads to end."""
        with self._lock:
            self._is_over.set()
            for solver in self._solvers:
                solver.stop()

    def join(self) -> None:
        """Wait until they have."""
        for thread in self._threads:
            thread.join()

    def _run(self, work: Callable[[MateSolver], None]) -> None:
        try:
            solver = MateSolver(self._options.memory_mb)
            with self._lock:
                self._solvers.append(solver)
                if self._is_over.is_set():
                    return
            work(solver)
        except Exception as error:  # no memory, say: the search goes on without
            self.error = error

    def _search_root(self, solver: MateSolver) -> None:
        options = self._options
        moves = self._mate(solver, self._position, options.root_plies, ROOT_NODES, options.root_share)
        # A mate may be found before the root has been evaluated: then it waits until the tree can hold it. The tree
        # never holds one that leads through a fourth occurrence.
        while moves and not self._tree.enter_mate(self._position, moves):
            if self._is_over.wait(RETRY_S):
                return

    def _search_pv(self, solver: MateSolver) -> None:
        options = self._options
        while not self._is_over.is_set():
            position = self._next_on_pv()
            if position is None:
                self._is_over.wait(RETRY_S)
                continue
            moves = self._mate(solver, position, options.pv_plies, options.pv_nodes)
            if moves:
                self._tree.enter_mate(position, moves)

    def _next_on_pv(self) -> Position | None:
        """The first position on the principal variation that has not been searched, behind the root."""
        if self._tree.root_visits == 0 or self._tree.is_decided:
            return None
        best = self._tree.lines(1)
        if not best or best[0].mate is not None:
            return None
        pv = tuple(best[0].pv)
        for length in range(1, len(pv) + 1):
            with self._lock:
                if pv[:length] in self._tried:
                    continue
                self._tried.add(pv[:length])
            position = self._position.copy()
            for move in pv[:length]:
                position.push(move)
            return position
        return None

    def _mate(
        self, solver: MateSolver, position: Position, plies: int, nodes: int, share: float = 1.0
    ) -> Sequence[Move]:
        """A mate by the side to move; empty if none is found."""
        if self._draw_ply > 0:  # the mate must come before
            plies = min(plies, self._draw_ply + 1 - position.ply)
        if plies < 1:
            return ()
        result = solver.solve(position, nodes=nodes, plies=plies, shortest=False, share=share)
        return result.moves if result.reason == MateReason.MATE else ()
