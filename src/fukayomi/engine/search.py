"""Driving the native search: threads that fill, evaluate and return batches, and a watch that ends in time.

Each slot of each evaluator has a thread of its own, which goes round gather -> run -> apply. The thread that called
`Searcher.search` only watches: when the time is up or a stop comes, it reads the best move from the tree at once and
leaves batches in flight to their threads, which return them to the tree when they are done.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from fukayomi._native import Batch, Search, SearchParams
from fukayomi.engine.clock import Budget
from fukayomi.engine.control import Control
from fukayomi.engine.evaluators.protocol import Evaluator, Slot
from fukayomi.shogi import Move, Position

CHECK_INTERVAL_S = 0.02  # between looks at a tree that may be clear enough to stop
GRACE_S = 0.03  # how long a stop waits for the very first evaluation
UNCLEAR_RATIO = 1.5  # fewer times the visits of the second move than this: unclear


class Reason(Enum):
    """Why a search ended."""

    STOPPED = "stopped"
    TIME = "time is up"
    CLEAR = "no other move can catch up"
    ONLY_MOVE = "only one legal move"
    LIMIT = "limit reached"
    DECIDED = "the result is proven"
    FULL = "memory is full"
    ERROR = "the evaluator failed"


@dataclass(frozen=True, slots=True)
class Line:
    """A root move as the search sees it, from the side to move's view."""

    move: Move
    pv: tuple[Move, ...]  # begins with the move
    visits: int
    prior: float
    winrate: float  # 0 to 1; draws count as their draw value
    mate: int | None  # plies to mate; negative: being mated
    depth: int


