"""The search's driver: limits, stops, failures, and what it reports."""

import threading
import time
from collections.abc import Generator

import pytest
from odd_evaluators import Slow
from patience import PATIENCE_S, one_of_several, seconds_of

from fukayomi._native import SearchParams
from fukayomi.engine.control import Budget, Control, Limits
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.protocol import Slot, StubEvaluator, hash_evaluator, uniform_evaluator
from fukayomi.engine.search import Progress, Reason, Searcher, SearchResult
from fukayomi.shogi import Move, Position

MATE_IN_ONE = "7k1/9/7P1/9/9/9/9/9/K8 b G 1"


@pytest.fixture
def searcher() -> Generator[Searcher]:
    searcher = Searcher([hash_evaluator(8)], memory_mb=64)
    yield searcher
    searcher.close()


def fixed(seconds: float) -> Budget:
    return Budget(seconds, seconds, seconds, seconds)


def search(searcher: Searcher, limits: Limits, position: Position | None = None, **options: object) -> SearchResult:
    return searcher.search(position or Position(), Control(limits), **options)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("nodes", [1, 7, 8, 9, 300])
def test_evaluates_exactly_as_many_nodes_as_asked(searcher: Searcher, nodes: int) -> None:
    result = search(searcher, Limits(nodes=nodes))
    assert result.progress.nodes == nodes
    assert result.reason is Reason.LIMIT
    assert result.best in Position().legal_moves


def test_any_number_of_nodes_is_a_limit() -> None:
    searcher = Searcher([uniform_evaluator(4)], memory_mb=64, node_limit=20)
    assert search(searcher, Limits(nodes=0)).progress.nodes == 0
    assert search(searcher, Limits(nodes=-1)).progress.nodes == 0
    assert search(searcher, Limits(nodes=10**30)).progress.nodes == 20
    searcher.close()


def test_exact_with_several_evaluators_too() -> None:
    searcher = Searcher([hash_evaluator(8), hash_evaluator(16), uniform_evaluator(4)], memory_mb=64)
    assert search(searcher, Limits(nodes=1001)).progress.nodes == 1001
    searcher.close()


def test_the_same_search_gives_the_same_lines() -> None:
    def lines() -> object:
        searcher = Searcher([hash_evaluator(8)], memory_mb=64)
        result = search(searcher, Limits(nodes=2000), multipv=5)
        searcher.close()
        return result.lines

    assert lines() == lines()


def test_lines_are_sorted_and_their_moves_legal(searcher: Searcher) -> None:
    lines = search(searcher, Limits(nodes=1000), multipv=10).lines
    assert len(lines) == 10
    assert [line.visits for line in lines] == sorted((line.visits for line in lines), reverse=True)
    for line in lines:
        assert line.pv[0] == line.move
        assert line.depth == len(line.pv)
        position = Position()
        for move in line.pv:
            position.push(move)


def test_keeps_the_tree_from_move_to_move(searcher: Searcher) -> None:
    first = search(searcher, Limits(nodes=2000))
    assert first.best is not None
    assert first.ponder is not None
    position = Position()
    position.push(first.best)
    position.push(first.ponder)
    after = search(searcher, Limits(nodes=10), position)
    assert after.progress.nodes == 10
    assert after.progress.root_visits > 10
    searcher.configure(SearchParams(), memory_mb=64, node_limit=10**7, reuse=False)
    search(searcher, Limits(nodes=2000))
    assert search(searcher, Limits(nodes=10), position).progress.root_visits == 10


def test_searches_only_the_moves_that_are_asked_for(searcher: Searcher) -> None:
    wanted = [Move.from_usi("9g9f"), Move.from_usi("1g1f")]
    result = search(searcher, Limits(nodes=200), search_moves=wanted, multipv=9)
    assert {line.move for line in result.lines} == set(wanted)
    assert search(searcher, Limits(nodes=200), multipv=9).lines[0].move in Position().legal_moves


