"""Mates that are searched beside the tree: what they find is played and shown, and the threads end with the search."""

import threading
import time
from collections.abc import Generator
from typing import Any, ClassVar

import pytest
from odd_evaluators import Slow

from fukayomi._native import HashEvaluator, MateResult
from fukayomi.engine.control import Control, Limits
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.protocol import Slot, StubEvaluator, hash_evaluator
from fukayomi.engine.mate_threads import MateOptions
from fukayomi.engine.search import MATE_SHARE, Progress, Reason, Searcher, SearchResult
from fukayomi.engine.settings import UsiSettings
from fukayomi.shogi import MateSolver, Position

# Mates of 9 to 15 plies, from games; 5 000 nodes of the search find none of them.
MATES = (
    "l6nl/r4S3/p2s1p1pk/1Pp2sN1p/1p2+r3P/2G1p4/P1Pp1PPP1/2G1+n1S2/L5KNL w Bb2g3p 90",
    "lr5nl/4sk1+P1/2n6/p1pppNSp1/1p3p2p/P1PPP1p1P/1PSg+bP3/1K7/LN5RL w B3gsp 88",
    "lnsg1+RR1l/9/p1pppp2p/6pk1/9/2P6/P+p1PPPP1P/1b1S5/L+p1GKGSNL b BGNPsnp 43",
    "9/+L2g1g1+B+R/4ppnp1/1P2s1p2/nLPp2k2/+b1S1SPsPp/2KGP4/3G3R1/PN5NL b L3P3p 113",
)
# A check with one answer, after which the other side mates in seven.
ONE_ANSWER = "l1+L2s2+P/1+R2p4/2+Bs2+Pp1/pp1s5/1nk2pb2/PNpp5/1PlPPP2P/1GP1GK3/+rLG3GN1 b SN2p 123"
ENDLESS = "9/9/9/9/4k4/9/9/9/K8 b 2R2B4g4s4n4l18p 1"
ROOT = MateOptions(root_plies=33)


class Recording(MateSolver):
    """A solver that notes the share of a core which it gets."""

    shares: ClassVar[list[float]] = []

    def solve(self, *args: Any, share: float = 1.0, **limits: Any) -> MateResult:
        self.shares.append(share)
        return super().solve(*args, share=share, **limits)


class Failing(StubEvaluator):
    """An evaluator that always fails."""

    def run(self, slot: Slot, n: int) -> None:
        raise EvaluatorError(f"no device for {n} of {slot.capacity}")


@pytest.fixture
def searcher() -> Generator[Searcher]:
    searcher = Searcher([hash_evaluator(8)], memory_mb=64)
    yield searcher
    searcher.close()


@pytest.fixture
def patient() -> Generator[Searcher]:
    """A searcher whose tree grows so slowly that only the threads find the mates, however busy the machine is."""
    searcher = Searcher([Slow(0.05)], memory_mb=64)
    yield searcher
    searcher.close()


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Generator[None]:
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "fukayomi-mate"]


def search(searcher: Searcher, position: Position, limits: Limits, mates: MateOptions | None) -> SearchResult:
    return searcher.search(position, Control(limits), mates=mates)