@dataclass(frozen=True, slots=True)
class Progress:
    """A search at some moment. ``lines`` are sorted, best first, and empty before the first evaluation."""

    lines: tuple[Line, ...]
    nodes: int  # evaluated since the search began
    root_visits: int  # those of a reused tree included
    seconds: float  # since the search began
    seldepth: int
    hashfull: int  # per mille of the memory
    error: Exception | None = None  # what an evaluator raised

    @property
    def nodes_per_s(self) -> int:
        """Evaluated positions a second."""
        return round(self.nodes / self.seconds) if self.seconds > 0 else 0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found."""

    best: Move | None  # None: there is no legal move
    ponder: Move | None  # the expected answer
    progress: Progress
    reason: Reason

    @property
    def lines(self) -> tuple[Line, ...]:
        """The best moves, best first; empty if the position was not even evaluated."""
        return self.progress.lines

    @property
    def error(self) -> Exception | None:
        """What an evaluator raised; the search ended there."""
        return self.progress.error


Report = Callable[[Progress], None]


@dataclass
class _Lane:
    """A slot, the evaluator that it belongs to, and the lock of the thread that uses it."""

    evaluator: Evaluator
    slot: Slot
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Run:
    """One search: what its threads share."""

    def __init__(self, tree: Search, control: Control, lanes: int, memory_mb: int, node_limit: int) -> None:
        self.tree = tree
        self.memory_mb = memory_mb
        self.control = control
        self.is_over = False
        self.error: Exception | None = None
        self.began_s = time.monotonic()
        self._node_limit = node_limit
        self._granted = 0
        self._batches = 0
        self._working = lanes
        self._returned = threading.Condition()

    def grant(self, wanted: int) -> int:
        """How many of the wanted positions may still be evaluated."""
        with self._returned:
            limit = self.control.limits.nodes
            if limit is not None:
                wanted = min(wanted, limit - self._granted)
            wanted = max(0, min(wanted, self._node_limit - self.tree.root_visits))
            self._granted += wanted
            return wanted

    def give_back(self, count: int) -> None:
        """Return what was granted and not used."""
        with self._returned:
            self._granted -= count

    @property
    def batches(self) -> int:
        """How many batches have returned."""
        return self._batches

    def batch_returned(self) -> None:
        """Wake the threads that wait for positions in flight."""
        with self._returned:
            self._batches += 1
            self._returned.notify_all()

    def wait_for_batch(self, seen: int) -> None:
        """Wait until more batches have returned than were seen, as nothing is left to gather before."""
        with self._returned:
            if self._batches == seen:
                self._returned.wait(CHECK_INTERVAL_S)

    def lane_ended(self) -> None:
        """Say that a thread has nothing left to do."""
        with self._returned:
            self._working -= 1
            self._returned.notify_all()
        self.control.wake()

    @property
    def is_idle(self) -> bool:
        """Whether all threads have ended."""
        return self._working == 0


class Searcher:
    """A search tree and the evaluators that feed it. It runs one search at a time.

    Args:
        evaluators: one for each device or network.
        params: the parameters of the search.
        memory_mb: the most memory that the tree takes.
        node_limit: the most visits of the root.
        reuse: keep the part of the tree that still holds when the position changes.
    """

    def __init__(
        self,
        evaluators: Sequence[Evaluator],
        params: SearchParams | None = None,
        *,
        memory_mb: int = 1024,
        node_limit: int = 10_000_000,
        reuse: bool = True,
    ) -> None:
        self._lanes = [
            _Lane(evaluator, evaluator.allocate(evaluator.batch_sizes[0]))
            for evaluator in evaluators
            for _ in range(evaluator.slots)
        ]
        self._evaluators = tuple(evaluators)
        self._threads: list[threading.Thread] = []
        self.configure(params or SearchParams(), memory_mb=memory_mb, node_limit=node_limit, reuse=reuse)

    def configure(self, params: SearchParams, *, memory_mb: int, node_limit: int, reuse: bool) -> None:
        """Start a tree with other parameters; call it between searches."""
        self._params = params
        self._memory_mb = memory_mb
        self._node_limit = node_limit
        self._reuse = reuse
        self.clear()

    def clear(self) -> None:
        """Forget the tree; call it between searches."""
        self._tree = Search(self._params, self._memory_mb)

    def close(self) -> None:
        """Wait for batches in flight and free the evaluators."""
        self._tree.stop()
        for thread in self._threads:
            thread.join()
        for evaluator in self._evaluators:
            evaluator.close()

    def search(
        self,
        position: Position,
        control: Control,
        *,
        search_moves: Sequence[Move] = (),
        multipv: int = 1,
        report: Report | None = None,
        report_interval_s: float = 0.5,
    ) -> SearchResult:
        """Search until the control's limits end it.

        Args:
            position: where to search, with its past.
            control: limits and stop.
            search_moves: the root moves to consider; all if empty.
            multipv: how many lines to report.
            report: called with the progress now and then, from this thread.
            report_interval_s: how often; 0: never.

        Returns:
            The best move and how it came about. An evaluator that raises ends the search (``error``).
        """
        if position.is_mated():
            control.hold()
            return SearchResult(None, None, Progress((), 0, 0, 0.0, 0, 0), Reason.DECIDED)
        if not self._reuse:
            self.clear()
        tree = self._tree
        tree.resume()
        tree.set_position(position, list(search_moves))
        run = _Run(tree, control, len(self._lanes), self._memory_mb, self._node_limit)
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        for lane in self._lanes:
            thread = threading.Thread(target=_work, args=(lane, run), name="fukayomi-lane", daemon=True)
            self._threads.append(thread)
            thread.start()
        try:
            reason = _Watch(run, multipv, report, report_interval_s).wait()
        finally:  # also where Ctrl-C ends the watch: the threads must not go on
            run.is_over = True
            tree.stop()
            run.batch_returned()
        progress = _progress(run, multipv)
        best = progress.lines[0].move if progress.lines else _any_move(position, search_moves)
        pv = progress.lines[0].pv if progress.lines else ()
        return SearchResult(best, pv[1] if len(pv) > 1 else None, progress, reason)


def _work(lane: _Lane, run: _Run) -> None:
    """The thread of a lane: round and round until the search is over or has nothing left to do."""
    try:
        with lane.lock:  # the batch of the search before may still be on its way
            if run.is_over:
                return
            batch = run.tree.new_batch(lane.slot.capacity)
            while not run.is_over and _round(lane, run, batch):
                pass
    except Exception as error:  # whatever a backend raises must end the search, and be told
        run.error = run.error or error
        run.is_over = True
    finally:
        run.lane_ended()


def _round(lane: _Lane, run: _Run, batch: Batch) -> bool:
    """Gather, evaluate and return one batch. False if there is nothing left to do."""
    tree, slot = run.tree, lane.slot
    if tree.is_decided or tree.is_full:
        return False
    granted = run.grant(slot.capacity)
    if granted == 0:
        return False
    seen = run.batches
    n = tree.gather(batch, slot.planes1, slot.planes2, slot.labels, slot.counts, granted)
    run.give_back(granted - n)
    if n == 0:
        run.wait_for_batch(seen)
        return True
    try:
        lane.evaluator.run(slot, n)
    except BaseException:
        tree.cancel(batch)
        raise
    tree.apply(batch, slot.logits, slot.values)
    run.batch_returned()
    return True


class _Watch:
    """Decides when a search ends, and reports in the meantime."""

    def __init__(self, run: _Run, multipv: int, report: Report | None, interval_s: float) -> None:
        self._run = run
        self._control = run.control
        self._multipv = multipv
        self._report = report
        self._interval_s = interval_s
        self._next_report_s = run.began_s + interval_s if report is not None and interval_s > 0 else float("inf")
        self._is_extended = False
        self._is_error_reported = False

    def wait(self) -> Reason:
        """Watch until there is a reason to end."""
        while True:
            now = time.monotonic()
            reason = self._reason(now)
            if reason is not None:
                return reason
            self._report_if_due(now)
            self._control.wait(self._pause(time.monotonic()))

    def _report_if_due(self, now: float) -> None:
        if self._report is None:
            return
        failed = self._run.error is not None and not self._is_error_reported
        if failed or now >= self._next_report_s:
            self._is_error_reported = failed or self._is_error_reported
            self._next_report_s = now + self._interval_s
            self._report(_progress(self._run, self._multipv))

    def _pause(self, now: float) -> float:
        """Seconds until something may have changed that nobody wakes us for."""
        limits = self._control.limits
        pause = min(self._next_report_s - now, 1.0)
        if limits.until_stopped:
            return pause
        if limits.depth is not None:
            pause = min(pause, CHECK_INTERVAL_S)
        if limits.budget is not None:
            left = self._control.started_s + self._deadline_s(limits.budget) - now
            pause = min(pause, left, CHECK_INTERVAL_S)
        return pause

    def _reason(self, now: float) -> Reason | None:
        run, limits = self._run, self._control.limits
        if self._control.stopped:
            self._wait_for_first(now)
            return Reason.STOPPED
        if limits.until_stopped:
            return None
        if run.error is not None:
            return Reason.ERROR
        if run.is_idle:
            return self._reason_of_idleness()
        if limits.depth is not None and any(len(line.pv) >= limits.depth for line in _lines(run.tree, 1)):
            return Reason.LIMIT
        return self._reason_of_time(limits.budget, now) if limits.budget is not None else None

    def _reason_of_idleness(self) -> Reason:
        tree = self._run.tree
        if tree.is_decided:
            return Reason.DECIDED
        return Reason.FULL if tree.is_full else Reason.LIMIT

    def _reason_of_time(self, budget: Budget, now: float) -> Reason | None:
        tree = self._run.tree
        spent = now - self._control.started_s
        left = self._deadline_s(budget) - spent
        if left <= 0:
            if not self._is_extended and budget.extended_s > spent and self._is_unclear():
                self._is_extended = True
                return None
            return Reason.TIME
        if tree.root_visits == 0:
            return None
        if tree.root_move_count == 1:
            return Reason.ONLY_MOVE
        if spent >= budget.earliest_s and self._cannot_be_caught(left, now):
            return Reason.CLEAR
        return None

    def _deadline_s(self, budget: Budget) -> float:
        return budget.extended_s if self._is_extended else budget.planned_s

    def _cannot_be_caught(self, left_s: float, now: float) -> bool:
        """Whether all visits that fit into the time left would not lift the second move above the first."""
        lines = _lines(self._run.tree, 2)
        if len(lines) < 2 or now <= self._run.began_s:
            return False
        coming = self._run.tree.nodes / (now - self._run.began_s) * left_s
        return lines[0].visits - lines[1].visits > coming

    def _is_unclear(self) -> bool:
        lines = _lines(self._run.tree, 2)
        if len(lines) < 2:
            return False
        first, second = lines
        return first.visits < UNCLEAR_RATIO * second.visits or second.winrate > first.winrate

    def _wait_for_first(self, now: float) -> None:
        """A stop that comes at once is answered a little later, if that gives a move that was thought about."""
        while self._run.tree.root_visits == 0 and not self._run.is_idle and time.monotonic() < now + GRACE_S:
            time.sleep(0.001)


def _progress(run: _Run, multipv: int) -> Progress:
    tree = run.tree
    return Progress(
        lines=_lines(tree, multipv) if tree.root_visits > 0 else (),
        nodes=run.tree.nodes,
        root_visits=tree.root_visits,
        seconds=time.monotonic() - run.began_s,
        seldepth=tree.seldepth,
        hashfull=min(1000, tree.bytes_used * 1000 // (run.memory_mb << 20)),
        error=run.error,
    )


def _lines(tree: Search, multipv: int) -> tuple[Line, ...]:
    return tuple(
        Line(line.move, tuple(line.pv), line.visits, line.prior, line.winrate, line.mate, line.depth)
        for line in tree.lines(multipv)
    )


def _any_move(position: Position, search_moves: Sequence[Move]) -> Move:
    """A move for want of anything better: mate in one, or the first that is legal."""
    mate = position.find_mate_in_one()
    if mate is not None and (not search_moves or mate in search_moves):
        return mate
    return search_moves[0] if search_moves else position.legal_moves[0]
