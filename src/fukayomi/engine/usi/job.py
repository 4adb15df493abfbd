"""One `go` or `go mate` of the USI session: its search or solver, in a thread of its own, and its answer."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fukayomi.engine.answer.move_choice import Known, MoveChoice, best_move
from fukayomi.engine.answer.output import Output, info_lines, info_string, search_infos
from fukayomi.engine.control import Control
from fukayomi.engine.settings import UsiSettings
from fukayomi.shogi import BLACK, MateReason, MateResult, MateSolver, Move, Position
from fukayomi.usi.text import RESIGN, BestMove, Checkmate, Go, shorten

if TYPE_CHECKING:
    from fukayomi.engine.search import Searcher, SearchResult


@dataclass
class Job:
    """A ``go``, and what has become of it."""

    go: Go
    """The command."""
    position: Position
    """The position to search."""
    control: Control
    """Ends the search."""
    refusal: str | None
    """Reason why there is nothing to search."""
    known: Known = field(default_factory=Known)
    """Results that are known without the search."""
    result: "SearchResult | None" = None
    """Result of the search."""
    error: Exception | None = None
    """Reason of the failure; None if there was none."""
    thread: threading.Thread | None = None
    """Runs the search."""

    def start(self, search: Callable[[], None]) -> None:
        """Start a thread."""
        self.thread = threading.Thread(target=search, name="fukayomi-search", daemon=True)
        self.thread.start()

    def search(self, searcher: "Searcher", settings: UsiSettings, multipv: int, output: Output | None) -> None:
        """Search until the control ends it.

        Args:
            searcher: Searches.
            settings: The options.
            multipv: How many lines the result must have.
            output: Is told of the progress; None: nobody is.
        """
        if self.refusal is None and not self.position.legal_moves:
            self.refusal = f"{'Black' if self.position.turn == BLACK else 'White'} has no legal move"
        if self.refusal is not None:
            if output is not None:
                output.say(f"no search: {self.refusal}")
            self.control.hold()
            return
        try:
            self.result = searcher.search(
                self.position,
                self.control,
                search_moves=self._search_moves(output),
                multipv=multipv,
                mates=settings.mate_options(),
                report=None if output is None else lambda progress: output.report(progress, settings),
                report_interval_s=settings.pv_interval_ms / 1000,
            )
        except Exception as error:  # a bug must not leave the GUI without an answer
            self.error = error
            self.control.hold()

    def answer(self, choice: MoveChoice, settings: UsiSettings, *, is_game: bool) -> BestMove:
        """The answer, when the search has ended or none is needed.

        Args:
            choice: Chooses the moves of the game.
            settings: The options.
            is_game: A move of the game is wanted; otherwise it was an analysis, or a guess at the opponent's move.
        """
        if self.known.answer is not None:
            return self.known.answer
        if self.refusal is not None:
            return BestMove(RESIGN)
        if self.result is None:  # the search itself failed
            moves = self.position.legal_moves
            return BestMove(moves[0].usi() if moves else RESIGN)
        if not is_game:
            return best_move(self.result, settings)
        answer, self.result = choice.choose(self.position, self.result, settings)
        return answer

    def infos(self, settings: UsiSettings) -> list[str]:
        """The info lines before the answer."""
        if self.known.answer is not None and self.known.infos:
            return info_lines(self.known.infos)
        if self.error is not None:
            return [info_string(f"Error: {self.error!r}")]
        if self.result is None:
            return []
        lines = [info.text() for info in search_infos(self.result.progress, settings)]
        if self.result.error is not None:
            lines.append(info_string(f"Error: {self.result.error}"))
        if self.result.mate_error is not None:
            lines.append(info_string(f"Error: no mates are searched: {self.result.mate_error!r}"))
        if settings.debug:
            lines.append(info_string(f"search ended: {self.result.reason.value}"))
        return lines

    def _search_moves(self, output: Output | None) -> list[Move]:
        moves = [Move.from_usi(text) for text in dict.fromkeys(self.go.searchmoves)]
        legal = [move for move in moves if self.position.is_legal(move)]
        if len(legal) < len(moves) and output is not None:
            illegal = " ".join(move.usi() for move in moves if move not in legal)
            output.say(f"searchmoves: not legal in this position: {shorten(illegal)}")
        return legal


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
