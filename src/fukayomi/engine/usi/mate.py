"""One `go mate` of the USI session: its solver, in a thread of its own, and its answer."""

import threading
import time
from collections.abc import Callable

from fukayomi.shogi import MateReason, MateResult, MateSolver, Position
from fukayomi.usi.text import Checkmate

MARGIN_MS = 10
"""Time left for writing the answer."""
UNLIMITED_NODES = 2**62


class MateJob:
    """A ``go mate``. It searches until the limits or `finish` end it.

    Args:
        position: The position; the side to move attacks.
        memory_mb: Memory of the hash table in MiB.
        nodes: Maximum number of positions to search; None: no limit.
        deadline_s: When to end (`time.monotonic`); None: no limit.
    """

    def __init__(self, position: Position, memory_mb: int, nodes: int | None, deadline_s: float | None) -> None:
        self._position = position
        self._memory_mb = memory_mb
        self._nodes = UNLIMITED_NODES if nodes is None else max(1, nodes)
        self._deadline_s = deadline_s
        self._lock = threading.Lock()
        self._solver: MateSolver | None = None
        self._is_stopped = False
        self._thread: threading.Thread | None = None
        self.result: MateResult | None = None
        """Result of the solver."""
        self.error: Exception | None = None
        """Reason of the failure; None if there was none."""

    def start(self, done: Callable[[], None]) -> None:
        """Start a thread, which calls `done` at its end."""

        def run() -> None:
            try:
                self.result = self._solve()
            except Exception as error:  # a bug, or no memory, must not leave the GUI without an answer
                self.error = error
            done()

        self._thread = threading.Thread(target=run, name="fukayomi-mate", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the search now."""
        with self._lock:
            self._is_stopped = True
            if self._solver is not None:
                self._solver.stop()

    def join(self) -> None:
        """Wait until the thread has ended."""
        if self._thread is not None:
            self._thread.join()

    def answer(self) -> Checkmate:
        """The line to write, once the thread has ended."""
        if self.result is None:
            return Checkmate(verdict="notimplemented")
        if self.result.reason == MateReason.MATE:
            return Checkmate(tuple(move.usi() for move in self.result.moves))
        return Checkmate(verdict="nomate" if self.result.reason == MateReason.NO_MATE else "timeout")

    def _solve(self) -> MateResult:
        solver = MateSolver(self._memory_mb)
        with self._lock:
            self._solver = solver
            if self._is_stopped:
                solver.stop()
        time_ms = None
        if self._deadline_s is not None:
            time_ms = max(0, int((self._deadline_s - time.monotonic()) * 1000) - MARGIN_MS)
        return solver.solve(self._position, nodes=self._nodes, time_ms=time_ms, shortest=False)