def test_stops_within_time(searcher: Searcher) -> None:
    def timed() -> None:
        assert search(searcher, Limits(budget=fixed(0.3))).reason is Reason.TIME

    assert 0.29 < one_of_several(lambda: seconds_of(timed), lambda seconds: seconds < 0.4) < 0.4


@pytest.mark.parametrize("limits", [Limits(time_ms=60_000), Limits(budget=fixed(60))])
def test_time_counted_in_evaluations_does_not_pass_otherwise(limits: Limits) -> None:
    with Searcher([Slow(0.01)], memory_mb=64) as searcher:
        control = Control(limits, evaluations_per_s=1)
        begin = time.monotonic()
        result = searcher.search(Position(), control)
        assert time.monotonic() - begin < 30
    assert result.reason is Reason.TIME
    assert 60 <= result.progress.evaluations < 120  # at 8 a batch, and some that are in flight at the end
    assert control.due_s == pytest.approx(control.started_s + 60)


def test_a_plain_time_is_used_up_where_a_budget_is_not(searcher: Searcher) -> None:
    only_move = Position.from_sfen("8k/9/9/9/9/9/9/r8/KL7 b - 1")
    for position in (Position(), only_move):
        begin = time.monotonic()
        result = search(searcher, Limits(time_ms=200), position)
        assert result.reason is Reason.TIME
        assert 0.19 < time.monotonic() - begin < 10
    assert search(searcher, Limits(time_ms=60_000, nodes=50)).progress.nodes == 50


def test_the_clock_counts_from_the_stamp_not_from_the_start(searcher: Searcher) -> None:
    begin = time.monotonic()
    searcher.search(Position(), Control(Limits(budget=fixed(20)), begin - 19.9))
    assert time.monotonic() - begin < 10


def test_a_time_that_is_over_already_still_gives_a_move(searcher: Searcher) -> None:
    result = searcher.search(Position.from_sfen(MATE_IN_ONE), Control(Limits(budget=fixed(0.1)), time.monotonic() - 1))
    assert result.best == Move.from_usi("G*2b")


def test_stops_early_when_no_move_can_catch_up(searcher: Searcher) -> None:
    limits = Limits(budget=Budget(0.05, 60.0, 60.0, 60.0))
    only = Position.from_sfen("k8/9/9/9/9/9/9/r8/K8 b - 1")
    assert only.legal_move_count > 1
    begin = time.monotonic()
    mate = search(searcher, limits, Position.from_sfen(MATE_IN_ONE))
    assert mate.reason is Reason.DECIDED
    assert mate.lines[0].mate == 1
    single = search(searcher, limits, Position.from_sfen("k7r/9/9/9/9/9/9/9/K7r b - 1"))
    assert single.reason in (Reason.ONLY_MOVE, Reason.DECIDED, Reason.CLEAR)
    assert time.monotonic() - begin < 30


def test_changed_limits_hold_at_once(searcher: Searcher) -> None:
    def changed() -> None:
        control = Control(Limits(until_stopped=True))
        timer = threading.Timer(0.2, lambda: control.change(Limits(nodes=1), time.monotonic()))
        timer.start()
        assert searcher.search(Position(), control).reason is Reason.LIMIT
        timer.join()

    assert 0.19 < one_of_several(lambda: seconds_of(changed), lambda seconds: seconds < 0.5) < 0.5


def test_a_search_goes_on_when_its_memory_is_full() -> None:
    searcher = Searcher([uniform_evaluator(32)], memory_mb=2)
    full: list[int] = []
    result = searcher.search(
        Position(),
        Control(Limits(nodes=40_000)),
        report=lambda progress: full.append(progress.hashfull),
        report_interval_s=0.001,
    )
    assert (result.reason, result.progress.nodes) == (Reason.LIMIT, 40_000)
    assert 800 < max(*full, result.progress.hashfull) <= 1000
    assert result.best is not None
    searcher.close()


