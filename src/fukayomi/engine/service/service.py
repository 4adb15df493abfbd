"""Searching many positions at once with one network.

Threads take the positions that wait, those of the highest priority first, and search each in a tree of its own. The
trees share the batches of the network, so that many small searches cost what the network costs.
"""

import heapq
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

from fukayomi.engine.answer.move_choice import declared_win
from fukayomi.engine.control import Control, Limits
from fukayomi.engine.network import Network
from fukayomi.engine.search import Progress, Searcher, SearchResult
from fukayomi.engine.service.query import AnalysisQuery, QueryError, TurnAnswer
from fukayomi.errors import InvalidValueError
from fukayomi.interruption import HeldSignals
from fukayomi.shogi import Position
from fukayomi.tabular import counted

MOST_WAITING = 100_000
"""Positions that may wait at once."""
BYTES_PER_VISIT = 2048
"""More than a visit takes in any tree."""
LEAST_MEMORY_MB = 2
"""Of a tree."""

AnswerListener = Callable[[TurnAnswer], None]


class RunningQuery:
    """A query that an `AnalysisService` has taken."""

    def __init__(self, service: "AnalysisService", query: AnalysisQuery, listener: AnswerListener) -> None:
        self.query = query
        self._service = service
        self._listener = listener
        # The service's, guarded by its lock.
        self.controls: dict[int, Control] = {}  # of the turns that are searched now
        self.left = len(query.turns)
        self.answers: dict[int, TurnAnswer] = {}
        self.error: Exception | None = None  # of the listener

    def cancel(self) -> None:
        """End its searches now. Each turn that has no final answer yet gets one, with what the search has found."""
        self._service.cancel(self)

    def result(self, timeout_s: float | None = None) -> list[TurnAnswer]:
        """Wait for the final answers; they come in the order of the turns.

        Args:
            timeout_s: Most seconds to wait; None: any number.

        Raises:
            TimeoutError: There are not all of them in time.
            Exception: Whatever the listener has raised.
        """
        if not self._service.wait_for(lambda: self.left == 0, timeout_s):
            left = counted(self.left, "position has", "positions have")
            raise TimeoutError(f"{left} no answer after {timeout_s} seconds")
        if self.error is not None:
            raise self.error
        return [self.answers[turn] for turn in self.query.turns]

    def tell(self, answer: TurnAnswer) -> None:
        """Pass on an answer. What the listener raises must not end a thread that serves others too."""
        try:
            self._listener(answer)
        except Exception as error:
            self.error = self.error or error


@dataclass(order=True, slots=True)
class _Waiting:
    """A position that waits; the smallest one is next."""

    order: tuple[int, int]
    """Priority, negative, and number."""
    running: RunningQuery = field(compare=False)
    turn: int = field(compare=False)


