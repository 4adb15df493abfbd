"""A search tree that grows until its limits end the search.

Threads of an `EvaluatorPool` gather, evaluate and apply batches. The thread that called `Searcher.search` only watches:
when the time is up or a stop comes, it reads the best move from the tree at once. Batches in flight return to the tree
later.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Any, Self

from fukayomi._native import Search, SearchLine, SearchParams
from fukayomi.engine.control import BATCH_VISITS, Budget, Control, Limits
from fukayomi.engine.evaluator_pool import EvaluatorPool, Feed
from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.engine.evaluators.protocol import Evaluator
from fukayomi.engine.mate_threads import MateOptions, MateThreads
from fukayomi.engine.root_history import Look, RootHistory
from fukayomi.shogi import Move, Position
from fukayomi.tabular import Tabular, counted

CHECK_INTERVAL_S = 0.02
"""Pause between looks at a tree that may be clear enough to stop."""
COUNT_INTERVAL_S = 0.002
"""The same where evaluations are counted instead of time."""
GRACE_S = 0.03
"""Time that a stop waits for the first evaluation."""
MATE_SHARE = 0.02
"""Of a core, for the search for a mate of the root where batches use all cores: more costs strength at short times."""


class Reason(Enum):
    """Reasons why a search ended."""

    STOPPED = "stopped"
    TIME = "time is up"
    CLEAR = "no other move can catch up"
    CONVERGED = "more visits change nothing"
    ONLY_MOVE = "only one legal move"
    LIMIT = "limit reached"
    DECIDED = "the result is proven"
    FULL = "memory is full"
    ERROR = "the evaluator failed"


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a search at some moment."""

    lines: tuple[SearchLine, ...]
    """The best moves, best first; empty before the first evaluation."""
    nodes: int
    """Positions searched since the search began: evaluated by the network, or found in its cache. Limits count them."""
    root_visits: int
    """Visits of the root, including those of a kept tree."""
    seconds: float
    """Time since the search began."""
    seldepth: int
    """Plies to the deepest position."""
    hashfull: int
    """Memory in use, per mille."""
    error: Exception | None = None
    """Exception that an evaluator raised; the search ended there."""
    evaluations: int = 0
    """Positions that the network evaluated; the other nodes were in its cache."""
    playouts: int = 0
    """Nodes, and visits that ended where the result is proven."""

    @property
    def nodes_per_s(self) -> int:
        """Nodes per second."""
        return round(self.nodes / self.seconds) if self.seconds > 0 else 0


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult(Tabular):
    """The result of a search; `Engine.search` returns it.

        >>> from fukayomi import Engine, Position
        >>> with Engine() as engine:
        ...     result = engine.search(Position(), nodes=100, multipv=3)
        >>> len(result.lines), result.best == result.lines[0].move
        (3, True)
        >>> result.to_polars().columns
        ['move', 'winrate', 'cp', 'mate', 'visits', 'prior', 'depth', 'pv']

    `lines` has the best moves: move, winrate, cp and mate for the side to move, visits, prior, depth, pv. As a table it
    has one row per line.
    """

    best: Move | None
    """The best move; None if there is no legal move."""
    ponder: Move | None
    """The expected answer."""
    progress: Progress
    """The state in which the search ended."""
    reason: Reason
    """Reason why it ended."""
    mate_error: Exception | None = None
    """Failure of a search for mates beside the tree; the search went on without it."""
    policy: Mapping[Move, float] = field(default_factory=dict[Move, float])
    """What a network would learn from `Engine.search`: the moves with their shares of the visits, by Gumbel's rule the
    improved policy. The move to play comes first, the others by weight; they add up to 1."""

    @property
    def lines(self) -> tuple[SearchLine, ...]:
        """The best moves, best first; empty if no position was evaluated."""
        return self.progress.lines

    @property
    def error(self) -> Exception | None:
        """Exception that an evaluator raised; the search ended there."""
        return self.progress.error

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per line; moves are in USI form. A move without visits has no win rate, no score and no mate."""
        return rows_of(self.lines)

    def __repr__(self) -> str:
        best = "no move" if self.best is None else self.best.usi()
        return f"<SearchResult: {best}, {counted(self.progress.nodes, 'node')}>"


def rows_of(lines: Sequence[SearchLine]) -> Sequence[Mapping[str, Any]]:
    """One row per line, as `SearchResult.rows`."""
    return [
        {
            "move": line.move.usi(),
            "winrate": line.winrate if has_score(line) else None,
            "cp": line.cp if has_score(line) else None,
            "mate": line.mate,
            "visits": line.visits,
            "prior": line.prior,
            "depth": line.depth,
            "pv": " ".join(move.usi() for move in line.pv),
        }
        for line in lines
    ]


Report = Callable[[Progress], None]


class Searcher:
    """A search tree and the evaluators that feed it. It runs one search at a time.

    Args:
        evaluators: An `EvaluatorPool`, which may serve other searchers and stays open when this one is closed; or
            evaluators for this searcher alone, which it closes.
        params: Parameters of the search.
        memory_mb: Memory limit of the tree in MiB.
        node_limit: Maximum number of visits of the root.
        reuse: Keep the part of the tree that is still valid when the position changes.
        shares_batches: Put leaves of this tree and of others into the same batch, where they share too. Small searches
            that run at once, by the same pool, then fill batches together; what they find depends on each other.
        cache_mb: Memory limit of the evaluation cache in MiB, 0 for none. A given pool has its own.
        batch_visits: A batch takes at most one leaf for so many visits of the root, see `Feed`; 0: no such limit.
    """

    def __init__(
        self,
        evaluators: EvaluatorPool | Sequence[Evaluator],
        params: SearchParams | None = None,
        *,
        memory_mb: int = 1024,
        node_limit: int = 1_000_000_000,
        reuse: bool = True,
        shares_batches: bool = False,
        cache_mb: int = 0,
        batch_visits: int = BATCH_VISITS,
    ) -> None:
        self._shares_batches = shares_batches
        self._owns_pool = not isinstance(evaluators, EvaluatorPool)
        self._pool = (
            evaluators if isinstance(evaluators, EvaluatorPool) else EvaluatorPool(evaluators, cache_mb=cache_mb)
        )
        self.configure(
            params or SearchParams(),
            memory_mb=memory_mb,
            node_limit=node_limit,
            reuse=reuse,
            batch_visits=batch_visits,
        )

    def configure(
        self,
        params: SearchParams,
        *,
        memory_mb: int,
        node_limit: int,
        reuse: bool,
        batch_visits: int = BATCH_VISITS,
    ) -> None:
        """Start a tree with other parameters. Call it between searches."""
        self._params = params
        self._memory_mb = memory_mb
        self._node_limit = node_limit
        self._reuse = reuse
        self._batch_visits = batch_visits
        self.clear()

    def clear(self) -> None:
        """Start an empty tree. Call it between searches."""
        self._tree = Search(self._params, self._memory_mb)

    def close(self) -> None:
        """Free the evaluators, unless they are those of a shared pool. Call it between searches."""
        if self._owns_pool:
            self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def search(
        self,
        position: Position,
        control: Control,
        *,
        search_moves: Sequence[Move] = (),
        compare: Sequence[Move] = (),
        multipv: int = 1,
        mates: MateOptions | None = None,
        report: Report | None = None,
        report_interval_s: float = 0.5,
    ) -> SearchResult:
        """Search until the control's limits end it.

        Args:
            position: The position with its past.
            control: Limits and stop.
            search_moves: The root moves to search, with a new tree; all if empty.
            compare: The root moves that get all visits of this search, to each the same number. The tree is kept.
            multipv: Maximum number of lines to report.
            mates: Mates to search beside the tree, in threads of their own. A search by nodes does without that of the
                root, so that it is the same each time unless `pv_threads` are wanted. None: none.
            report: Called with the progress from this thread.
            report_interval_s: Seconds between reports; 0: no reports.

        Returns:
            The best move and how it was found. An evaluator that raises ends the search (``error``).

        Raises:
            ValueError: A search move is not legal.
            RuntimeError: The evaluator pool is closed.
        """
        if position.is_mated():
            control.hold()
            return SearchResult(None, None, Progress((), 0, 0, 0.0, 0, 0), Reason.DECIDED)
        if not self._reuse:
            self.clear()
        tree = self._tree
        tree.resume()
        nodes = control.limits.nodes
        planned = None if nodes is None else max(0, min(nodes, self._node_limit))
        tree.set_position(position, list(search_moves), nodes=planned)
        if compare:
            tree.compare(list(compare))
        feed = Feed(tree, control, self._node_limit, shares=self._shares_batches, batch_visits=self._batch_visits)
        progress = partial(self._progress, feed, multipv)
        draw_ply = self._params.draw_ply
        if mates is not None:
            spare = usable_cpus() > self._pool.slots
            root_plies = mates.root_plies if nodes is None else 0
            mates = replace(mates, root_plies=root_plies, root_share=1.0 if spare else MATE_SHARE)
        beside = None if mates is None else MateThreads(tree, position, mates, draw_ply)
        try:
            self._pool.start(feed)
            reason = _Watch(feed, progress, report, report_interval_s).wait()
        finally:  # also after Ctrl-C: the threads must not go on
            if beside is not None:
                beside.stop()
            self._pool.end(feed)
            if beside is not None:
                beside.join()
        final = progress()
        best = final.lines[0].move if final.lines else _any_move(position, search_moves)
        pv = final.lines[0].pv if final.lines else ()
        mate_error = None if beside is None else beside.error
        return SearchResult(best, pv[1] if len(pv) > 1 else None, final, reason, mate_error)

    def teaching(self) -> list[tuple[Move, int]]:
        """Policy target of the last search: moves with weights of 1 to 65535, the best first.

        See `fukayomi._native.Search.teaching`. Call it after a search by nodes, whose batches have all returned.
        """
        return self._tree.teaching()

    def lines_of(self, position: Position) -> list[SearchLine]:
        """See `fukayomi._native.Search.lines_of`."""
        return self._tree.lines_of(position)

    def _progress(self, feed: Feed, multipv: int) -> Progress:
        tree = feed.tree
        return Progress(
            lines=tuple(tree.lines(multipv)) if tree.root_visits > 0 else (),
            nodes=tree.nodes,
            root_visits=tree.root_visits,
            seconds=time.monotonic() - feed.began_s,
            seldepth=tree.seldepth,
            hashfull=min(1000, tree.bytes_live * 1000 // (self._memory_mb << 20)),
            error=feed.error,
            evaluations=tree.evaluations,
            playouts=tree.playouts,
        )


class _Watch:
    """Decides when a search ends, and reports in the meantime."""

    def __init__(self, feed: Feed, progress: Callable[[], Progress], report: Report | None, interval_s: float) -> None:
        self._feed = feed
        self._tree = feed.tree
        self._control = feed.control
        self._progress = progress
        self._report = report
        self._interval_s = interval_s
        self._next_report_s = feed.began_s + interval_s if report is not None and interval_s > 0 else float("inf")
        self._history = RootHistory()
        self._is_extended = False
        self._is_error_reported = False

    def wait(self) -> Reason:
        """Watch until there is a reason to end."""
        while True:
            now = self._now_s()
            reason = self._reason(now)
            if reason is not None:
                self._control.due_s = min(now, self._end_of_time_s()) if reason is Reason.TIME else now
                return reason
            self._report_if_due(now)
            self._control.wait(self._pause(self._now_s()))

    def _now_s(self) -> float:
        return self._control.now_s(self._tree.evaluations)

    def _report_if_due(self, now: float) -> None:
        if self._report is None:
            return
        failed = self._feed.error is not None and not self._is_error_reported
        if failed or now >= self._next_report_s:
            self._is_error_reported = failed or self._is_error_reported
            self._next_report_s = now + self._interval_s
            self._report(self._progress())

    def _pause(self, now: float) -> float:
        """Seconds until the next look, unless something wakes the watch before."""
        limits = self._control.limits
        if not self._control.reads_clock:
            return COUNT_INTERVAL_S
        pause = min(self._next_report_s - now, 1.0)
        if limits.until_stopped:
            return pause
        if limits.depth is not None:
            pause = min(pause, CHECK_INTERVAL_S)
        if limits.budget is not None:
            pause = min(pause, CHECK_INTERVAL_S)
        return min(pause, self._end_of_time_s() - now)

    def _end_of_time_s(self) -> float:
        """End of the search's time, as things stand (`time.monotonic`)."""
        limits, started_s = self._control.limits, self._control.started_s
        ends = [math.inf]
        if limits.time_ms is not None:
            ends.append(started_s + limits.time_ms / 1000)
        if limits.budget is not None:
            ends.append(started_s + self._deadline_s(limits, limits.budget))
        return min(ends)

    def _reason(self, now: float) -> Reason | None:
        feed, limits = self._feed, self._control.limits
        if self._control.stopped:
            self._wait_for_first(now)
            return Reason.STOPPED
        if limits.until_stopped:
            return None
        if feed.error is not None:
            return Reason.ERROR
        if feed.is_idle:
            return self._reason_of_idleness()
        if limits.depth is not None and any(line.depth >= limits.depth for line in self._tree.lines(1)):
            return Reason.LIMIT
        if limits.time_ms is not None and now >= self._control.started_s + limits.time_ms / 1000:
            return Reason.TIME
        return self._reason_of_time(limits, limits.budget, now) if limits.budget is not None else None

    def _reason_of_idleness(self) -> Reason:
        tree = self._tree
        if tree.is_decided:
            return Reason.DECIDED
        if self._feed.is_clear:
            return Reason.CLEAR
        return Reason.FULL if tree.is_full else Reason.LIMIT

    def _reason_of_time(self, limits: Limits, budget: Budget, now: float) -> Reason | None:
        tree = self._tree
        spent = now - self._control.started_s
        if tree.root_visits == 0:
            return Reason.TIME if spent >= budget.hard_s else None
        if tree.root_move_count == 1:
            return Reason.ONLY_MOVE
        look = Look.at(tree)
        self._history.add(look)
        left = self._deadline_s(limits, budget) - spent
        if left <= 0:
            if not (self._is_extended or limits.instability > 0) and budget.extended_s > spent and look.is_unclear():
                self._is_extended = True
                return None
            return Reason.TIME
        if spent < budget.earliest_s:
            return None
        if look.is_clear(self._feed.visits_in(left, now)):
            return Reason.CLEAR
        gain = self._history.kld_gain
        return Reason.CONVERGED if gain is not None and gain < limits.min_kld_gain else None

    def _deadline_s(self, limits: Limits, budget: Budget) -> float:
        if self._tree.root_visits == 0:  # the first legal move may cost the game: use all the time for an evaluation
            return budget.hard_s
        if limits.instability > 0:
            return budget.stretched_s(1 + limits.instability * (self._history.factor - 1))
        return budget.extended_s if self._is_extended else budget.planned_s

    def _wait_for_first(self, now: float) -> None:
        """Delay an immediate stop a little, if that gives a move that was evaluated."""
        feed = self._feed
        while (
            self._tree.root_visits == 0 and not feed.is_idle and feed.error is None and time.monotonic() < now + GRACE_S
        ):
            time.sleep(0.001)


def _any_move(position: Position, search_moves: Sequence[Move]) -> Move:
    """A move without any evaluation: mate in one, or the first legal move."""
    mate = position.find_mate_in_one()
    if mate is not None and (not search_moves or mate in search_moves):
        return mate
    return search_moves[0] if search_moves else position.legal_moves[0]


def has_score(line: SearchLine) -> bool:
    """True if a search says anything of a move. If it was neither visited nor proven, `winrate` is the position's."""
    return line.visits > 0 or line.winrate in (0.0, 1.0)
