"""Time for a move: dlshogi's shares, and never more than the clock holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fukayomi.engine.control import (
    LATENESS_ANSWERS,
    LATENESS_MOST_MS,
    NOTHING_LEFT_MS,
    Budget,
    Clock,
    Lateness,
    Margins,
    budget,
)

MARGINS = Margins(byoyomi_ms=100, clock_ms=1000)
TIMES = st.integers(-1000, 10**7)


@given(
    remaining=st.none() | TIMES,
    byoyomi=TIMES,
    increment=TIMES,
    movetime=st.none() | TIMES,
    ply=st.integers(1, 600),
    margins=st.builds(Margins, st.none() | st.integers(0, 10**5), st.integers(0, 10**5)),
)
def test_never_overspends(
    remaining: int | None, byoyomi: int, increment: int, movetime: int | None, ply: int, margins: Margins
) -> None:
    plan = budget(Clock(remaining, byoyomi, increment, movetime), ply, margins)
    if plan is None:
        assert movetime is None
        assert remaining is None
        return
    assert 0 <= plan.earliest_s <= plan.planned_s <= plan.extended_s <= plan.hard_s
    if movetime is not None:
        held = max(0, movetime)
    else:
        held = max(0, remaining or 0) + max(0, byoyomi)
        if max(0, remaining or 0) < increment:
            held += increment
    assert plan.hard_s * 1000 <= (held if held > 0 or movetime is not None else NOTHING_LEFT_MS) + 1e-6


def test_no_clock_no_budget() -> None:
    assert budget(Clock(), 1, MARGINS) is None


def test_the_share_grows_until_the_opening_is_over() -> None:
    def planned(ply: int) -> float:
        plan = budget(Clock(remaining_ms=600_000), ply, MARGINS)
        assert plan is not None
        return plan.planned_s

    assert planned(1) == pytest.approx(600 / 43)
    assert planned(16) == pytest.approx(600 / 28)
    assert planned(30) == planned(200) == pytest.approx(600 / 14)


def test_byoyomi_is_used_whole_once_the_clock_has_run_down() -> None:
    plan = budget(Clock(remaining_ms=0, byoyomi_ms=10_000), 60, MARGINS)
    assert plan is not None
    assert plan.earliest_s == plan.planned_s == plan.hard_s == pytest.approx(9.9)


def test_byoyomi_is_the_least_that_is_planned() -> None:
    plan = budget(Clock(remaining_ms=60_000, byoyomi_ms=10_000), 60, MARGINS)
    assert plan is not None
    assert plan.planned_s == pytest.approx(9.9)
    assert plan.earliest_s == pytest.approx(0.99)


def test_movetime_is_used_whole() -> None:
    plan = budget(Clock(remaining_ms=5, movetime_ms=1000), 1, MARGINS)
    assert plan is not None
    assert plan.earliest_s == plan.hard_s == pytest.approx(0.9)


def test_an_unclear_position_may_take_twice_the_time_but_not_in_the_opening() -> None:
    late, early = (budget(Clock(remaining_ms=300_000), ply, MARGINS) for ply in (40, 10))
    assert late is not None
    assert early is not None
    assert late.extended_s == pytest.approx(2 * late.planned_s)
    assert early.extended_s == early.planned_s


def test_a_small_clock_keeps_half_of_it_as_margin() -> None:
    plan = budget(Clock(remaining_ms=0, byoyomi_ms=50), 1, MARGINS)
    assert plan is not None
    assert plan.hard_s == pytest.approx(0.025)


@pytest.mark.parametrize(
    ("clock", "hard_s"),
    [
        (Clock(movetime_ms=100), 0.09),
        (Clock(remaining_ms=0, byoyomi_ms=50), 0.045),
        (Clock(remaining_ms=0, byoyomi_ms=2000), 1.9),
        (Clock(remaining_ms=400, byoyomi_ms=100), 0.45),
    ],
)
def test_the_automatic_margin_is_at_most_a_tenth_of_the_time(clock: Clock, hard_s: float) -> None:
    plan = budget(clock, 1, Margins())
    assert plan is not None
    assert plan.hard_s == pytest.approx(hard_s)


def test_increment_counts_even_if_the_gui_adds_it_later() -> None:
    after = budget(Clock(remaining_ms=10_000, increment_ms=10_000), 40, MARGINS)
    before = budget(Clock(remaining_ms=500, increment_ms=10_000), 40, MARGINS)
    assert after is not None
    assert before is not None
    assert after.hard_s == pytest.approx(9.0)
    assert before.hard_s == pytest.approx(9.5)


def test_the_planned_time_is_stretched_within_its_bounds() -> None:
    plan = Budget(earliest_s=1.0, planned_s=10.0, extended_s=20.0, hard_s=60.0)
    assert [plan.stretched_s(factor) for factor in (0.01, 0.5, 1.0, 1.5, 2.0, 9.0)] == [
        1.0,
        5.0,
        10.0,
        15.0,
        20.0,
        20.0,
    ]


def test_the_number_of_shares_can_be_set() -> None:
    plan = budget(Clock(remaining_ms=600_000), 40, MARGINS, shares=25)
    assert plan is not None
    assert plan.planned_s == pytest.approx(24.0)


def test_late_answers_widen_the_automatic_margin_until_answers_are_in_time_again() -> None:
    lateness = Lateness()

    def hard_s() -> float:
        plan = budget(Clock(movetime_ms=100), 1, Margins(late_ms=lateness.ms))
        assert plan is not None
        return plan.hard_s

    assert hard_s() == pytest.approx(0.09)
    lateness.note(0.015)
    assert lateness.ms == pytest.approx(30)
    assert hard_s() == pytest.approx(0.07)
    for _ in range(LATENESS_ANSWERS):
        lateness.note(0.001)
    assert hard_s() == pytest.approx(0.09)
    lateness.note(3600.0)  # the machine slept
    assert lateness.ms == LATENESS_MOST_MS
    fixed = budget(Clock(movetime_ms=100), 1, Margins(byoyomi_ms=0, late_ms=30))
    assert fixed is not None
    assert fixed.hard_s == pytest.approx(0.1)


def test_late_answers_cost_the_clock_of_a_game_too() -> None:
    def planned_s(remaining_ms: int, increment_ms: int, late_ms: float) -> float:
        plan = budget(Clock(remaining_ms, increment_ms=increment_ms), 40, Margins(clock_ms=0, late_ms=late_ms))
        assert plan is not None
        return plan.planned_s

    assert planned_s(60_000, 1000, 10) == pytest.approx((60_000 - 200) / 14_000 + 1 - 0.01)
    assert planned_s(100, 100, 30) == pytest.approx(50 / 14_000 + 0.07)  # at most half is put aside
    assert planned_s(100, 0, 30) == 0  # an answer at once is all that there is time for


def test_a_clock_below_its_margin_fills() -> None:
    margins = Margins(clock_ms=1000)
    low, high = (budget(Clock(remaining, increment_ms=1000), 40, margins) for remaining in (999, 20_000))
    assert low is not None
    assert high is not None
    assert low.planned_s == pytest.approx((999 / 14 + 800) / 1000)
    assert high.planned_s == pytest.approx((20_000 / 14 + 1000) / 1000)
