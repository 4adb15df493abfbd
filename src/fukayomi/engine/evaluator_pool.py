"""Evaluators and the threads that run them, shared by any number of searches.

Each slot of each evaluator has a thread while a search needs it. The threads serve the searches in turn, a batch at a
time: gather leaves of the tree, evaluate them, apply the results. A batch holds leaves of one tree, or of several whose
searches share batches: then each gives few leaves at a time while its tree is small, and batches are full.

An evaluator in the native core needs neither this program between two batches nor full ones. So its threads serve a
tree for a while, batch after batch.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from fukayomi._native import Batch, CoreEvaluator, EvalCache, Reviewer, Search
from fukayomi.engine.control import Control
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.library_calls import LIBRARY_CALLS
from fukayomi.engine.evaluators.protocol import Evaluator, Slot
from fukayomi.engine.root_history import Look
from fukayomi.interruption import HeldSignals, join_threads

RETRY_S = 0.02
"""Pause before another look at a tree whose leaves are all in flight, if no batch returns before."""
MOST_AT_ONCE = 64
"""Searches that are worth a thread each."""
SHARE = 4
"""Leaves that a search which shares batches gives to each while its tree is small, if there are enough to fill it."""
STRETCH_S = 0.001
"""Time that an evaluator in the core serves a tree before others have their turn and limits are looked at."""


@dataclass(eq=False)
class _Worker:
    """A slot, the evaluator that it belongs to, and the thread that uses it."""

    evaluator: Evaluator
    slot: Slot
    cache: EvalCache | None
    """Of all evaluators with the same identity."""
    core: CoreEvaluator | None = None
    """Runner of the slot's batches in the native core, if there is one."""
    reviewer: Reviewer | None = None
    """Second network for positions that have become important, if there is one."""
    thread: threading.Thread | None = None
    """None while no search is under way."""
    gathers_for: "Feed | None" = None
    """The feed whose tree it is about to gather from, or gathering from."""
    stretch: int = 0
    """Leaves that an evaluator in the core searches in about `STRETCH_S`."""

    def serves_alone(self, feed: "Feed") -> bool:
        """True if it serves the tree of a feed for a while, rather than batch by batch."""
        return self.core is not None and not feed.shares