def test_the_root_has_no_more_visits_than_allowed() -> None:
    searcher = Searcher([hash_evaluator(8)], memory_mb=64, node_limit=500)
    result = search(searcher, Limits(until_stopped=False))
    assert result.reason is Reason.LIMIT
    assert 450 <= result.progress.root_visits <= 600
    searcher.close()


def test_reports_now_and_then(searcher: Searcher) -> None:
    def reported() -> list[Progress]:
        reports: list[Progress] = []
        end = search(searcher, Limits(budget=fixed(0.5)), report=reports.append, report_interval_s=0.1).progress
        assert len(reports) <= 5
        assert [r.nodes for r in reports] == sorted(r.nodes for r in reports)
        assert all(r.lines and 0 < r.seconds <= end.seconds for r in reports)
        return reports

    assert len(one_of_several(reported, lambda reports: len(reports) >= 3)) >= 3


class Odd:
    """An evaluator that waits for a permission, and then fails if told so."""

    slots = 1
    identity = "odd"
    batch_size = 4

    def __init__(self) -> None:
        self.inner: StubEvaluator = hash_evaluator(4)
        self.permission = threading.Event()
        self.permission.set()
        self.error: Exception | None = None
        self.runs = 0

    def allocate(self, capacity: int) -> Slot:
        return self.inner.allocate(capacity)

    def run(self, slot: Slot, n: int) -> None:
        self.permission.wait(PATIENCE_S)
        if self.error is not None:
            raise self.error
        self.inner.run(slot, n)
        self.runs += 1

    def close(self) -> None:
        pass


def test_does_not_wait_for_a_batch_in_flight_and_copes_with_it_later() -> None:
    odd = Odd()
    searcher = Searcher([odd], memory_mb=64)
    first = search(searcher, Limits(nodes=500))
    odd.permission.clear()
    for seconds in (0.1, 0.1):
        begin = time.monotonic()
        late = search(searcher, Limits(budget=fixed(seconds)))
        assert time.monotonic() - begin < PATIENCE_S / 2
        assert late.best == first.best  # from the tree that is there
    position = Position()
    assert first.best is not None
    position.push(first.best)
    odd.permission.set()
    after = search(searcher, Limits(nodes=100), position)
    assert after.best in position.legal_moves
    assert after.progress.nodes == 100  # the batch from before comes to nothing
    searcher.close()


def test_a_failure_ends_the_search_with_what_is_known() -> None:
    odd = Odd()
    searcher = Searcher([odd], memory_mb=64)
    first = search(searcher, Limits(nodes=300))
    odd.error = EvaluatorError("out of memory")
    failed = search(searcher, Limits(nodes=300))
    assert failed.reason is Reason.ERROR
    assert failed.error is odd.error
    assert failed.best == first.best
    odd.error = None
    assert search(searcher, Limits(nodes=300)).progress.nodes == 300  # and the next one works
    searcher.close()


def test_nonsense_from_an_evaluator_is_a_failure() -> None:
    class Nonsense(Odd):
        def run(self, slot: Slot, n: int) -> None:
            super().run(slot, n)
            slot.values[:n] = float("nan")

    searcher = Searcher([Nonsense()], memory_mb=64)
    failed = search(searcher, Limits(nodes=300))
    assert failed.reason is Reason.ERROR
    assert "between 0 and 1" in str(failed.error)
    assert failed.best in Position().legal_moves
    searcher.close()


def test_a_mated_side_has_no_move(searcher: Searcher) -> None:
    mated = Position.from_sfen(MATE_IN_ONE)
    mated.push_usi("G*2b")
    assert search(searcher, Limits(nodes=10), mated).best is None
    control = Control(Limits(until_stopped=True))
    timer = threading.Timer(0.1, control.stop)
    begin = time.monotonic()
    timer.start()
    assert searcher.search(mated, control).best is None
    assert time.monotonic() - begin >= 0.09
    timer.join()