@pytest.mark.parametrize(("cpus", "share"), [(2, 1.0), (1, MATE_SHARE)])
def test_the_root_gets_a_share_of_a_core_where_none_is_free(
    cpus: int, share: float, searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fukayomi.engine.search.usable_cpus", lambda: cpus)
    monkeypatch.setattr("fukayomi.engine.mate_threads.MateSolver", Recording)
    Recording.shares.clear()
    position = Position.from_sfen(MATES[0])
    check_mate(search(searcher, position, Limits(time_ms=60_000), ROOT), position)
    assert Recording.shares == [share]


def check_mate(result: SearchResult, position: Position) -> None:
    """The result is a mate by the side to move, with its whole line."""
    best = result.lines[0]
    assert result.reason is Reason.DECIDED
    assert best.mate == len(best.pv) > 0
    assert result.best == best.pv[0]
    end = position.copy()
    for move in best.pv:
        end.push(move)
    assert end.is_mated()


@pytest.mark.parametrize("sfen", MATES)
def test_a_mate_of_the_root_ends_the_search(searcher: Searcher, patient: Searcher, sfen: str) -> None:
    position = Position.from_sfen(sfen)
    assert search(searcher, position, Limits(nodes=1000), None).lines[0].mate is None
    result = search(patient, position, Limits(time_ms=20_000), ROOT)
    check_mate(result, position)


def test_a_mate_that_is_found_before_the_root_is_evaluated_is_not_lost() -> None:
    position = Position.from_sfen(MATES[0])
    for pause_s in (0.0, 0.0001, 0.0002, 0.0005, 0.001) * 20:  # about as long as the mate takes
        with Searcher([Slow(pause_s)], memory_mb=64) as searcher:
            check_mate(search(searcher, position, Limits(time_ms=20_000), ROOT), position)


def test_a_search_by_nodes_has_no_thread_for_the_root(searcher: Searcher) -> None:
    position = Position.from_sfen(MATES[0])
    result = search(searcher, position, Limits(nodes=300), ROOT)
    searcher.clear()
    assert result.lines == search(searcher, position, Limits(nodes=300), None).lines


def test_the_mate_may_not_be_longer_than_asked(searcher: Searcher) -> None:
    position = Position.from_sfen(MATES[0])
    assert search(searcher, position, Limits(depth=8), MateOptions(root_plies=7)).reason is not Reason.DECIDED


def test_the_game_must_last_as_long_as_the_mate() -> None:
    position = Position.from_sfen(MATES[0])
    for moves_left, is_found in ((8, True), (7, False)):
        settings = UsiSettings(draw_ply=position.ply + moves_left)
        with Searcher([Slow(0.05)], settings.search_params(), memory_mb=64) as searcher:
            result = search(searcher, position, Limits(time_ms=20_000 if is_found else 200), ROOT)
        assert (result.lines[0].mate == 9) == is_found


def test_a_mate_whose_line_has_a_fourth_occurrence_is_left_alone(patient: Searcher) -> None:
    game = "sfen l5+P1l/7R1/p1nk1gn2/2s1psp1p/5p3/P1S1P1+b2/1P1G2N1P/2GP1+r3/LNK2b2L w gs7p 112 moves"
    cycle = " 3f6i 7i8h 6i3f 8h7i"
    for cycles in (1, 2):
        again = Position.from_usi(game + cycles * cycle)
        check_mate(search(patient, again, Limits(time_ms=20_000), ROOT), again)
    again = Position.from_usi(game + 3 * cycle)  # 3f6i, with which the mate begins, would be the fourth
    assert search(patient, again, Limits(time_ms=300), ROOT).reason is Reason.TIME


@pytest.mark.parametrize("threads", [1, 3])
def test_mates_along_the_principal_variation(patient: Searcher, threads: int) -> None:
    position = Position.from_sfen(ONE_ANSWER)
    mate = MateSolver(memory_mb=16).solve(position).moves
    position.push(mate[0])
    result = search(patient, position, Limits(time_ms=20_000), MateOptions(pv_threads=threads))
    assert result.reason is Reason.DECIDED
    best = result.lines[0]
    assert best.mate is not None
    assert -best.mate == len(best.pv)
    end = position.copy()
    for move in best.pv:
        end.push(move)
    assert end.is_mated()


def test_a_search_by_nodes_has_the_threads_that_were_asked_for(patient: Searcher) -> None:
    position = Position.from_sfen(ONE_ANSWER)
    position.push(MateSolver(memory_mb=16).solve(position).moves[0])
    result = search(patient, position, Limits(nodes=1_000_000), MateOptions(pv_threads=1))
    assert result.reason is Reason.DECIDED
    assert result.lines[0].mate is not None


def test_a_stop_ends_the_threads_at_once(searcher: Searcher) -> None:
    control = Control(Limits(until_stopped=True))
    threading.Timer(0.2, control.stop).start()
    options = MateOptions(root_plies=1023, pv_threads=2, pv_plies=1023, pv_nodes=10**9)
    begin = time.monotonic()
    result = searcher.search(Position.from_sfen(ENDLESS), control, mates=options)
    assert result.reason is Reason.STOPPED
    assert result.best is not None
    assert time.monotonic() - begin < 30


def test_a_decided_search_that_only_a_stop_ends_waits_for_it(patient: Searcher) -> None:
    control = Control(Limits(until_stopped=True))
    reports: list[Progress] = []

    def stop_some_time_after_the_mate(progress: Progress) -> None:
        if progress.lines and progress.lines[0].mate is not None:
            reports.append(progress)
        if len(reports) == 4:
            control.stop()

    report = stop_some_time_after_the_mate
    result = patient.search(Position.from_sfen(MATES[0]), control, mates=ROOT, report=report, report_interval_s=0.05)
    assert result.reason is Reason.STOPPED
    assert result.lines[0].mate == 9


def test_without_memory_the_search_goes_on(searcher: Searcher) -> None:
    result = search(searcher, Position.from_sfen(MATES[0]), Limits(time_ms=100), MateOptions(33, 2, memory_mb=0))
    assert isinstance(result.mate_error, ValueError)
    assert result.reason is Reason.TIME
    assert result.lines


def test_an_evaluator_that_fails_ends_the_threads_too() -> None:
    with Searcher([Failing(HashEvaluator(), "failing", 4)], memory_mb=64) as searcher:
        result = search(searcher, Position.from_sfen(ENDLESS), Limits(time_ms=20_000), MateOptions(1023, 1))
    assert result.reason is Reason.ERROR
    assert result.best is not None


def test_one_after_the_other(patient: Searcher) -> None:
    position = Position.from_sfen(MATES[1])
    for _ in range(3):
        result = search(patient, position, Limits(time_ms=20_000), MateOptions(33, 2))
        check_mate(result, position)
        for move in result.lines[0].pv[:2]:
            position.push(move)