class AnalysisService:
    """Answers queries, many positions at once.

        >>> from fukayomi import Network
        >>> from fukayomi.engine import AnalysisQuery, AnalysisService
        >>> with Network("<hash>") as network, AnalysisService(network) as service:
        ...     running = service.submit(AnalysisQuery(moves=("7g7f", "3c3d"), turns=(0, 1, 2), visits=100))
        ...     answers = running.result()
        >>> [(answer.turn, answer.visits) for answer in answers]
        [(0, 100), (1, 100), (2, 100)]

    Any number of clients may use it, from any thread.

    Args:
        network: The network; it stays open when the service is closed.
        memory_mb: Memory of all trees together in MiB. None: the network's option USI_Hash.
        at_once: Most positions that are searched at once. None: as many as fill the network's batches.

    Raises:
        ValueError: A number is too small.
    """

    def __init__(self, network: Network, *, memory_mb: int | None = None, at_once: int | None = None) -> None:
        self.network = network
        self._params = network.settings.search_params()
        self._declaration_rule = network.settings.declaration_rule()
        self._free_mb = network.settings.hash_mb if memory_mb is None else memory_mb
        if self._free_mb < LEAST_MEMORY_MB:
            raise InvalidValueError(f"memory_mb must be {LEAST_MEMORY_MB} or more")
        if at_once is not None and at_once < 1:
            raise InvalidValueError("at_once must be 1 or more")
        self.at_once = min(at_once or network.pool.searches_at_once, self._free_mb // LEAST_MEMORY_MB)
        """Most positions that are searched at once."""
        self._share_mb = self._free_mb // self.at_once
        self._waiting: list[_Waiting] = []  # a heap
        self._count = 0
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._running: set[RunningQuery] = set()
        self._is_closed = False
        self._changed = threading.Condition()  # guards all of the above, and the queries

    def submit(self, query: AnalysisQuery, listener: AnswerListener = lambda answer: None) -> RunningQuery:
        """Take a query; its positions are searched as soon as others leave room.

        Args:
            query: The query.
            listener: Called with each answer, by the threads of the service: turns come in any order, the answers of a
                turn in theirs. `RunningQuery.result` raises what it raises.

        Raises:
            QueryError: Too many positions wait.
            RuntimeError: The service is closed.
        """
        if query.visits is None and query.time_ms is None:
            query = replace(query, visits=self.network.analysis_nodes)
        running = RunningQuery(self, query, listener)
        with self._changed:
            if self._is_closed:
                raise RuntimeError("the analysis service is closed")
            if len(self._waiting) + len(query.turns) > MOST_WAITING:
                raise QueryError(f"turns: more than {MOST_WAITING} positions would wait; ask again later")
            self._running.add(running)
            for turn in query.turns:
                self._count += 1
                heapq.heappush(self._waiting, _Waiting((-query.priority, self._count), running, turn))
            for _ in range(min(len(self._waiting) - self._idle, self.at_once - len(self._threads))):
                thread = threading.Thread(target=self._work, name="fukayomi-service", daemon=True)
                with HeldSignals():
                    thread.start()
                    self._threads.append(thread)
            self._changed.notify_all()
        return running

    def cancel(self, running: RunningQuery) -> None:
        """As `RunningQuery.cancel`."""
        with self._changed:
            for control in running.controls.values():
                control.stop()
            waiting = [each for each in self._waiting if each.running is running]
            if waiting:
                self._waiting = [each for each in self._waiting if each.running is not running]
                heapq.heapify(self._waiting)
        for each in waiting:
            self._end(running, TurnAnswer(each.turn, is_during_search=False))

    def wait_for(self, condition: Callable[[], bool], timeout_s: float | None = None) -> bool:
        """Wait until something holds of the queries; False: the time is over."""
        with self._changed:
            return self._changed.wait_for(condition, timeout_s)

    def finish(self) -> None:
        """Wait until all queries are answered."""
        self.wait_for(lambda: not self._running)

    def close(self) -> None:
        """Cancel all queries, and wait for their answers."""
        with self._changed:
            self._is_closed = True
            queries = tuple(self._running)
            self._changed.notify_all()
        for running in queries:
            running.cancel()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------ threads

    def _work(self) -> None:
        """Search one position after the other."""
        while (taken := self._next()) is not None:
            running, turn, control, memory_mb = taken
            try:
                answer = self._answer(running, turn, control, memory_mb)
            except Exception as error:  # whatever fails ends this position, and is reported
                answer = TurnAnswer(turn, is_during_search=False, error=str(error) or type(error).__name__)
            with self._changed:
                self._free_mb += memory_mb
                del running.controls[turn]
            self._end(running, answer)

    def _next(self) -> tuple[RunningQuery, int, Control, int] | None:
        """The position that is next, when there is memory for its tree; None: the service is closed."""
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._memory_mb() > 0 if self._waiting else self._is_closed)
            self._idle -= 1
            if not self._waiting:
                return None
            memory_mb = self._memory_mb()
            next_one = heapq.heappop(self._waiting)
            running, turn = next_one.running, next_one.turn
            self._free_mb -= memory_mb
            control = running.controls[turn] = Control(
                Limits(nodes=running.query.visits, time_ms=running.query.time_ms)
            )
            return running, turn, control, memory_mb

    def _memory_mb(self) -> int:
        """Memory for the tree of the next position: what it may need, or half of what is free; 0: there is no room."""
        visits = self._waiting[0].running.query.visits
        needed = self._free_mb if visits is None else LEAST_MEMORY_MB + visits * BYTES_PER_VISIT // 2**20
        given = min(needed, max(self._share_mb, self._free_mb // 2))
        return given if given <= self._free_mb else 0

    def _answer(self, running: RunningQuery, turn: int, control: Control, memory_mb: int) -> TurnAnswer:
        """Search a position."""
        query = running.query
        position = query.position(turn)
        if position.is_mated():
            return TurnAnswer.decided(turn, position.turn.opponent)
        declared = declared_win(position, self._declaration_rule)
        if declared is not None and not query.search_moves:
            return TurnAnswer.decided(turn, position.turn, (declared,))

        def report(progress: Progress) -> None:
            if progress.lines and progress.error is None:
                running.tell(TurnAnswer.of_search(turn, position.turn, progress, is_during_search=True))

        searcher = Searcher(
            self.network.pool,
            self._params,
            memory_mb=memory_mb,
            node_limit=query.visits or self.network.settings.node_limit,
            shares_batches=True,
        )

        def search(position: Position, control: Control) -> SearchResult:
            return searcher.search(
                position,
                control,
                search_moves=query.restriction(),
                multipv=query.multipv,
                report=report,
                report_interval_s=(query.report_every_ms or 0) / 1000,
            )

        result = search(position, control)
        if not result.lines and result.error is None and not control.stopped:  # no evaluation came in time
            result = search(position, Control(Limits(nodes=1)))
        if result.error is not None:
            raise result.error
        return TurnAnswer.of_search(turn, position.turn, result.progress, is_during_search=False)

    def _end(self, running: RunningQuery, answer: TurnAnswer) -> None:
        """Give the final answer of a turn."""
        running.tell(answer)
        with self._changed:
            running.answers[answer.turn] = answer
            running.left -= 1
            if running.left == 0:
                self._running.discard(running)
            self._changed.notify_all()