def _worker(evaluator: Evaluator, cache: EvalCache | None) -> _Worker:
    slot = evaluator.allocate(evaluator.batch_size)
    core, reviewer = getattr(evaluator, "core", None), getattr(evaluator, "reviewer", None)
    return _Worker(
        evaluator,
        slot,
        cache,
        None if core is None else core(slot),
        None if reviewer is None else reviewer(),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of a slot that hold leaves of one tree."""

    feed: "Feed"
    batch: Batch
    first: int
    count: int


class Feed:
    """The evaluations of one search. An `EvaluatorPool` supplies them until it is told to end.

    Args:
        tree: The tree; its position is set.
        control: The limits of the search; it is woken when the feed has nothing left to do.
        node_limit: Maximum number of visits of the root.
        shares: Whether batches may hold leaves of other trees too.
        batch_visits: A batch takes at most one leaf for so many visits of the root: leaves that are chosen together
            cannot learn of each other, which costs a small tree most. 0: as many as it has room for. Of a batch that is
            shared each search may fill an equal part, at least `SHARE`.
    """

    def __init__(
        self, tree: Search, control: Control, node_limit: int, *, shares: bool = False, batch_visits: int = 0
    ) -> None:
        self.tree = tree
        self.control = control
        self.node_limit = node_limit
        self.shares = shares
        self.visits_per_leaf = batch_visits
        self.is_watched = control.limits.stops_when_clear or not control.reads_clock
        """True if something looks at the tree after each batch, so that it ends at the same node each time."""
        self.began_s = time.monotonic()
        """Start of the search (`time.monotonic`)."""
        self.error: Exception | None = None
        """Exception that an evaluator raised; no more batches follow."""
        self.is_idle = False
        """True if the limit is reached, or the tree decided, clear or full, and all batches have returned."""
        self.is_clear = False
        """True if the nodes that are left cannot change the best move (`Limits.stops_when_clear`)."""
        self._visits_before = tree.root_visits
        # The pool's, guarded by its lock.
        self.is_over = False
        self.in_flight = 0
        self.granted = 0
        self.stalled_at = -1
        self.batches: dict[_Worker, Batch] = {}

    def grant(self, wanted: int) -> int:
        """Number of the wanted leaves that may still be searched; they count as searched until they are given back."""
        if self.tree.is_decided or self.tree.is_full:
            return 0
        limits = self.control.limits
        if limits.nodes is not None:
            if limits.stops_when_clear and not self.is_clear:
                self.is_clear = self._is_clear(limits.nodes)
            wanted = 0 if self.is_clear else min(wanted, limits.nodes - self.granted)
        wanted = max(0, min(wanted, self.node_limit - self.tree.root_visits))
        self.granted += wanted
        return wanted

    def leaves(self, room: int, share: int) -> int:
        """Number of leaves that the tree is large enough to give to a batch that has room for so many.

        Args:
            room: Rows of the batch that are left.
            share: Those that fall to this search where several share the batch, however small its tree is.
        """
        least = max(SHARE, share) if self.shares else 1
        most = self.tree.root_visits // self.visits_per_leaf if self.visits_per_leaf else 0 if self.shares else room
        return min(room, max(least, most))

    def visits_in(self, seconds: float, now: float) -> float:
        """Visits of the root that fit into this time from now on (`time.monotonic`), at the rate so far.

        Batches in flight count as if they returned now: a slow batch must not look like a search that stands still.
        """
        made = self.tree.root_visits - self._visits_before
        if made <= 0 or now <= self.began_s:
            return math.inf
        in_flight = max(0, self.granted - self.tree.nodes)
        return in_flight + (made + in_flight) / (now - self.began_s) * seconds

    def _is_clear(self, nodes: int) -> bool:
        """True if the visits that the nodes left will bring cannot lift another move above the best."""
        made, evaluated = self.tree.root_visits - self._visits_before, self.tree.nodes
        if evaluated == 0:
            return False
        visits_per_node = max(1.0, made / evaluated)  # some visits need no evaluation
        return Look.at(self.tree).is_clear((nodes - evaluated) * visits_per_node)


class EvaluatorPool:
    """Evaluators that serve many search trees, from any number of threads at once.

        with EvaluatorPool([evaluator]) as pool:
            black, white = Searcher(pool), Searcher(pool)

    Args:
        evaluators: One for each device or network; the pool closes them.
        cache_mb: Memory limit in MiB of what is remembered of evaluated positions, for all searches; 0: nothing.
            Different networks share it evenly.
    """

    def __init__(self, evaluators: Sequence[Evaluator], *, cache_mb: int = 0) -> None:
        self._evaluators = tuple(evaluators)
        identities = {evaluator.identity for evaluator in evaluators} if cache_mb > 0 else set[str]()
        caches = {identity: EvalCache(max(1, cache_mb // len(identities))) for identity in identities}
        each_slot = [evaluator for evaluator in evaluators for _ in range(evaluator.slots)]
        self._workers = [_worker(evaluator, caches.get(evaluator.identity)) for evaluator in each_slot]
        self._feeds: deque[Feed] = deque()  # the one to serve next comes first
        self._returned = 0  # batches
        self._is_closed = False
        self._changed = threading.Condition()  # guards all of the above, and the feeds

    @property
    def slots(self) -> int:
        """Number of batches in flight at most; each has a thread."""
        return len(self._workers)

    @property
    def searches_at_once(self) -> int:
        """Number of searches that share batches and keep all slots full, even while some begin, with few leaves."""
        rows = sum(worker.slot.capacity for worker in self._workers)
        return min(MOST_AT_ONCE, max(2 * len(self._workers), 2 * -(-rows // SHARE)))

    def start(self, feed: Feed) -> None:
        """Evaluate leaves for a search until its limits are reached or `end` is called.

        Raises:
            RuntimeError: The pool is closed.
        """
        with self._changed:
            if self._is_closed:
                raise RuntimeError("the evaluator pool is closed")
            for worker in self._workers:
                if worker.thread is None:
                    thread = threading.Thread(target=self._work, args=(worker,), name="fukayomi-evaluator", daemon=True)
                    with HeldSignals():
                        thread.start()
                        worker.thread = thread
            self._feeds.append(feed)
            self._changed.notify_all()

    def end(self, feed: Feed) -> None:
        """Stop the tree of a search and gather no more from it. Batches in flight return to it later."""
        with self._changed:
            self._remove(feed)
            feed.tree.stop()  # so that the wait is short
            self._changed.notify_all()
            self._changed.wait_for(lambda: all(worker.gathers_for is not feed for worker in self._workers))

    def close(self) -> None:
        """End all searches, wait for batches in flight, and free the evaluators."""
        with self._changed:
            if self._is_closed:
                return
            self._is_closed = True
            for feed in tuple(self._feeds):
                feed.error = feed.error or RuntimeError("the evaluator pool was closed")
                self._remove(feed)
                feed.control.wake()
            threads = [worker.thread for worker in self._workers if worker.thread is not None]
            self._changed.notify_all()
        join_threads(threads)
        for evaluator in self._evaluators:
            evaluator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------ threads

    def _work(self, worker: _Worker) -> None:
        """Serve feeds until there are none."""
        while (task := self._next(worker, [])) is not None:
            feed, _, granted = task
            if worker.serves_alone(feed):
                self._stretch(worker, feed, granted)
                continue
            parts: list[_Part] = []
            while task is not None:
                self._gather(worker, *task, parts)
                task = self._next(worker, parts) if parts else None
            if parts:
                self._evaluate(worker, parts)

    def _next(self, worker: _Worker, parts: Sequence[_Part]) -> tuple[Feed, int, int] | None:
        """The feed to serve, how many rows it may fill, and how many leaves it may search, those in the cache included.

        It waits for one only if the batch is empty.

        None: the batch is complete, or if it is empty, no search needs the thread, which ends.
        """
        room = worker.slot.capacity - _rows(parts)
        with self._changed:
            while self._feeds and room > 0:
                for feed in tuple(self._feeds):
                    if feed.stalled_at == self._returned or any(part.feed is feed for part in parts):
                        continue
                    if parts and not feed.shares:
                        continue
                    rows = feed.leaves(room, room // max(1, len(self._feeds) - len(parts)))
                    wanted = rows if worker.cache is None else 2 * rows
                    goes_on = worker.serves_alone(feed) and not feed.is_watched
                    granted = feed.grant(max(wanted, worker.stretch) if goes_on else wanted)
                    if granted:
                        self._feeds.remove(feed)
                        self._feeds.append(feed)
                        feed.in_flight += 1
                        worker.gathers_for = feed
                        return feed, min(rows, granted), granted
                    if feed.in_flight == 0:
                        feed.is_idle = True
                        self._remove(feed)
                        feed.control.wake()
                if parts:
                    return None
                if self._feeds and not self._changed.wait(RETRY_S):
                    for feed in self._feeds:
                        feed.stalled_at = -1
            if not parts:
                worker.thread = None
            return None

    def _stretch(self, worker: _Worker, feed: Feed, granted: int) -> None:
        """Let an evaluator in the core serve a tree for about `STRETCH_S`, with up to ``granted`` leaves in all."""
        slot, core, seen, done, is_idle = worker.slot, worker.core, self._returned, 0, False
        assert core is not None
        began_s = time.perf_counter()
        try:
            batch = self._batch(worker, feed, slot.capacity)
            memory = slot.input, slot.logits, slot.values
            limits = slot.capacity, granted, feed.visits_per_leaf, 0.0 if feed.is_watched else STRETCH_S
            done, is_idle, is_finite = feed.tree.run(batch, core, *memory, *limits)
            if not is_finite:
                raise EvaluatorError(
                    f"{worker.evaluator.identity}: the policy or the value has a number that is not finite"
                )
        except Exception as error:  # the search must end, and report it
            feed.error = feed.error or error
        if done:
            worker.stretch = int(done * STRETCH_S / max(time.perf_counter() - began_s, 1e-6))
        with self._changed:
            worker.gathers_for = None
            feed.granted -= granted - done
            if is_idle:
                feed.stalled_at = seen if done == 0 else -1
            self._done(feed)
            self._returned += done > 0
            self._changed.notify_all()

    @staticmethod
    def _batch(worker: _Worker, feed: Feed, limit: int) -> Batch:
        """The batch of a worker for leaves of a tree."""
        batch = feed.batches.get(worker)
        if batch is None or batch.capacity < limit:
            rows = min(worker.slot.capacity, 1 << (limit - 1).bit_length())  # trees grow: not a new one each time
            batch = feed.batches[worker] = feed.tree.new_batch(rows, worker.cache, worker.reviewer)
        return batch

    def _gather(self, worker: _Worker, feed: Feed, limit: int, granted: int, parts: list[_Part]) -> None:
        """Gather up to ``limit`` leaves of a tree into the rows that follow the given parts, and add them as a part."""
        seen, first, slot, n, hits = self._returned, _rows(parts), worker.slot, 0, 0
        try:
            batch = self._batch(worker, feed, limit)
            n = feed.tree.gather(batch, slot.input, first, limit, nodes=granted)
            hits = batch.hits
            if n > 0:
                parts.append(_Part(feed, batch, first, n))
        except Exception as error:  # the search must end, and report it
            feed.error = feed.error or error
        with self._changed:
            worker.gathers_for = None
            feed.granted -= granted - n - hits
            if n == 0:
                feed.stalled_at = seen if hits == 0 else -1
                self._done(feed)
            if n == 0 or feed.is_over:  # somebody may be waiting for this
                self._changed.notify_all()

    def _evaluate(self, worker: _Worker, parts: Sequence[_Part]) -> None:
        """Evaluate a batch, apply the results to the trees, and note what failed."""
        slot = worker.slot
        error: Exception | None = None
        try:
            with LIBRARY_CALLS:
                worker.evaluator.run(slot, _rows(parts))
        except Exception as raised:  # whatever a backend raises must end the searches, and be reported
            error = raised
        for part in parts:
            try:
                if error is None:
                    part.feed.tree.apply(part.batch, slot.logits[part.first :], slot.values[part.first :])
                else:
                    part.feed.tree.cancel(part.batch)
            except Exception as raised:
                part.feed.error = part.feed.error or raised
            part.feed.error = part.feed.error or error
        with self._changed:
            for part in parts:
                self._done(part.feed)
            self._returned += 1
            self._changed.notify_all()

    def _done(self, feed: Feed) -> None:
        """A worker has no leaves of the feed any more. The lock is held."""
        feed.in_flight -= 1
        if feed.error is not None:
            self._remove(feed)
            feed.control.wake()

    def _remove(self, feed: Feed) -> None:
        """Serve a feed no longer. The lock is held."""
        feed.is_over = True
        if feed in self._feeds:
            self._feeds.remove(feed)


def _rows(parts: Sequence[_Part]) -> int:
    """Rows of a slot that are filled."""
    return parts[-1].first + parts[-1].count if parts else 0