def test_more_time_when_it_is_unclear() -> None:
    # Every move alike: the second has as many visits as the first.
    searcher = Searcher([uniform_evaluator(8)], memory_mb=256)

    def timed() -> None:
        assert search(searcher, Limits(budget=Budget(0.1, 0.2, 0.4, 1.0))).reason is Reason.TIME

    assert 0.39 < one_of_several(lambda: seconds_of(timed), lambda seconds: 0.39 < seconds < 0.6) < 0.6
    searcher.close()


def test_a_slow_evaluator_has_until_the_clock_runs_out_for_the_first_position() -> None:
    odd = Odd()
    odd.permission.clear()
    searcher = Searcher([odd], memory_mb=64)
    threading.Timer(0.2, odd.permission.set).start()
    result = search(searcher, Limits(budget=Budget(0.01, 0.05, 0.05, PATIENCE_S)))
    assert result.reason is Reason.TIME
    assert result.progress.root_visits > 0
    assert result.progress.seconds < PATIENCE_S / 2
    searcher.close()


def test_a_batch_that_has_not_returned_is_no_sign_that_nothing_will_come() -> None:
    odd = Odd()
    searcher = Searcher([odd], memory_mb=64)
    search(searcher, Limits(nodes=500))  # the tree that is kept has a best move already
    odd.permission.clear()
    assert search(searcher, Limits(budget=Budget(0.0, 0.2, 0.2, 1.0))).reason is Reason.TIME
    odd.permission.set()
    searcher.close()


def clear_position(searcher: Searcher) -> Position:
    """A position in which the best move leads by more than half, found by playing games."""
    for opening in Position().legal_moves:
        position = Position()
        position.push(opening)
        while len(position.moves) < 100:
            result = search(searcher, Limits(nodes=200), position, multipv=2)
            searcher.clear()
            if result.reason is Reason.LIMIT and len(result.lines) > 1:
                first, second = result.lines
                if first.visits > 150 > 3 * second.visits:
                    return position
            if result.best is None:
                break
            position.push(result.best)
    raise AssertionError("no such position")


def test_a_search_by_nodes_saves_those_that_cannot_change_the_move(searcher: Searcher) -> None:
    position = clear_position(searcher)

    def outcome(stops_when_clear: bool) -> tuple[SearchResult, object]:
        searcher.clear()
        result = search(searcher, Limits(nodes=400, stops_when_clear=stops_when_clear), position)
        return result, (result.progress.nodes, result.lines)

    whole, _ = outcome(False)
    short, found = outcome(True)
    assert whole.reason is Reason.LIMIT
    assert short.reason is Reason.CLEAR
    assert short.progress.nodes < whole.progress.nodes == 400
    assert short.best == whole.best
    assert outcome(True)[1] == found  # reproducible: it does not depend on time
    kept = search(searcher, Limits(nodes=100, stops_when_clear=True), position)
    assert kept.reason is Reason.CLEAR
    assert kept.progress.nodes <= 8 < kept.progress.root_visits  # one batch, and what was known before is enough


def test_a_search_that_learns_nothing_more_ends(searcher: Searcher) -> None:
    limits = Limits(budget=Budget(0.0, 60.0, 60.0, 60.0), min_kld_gain=1.0)
    result = search(searcher, limits)
    assert result.reason is Reason.CONVERGED
    assert result.progress.seconds < 30


def test_a_contested_choice_takes_more_of_the_time() -> None:
    searcher = Searcher([uniform_evaluator(8)], memory_mb=256)  # the second move has as many visits as the first
    result = search(searcher, Limits(budget=Budget(0.0, 0.2, 0.4, 1.0), instability=1.0))
    assert result.reason is Reason.TIME
    assert result.progress.seconds > 0.39
    searcher.close()
