"""Evaluators and the threads that run them, shared by any number of searches.

Each slot of each evaluator has a thread while a search needs it. The threads serve the searches in turn, a batch at a
time: gather leaves of the tree, evaluate them, apply the results.
"""

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from fukayomi._native import Batch, Search
from fukayomi.engine.control import Control
from fukayomi.engine.evaluators.protocol import Evaluator, Slot

RETRY_S = 0.02
"""Pause before another look at a tree whose leaves are all in flight, if no batch returns before."""


@dataclass(eq=False)
class _Worker:
    """A slot, the evaluator that it belongs to, and the thread that uses it."""

    evaluator: Evaluator
    slot: Slot
    thread: threading.Thread | None = None
    """None while no search is under way."""
    gathers_for: "Feed | None" = None
    """The feed whose tree it is about to gather from, or gathering from."""


class Feed:
    """The evaluations of one search. An `EvaluatorPool` supplies them until it is told to end.

    Args:
        tree: The tree; its position is set.
        control: The limits of the search; it is woken when the feed has nothing left to do.
        node_limit: Maximum number of visits of the root.
    """

    def __init__(self, tree: Search, control: Control, node_limit: int) -> None:
        self.tree = tree
        self.control = control
        self.node_limit = node_limit
        self.began_s = time.monotonic()
        """When the search began (`time.monotonic`)."""
        self.error: Exception | None = None
        """What an evaluator raised; no more batches follow."""
        self.is_idle = False
        """Whether the limit is reached, or the tree decided or full, and all batches have returned."""
        # The pool's, guarded by its lock.
        self.is_over = False
        self.in_flight = 0
        self.granted = 0
        self.stalled_at = -1
        self.batches: dict[_Worker, Batch] = {}

    def grant(self, wanted: int) -> int:
        """How many of the wanted leaves may still be evaluated; they count as evaluated until they are given back."""
        if self.tree.is_decided or self.tree.is_full:
            return 0
        limit = self.control.limits.nodes
        if limit is not None:
            wanted = min(wanted, limit - self.granted)
        wanted = max(0, min(wanted, self.node_limit - self.tree.root_visits))
        self.granted += wanted
        return wanted


class EvaluatorPool:
    """Evaluators that serve many search trees, from any number of threads at once.

        with EvaluatorPool([evaluator]) as pool:
            black, white = Searcher(pool), Searcher(pool)

    Args:
        evaluators: One for each device or network; the pool closes them.
    """

    def __init__(self, evaluators: Sequence[Evaluator]) -> None:
        self._evaluators = tuple(evaluators)
        self._workers = [
            _Worker(evaluator, evaluator.allocate(evaluator.batch_size))
            for evaluator in evaluators
            for _ in range(evaluator.slots)
        ]
        self._feeds: deque[Feed] = deque()  # the one to serve next comes first
        self._returned = 0  # batches
        self._is_closed = False
        self._changed = threading.Condition()  # guards all of the above, and the feeds

    def start(self, feed: Feed) -> None:
        """Evaluate leaves for a search until its limits are reached or `end` is called.

        Raises:
            RuntimeError: The pool is closed.
        """
        with self._changed:
            if self._is_closed:
                raise RuntimeError("the evaluator pool is closed")
            self._feeds.append(feed)
            for worker in self._workers:
                if worker.thread is None:
                    worker.thread = threading.Thread(
                        target=self._work, args=(worker,), name="fukayomi-evaluator", daemon=True
                    )
                    worker.thread.start()
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
        for thread in threads:
            thread.join()
        for evaluator in self._evaluators:
            evaluator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------ threads

    def _work(self, worker: _Worker) -> None:
        """Serve feeds until there are none."""
        while (task := self._next(worker)) is not None:
            self._round(worker, *task)

    def _next(self, worker: _Worker) -> tuple[Feed, int] | None:
        """The feed to serve and how many leaves it may have, or None: the thread ends."""
        with self._changed:
            while self._feeds:
                for feed in tuple(self._feeds):
                    if feed.stalled_at == self._returned:
                        continue
                    granted = feed.grant(worker.slot.capacity)
                    if granted:
                        self._feeds.remove(feed)
                        self._feeds.append(feed)
                        feed.in_flight += 1
                        worker.gathers_for = feed
                        return feed, granted
                    if feed.in_flight == 0:
                        feed.is_idle = True
                        self._remove(feed)
                        feed.control.wake()
                if self._feeds and not self._changed.wait(RETRY_S):
                    for feed in self._feeds:
                        feed.stalled_at = -1
            worker.thread = None
            return None

    def _round(self, worker: _Worker, feed: Feed, granted: int) -> None:
        """Gather, evaluate and apply one batch."""
        seen, n = self._returned, 0
        try:
            n = self._evaluate(worker, feed, granted)
        except Exception as error:  # whatever a backend raises must end the search, and be reported
            feed.error = feed.error or error
        with self._changed:
            worker.gathers_for = None
            if feed.error is not None:
                self._remove(feed)
                feed.control.wake()
            feed.in_flight -= 1
            feed.granted -= granted - n
            if n > 0:
                self._returned += 1
            else:
                feed.stalled_at = seen
            self._changed.notify_all()

    def _evaluate(self, worker: _Worker, feed: Feed, limit: int) -> int:
        """Gather, evaluate and apply up to ``limit`` leaves; returns their number."""
        tree, slot = feed.tree, worker.slot
        batch = feed.batches.get(worker)
        if batch is None:
            batch = feed.batches[worker] = tree.new_batch(slot.capacity)
        n = tree.gather(batch, slot.planes1, slot.planes2, slot.labels, slot.counts, limit)
        worker.gathers_for = None
        if feed.is_over:  # somebody may be waiting for this
            with self._changed:
                self._changed.notify_all()
        if n == 0:
            return 0
        try:
            worker.evaluator.run(slot, n)
        except BaseException:
            tree.cancel(batch)
            raise
        tree.apply(batch, slot.logits, slot.values)
        return n

    def _remove(self, feed: Feed) -> None:
        """Serve a feed no longer. The lock is held."""
        feed.is_over = True
        if feed in self._feeds:
            self._feeds.remove(feed)
